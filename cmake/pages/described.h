// The command line, as pages and completions show it.
#pragma once

#include <string>
#include <vector>

#include "bindings/cli/line.h"

namespace ruleengine::cli {

// A verb as its pages show it, or the program itself.
struct Described {
  struct Option {
    std::vector<std::string> names;  // "-o"; none: an argument
    std::string takes;               // see Setting::takes(); "": a flag
    std::string bounds;              // of a number: "1 to 64"
    std::string instead;             // "lenient|local": what = may give a flag
    bool required = false;
    bool repeats = false;     // may be given again
    bool takes_rest = false;  // takes all words up to the next option
    std::string what;
  };
  std::string name, what, example;
  std::vector<Option> options;  // arguments first
};

// First the program, then each verb.
std::vector<Described> describe(const Line& line);

}  // namespace ruleengine::cli
