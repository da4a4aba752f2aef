// Finds and checks the data of a TensorProto: in a typed field (packed or not),
// or in an external file. Part of read_tensor; see there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/io/read/context.h"
#include "core/ir/literal.h"

namespace ruleengine::io {

// The typed data fields found so far.
class DataFields {
 public:
  void add(const Cursor& cursor);
  std::size_t kinds() const;    // different fields
  std::uint32_t first() const;  // the lowest of them; 0 for none
  // The payload when the field occurs once and packed; else it has to be
  // repacked.
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

// Bytes of the raw encoding of the tensor; none on overflow.
std::optional<std::int64_t> raw_size(const ir::Literal& tensor);

bool read_typed(Context& context, Bytes proto, const DataFields& data,
                const Place& place, ir::Literal& out);
// Data fields that are ignored must still be valid: protobuf reads them all.
// `counts` is the field that is used.
bool check_spare(Context& context, Bytes proto, const Place& place,
                 std::uint32_t counts);
bool read_external(Context& context, Bytes proto, const Place& place,
                   ir::Literal& out);

}  // namespace ruleengine::io
