// A graph as code, and code as a graph. code_of prints a graph as Lua that a
// person can read and change, one statement for each node, in computation
// order; rebuild runs such a file in the sandbox and replaces the nodes of the
// model. Code contains the nodes of the main graph and of their subgraphs. It
// refers by name to other parts of the model: weights, declared types,
// functions, and attributes that are too large to print or that Lua cannot
// express.
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
// An assignment names a value. `x = nil` releases it: reading it later is an
// error. `a, _ = op.X{..., outputs = 2}`: the second output is absent; `none`
// is an absent input. `names` maps a node, by its first value, to the name that
// it has in the model; with a text alone its outputs are called NAME_output_0
// and so on, a list has the name of the node and then those of its outputs.
// `stored` is an attribute as it is in the model. `part(function() ... end)` is
// a section of a long file: Lua limits the size of a function.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bindings/lua/sandbox/sandbox.h"
#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::lua {

// Fails only on a graph with a cycle. Values from `first_new` on were made by
// rules, so no file has their weights: small ones are printed; with larger ones
// the code can only be read, not built, and states that.
Result<std::string> code_of(const ir::Model& model, std::size_t first_new);

// Replaces the nodes of the model's graph by those in the code of `file`.
// Returns the nodes of the main graph that need a function body: the engine has
// one for their op, and the model has no such node in their place. After a
// failure the model must be dropped.
Result<std::vector<ir::NodeId>> rebuild(ir::Model& model,
                                        const std::string& file,
                                        const SandboxLimits& limits);

}  // namespace ruleengine::lua
