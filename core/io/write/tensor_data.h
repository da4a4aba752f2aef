// Where the data of a TensorProto is: one of the typed fields (packed or not),
// or an external file. Parts of read_tensor; see there.
#ifndef RULEENGINE_CORE_IO_WRITE_TENSOR_DATA_H_
#define RULEENGINE_CORE_IO_WRITE_TENSOR_DATA_H_

#include <array>
#include <cstdint>
#include <optional>

#include "core/io/read/context.h"
#include "core/ir/tensor.h"

namespace ruleengine::io {

// The typed data fields met so far.
class DataFields {
 public:
  void add(const Cursor& cursor);
  int kinds() const;            // different fields
  std::uint32_t first() const;  // the lowest of them; 0 for none
  // The payload when the field came once, packed; else it needs repacking.
  std::optional<Bytes> view(std::uint32_t field) const;
  std::size_t count(std::uint32_t field) const { return seen_[field].count; }

 private:
  struct Seen {
    std::size_t count = 0;
    bool packed = false;
    Bytes payload;
  };
  std::array<Seen, 12> seen_{};
};

// Bytes of the raw encoding of out.dims elements; nothing on overflow.
std::optional<std::int64_t> raw_size(const ir::Tensor& tensor);

bool read_typed(Context& context, Bytes proto, const DataFields& data,
                const Place& place, ir::Tensor& out);
// Data fields that do not count must still be whole: protobuf reads them all.
// `counts` is the field that does.
bool check_spare(Context& context, Bytes proto, const Place& place,
                 std::uint32_t counts);
bool read_external(Context& context, Bytes proto, const Place& place,
                   ir::Tensor& out);

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_WRITE_TENSOR_DATA_H_
