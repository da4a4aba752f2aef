// What RNN, GRU and LSTM share: their activations and the loop over a sequence.
// Internal to kernels/cpu.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

// An activation function, after the clipping of its input.
struct Activation {
  enum class Kind : std::uint8_t {
    kRelu,
    kTanh,
    kSigmoid,
    kAffine,
    kLeakyRelu,
    kThresholdedRelu,
    kScaledTanh,
    kHardSigmoid,
    kElu,
    kSoftsign,
    kSoftplus
  };

  template <typename T>
  void apply(T* x, std::int64_t count) const;

  std::string_view name;
  Kind kind;
  bool has_alpha = false, has_beta = false;
  double alpha = 1, beta = 0;
  double clip = -1;  // below 0: no clipping
};

enum class Direction : std::uint8_t { kForward, kReverse };

// The attributes, and sizes that were checked against the inputs.
struct RecurrentRule {
  std::vector<Direction> directions;
  std::vector<Activation> activations;  // of all directions
  bool batch_first = false;
  std::int64_t steps = 0, batch = 0, in = 0, hidden = 0, gates = 0;
  std::vector<std::int64_t> lengths;  // of each sequence

  // The row of step `t` of sequence `b` in the input.
  std::int64_t row(std::int64_t t, std::int64_t b) const {
    return batch_first ? b * steps + t : t * batch + b;
  }
  std::int64_t direction_count() const { return std::ssize(directions); }
  // The row of a state of direction `d` of sequence `b`.
  std::int64_t state_row(std::int64_t d, std::int64_t b) const {
    return batch_first ? b * direction_count() + d : d * batch + b;
  }
};

// `gates` and `functions` of a cell: their names by default.
RecurrentRule recurrent_rule(KernelContext& c, std::int64_t gates,
                             const std::vector<std::string>& functions);

// Input `i`, which must have this shape; nullptr if it is absent.
const Tensor* recurrent_input(KernelContext& c, std::size_t i, Shape dims);

}  // namespace ruleengine::kernels
