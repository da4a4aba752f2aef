// Readers of the parts of a graph, into the model's arena. See context.h for
// lifetimes and failure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/io/read/context.h"
#include "core/ir/attribute.h"
#include "core/ir/literal.h"
#include "core/ir/type.h"

namespace ruleengine::io {

// --- tensors ---
// A tensor becomes a view: raw bytes and packed fields stay in the mapped file
// and are not read, except that packed integers of variable length are counted.
// The stated type, shape and data location are checked against the data.

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

// --- types ---
// Negative sizes, which some exporters write for "unknown", become unknown
// dimensions. Types other than tensors stay encoded, after a check that their
// nesting is bounded.

// The limit on the nesting of sequences, optionals and maps.
inline constexpr int kMaxTypeNesting = 64;

// `type` becomes nullptr when the message gives no type.
bool read_type(Context& context, Bytes proto, const Place& place,
               const ir::Type*& type);

// The name is a view; `type` is empty when there is none.
struct ValueInfo {
  std::string_view name;
  Bytes type;
};
bool read_value_info(Context& context, Bytes proto, const Place& place,
                     ValueInfo& info);

// --- attributes: their data is in the mapped file or in the arena ---

// Makes the block of a graph attribute. Its content is read later, from a
// worklist instead of by recursion.
class BlockMaker {
 public:
  virtual ~BlockMaker() = default;
  virtual ir::BlockId make_block(Bytes graph) = 0;
};

// Without a maker, graphs are kept in `proto` alone (defaults of functions).
bool read_attribute(Context& context, Bytes proto, const Place& place,
                    BlockMaker* maker, ir::Attribute& out);

// --- what the engine carries along without modelling it ---
// Metadata, annotations, training, types other than tensors. Checks that they
// are valid protobuf at every level, and that tensors inside are consistent.
// Records the external ones.

bool check_opaque(Context& context, Bytes proto, const schema::Message& message,
                  const Place& place);

// The same for the field that a cursor is at, when it holds a message.
bool check_field(Context& context, const Cursor& cursor, const Place& place);

}  // namespace ruleengine::io
