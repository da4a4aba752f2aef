#include "runtime/preparation.h"

#include <algorithm>
#include <new>

namespace ruleengine::runtime {

ir::BlockId Preparation::block(std::string_view attribute) const {
  const ir::Attribute* a = node_.attribute(attribute);
  if (a != nullptr && !a->blocks.empty()) return a->blocks[0];
  fail("the subgraph '" + std::string(attribute) + "' is missing");
}

const ir::Type* Preparation::input_type(std::size_t i) const {
  const auto inputs = node_.graph().inputs(node_.id());
  const bool is_there = types_ != nullptr && i < inputs.size();
  return is_there && inputs[i].value ? types_->of(inputs[i].value) : nullptr;
}

const ir::Type* Preparation::output_type(std::size_t i) const {
  const auto outputs = node_.graph().outputs(node_.id());
  const bool is_there = types_ != nullptr && i < outputs.size();
  return is_there && outputs[i] ? types_->of(outputs[i]) : nullptr;
}

std::optional<Tensor> Preparation::arranged(const Tensor& weights,
                                            DataType dtype, Shape dims) const {
  constexpr std::size_t kFew = std::size_t{1} << 18;
  const std::size_t bytes = bytes_of(dtype, count_of(dims));
  if (bytes > std::max(kFew, 2 * weights.byte_size())) return std::nullopt;
  try {
    return allocate(dtype, dims);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

}  // namespace ruleengine::runtime
