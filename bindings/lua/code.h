// A graph as code, and code as a graph. code_of prints one statement a node, in
// computation order, as Lua that a person can read and change; rebuild runs
// such a file in the sandbox and gives the model the nodes that it says. Code
// holds the nodes of the main graph and of their subgraphs. What it only names
// comes from the model: weights, declared types, functions, and attributes that
// are too large to print or that Lua has no words for.
//
//   x = input "x"                                  -- float[3,4]
//   param = weight "param"                         -- float[3,4]
//   one = weight("one", tensor("float", {1}, {1})) -- a new one
//   add = op.Add{x, param};  x, param = nil
//   clamp = op.Clip{add, none, none};  add = nil
//   output(clamp)
//
//   names { add = "/Add", clamp = {"/Clip"} }
//
// Assigning names a value. `x = nil` releases it: reading it again is a
// mistake. `a, _ = op.X{..., outputs = 2}`: the second output is absent; `none`
// is an absent input. `names` gives nodes, by their first value, the name that
// they have in the model; a text alone says that their outputs are called
// NAME_output_0 and so on, a list has the node's name and then those of its
// outputs. `stored` is an attribute as the model has it. `part(function() ...
// end)` is a piece of a long file: Lua bounds what one function may hold.
#ifndef RULEENGINE_BINDINGS_LUA_CODE_H_
#define RULEENGINE_BINDINGS_LUA_CODE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "bindings/lua/sandbox/sandbox.h"
#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::lua {

// Fails on a graph with a cycle alone. Weights from the value `first_new` on
// are those that rules made, which no file has: small ones are printed, with
// others the code is for reading only and says so.
Result<std::string> code_of(const ir::Model& model, std::size_t first_new);

// Replaces the nodes of the model's graph by those that the code in `file`
// says, and returns those of the main graph whose op the engine has a body for
// and the model did not have there. After a failure the model is to be dropped.
Result<std::vector<ir::NodeId>> rebuild(ir::Model& model,
                                        const std::string& file,
                                        const SandboxLimits& limits);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_CODE_H_
