#include "runtime/kernel.h"

#include <new>

namespace ruleengine::runtime {

ir::BlockId Preparation::block(std::string_view attribute) const {
  const ir::Attribute* a = node_.attribute(attribute);
  if (a != nullptr && !a->blocks.empty()) return a->blocks[0];
  fail("the subgraph '" + std::string(attribute) + "' is missing");
}

std::optional<Tensor> Preparation::arranged(DataType dtype, Shape dims) const {
  try {
    return allocate(dtype, dims);
  } catch (const Failure& failure) {
    if (failure.error.kind != ErrorKind::kLimit) throw;
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

}  // namespace ruleengine::runtime
