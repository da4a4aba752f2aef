// Line: the command line. Each verb says which options it takes, and the Line
// fills in their struct. Only line.cc knows the library that parses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/cli/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ruleengine::cli {

// What an option takes. Belongs to its Line.
class Setting {
 public:
  explicit Setting(CLI::Option* option) : option_(option) {}

  Setting& required();
  // Plain decimal numbers within these bounds.
  Setting& whole(std::uint64_t least, std::uint64_t most);
  Setting& number(double least, double most);
  Setting& seconds();
  Setting& separated_by(char delimiter);
  // How --help calls what it takes. Shells offer what this name says, its parts
  // being apart by "|": a word in small letters is the word itself; MODEL,
  // RULE, FOLDER, FILE or FILE.ending are such files. Of other names they offer
  // none.
  Setting& takes(const std::string& name);
  // The same, where each word needs the option again.
  Setting& each(const std::string& name);

 private:
  CLI::Option* option_;
};

// One verb of a Line, to which it belongs.
class VerbLine {
 public:
  explicit VerbLine(CLI::App* app) : app_(app) {}

  void flag(const std::string& name, bool& to, const std::string& what);
  // A flag that stands for the first of these words, or for another one:
  // --name=other.
  void flag(const std::string& name, const std::vector<std::string>& words,
            std::string& to, const std::string& what);
  // T: a text, texts, a number, or an optional text, which tells an empty one
  // from none.
  template <typename T>
  Setting option(const std::string& name, T& to, const std::string& what);
  // A number of MiB, stored in bytes.
  void mebibytes(const std::string& name, std::size_t& to, std::uint64_t most,
                 const std::string& what);

  // Options that several verbs share.
  // `name`: see Setting::takes().
  void paths(const std::string& name, Flags& flags, const std::string& what);
  void load_limits(Flags& flags);      // of one file of rules
  void rules(RuleFlags& flags);        // of verbs that run rules over models
  void rules_alone(RuleFlags& flags);  // of others that load rules
  void first(RuleFlags& flags);  // of verbs that can run other rules first
  // Of verbs that run models.
  void inputs(Flags& flags, InputFlags& inputs,
              const char* dims = "sizes of inputs: batch=2,seq=7");
  // Of verbs that run a model as it is.
  void device(InputFlags& inputs);
  // Of verbs that compare models.
  void tolerance(std::optional<std::string>& to);
  // Of verbs that measure.
  void tuning(TuningFlags& flags);

 private:
  CLI::App* app_;
};

class Line {
 public:
  Line();
  ~Line();

  // Adds a verb. `run` is called with its options and returns the exit code;
  // diagnostics go to stderr, results to stdout.
  template <typename T>
  std::pair<VerbLine, T&> add(int (*run)(const T&), const std::string& name,
                              const std::string& what, const char* example) {
    const auto flags = std::make_shared<T>();
    return {add_verb([=] { return run(*flags); }, *flags, name, what, example),
            *flags};
  }

  // nullopt: verb() is to be called. Else the exit code of what was done
  // instead: --help, --version, or an error that was told.
  std::optional<int> parse(int argc, char** argv);
  int verb() const { return verb_(); }

  // For the pages that describe the verbs. A footer that begins with kExample
  // is an example.
  static constexpr std::string_view kExample = "Example:\n  ";
  const CLI::App& app() const { return *app_; }

 private:
  VerbLine add_verb(std::function<int()> run, Flags& flags,
                    const std::string& name, const std::string& what,
                    const char* example);

  std::function<int()> verb_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace ruleengine::cli
