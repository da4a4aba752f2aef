// How core/ir's tensor*.cc read the bytes of a tensor: stored bytes as views,
// varints decoded, ranges of lazy tensors. Not thread-safe. Diagnostics have no
// place: the callers know the tensor's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ir/literal.h"

namespace ruleengine::ir::tensor_internal {

using Bytes = std::span<const std::byte>;

// A lazy tensor that is nested deeper is refused.
constexpr int kMaxDepth = 200;

Diagnostic bad_tensor(std::string what, std::string expected = {},
                      std::string found = {});

// Calls `sink` once with the raw bytes of a computed tensor.
Status compute(const Literal& tensor, ExternalData* external,
               const ByteSink& sink);

// Raw bytes of a tensor that is not lazy.
Result<Bytes> stored_bytes(const Literal& tensor, ExternalData* external,
                           std::vector<std::byte>& scratch);

// Reads any range of the raw bytes of a lazy tensor. The data of a leaf is a
// view where possible, else it is decoded once. Elements smaller than a byte
// are read as one byte each.
class LazyReader {
 public:
  explicit LazyReader(ExternalData* external) : external_(external) {}

  // Checks the shapes of all parts and opens every leaf.
  Status open(const Literal& tensor) { return open(tensor, 0); }
  // Bytes [offset, offset + to.size()) of an opened tensor.
  void read(const Literal& tensor, std::size_t offset,
            std::span<std::byte> to) const {
    read(tensor, false, offset, to);
  }

 private:
  struct Leaf {
    Bytes bytes;
    std::vector<std::byte> scratch;
  };

  Status open(const Literal& tensor, int depth);
  Status open_leaf(const Literal& tensor);
  void read(const Literal& tensor, bool transposed, std::size_t offset,
            std::span<std::byte> to) const;

  ExternalData* external_;
  std::unordered_map<const Literal*, Leaf> leaves_;  // only looked up
  std::unordered_map<const Literal*, int> opened_;   // depth it was checked at
};

// Bytes of one element as LazyReader counts them.
std::size_t element_size(DataType type);

}  // namespace ruleengine::ir::tensor_internal
