// Keys and values over a past, and how many of them each sequence of a batch
// has. Lengths are read on the GPU, so that a run can be recorded. Internal to
// kernels/cuda.
#pragma once

#include <array>
#include <limits>
#include <utility>

#include "kernels/cuda/heads.h"

namespace ruleengine::kernels::cuda {

// How many queries and keys each sequence has, int32. Both begin at a multiple
// of 16 bytes, as cuDNN wants it.
class KeyLengths {
 public:
  KeyLengths() = default;
  explicit KeyLengths(Tensor both) : both_(std::move(both)) {}

  bool is_there() const { return both_.dtype() != DataType::kUndefined; }
  const std::int32_t* queries() const { return both_.data<std::int32_t>(); }
  const std::int32_t* keys() const { return queries() + both_.count() / 2; }

 private:
  Tensor both_;
};

struct LengthSource {
  std::int64_t batch = 1, queries = 0;
  std::int64_t rows = 0;  // of keys; a greater length counts as this
  // int32 or int64, one for each sequence; nullptr: `plus` is the length.
  const Tensor* each = nullptr;
  std::int64_t plus = 0;  // what is added to it
  // A length that is not within them raises the flag (Session::flag).
  std::int64_t least = 0, most = std::numeric_limits<std::int64_t>::max();
  std::int32_t* flag = nullptr;
};
KeyLengths find_lengths(Call& c, Session& session, const LengthSource& source);

// Where the sequences of four tensors begin that lie `strides` elements apart:
// int64 [4, pitch], whose rows are at multiples of 16 bytes.
class SequenceOffsets {
 public:
  SequenceOffsets() = default;
  SequenceOffsets(Call& c, Session& session, std::int64_t batch,
                  const std::array<std::int64_t, 4>& strides);

  bool is_there() const { return all_.dtype() != DataType::kUndefined; }
  const std::int64_t* of(std::int64_t tensor) const {
    return all_.data<std::int64_t>() + tensor * pitch_;
  }

 private:
  std::int64_t pitch_ = 0;
  Tensor all_;
};

// Rows that go behind those of a past.
struct NewRows {
  HeadView x;
  // Where they go: to row `first`, or to the end of each sequence.
  std::int64_t first = 0;
  KeyLengths lengths;
};

// Writes them over those of `out`, whose other rows are those of `past`; they
// may be one tensor. Nothing where `out` is empty.
void write_rows(Session& session, const Tensor* past, const NewRows& added,
                Tensor& out, std::int64_t rows);

// [batch, heads, rows, size]: the rows of `past` if it is not nullptr, the new
// ones over them, and zeros.
Tensor extended(Call& c, Session& session, DataType type, const Tensor* past,
                const NewRows& added, std::int64_t rows);

}  // namespace ruleengine::kernels::cuda
