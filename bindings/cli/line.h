// Line: the command line. Verbs say what they take, and the Line fills in their
// Options. Only line.cc knows the library that parses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/cli/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ruleengine::cli {

// Runs a verb and returns the exit code; diagnostics go to stderr, results to
// stdout.
using Verb = int (*)(const Options&);

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
  // How --help calls a word; each needs the option again.
  Setting& each(const std::string& name);

 private:
  CLI::Option* option_;
};

// One verb of a Line, to which it belongs.
class VerbLine {
 public:
  VerbLine(CLI::App* app, Options& options) : app_(app), options_(options) {}

  void flag(const std::string& name, bool& to, const std::string& what);
  // A flag that stands for `value`, or for another one: --name=other.
  void flag(const std::string& name, const std::string& value, std::string& to,
            const std::string& what);
  Setting option(const std::string& name, std::string& to,
                 const std::string& what);
  Setting option(const std::string& name, std::vector<std::string>& to,
                 const std::string& what);
  Setting option(const std::string& name, int& to, const std::string& what);
  Setting option(const std::string& name, std::int64_t& to,
                 const std::string& what);
  Setting option(const std::string& name, std::uint64_t& to,
                 const std::string& what);
  Setting option(const std::string& name, double& to, const std::string& what);

  // Options that several verbs share.
  void paths(const std::string& what);
  void memory();
  // Of every verb that loads rules.
  void rules();
  // Of every verb that runs rules over models.
  void exact();
  // Of verbs that can run other rules first.
  void first();

 private:
  CLI::App* app_;
  Options& options_;
};

class Line {
 public:
  Line();
  ~Line();

  VerbLine add(Verb run, const std::string& name, const std::string& what,
               const char* example);
  // nullopt: `verb` is to be called with `options`. Else the exit code of what
  // was done instead: --help, --version, or an error that was told.
  std::optional<int> parse(int argc, char** argv);

  Options options;
  Verb verb = nullptr;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace ruleengine::cli
