#include "runtime/attributes.h"

#include <algorithm>

#include "runtime/call.h"
#include "runtime/widening.h"

namespace ruleengine::runtime {
namespace {

std::string text_of(const ops::NodeView& node, std::string_view attribute) {
  const ir::Attribute* a = node.attribute(attribute);
  const ops::FormalAttribute* formal =
      ops::find_attribute(node.op().domain, node.op().type,
                          static_cast<int>(node.opset()), attribute);
  if (a == nullptr && (formal == nullptr || !formal->has_default)) {
    return "nothing";
  }
  switch (a != nullptr ? a->kind : formal->kind) {
    case ir::AttributeKind::kInt:
      return std::to_string(node.attribute_int(attribute));
    case ir::AttributeKind::kFloat:
      return std::to_string(node.attribute_float(attribute));
    case ir::AttributeKind::kString:
      return '"' + printable(node.attribute_string(attribute)) + '"';
    case ir::AttributeKind::kInts: {
      const Ints all = node.attribute_ints(attribute).value_or(Ints());
      std::string out;
      for (const std::int64_t each : all) {
        out += (out.empty() ? "[" : ",") + std::to_string(each);
        if (out.size() > 200) return out + ",...";
      }
      return out.empty() ? "[]" : out + "]";
    }
    case ir::AttributeKind::kFloats:
      return std::to_string(node.attribute_floats(attribute).size()) +
             " numbers";
    case ir::AttributeKind::kStrings:
      return std::to_string(a != nullptr ? a->strings.size()
                                         : formal->default_strings.size()) +
             " strings";
    default:
      return "neither numbers nor strings";
  }
}

}  // namespace

std::vector<std::string> Attributes::attribute_strings(
    std::string_view name) const {
  const ir::Attribute* a = node_.attribute(name);
  if (a == nullptr) return {};
  return {a->strings.begin(), a->strings.end()};
}

std::optional<Tensor> Attributes::attribute_tensor(
    std::string_view name) const {
  const ir::Attribute* a = node_.attribute(name);
  if (a == nullptr || a->tensors.empty()) return std::nullopt;
  const ir::Literal& literal = *a->tensors[0];
  const Tensor own = to_tensor(literal, node_.model());
  if (!run_.wide) return own;
  const Datum doubles = as_doubles(own, run_);
  if (run_.noise == nullptr) return doubles.tensor();
  return run_.noise->constant(doubles, literal, node_.model()).tensor();
}

DataType Attributes::attribute_type(std::string_view name) const {
  const auto type = static_cast<DataType>(node_.attribute_int(name));
  return run_.wide && is_widened(type) ? DataType::kDouble : type;
}

float Attributes::attribute_float(std::string_view name) const {
  const float number = node_.attribute_float(name);
  return run_.noise != nullptr ? run_.noise->attribute(number) : number;
}

void Attributes::need_attribute(std::string_view name) const {
  if (has_attribute(name)) return;
  fail("attribute '" + std::string(name) + "' is missing");
}

std::string_view Attributes::choice(
    std::string_view name,
    std::initializer_list<std::string_view> known) const {
  const std::string_view value = attribute_string(name);
  if (std::ranges::find(known, value) != known.end()) return value;
  std::string all;
  for (const std::string_view each : known) {
    if (!each.empty()) all += (all.empty() ? "" : ", ") + std::string(each);
  }
  wrong_attribute(name, all.replace(all.rfind(", "), 1, " or"));
}

void NodeContext::wrong_attribute(std::string_view name, std::string expected,
                                  std::string found) const {
  const auto tensor = Attributes(node_, run_).attribute_tensor(name);
  if (found.empty()) found = tensor ? tensor->text() : text_of(node_, name);
  fail("wrong value of attribute '" + std::string(name) + "'",
       std::move(expected), std::move(found));
}

}  // namespace ruleengine::runtime
