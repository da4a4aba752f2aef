// Literals: the tensors of a model, never copied. A Literal says where its
// bytes are: in the mapped model file (raw bytes, or protobuf's packed fields),
// in an external file that is not opened yet, in an arena, or not made yet
// (Lazy: put together from other tensors; Computed: the result of a node; both
// are evaluated when read and streamed at save). A Literal lives in the arena
// of its Model and is immutable. Concurrent reads are safe with different
// scratch buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/data_type.h"

namespace ruleengine::ir {

enum class Storage : std::uint8_t {
  kRaw,       // `bytes`: little-endian elements, as in raw_data
  kTyped,     // `bytes`: body of a packed typed field of TensorProto
              // (float_data, int32_data, ...), `dtype` says which; unpacked
              // files are repacked into the arena at load
  kStrings,   // `strings`
  kExternal,  // `external`
  kLazy,      // `lazy`
  kComputed,  // `computed`
};

struct ExternalRef {
  std::string_view location;  // as the file says it
  std::int64_t offset = 0;
  std::int64_t length = -1;  // -1: to be computed from dtype and dims
  bool operator==(const ExternalRef&) const = default;
};

struct Literal;

// A deferred result: the concatenation of `parts` along `axis`. Of a part, the
// last two axes are swapped first if its `transpose` is set; then it is cut
// along `axis`. A single part with axis 0 that is not cut is a transposed,
// renamed or reshaped view of one tensor.
struct LazyPart {
  const Literal* tensor = nullptr;
  bool transpose = false;  // rank 2 only
  // Of the tensor, indices [begin, begin + count) along the axis; -1 for all.
  std::int64_t begin = 0;
  std::int64_t count = -1;

  bool is_cut() const { return count >= 0; }
};
struct Lazy {
  // Whether it is one tensor as a whole, turned round or not.
  bool is_turned() const { return is_single() && parts[0].transpose; }
  bool is_view() const { return is_single() && !parts[0].transpose; }

  std::span<const LazyPart> parts;
  std::int64_t axis = 0;
  // The number of stored tensors in the expression, counting repetitions: the
  // cost of reading it. Code that makes lazy tensors keeps it bounded.
  std::int64_t leaves = 1;

 private:
  bool is_single() const { return parts.size() == 1 && !parts[0].is_cut(); }
};

class Evaluator;     // core/ir/evaluator.h
struct Computation;  // core/ir/evaluator.h

// The deferred output of a node that has one. Reading it computes it, and what
// it is computed from, each time.
struct Computed {
  const Evaluator* evaluator = nullptr;
  const Computation* what = nullptr;
  // The number of nodes in the expression, counting repetitions: the cost of
  // reading it. Code that makes computed tensors keeps it bounded.
  std::int64_t nodes = 1;
};

struct Literal {
  DataType dtype = DataType::kUndefined;
  Storage storage = Storage::kRaw;
  std::span<const std::int64_t> dims;
  std::span<const std::byte> bytes;
  std::span<const std::string_view> strings;
  ExternalRef external;
  const Lazy* lazy = nullptr;
  const Computed* computed = nullptr;
  // The encoded TensorProto this was read from, for verbatim save; empty for
  // tensors made by rules.
  std::span<const std::byte> proto;

  std::int64_t element_count() const;  // 1 for a scalar; dims were checked
  std::int64_t byte_size() const;      // of the raw encoding, bits rounded up
};

// Opens external data of one model. Implemented by core/io; the spans it
// returns stay valid as long as the model does.
class ExternalData {
 public:
  virtual ~ExternalData() = default;
  virtual Result<std::span<const std::byte>> read(const ExternalRef& ref,
                                                  std::int64_t length) = 0;
};

// The raw little-endian bytes of `tensor`. Raw data is returned as a view;
// other bytes are put into `scratch`. An error also where a computed tensor is
// refused by its Evaluator.
Result<std::span<const std::byte>> raw_bytes(const Literal& tensor,
                                             ExternalData* external,
                                             std::vector<std::byte>& scratch);

// Passes the raw bytes to `sink` in pieces, in order. Needs about as much
// memory as the largest single part of a lazy tensor, or as a computed tensor
// and what it is computed from.
using ByteSink = std::function<Status(std::span<const std::byte>)>;
Status stream_bytes(const Literal& tensor, ExternalData* external,
                    const ByteSink& sink);

// All elements, converted. None when the type is not numeric, the data cannot
// be read, or there are more than `limit` elements. bool counts as 0/1;
// float16, bfloat16 and float8 are widened.
std::optional<std::vector<std::int64_t>> to_ints(const Literal& tensor,
                                                 ExternalData* external,
                                                 std::int64_t limit);
std::optional<std::vector<double>> to_doubles(const Literal& tensor,
                                              ExternalData* external,
                                              std::int64_t limit);

// Elements of a type smaller than a byte as one byte each, and back. The first
// one is in the lowest bits.
std::vector<std::byte> unpacked_bits(int bits,
                                     std::span<const std::byte> packed,
                                     std::int64_t count);
std::vector<std::byte> packed_bits(int bits,
                                   std::span<const std::byte> elements);

// Equal dtype, dims and bits.
bool equal_bits(const Literal& a, const Literal& b, ExternalData* external);

}  // namespace ruleengine::ir
