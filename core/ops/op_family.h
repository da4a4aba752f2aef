// What the outputs of an op have to do with its inputs, as far as patterns and
// the flow of axes ask; and the classes of ops that patterns name. The row of
// an op says its family. Constant data; any thread may ask.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ruleengine::ops {

enum class OpFamily : std::uint8_t {
  kOther,
  kElementwise,  // each element of the result from the elements that line up
                 // with it; inputs broadcast
  kReduction,    // one number for each slice along the axes, Reduce*
  kView,         // the same elements in the same order, in another shape
};
OpFamily op_family(std::string_view domain, std::string_view type);

struct OpName {
  std::string_view domain, type;
  auto operator<=>(const OpName&) const = default;
};

// A class of ops, as `op.elementwise_unary` names it: those of a family,
// elementwise ones by how many inputs they take.
struct OpClass {
  std::string_view name;
  std::span<const OpName> ops;  // sorted

  bool has(std::string_view domain, std::string_view type) const;
};
std::span<const OpClass> op_classes();                // sorted by name
const OpClass* find_op_class(std::string_view name);  // nullptr: none

// "op.view is a class of ops, ...", for a name that is not to be built; else
// "".
std::string_view class_hint(std::string_view domain, std::string_view type);

}  // namespace ruleengine::ops
