// RNN, GRU and LSTM: the input's part of all gates in one product, then step by
// step that of the state.
#include "kernels/cpu/products/recurrent.h"

#include <algorithm>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

enum StateInput : std::size_t { kState = 5, kCells = 6 };

// The outputs, allocated where something may read them.
template <typename T>
struct Results {
  T* all = nullptr;    // Y
  T* state = nullptr;  // Y_h
  T* cell = nullptr;   // Y_c

  Results(Call& c, const RecurrentRule& rule, bool has_cell) {
    const std::int64_t d = rule.direction_count();
    const std::int64_t n = rule.batch, h = rule.hidden;
    const bool batch_first = rule.cell.batch_first;
    const Dims states = batch_first ? Dims{n, d, h} : Dims{d, n, h};
    const Dims full =
        batch_first ? Dims{n, rule.steps, d, h} : Dims{rule.steps, d, n, h};
    if (c.wants(0)) {
      Tensor& y = c.output(0, kTypeOf<T>, full);
      all = y.template mutable_data<T>();
      fill(c, all, y.count(), T(0));  // after the end of a sequence
    }
    if (c.wants(1)) {
      state = c.output(1, kTypeOf<T>, states).template mutable_data<T>();
    }
    if (has_cell && c.wants(2)) {
      cell = c.output(2, kTypeOf<T>, states).template mutable_data<T>();
    }
  }
};

// One direction: its weights, its state, and the products of both.
template <typename T>
class Pass {
 public:
  Pass(Call& c, const RecurrentRule& rule, std::int64_t direction)
      : c_(c),
        rule_(rule),
        direction_(direction),
        width_(rule.cell.gates * rule.hidden),
        input_(c.allocate(kTypeOf<T>, Dims{rule.steps * rule.batch, width_})),
        gates_(c.allocate(kTypeOf<T>, Dims{rule.batch, width_})),
        state_(initial(kState)) {
    multiply(c.input(0).template data<T>(), rule.steps * rule.batch, rule.in,
             rule.cell.w, 0, input_);
    for (const std::int64_t length : rule.lengths) {
      longest_ = std::max(longest_, length);
    }
  }

  std::int64_t steps() const { return longest_; }
  std::int64_t hidden() const { return rule_.hidden; }

  // This direction's part of input `i`; nullptr where it is absent.
  const T* weights(std::size_t i, std::int64_t size) const {
    return c_.has_input(i) ? c_.input(i).template data<T>() + direction_ * size
                           : nullptr;
  }
  const T* bias() const { return weights(3, 2 * width_); }
  const Activation& activation(std::size_t i) const {
    const auto& all = rule_.cell.activations;
    const std::size_t each = all.size() / rule_.cell.directions.size();
    return all[index_of(direction_) * each + i];
  }

  // A state of each sequence, from input `i` or zeros.
  Tensor initial(std::size_t i) const {
    const std::int64_t n = rule_.batch, h = rule_.hidden;
    const std::int64_t d = rule_.direction_count();
    const Dims dims = rule_.cell.batch_first ? Dims{n, d, h} : Dims{d, n, h};
    const Tensor* given = recurrent_input(c_, i, dims);
    Tensor out = c_.allocate(kTypeOf<T>, Dims{n, h});
    T* to = out.template mutable_data<T>();
    if (given == nullptr) {
      std::fill_n(to, out.count(), T(0));
      return out;
    }
    for (std::int64_t b = 0; b < n; ++b) {
      std::copy_n(
          given->template data<T>() + rule_.state_row(direction_, b) * h, h,
          to + b * h);
    }
    return out;
  }

  // Gates of a part = rows * their weights R.
  void multiply(const T* rows, std::size_t part = 0) {
    multiply(rows, rule_.batch, rule_.hidden, rule_.cell.r, part, gates_);
  }
  const T* state() const { return state_.template data<T>(); }

  // Calls f(sequence, the input's part, the state's part, the state) for each
  // sequence that has a step `s`.
  template <typename F>
  void for_sequences(std::int64_t s, F f) {
    const std::int64_t grain = std::max<std::int64_t>(1, 1024 / (width_ + 1));
    T* gates = gates_.template mutable_data<T>();
    T* states = state_.template mutable_data<T>();
    T* input = input_.template mutable_data<T>();
    c_.threads().for_each_index(rule_.batch, grain, [&](std::int64_t b) {
      const std::int64_t t = step_of(s, b);
      if (t < 0) return;
      f(b, input + rule_.row(t, b) * width_, gates + b * width_,
        states + b * rule_.hidden);
    });
  }

  // After step `s`.
  void keep(std::int64_t s, T* all) const {
    if (all == nullptr) return;
    const std::int64_t h = rule_.hidden, d = rule_.direction_count();
    for (std::int64_t b = 0; b < rule_.batch; ++b) {
      const std::int64_t t = step_of(s, b);
      if (t < 0) continue;
      const std::int64_t row = rule_.cell.batch_first
                                   ? (b * rule_.steps + t) * d + direction_
                                   : (t * d + direction_) * rule_.batch + b;
      std::copy_n(state() + b * h, h, all + row * h);
    }
  }
  void keep_state(const T* from, T* to) const {
    if (to == nullptr) return;
    const std::int64_t h = rule_.hidden;
    for (std::int64_t b = 0; b < rule_.batch; ++b) {
      std::copy_n(from + b * h, h, to + rule_.state_row(direction_, b) * h);
    }
  }

 private:
  // Columns of a part of the gates = `m` rows of `k` elements * its weights.
  void multiply(const T* rows, std::int64_t m, std::int64_t k,
                const GateWeights& gates, std::size_t place, Tensor& to) {
    const GateWeights::Part& part = gates.parts[place];
    const std::int64_t h = rule_.hidden;
    const bool is_packed = gates.is_packed(kTypeOf<T>);
    const Weights packed =
        is_packed ? part.packed[index_of(direction_)] : Weights();
    const T* own = is_packed
                       ? nullptr
                       : weights(gates.input, width_ * k) + part.first * h * k;
    packed.multiply<T>(c_.threads(),
                       {.m = m,
                        .n = part.count * h,
                        .k = k,
                        .a = {rows, k},
                        .b = {own, k, true},
                        .c = to.template mutable_data<T>() + part.first * h,
                        .ldc = width_});
  }

  // The element of sequence `b` at step `s`; -1 after its end.
  std::int64_t step_of(std::int64_t s, std::int64_t b) const {
    const std::int64_t length = rule_.lengths[index_of(b)];
    if (s >= length) return -1;
    return rule_.cell.directions[index_of(direction_)] == Direction::kForward
               ? s
               : length - 1 - s;
  }

  Call& c_;
  const RecurrentRule& rule_;
  std::int64_t direction_, width_, longest_ = 0;
  Tensor input_, gates_, state_;
};

// to[i] = a[i] + b[i] + both biases.
template <typename T>
void add_parts(const T* a, const T* b, const T* bias, std::int64_t other_bias,
               std::int64_t count, T* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = a[i] + b[i];
    if (bias != nullptr) to[i] += bias[i] + bias[other_bias + i];
  }
}

template <typename T>
void rnn_step(Pass<T>& pass, std::int64_t s) {
  const std::int64_t h = pass.hidden();
  pass.multiply(pass.state());
  pass.for_sequences(s, [&](std::int64_t, T* x, T* gates, T* state) {
    add_parts(x, gates, pass.bias(), h, h, state);
    pass.activation(0).apply(state, h);
  });
}

// Gates z, r, h. `reset`: the state times r, for each sequence.
template <typename T>
void gru_step(Pass<T>& pass, std::int64_t s, bool linear, T* reset) {
  const std::int64_t h = pass.hidden();
  const T* bias = pass.bias();
  pass.multiply(pass.state());
  pass.for_sequences(s, [&](std::int64_t b, T* x, T* gates, T* state) {
    add_parts(x, gates, bias, 3 * h, 2 * h, gates);
    pass.activation(0).apply(gates, 2 * h);
    for (std::int64_t i = 0; i < h; ++i) {
      reset[b * h + i] = gates[h + i] * state[i];
      // The first two products are needed after the next; they stay in x.
      x[i] = gates[i];
      x[h + i] = gates[h + i];
    }
  });
  if (!linear) pass.multiply(reset, 1);
  pass.for_sequences(s, [&](std::int64_t, T* x, T* gates, T* state) {
    const T *z = x, *r = x + h;
    T* out = gates + 2 * h;
    for (std::int64_t i = 0; i < h; ++i) {
      T part = out[i] + (bias == nullptr ? T(0) : bias[5 * h + i]);
      if (linear) part *= r[i];
      out[i] = x[2 * h + i] + part + (bias == nullptr ? T(0) : bias[2 * h + i]);
    }
    pass.activation(1).apply(out, h);
    for (std::int64_t i = 0; i < h; ++i) {
      state[i] = (1 - z[i]) * out[i] + z[i] * state[i];
    }
  });
}

// Gates i, o, f, c.
template <typename T>
void lstm_step(Pass<T>& pass, std::int64_t s, bool input_forget, T* cells) {
  const std::int64_t h = pass.hidden();
  const T* peephole = pass.weights(7, 3 * h);  // of i, o, f
  pass.multiply(pass.state());
  pass.for_sequences(s, [&](std::int64_t b, T* x, T* gates, T* state) {
    T* cell = cells + b * h;
    T *in = gates, *out = gates + h, *forget = gates + 2 * h,
      *now = gates + 3 * h;
    add_parts(x, gates, pass.bias(), 4 * h, 4 * h, gates);
    for (std::int64_t i = 0; peephole != nullptr && i < h; ++i) {
      in[i] += peephole[i] * cell[i];
      forget[i] += peephole[2 * h + i] * cell[i];
    }
    pass.activation(0).apply(in, h);
    pass.activation(0).apply(forget, h);
    pass.activation(1).apply(now, h);
    for (std::int64_t i = 0; i < h; ++i) {
      const T kept = input_forget ? 1 - in[i] : forget[i];
      cell[i] = kept * cell[i] + in[i] * now[i];
      state[i] = cell[i];
      if (peephole != nullptr) out[i] += peephole[h + i] * cell[i];
    }
    pass.activation(0).apply(out, h);
    pass.activation(2).apply(state, h);
    for (std::int64_t i = 0; i < h; ++i) state[i] *= out[i];
  });
}

// Runs all directions. step(pass, s, more) is one step; `more` holds a state of
// each sequence that begins as that of input `i`, for LSTM its cells.
template <typename F>
void run_passes(Call& c, const RecurrentRule& rule, std::size_t i, F step) {
  dispatch(Floats(), c.input(0).dtype(), [&]<typename T>() {
    const Results<T> results(c, rule, i == kCells);
    for (std::int64_t d = 0; d < rule.direction_count(); ++d) {
      Pass<T> pass(c, rule, d);
      Tensor states = pass.initial(i);
      T* more = states.template mutable_data<T>();
      for (std::int64_t s = 0; s < pass.steps(); ++s) {
        step(pass, s, more);
        pass.keep(s, results.all);
      }
      pass.keep_state(pass.state(), results.state);
      pass.keep_state(more, results.cell);
    }
  });
}

Op rnn(const Preparation& p) {
  return [cell = RecurrentCell(p, {1}, {"Tanh"})](Call& c) {
    run_passes(c, RecurrentRule(c, cell), kState,
               [](auto& pass, std::int64_t s, auto*) { rnn_step(pass, s); });
  };
}

Op gru(const Preparation& p) {
  const bool linear = p.attribute_flag("linear_before_reset");
  const std::vector<std::int64_t> parts =
      linear ? std::vector<std::int64_t>{3} : std::vector<std::int64_t>{2, 1};
  return
      [cell = RecurrentCell(p, parts, {"Sigmoid", "Tanh"}), linear](Call& c) {
        run_passes(c, RecurrentRule(c, cell), kState,
                   [=](auto& pass, std::int64_t s, auto* reset) {
                     gru_step(pass, s, linear, reset);
                   });
      };
}

Op lstm(const Preparation& p) {
  return [cell = RecurrentCell(p, {4}, {"Sigmoid", "Tanh", "Tanh"}),
          input_forget = p.attribute_flag("input_forget")](Call& c) {
    const RecurrentRule rule(c, cell);
    recurrent_input(c, 7, Dims{rule.direction_count(), 3 * rule.hidden});
    run_passes(c, rule, kCells, [=](auto& pass, std::int64_t s, auto* cells) {
      lstm_step(pass, s, input_forget, cells);
    });
  };
}

}  // namespace

const KernelRows kRecurrentRows = {
    {"", "GRU", gru, Adapt::kWiden},
    {"", "LSTM", lstm, Adapt::kWiden},
    {"", "RNN", rnn, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
