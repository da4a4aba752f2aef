#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "kernels/cpu/attention/attending.h"
#include "runtime/vectors.h"

namespace ruleengine::kernels {
namespace {

struct Shapes {
  std::int64_t batch = 1, heads = 1, k_heads = 1;
  std::int64_t queries = 1, keys = 1, size = 16, v_size = 16;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n - 1)(engine_);
  }
  bool half() { return below(2) == 0; }
  float number() {
    return std::uniform_real_distribution<float>(-2, 2)(engine_);
  }
  Tensor tensor(const RunContext& c, Shape dims) {
    Tensor out = c.allocate(DataType::kFloat, dims);
    for (std::int64_t i = 0; i < out.count(); ++i) {
      out.mutable_data<float>()[i] = number();
    }
    return out;
  }

 private:
  std::mt19937 engine_;
};

Attending attending(const RunContext& c, const Shapes& s, Random& random) {
  Attending a;
  const bool merged = random.half();
  const std::int64_t split[] = {s.batch, s.heads, s.queries, s.size};
  const std::int64_t joined[] = {s.batch, s.queries, s.heads * s.size};
  set_queries(a, random.tensor(c, merged ? Shape(joined) : Shape(split)),
              s.heads);
  const std::int64_t keys[] = {s.batch, s.k_heads, s.keys, s.size};
  const std::int64_t values[] = {s.batch, s.k_heads, s.keys, s.v_size};
  set_keys(a, random.tensor(c, keys), random.tensor(c, values));
  a.scale = 0.5 / std::sqrt(static_cast<double>(s.size));
  a.out_at = merged ? merged_strides(a.heads, a.queries, a.v_size)
                    : split_strides(a.heads, a.queries, a.v_size);
  return a;
}

// Some of what may be asked for, by chance.
void add_features(const RunContext& c, Attending& a, Random& random) {
  if (random.half()) a.softcap = 3;
  if (random.half()) {
    a.is_causal = true;
    a.offsets = {random.below(a.keys + 1)};
  }
  if (random.below(3) == 0) a.left = random.below(a.keys + 1);
  if (random.below(3) == 0) a.right = random.below(a.keys + 1);
  if (random.half()) {
    for (std::int64_t b = 0; b < a.batch; ++b) {
      a.lengths.push_back(random.below(a.keys + 1));
    }
  }
  if (random.below(3) == 0) {
    for (std::int64_t h = 0; h < a.heads; ++h) {
      a.sinks.push_back(random.number());
    }
  }
  if (random.half()) return;
  const std::int64_t heads = random.half() ? a.heads : 1;
  const std::int64_t dims[] = {a.batch, heads, a.queries, a.keys};
  a.mask = {.values = random.tensor(c, dims),
            .strides = {heads * a.queries * a.keys,
                        heads == 1 ? 0 : a.queries * a.keys, a.keys, 1},
            .keys = a.keys};
  if (random.half()) return;
  Tensor truth = c.allocate(DataType::kBool, dims);
  for (std::int64_t i = 0; i < truth.count(); ++i) {
    truth.mutable_data<bool>()[i] = random.half();
  }
  a.mask.values = truth;
}

// The largest difference from attention with all scores, in double.
float difference(const RunContext& c, const Attending& a, Tensor& out) {
  const std::int64_t dims[] = {a.batch, a.heads, a.queries, a.v_size};
  out = c.allocate(DataType::kFloat, dims);
  Tensor expected = c.allocate(DataType::kFloat, dims);
  flash_attention(c, a, out);
  plain_attention(c, a, expected, nullptr, 0);
  float worst = 0;
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const float off =
        std::abs(out.data<float>()[i] - expected.data<float>()[i]);
    if (!(off <= worst)) worst = off;  // NaN too
  }
  return worst;
}

void check(const Shapes& s, unsigned seed) {
  CAPTURE(seed);
  runtime::Threads one(1), three(3);
  runtime::KernelRun run{.memory = runtime::HostMemory::create(),
                         .threads = &one};
  const RunContext c(run);
  Random random(seed);
  Attending a = attending(c, s, random);
  add_features(c, a, random);
  Tensor out, again;
  CHECK(difference(c, a, out) < 2e-6F);
  run.threads = &three;
  CHECK(difference(c, a, again) < 2e-6F);
  CHECK(std::memcmp(out.bytes().data(), again.bytes().data(),
                    out.byte_size()) == 0);
}

TEST_CASE("attention equals that with all scores, whatever is asked for") {
  Random random(1);
  for (unsigned seed = 0; seed < 400; ++seed) {
    const std::int64_t heads = 1 + random.below(3);
    check({.batch = 1 + random.below(3),
           .heads = heads * (1 + random.below(4)),
           .k_heads = heads,
           .queries = 1 + random.below(70),
           .keys = 1 + random.below(140),
           .size = 1 + random.below(80),
           .v_size = 1 + random.below(80)},
          seed);
  }
}

TEST_CASE("attention over several blocks of keys, and over long heads") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    check({.heads = 2, .queries = 40, .keys = 1100, .size = 64, .v_size = 64},
          seed);
    check({.heads = 4, .k_heads = 2, .queries = 3, .keys = 1030, .size = 20},
          seed);
    check({.heads = 2, .queries = 1, .keys = 1030, .size = 700, .v_size = 3},
          seed);
    check({.heads = 1, .queries = 33, .keys = 65, .size = 700, .v_size = 130},
          seed);
  }
}

TEST_CASE("attention of keys without elements is a mean of the values") {
  runtime::Threads one(1);
  runtime::KernelRun run{.memory = runtime::HostMemory::create(),
                         .threads = &one};
  const RunContext c(run);
  Random random(4);
  for (const std::int64_t queries : {1, 40}) {
    Attending a = attending(
        c, {.queries = queries, .keys = 600, .size = 0, .v_size = 3}, random);
    a.scale = 1;
    Tensor out;
    CHECK(difference(c, a, out) < 2e-6F);
  }
}

TEST_CASE("attention with the vectors of all machines") {
  const runtime::CommonVectors common;
  runtime::Threads one(1);
  runtime::KernelRun run{.memory = runtime::HostMemory::create(),
                         .threads = &one};
  const RunContext c(run);
  Random random(2);
  for (int i = 0; i < 20; ++i) {
    Attending a = attending(
        c, {.heads = 4, .k_heads = 2, .queries = 37, .keys = 70, .size = 24},
        random);
    add_features(c, a, random);
    Tensor out;
    CHECK(difference(c, a, out) < 2e-6F);
  }
}

TEST_CASE("keys that no query sees may have any values") {
  runtime::Threads one(1);
  runtime::KernelRun run{.memory = runtime::HostMemory::create(),
                         .threads = &one};
  const RunContext c(run);
  Random random(3);
  Attending a = attending(c, {.queries = 8, .keys = 40}, random);
  a.lengths = {21};
  for (std::int64_t i = 21 * 16; i < a.v.count(); ++i) {
    a.v.mutable_data<float>()[i] = NAN;
    a.k.mutable_data<float>()[i] = NAN;
  }
  Tensor out;
  CHECK(difference(c, a, out) < 2e-6F);
}

TEST_CASE("a window that ends before the first key sees none") {
  Attending a;
  a.keys = 1;
  a.lengths = {1};
  a.offsets = {-6};
  a.left = 5;
  a.right = 2;
  for (std::int64_t query = 0; query < 7; ++query) {
    const KeyRange seen = a.seen(0, query);
    CHECK((seen.begin < seen.end) == (query >= 4));
  }
  a.right = std::numeric_limits<std::int64_t>::max();
  CHECK(a.seen(0, 0).end == 1);
}

}  // namespace
}  // namespace ruleengine::kernels
