// Parsing of ONNX's textual syntax (docs of the onnx project, Syntax.md), with
// extensions, since rule examples are written by hand:
//  - the graph's name and the header may be left out. Then the IR version is
//    10, the standard domain's opset 21 or the oldest that has every op used;
//    domains that are used and not imported get version 1;
//  - an integer is a float where the op's attribute is one (alpha = 1); the
//    empty list needs no type where the op determines it;
//  - nodes may stand in any order, and names of any kind in quotes;
//  - elements of float16, bfloat16 and float8 are bits as integers (as ONNX
//    reads them) and values with a point: float16[2] {15360, 1.0}; elements
//    smaller than a byte are one number each;
//  - lists of tensors, graphs and types;
//  - metadata of a node stands in brackets with its name, if it has one:
//    [add_1, "key": "value"] y = Add(a, b).
// Any text is safe: nesting is bounded, and every error names its line and
// column. The model keeps no reference to the text.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::text {

// The opset of the standard ops where nothing states another.
inline constexpr std::int64_t kDefaultOpset = 21;

struct ParseOptions {
  // Reject ops, attributes and numbers of inputs that do not exist in their
  // (known) domain.
  bool check_ops = false;
  // If not null, these faults are warnings, one for each op, and the model is
  // read.
  std::vector<Diagnostic>* warnings = nullptr;
  // When parsing must end; a later end is a Diagnostic of kind kLimit.
  Deadline deadline = {};
};

// Parses a model, in full or in the short form. `file` is for diagnostics only.
// The fields of the header that a Model does not have (producer, metadata)
// become its `source`, and the model is `changed`.
Result<std::unique_ptr<ir::Model>> parse_model(
    std::string_view text, std::string_view file = {},
    const ParseOptions& options = {});

// Adds to the model, as `op`, the function that the text says: a function
// without its name, `<alpha: float = 1.0> (x) => (y) { ... }`. In front of it
// `<opset_import: ["": 17]>` may stand; else the opset is 21, or the oldest
// that has every op used. On an error the model may keep a part of it.
Result<ir::Function*> parse_function(ir::Model& model, std::string_view text,
                                     const ir::Op& op,
                                     std::string_view file = {},
                                     const ParseOptions& options = {});

// Checks the functions of a model: no call has more inputs or outputs than its
// function, none calls itself, and all calls together stand for a bounded
// number of nodes. `where` of the error is the op of the function at fault.
// Linear.
Status check_functions(const ir::Model& model);

// Parses the graph that a rule makes of `before`: its signature, constants,
// functions and opset, with the nodes listed in `nodes` (without braces)
// instead of its own. If `nodes` is a whole graph, that graph is read.
// `before_text` is what `before` was parsed from, or print(before, {.weights =
// true}).
Result<std::unique_ptr<ir::Model>> parse_after(
    const ir::Model& before, std::string_view before_text,
    std::string_view nodes, std::string_view file = {},
    const ParseOptions& options = {});

}  // namespace ruleengine::text
