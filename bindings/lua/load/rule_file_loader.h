// Loader: the inside of RuleSet::load. Finds the files behind paths, packs and
// libs, runs each once in the sandbox, and makes LoadedRules of what they
// return. One Loader, one RuleSet, one thread; it stays as long as the sandbox,
// since its C functions are known there.
#ifndef RULEENGINE_BINDINGS_LUA_LOAD_RULE_FILE_LOADER_H_
#define RULEENGINE_BINDINGS_LUA_LOAD_RULE_FILE_LOADER_H_

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/lua/load/rule_file_scan.h"
#include "bindings/lua/rule_file.h"
#include "bindings/lua/words/words.h"

namespace ruleengine::lua {

// The parser works through a file in one go, a few of its steps by the square
// of what they look at.
inline constexpr std::size_t kMaxSource = std::size_t{1} << 20;

// An option as a file declares it: a default, or only its type.
struct DeclaredOption {
  std::optional<OptionValue> value;
  std::size_t type = 0;  // index in OptionValue
  int line = 0;
};
using DeclaredOptions = std::map<std::string, DeclaredOption>;

struct LoadedPack {
  std::string name, file, doc;
  std::filesystem::path real;
  int line = 0;
  DeclaredOptions options;
  struct Entry {
    std::string path;  // as written
    int line = 0;
  };
  std::vector<Entry> entries;
};

// A rule on its way into the set.
struct RuleInLoad {
  std::unique_ptr<LoadedRule> rule;
  std::filesystem::path real;
  DeclaredOptions options;
  int changes_meaning_line = 0;
  bool direct = false;  // named by itself, or by its folder
  struct Member {
    std::size_t pack = 0, position = 0;
  };
  std::vector<Member> packs;
};

// One file that runs now.
struct RunningFile {
  std::string file;            // as shown
  std::filesystem::path real;  // folder and all, links followed
  bool is_lib = false;
};

class Loader {
 public:
  Loader(Sandbox& sandbox) : sandbox_(sandbox) {}

  // Adds the words to the sandbox. Once.
  Status prepare();

  // A file or a folder of the command line.
  Status add(const std::string& path);
  // The rules of the packs found, after all paths.
  Status add_members();

  std::vector<RuleInLoad>& rules() { return rules_; }
  std::vector<LoadedPack>& packs() { return packs_; }
  std::vector<std::string>& warnings() { return warnings_; }
  std::vector<engine::RuleSet::Unclaimed>& unclaimed() { return unclaimed_; }
  Sandbox& sandbox() { return sandbox_; }
  Words& words() { return words_; }

  // Text of a regular file of at most `limit` bytes; none when there is none.
  static Result<std::optional<std::string>> read_file(
      const std::filesystem::path& path, std::size_t limit);

 private:
  // The file that runs, and what it gave.
  struct Request {
    std::string file;
    std::filesystem::path real;
    std::string text;
    // What `rule` or `pack` was called with.
    const char* word = nullptr;
    int declared = 0;  // registry reference
    int line = 0;
    int libs = 0;  // registry reference: real path -> what the lib returned
    std::vector<RunningFile> running;
  };
  friend struct LoaderFunctions;

  Status add_file(const std::string& path,
                  const std::optional<RuleInLoad::Member>& member,
                  const LoadedPack::Entry* entry);
  Status add_folder(const std::string& path);
  Status run_file(const std::string& file, const std::filesystem::path& real,
                  std::string text);
  void set_member(std::size_t rule,
                  const std::optional<RuleInLoad::Member>& member);

  // Inside the sandbox's call; may raise.
  void run_body(lua_State* state, Request& request);
  // Compiles and runs a file; leaves what it returned. `text` outlives the
  // scan.
  SourceScan run_source(lua_State* state, const std::string& file,
                        const std::string& text);
  int lib(lua_State* state);
  int declare(lua_State* state, const char* word);

  Sandbox& sandbox_;
  Words words_;
  int words_table_ = 0, body_ = 0;  // registry references
  std::vector<RuleInLoad> rules_;
  std::vector<LoadedPack> packs_;
  std::vector<std::string> warnings_;
  std::vector<engine::RuleSet::Unclaimed> unclaimed_;
  // What is loaded, by its file with links followed: a rule (first) or a pack.
  std::map<std::filesystem::path, std::pair<bool, std::size_t>> known_;
  Request* request_ = nullptr;  // the file that runs
};

// Reads the table of `rule{...}` on top of the stack into a rule; raises.
// (rule_file_keys.cc)
struct RuleTable {
  Loader& loader;
  const std::string& file;
  const std::filesystem::path& real;
  const SourceScan& scan;
  int line = 0;  // of the `rule` call
  // Bytes of texts taken out of Lua so far.
  std::size_t* taken = nullptr;
};

// A copy of the string at `index`. One string may be named a million times, so
// what a file gives away is bounded in all; raises at `line` beyond that.
std::string take_text(lua_State* state, const RuleTable& table, int index,
                      int line);
void take_bytes(lua_State* state, const RuleTable& table, std::size_t bytes,
                int line);
RuleInLoad read_rule(lua_State* state, const RuleTable& table);
LoadedPack read_pack(lua_State* state, const RuleTable& table);

// Reads `examples` at the top of the stack; raises. (rule_file_examples.cc)
std::vector<Example> read_examples(lua_State* state, const RuleTable& table,
                                   const DeclaredOptions& options, bool lint);

// `match` compares no variable with a number or a text: patterns are objects,
// and Lua says no without asking them. (rule_file_reads.cc)
void check_comparisons(lua_State* state, const RuleTable& table,
                       FunctionRef match);

// What `rewrite` builds of known domains must be there: ops, and attributes.
// (rule_file_calls.cc)
void check_calls(lua_State* state, const RuleTable& table, FunctionRef rewrite);

// What `where`, `rewrite` and `together` read must be there. Fills in the
// names that they put onto m. (rule_file_reads.cc)
void check_reads(lua_State* state, const RuleTable& table, LoadedRule& rule,
                 const DeclaredOptions& options);

// A text as the type of an option; none when it is not one.
std::optional<OptionValue> option_from_text(std::string_view text,
                                            std::size_t type);
const char* option_type_name(std::size_t type);
// Reads `options = {...}` on top of the stack. `word` is rule or pack.
DeclaredOptions read_options(lua_State* state, const RuleTable& table,
                             const char* word);

// Options that are set, the packs', then the order. (rule_file_order.cc)
Status apply_options(Loader& loader, const std::vector<SetOption>& options);
Status order_rules(Loader& loader);
// Of names in `after` that are nearly those of loaded rules.
void warn_of_after(Loader& loader);
// Of ordered rules.
void warn_of_shadowed(Loader& loader);

// The folders that `lib` looks in for a file that runs, first one first.
std::vector<std::filesystem::path> lib_folders(
    const std::filesystem::path& rule, const std::filesystem::path& running);

// Raises at a line of the file.
int fail_at(lua_State* state, const RuleTable& table, int line,
            Diagnostic error);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_LOAD_RULE_FILE_LOADER_H_
