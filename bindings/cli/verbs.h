// The verbs of the command line. Each is in a file of its name, which defines
// its options and runs it. To add one, add the file and a line here.
#pragma once

#include "bindings/cli/line.h"

namespace ruleengine::cli {

// Adds the verb to the parser.
using AddVerb = void(Line&);
AddVerb add_run, add_match, add_explain, add_coverage, add_collectives,
    add_test, add_report, add_print, add_code, add_build, add_draw, add_exec,
    add_bench, add_tune, add_ops, add_docs, add_new;

// In the order of --help.
inline constexpr AddVerb* kVerbs[] = {
    add_run,          // rewrite models
    add_tune,         // the rewrites that pay
    add_match,        // where each rule would fire
    add_explain,      // why a rule does not match
    add_coverage,     // how much attention is composed
    add_collectives,  // what ranks send to each other
    add_test,         // the examples of rules
    add_exec,         // run a model
    add_bench,        // how long a model runs, in which ops
    add_report,       // a model as a table
    add_print,        // a model as ONNX text
    add_code,         // a graph as Lua
    add_build,        // a model from such Lua
    add_draw,         // a model as a picture
    add_ops,          // ops that are not the standard's
    add_docs,         // what the reference of the language says
    add_new,          // a rule file to start from
};

}  // namespace ruleengine::cli
