#include "runtime/kernel.h"

#include <algorithm>
#include <new>

namespace ruleengine::runtime {

ir::BlockId Preparation::block(std::string_view attribute) const {
  const ir::Attribute* a = node_.attribute(attribute);
  if (a != nullptr && !a->blocks.empty()) return a->blocks[0];
  fail("the subgraph '" + std::string(attribute) + "' is missing");
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
