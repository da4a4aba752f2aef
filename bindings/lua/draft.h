// A rule drafted from nodes of a model: it writes them as one op, whose `body`
// says what they compute. One function describes both the pattern and the body,
// so the rule is right whatever the nodes are; a person then says better what
// is meant.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::lua {

// A rule of one file to start from, which passes its test.
std::string first_rule();
// "my_rule" as an op: "MyRule".
std::string op_of_rule(std::string_view name);

class Draft {
 public:
  // The nodes, in any order, are of the main graph. kUsage for nodes that no
  // pattern or function can express, or that one op cannot replace. The model
  // must outlive the draft, which changes only its names.
  static Result<std::unique_ptr<Draft>> create(
      ir::Model& model, std::span<const ir::NodeId> nodes, std::string op);
  virtual ~Draft() = default;

  // A size of what the nodes read.
  struct Size {
    ir::Dim dim;     // equal ones are equal sizes of the model
    bool is_symbol;  // the model has no number for it
  };
  // One after the other, of those that an example may name.
  virtual const std::vector<Size>& sizes() const = 0;
  // `names`: for each of the sizes its name in pattern and example; "": it is a
  // number in the example, and any in the pattern; not for a symbol. With
  // `literals` small constants are numbers in the pattern, else values that the
  // op reads.
  virtual std::string text(std::span<const std::string> names,
                           bool literals) = 0;
};

}  // namespace ruleengine::lua
