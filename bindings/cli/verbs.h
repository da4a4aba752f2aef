// The verbs of the command line. Each takes parsed options, does one thing and
// returns the exit code; diagnostics go to stderr, results to stdout.
#ifndef RULEENGINE_BINDINGS_CLI_VERBS_H_
#define RULEENGINE_BINDINGS_CLI_VERBS_H_

#include "bindings/cli/options.h"

namespace ruleengine::cli {

int run(const Options& options);       // rewrite models
int match(const Options& options);     // where would each rule fire
int explain(const Options& options);   // how far a rule gets, and why not
int coverage(const Options& options);  // how much attention is composed
int collectives(const Options& options);  // what ranks send to each other
int test(const Options& options);      // the examples of rules
int report(const Options& options);    // a model as a table
int draw(const Options& options);      // a model as a picture
int print(const Options& options);     // a model as ONNX text
int code(const Options& options);      // a graph as Lua
int build(const Options& options);     // a model of such Lua

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_VERBS_H_
