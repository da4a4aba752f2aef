// Tensors that are put together where they are read: transposed, joined and cut
// without a copy, however large. Internal to core/ops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ir/model.h"

namespace ruleengine::ops {

// Whether parts of the tensor can be read where they lie.
inline bool can_be_lazy(const ir::Literal& t) {
  return ir::bit_width(t.dtype) >= 8;
}

// A tensor without elements.
const ir::Literal* empty_tensor(ir::Model& model, ir::DataType dtype,
                                std::span<const std::int64_t> dims);

// The parts joined along `axis`, with these dims; nullptr where there are too
// many to be read in sensible time. The parts must fit.
const ir::Literal* lazy_concat(ir::Model& model,
                               std::span<const std::int64_t> dims,
                               std::span<const ir::LazyPart> parts,
                               std::size_t axis);

// Of a tensor of rank 2. A transpose of a transpose is what was there before.
const ir::Literal* lazy_transpose(ir::Model& model, const ir::Literal& t);

// Indices [begin, begin + count) along `axis`, which must be there. Of what was
// joined, only the parts that it reads remain: a part as a whole is the tensor
// that was joined. nullptr as above.
const ir::Literal* lazy_slice(ir::Model& model, const ir::Literal& t,
                              std::size_t axis, std::int64_t begin,
                              std::int64_t count);

}  // namespace ruleengine::ops
