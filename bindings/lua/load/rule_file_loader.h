// Loader: the implementation of RuleSet::load. Finds the files of paths, packs
// and libs, runs each once in the sandbox, and makes LoadedRules from the
// results. One Loader for one RuleSet, on one thread; it lives as long as the
// sandbox, which holds its C functions.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/lua/load/rule_file_scan.h"
#include "bindings/lua/load/rule_store.h"
#include "bindings/lua/rule_file.h"
#include "bindings/lua/words/words.h"
#include "core/engine/op_bodies.h"

namespace ruleengine::lua {

// Larger files are rejected: the parser is not interrupted, and parts of it are
// quadratic.
inline constexpr std::size_t kMaxSource = std::size_t{1} << 20;

// An option as a file declares it: with a default, or with only its type.
struct DeclaredOption {
  std::optional<OptionValue> value;
  std::size_t type = 0;  // index in OptionValue
  int line = 0;
};
using DeclaredOptions = std::map<std::string, DeclaredOption>;
std::vector<std::string> names_of(const DeclaredOptions& options);

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

// A rule that is being loaded.
struct RuleInLoad {
  std::unique_ptr<LoadedRule> rule;
  std::filesystem::path real;
  DeclaredOptions options;
  int changes_meaning_line = 0;
  bool direct = false;  // named by its path or its folder, not only by a pack
  struct Member {
    std::size_t pack = 0, position = 0;
  };
  std::vector<Member> packs;
};

// The file that is running.
struct RunningFile {
  std::string file;            // as shown to the user
  std::filesystem::path real;  // absolute, links resolved
  bool is_lib = false;
};

class Loader {
 public:
  // `texts` may be null; it is read while files are added.
  Loader(Sandbox& sandbox, const RuleTexts* texts)
      : sandbox_(sandbox), store_(texts) {}

  // Registers the words in the sandbox. To call once.
  Status prepare();

  // Adds a file or folder of the command line.
  Status add(const std::string& path);
  // Adds the rules of the packs, after all paths.
  Status add_members();

  std::vector<RuleInLoad>& rules() { return rules_; }
  std::vector<LoadedPack>& packs() { return packs_; }
  std::vector<std::string>& warnings() { return warnings_; }
  std::vector<engine::RuleSet::Unclaimed>& unclaimed() { return unclaimed_; }
  Words& words() { return words_; }
  RuleStore& store() { return store_; }

 private:
  // The file that runs, and its result.
  struct Request {
    std::string file;
    std::filesystem::path real;
    std::string text;
    // Which word was called: rule or pack.
    const char* word = nullptr;
    int declared = 0;  // registry reference
    int line = 0;
    int libs = 0;  // registry reference: real path -> what the lib returned
    std::vector<RunningFile> running;
  };

  Status add_file(const std::string& path,
                  const std::optional<RuleInLoad::Member>& member,
                  const LoadedPack::Entry* entry);
  Status add_folder(const std::string& path);
  Status run_file(const std::string& file, const std::filesystem::path& real,
                  std::string text);
  void set_member(std::size_t rule,
                  const std::optional<RuleInLoad::Member>& member);

  // Called inside of the sandbox; may raise.
  template <int (Loader::*function)(lua_State*)>
  static int call(lua_State* state);  // upvalue 1 is the loader
  int run_body(lua_State* state);
  // Compiles a file and leaves its function. `text` must outlive the scan.
  SourceScan compile(lua_State* state, const std::string& file,
                     const std::string& text);
  // Runs the function on top of the stack, and leaves its result.
  static void run(lua_State* state);
  // Leaves the function of a lib, which is compiled once for all rules.
  void push_lib(lua_State* state, const std::string& file,
                const std::filesystem::path& real, const std::string& text);
  int rule(lua_State* state) { return declare(state, "rule"); }
  int pack(lua_State* state) { return declare(state, "pack"); }
  int lib(lua_State* state);
  int declare(lua_State* state, const char* word);

  Sandbox& sandbox_;
  RuleStore store_;
  Words words_;
  int words_table_ = 0, body_ = 0;  // registry references
  std::vector<RuleInLoad> rules_;
  std::vector<LoadedPack> packs_;
  std::vector<std::string> warnings_;
  std::vector<engine::RuleSet::Unclaimed> unclaimed_;
  // Loaded files by real path: whether it is a rule, and its index.
  std::map<std::filesystem::path, std::pair<bool, std::size_t>> known_;
  // Compiled libs, by real path.
  struct Lib {
    std::string file, text;
    int function = 0;  // registry reference
  };
  std::map<std::filesystem::path, Lib> libs_;
  Request* request_ = nullptr;  // the file that is running
};

// Reads the table of `rule{...}` on top of the stack; raises.
// (rule_file_keys.cc)
struct RuleTable {
  Loader& loader;
  const std::string& file;
  const std::filesystem::path& real;
  const SourceScan& scan;
  int line = 0;  // of the call of `rule`
  // Bytes of texts copied from Lua so far.
  std::size_t* taken = nullptr;
};

// A copy of the string at `index`. A file may use one string a million times,
// so the total is limited; raises at `line` beyond that.
std::string take_text(lua_State* state, const RuleTable& table, int index,
                      int line);
void take_bytes(lua_State* state, const RuleTable& table, std::size_t bytes,
                int line);
RuleInLoad read_rule(lua_State* state, const RuleTable& table);
LoadedPack read_pack(lua_State* state, const RuleTable& table);

// Reads `examples` at the top of the stack; raises. (rule_file_examples.cc)
std::vector<Example> read_examples(lua_State* state, const RuleTable& table,
                                   const DeclaredOptions& options, bool lint);

// Reads `body` at the top of the stack; raises. (rule_file_body.cc)
std::vector<LoadedBody> read_bodies(lua_State* state, const RuleTable& table);
// The bodies of all rules, by the names of their ops, at most one for each.
using OwnBodies = std::vector<std::unique_ptr<engine::OpBody>>;
Result<OwnBodies> make_bodies(
    Sandbox& sandbox, const std::vector<std::unique_ptr<LoadedRule>>& rules);

// Checks that `match` compares no variable with a number or a text: patterns
// are userdata, so Lua compares them as different without an error.
// (rule_file_reads.cc)
void check_comparisons(lua_State* state, const RuleTable& table,
                       FunctionRef match);

// Checks that ops and attributes that `rewrite`, or a body, builds exist, in
// known domains. `key` is what stands before the function. (rule_file_calls.cc)
void check_calls(lua_State* state, const RuleTable& table, FunctionRef rewrite,
                 std::string_view key = "rewrite");

// Checks that names which `where`, `rewrite` and `together` read exist.
// Collects the names that they assign to m. (rule_file_reads.cc)
void check_reads(lua_State* state, const RuleTable& table, LoadedRule& rule,
                 const DeclaredOptions& options);

// A text as a value of the option's type; none if it is not one.
std::optional<OptionValue> option_from_text(std::string_view text,
                                            std::size_t type);
const char* option_type_name(std::size_t type);
// Reads `options = {...}` on top of the stack. `word` is rule or pack.
DeclaredOptions read_options(lua_State* state, const RuleTable& table,
                             const char* word);

// Applies settings and options of packs, then orders the rules.
// (rule_file_order.cc)
Status apply_options(Loader& loader, const std::vector<SetOption>& options);
Status order_rules(Loader& loader);
// Warns about names in `after` that are similar to those of loaded rules.
void warn_of_after(Loader& loader);
// Warns about rules that another one always preempts; rules must be ordered.
void warn_of_shadowed(Loader& loader);

inline constexpr auto kRuleKeys = std::to_array<std::string_view>(
    {"after", "body", "changes_meaning", "doc", "examples", "lint", "match",
     "meta", "name", "options", "pass", "phase", "replace", "rewrite",
     "together", "when", "where"});
inline constexpr auto kPackKeys =
    std::to_array<std::string_view>({"doc", "options"});
inline constexpr auto kExampleKeys = std::to_array<std::string_view>(
    {"assumed", "changes_meaning", "file", "matches", "options", "rejected",
     "warned"});

// Raise at a line of a file.
int fail_in(lua_State* state, const std::string& file, int line,
            std::string what, std::string expected);
int fail_at(lua_State* state, const RuleTable& table, int line,
            Diagnostic error);

}  // namespace ruleengine::lua
