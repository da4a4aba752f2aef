// Reads TensorProto and SparseTensorProto. A tensor becomes a view: raw bytes
// and packed fields stay in the mapped file and are not read, except that
// packed integers of variable length are counted. The stated type, shape and
// data location are checked against the data. See context.h for lifetimes and
// failure.
#pragma once

#include <string_view>

#include "core/io/read/context.h"
#include "core/ir/literal.h"

namespace ruleengine::io {

// `name` is that of the TensorProto; "" when it has none. If the type and shape
// are good but the data is not, this fails, but still returns the tensor.
bool read_tensor(Context& context, Bytes proto, const Place& place,
                 const ir::Literal*& tensor, std::string_view& name);

// Only checks: sparse tensors are carried along unchanged. The name is that of
// `values`.
bool check_sparse(Context& context, Bytes proto, const Place& place,
                  std::string_view& name);

// The name in an encoded TensorProto that was read successfully before.
std::string_view tensor_name(Bytes proto);

// Elements of a tensor with these dims; nothing when a dim is negative or the
// product does not fit 63 bits.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> dims);

// Bits of one element; 0 for strings and unknown types.
int element_bits(ir::DataType type);

}  // namespace ruleengine::io
