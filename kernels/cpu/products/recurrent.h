// What RNN, GRU and LSTM share: their activations and the loop over a sequence.
// Internal to kernels/cpu.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/cpu/products/weights.h"

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

// W or R, of which the gates of a part are multiplied at once.
struct GateWeights {
  struct Part {
    std::int64_t first, count;
    std::vector<Weights> packed;  // by direction, where all parts are
  };

  // `gates`: of each part.
  GateWeights(const Preparation& p, std::size_t i, std::int64_t directions,
              const std::vector<std::int64_t>& gates);

  bool is_packed(DataType dtype) const {
    const auto& packed = parts[0].packed;
    return !packed.empty() && packed[0].dtype() == dtype;
  }
  // Fails unless the input is of this shape and the type of input 0.
  void check(const Call& c, Shape dims) const;

  std::size_t input;
  std::vector<Part> parts;
};

// What is known before a run.
struct RecurrentCell {
  // `parts`: how many gates are multiplied with the state at once. `functions`
  // of a cell: their names by default.
  RecurrentCell(const Preparation& p, const std::vector<std::int64_t>& parts,
                const std::vector<std::string>& functions);

  std::int64_t direction_count() const { return std::ssize(directions); }

  std::vector<Direction> directions;
  std::vector<Activation> activations;  // of all directions
  bool batch_first;
  std::optional<std::int64_t> hidden_size;
  std::int64_t gates;
  GateWeights w, r;
};

// A cell, and sizes that were checked against the inputs.
struct RecurrentRule {
  RecurrentRule(Call& c, const RecurrentCell& its_cell);

  // The row of step `t` of sequence `b` in the input.
  std::int64_t row(std::int64_t t, std::int64_t b) const {
    return cell.batch_first ? b * steps + t : t * batch + b;
  }
  std::int64_t direction_count() const { return cell.direction_count(); }
  // The row of a state of direction `d` of sequence `b`.
  std::int64_t state_row(std::int64_t d, std::int64_t b) const {
    return cell.batch_first ? b * direction_count() + d : d * batch + b;
  }

  const RecurrentCell& cell;
  std::int64_t steps, batch, in, hidden;
  std::vector<std::int64_t> lengths;  // of each sequence
};

// Input `i`, which must have this shape; nullptr if it is absent.
const Tensor* recurrent_input(Call& c, std::size_t i, Shape dims);

}  // namespace ruleengine::kernels
