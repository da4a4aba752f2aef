// LinearAttention: each head has a matrix for a state, to which every step adds
// its key and value, and which the query then reads.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/attention/attending.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

struct LinearSlot {
  enum Input { kQuery, kKey, kValue, kPast, kDecay, kBeta };
};

struct Linear {
  std::int64_t batch, steps, heads, kv_heads, k_size, v_size;
  const float *q, *k, *v, *decay = nullptr, *beta = nullptr;
  std::int64_t decays = 1;  // for each head and step
  std::int64_t betas = 0;   // for each step
  float scale;
  float *out, *state;

  // Step t of key head h; `change` has v_size places.
  void update(std::int64_t b, std::int64_t h, std::int64_t t, float* s,
              float* change) const {
    const std::int64_t at = b * steps + t;
    const float* key = k + (at * kv_heads + h) * k_size;
    const float* value = v + (at * kv_heads + h) * v_size;
    if (decay != nullptr) {
      const float* by = decay + (at * kv_heads + h) * decays;
      for (std::int64_t d = 0; d < k_size; ++d) {
        const float keep = std::exp(by[decays == 1 ? 0 : d]);
        for (std::int64_t m = 0; m < v_size; ++m) s[d * v_size + m] *= keep;
      }
    }
    std::copy_n(value, v_size, change);
    if (beta != nullptr) {
      for (std::int64_t d = 0; d < k_size; ++d) {
        for (std::int64_t m = 0; m < v_size; ++m) {
          change[m] -= s[d * v_size + m] * key[d];
        }
      }
      const float rate = beta[at * betas + (betas == 1 ? 0 : h)];
      for (std::int64_t m = 0; m < v_size; ++m) change[m] *= rate;
    }
    for (std::int64_t d = 0; d < k_size; ++d) {
      for (std::int64_t m = 0; m < v_size; ++m) {
        s[d * v_size + m] += key[d] * change[m];
      }
    }
  }

  void read(std::int64_t b, std::int64_t head, std::int64_t t,
            const float* s) const {
    const std::int64_t at = (b * steps + t) * heads + head;
    const float* query = q + at * k_size;
    float* to = out + at * v_size;
    std::fill_n(to, v_size, 0.0f);
    for (std::int64_t d = 0; d < k_size; ++d) {
      for (std::int64_t m = 0; m < v_size; ++m) {
        to[m] += query[d] * s[d * v_size + m];
      }
    }
    for (std::int64_t m = 0; m < v_size; ++m) to[m] *= scale;
  }
};

// A gate of [batch, steps, n].
const float* gate(Call& c, std::size_t input, const Linear& a,
                  std::int64_t wide, std::int64_t narrow, std::int64_t& n) {
  const Tensor& x =
      c.expect_shape(input, Dims{a.batch, a.steps, -1}, DataType::kFloat);
  n = x.dim(2);
  if (n != wide && n != narrow) {
    c.wrong_shape(input, "a last axis of " + std::to_string(wide) + " or " +
                             std::to_string(narrow));
  }
  return x.data<float>();
}

struct LinearAttention {
  explicit LinearAttention(const Preparation& p)
      : heads(p.attribute_int("q_num_heads")),
        kv_heads(p.attribute_int("kv_num_heads")),
        scale(p.attribute_float("scale")) {
    const std::string_view rule =
        p.choice("update_rule", {"linear", "gated", "delta", "gated_delta"});
    gated = rule.starts_with("gated");
    delta = rule.ends_with("delta");
  }
  void operator()(Call& c) const;
  void read_gates(Call& c, Linear& a) const;

  std::int64_t heads, kv_heads;
  float scale;  // 0: the default
  bool gated, delta;
};

void LinearAttention::read_gates(Call& c, Linear& a) const {
  if (gated != c.has_input(LinearSlot::kDecay)) {
    c.wrong_attribute("update_rule",
                      gated ? "linear or delta without input 'decay'"
                            : "gated or gated_delta with input 'decay'");
  }
  if (delta != c.has_input(LinearSlot::kBeta)) {
    c.wrong_attribute("update_rule",
                      delta ? "linear or gated without input 'beta'"
                            : "delta or gated_delta with input 'beta'");
  }
  if (gated) {
    std::int64_t n = 0;
    a.decay =
        gate(c, LinearSlot::kDecay, a, a.kv_heads, a.kv_heads * a.k_size, n);
    a.decays = n == a.kv_heads ? 1 : a.k_size;
  }
  if (delta) a.beta = gate(c, LinearSlot::kBeta, a, a.kv_heads, 1, a.betas);
}

void run_heads(Call& c, const Linear& a) {
  const std::int64_t group = a.heads / a.kv_heads;
  c.threads().for_each(
      a.batch * a.kv_heads, 1, [&](std::int64_t i, std::int64_t) {
        Tensor space = c.allocate(DataType::kFloat, {&a.v_size, 1});
        const std::int64_t b = i / a.kv_heads, h = i % a.kv_heads;
        float* s = a.state + i * a.k_size * a.v_size;
        for (std::int64_t t = 0; t < a.steps; ++t) {
          c.threads().look();
          a.update(b, h, t, s, space.mutable_data<float>());
          for (std::int64_t g = 0; g < group; ++g) {
            a.read(b, h * group + g, t, s);
          }
        }
      });
}

void LinearAttention::operator()(Call& c) const {
  const Tensor q = c.expect_rank(LinearSlot::kQuery, 3);
  const Dims fits{q.dim(0), q.dim(1), -1};
  const Tensor k = c.expect_shape(LinearSlot::kKey, fits);
  const Tensor v = c.expect_shape(LinearSlot::kValue, fits);
  for (const std::size_t i : {0, 1, 2}) c.expect_type(i, DataType::kFloat);
  Linear a{.batch = q.dim(0),
           .steps = q.dim(1),
           .heads = heads,
           .kv_heads = kv_heads,
           .q = q.data<float>(),
           .k = k.data<float>(),
           .v = v.data<float>()};
  a.k_size = head_size(q.dim(2), a.heads);
  a.v_size = head_size(v.dim(2), a.kv_heads);
  if (a.heads % a.kv_heads != 0 ||
      head_size(k.dim(2), a.kv_heads) != a.k_size) {
    fail("the heads of keys do not fit those of queries",
         "a divisor of " + std::to_string(a.heads) + " heads of size " +
             std::to_string(a.k_size),
         std::to_string(a.kv_heads) + " heads in " + k.text());
  }
  read_gates(c, a);
  a.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<float>(a.k_size));
  const std::int64_t dims[] = {a.batch, a.steps, a.heads * a.v_size};
  const std::int64_t states[] = {a.batch, a.kv_heads, a.k_size, a.v_size};
  a.out = c.output(0, DataType::kFloat, dims).mutable_data<float>();
  Tensor state = c.allocate(DataType::kFloat, states);
  a.state = state.mutable_data<float>();
  if (c.has_input(LinearSlot::kPast)) {
    const Tensor& past =
        c.expect_shape(LinearSlot::kPast, states, DataType::kFloat);
    std::copy_n(past.data<float>(), past.count(), a.state);
  } else {
    fill(c, a.state, state.count(), 0.0f);
  }
  run_heads(c, a);
  if (!c.wants(1)) return;
  // Without a past state no input gives the state's type: it is that of q.
  const DataType given = c.given_type(LinearSlot::kQuery);
  if (!c.has_input(LinearSlot::kPast)) {
    state = runtime::narrowed(state, given, c.run());
  }
  c.set_output(1, std::move(state));
}

}  // namespace

Op linear_attention(const Preparation& p) { return LinearAttention(p); }

}  // namespace ruleengine::kernels
