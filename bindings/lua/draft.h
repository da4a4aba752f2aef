// A rule drafted from nodes of a model: it writes them as one op, whose `body`
// says what they compute. One function describes both the pattern and the body,
// so the rule is right whatever the nodes are; a person then says better what
// is meant.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::lua {

// A rule file to start from, which passes its test.
std::string first_rule();

// The op that a rule of this name makes: "my_rule" gives "MyRule". kUsage for
// what is no name of a rule: letters, digits and _, the first letter before the
// first digit.
Result<std::string> op_of_rule(std::string_view name);

struct Region;

class Draft {
 public:
  // The nodes, in any order, are of the main graph. kUsage for nodes that no
  // pattern or function can express, or that one op cannot replace. The model
  // must outlive the draft, and stay as it is.
  static Result<Draft> create(ir::Model& model,
                              std::span<const ir::NodeId> nodes);
  Draft(Draft&& from) noexcept;
  Draft& operator=(Draft&& from) noexcept;
  ~Draft();

  // In computation order, without Constant nodes.
  const std::vector<ir::NodeId>& nodes() const;

  // A size of what the nodes read.
  struct Size {
    ir::Dim dim;             // equal ones are equal sizes of the model
    bool is_symbol = false;  // the model has no number for it
  };
  // One after the other, of what an example has as inputs.
  const std::vector<Size>& sizes() const;

  // The file of a rule that makes `op`. `names`: for each of the sizes its name
  // in pattern and example; "": it is a number in the example, and any in the
  // pattern; not for a symbol. With `literals` small constants are numbers in
  // the pattern, else values that the op reads.
  std::string text(std::string_view op, std::span<const std::string> names,
                   bool literals) const;

 private:
  explicit Draft(std::unique_ptr<Region> region);

  std::unique_ptr<Region> region_;
};

}  // namespace ruleengine::lua
