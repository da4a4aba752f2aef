#include "kernels/cuda/device/rotary.h"

#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

constexpr int64_t kBatch = 2, kHeads = 3, kSeq = 5, kPositions = 9;

struct RotaryCase {
  int head_size, rotated;
  bool interleaved, positions, seq_first = false;
  int skip = 0;
};
const RotaryCase kRotaryCases[] = {
    {64, 64, false, true},
    {64, 64, true, true},
    {64, 32, false, false},
    {64, 32, true, false, true},
    {10, 10, false, true},
    {10, 6, true, true, true, 1},
    {128, 128, false, true, true},
    {2, 2, true, false},
    {66, 34, false, false, false, 1},
};

template <typename T>
struct RotaryTest {
  const RotaryCase& each;
  int64_t half = each.rotated / 2;
  Buffer<T> in =
      random_buffer<T>(kBatch * kHeads * kSeq * each.head_size, each.skip);
  Buffer<T> out{in.size(), each.skip};
  Buffer<T> cosines = cache(21);
  Buffer<T> sines = cache(22);
  std::vector<int64_t> positions = {0, 1, 2, 3, 4, 8, 7, 6, 5, 4};
  Buffer<std::int32_t> beyond{1};

  Buffer<T> cache(unsigned seed) {
    const int64_t rows = each.positions ? kPositions : kBatch * kSeq;
    return random_buffer<T>(rows * half, each.skip, 1, seed);
  }

  // [batch, heads, seq, head_size], or [batch, seq, heads, head_size].
  void set_strides(std::int64_t* strides) const {
    strides[0] = kHeads * kSeq * each.head_size;
    strides[1] = each.head_size * (each.seq_first ? 1 : kSeq);
    strides[2] = each.head_size * (each.seq_first ? kHeads : 1);
  }

  RotaryArgs args() {
    RotaryArgs all{.in = in.data(), .out = out.data()};
    set_strides(all.in_strides);
    set_strides(all.out_strides);
    all.cosines = cosines.data();
    all.sines = sines.data();
    all.positions = each.positions ? positions.data() : nullptr;
    all.row_strides[0] = kSeq;
    all.row_strides[1] = 1;
    all.position_count = kPositions;
    all.beyond = beyond.data();
    all.batch = kBatch;
    all.heads = kHeads;
    all.seq = kSeq;
    all.head_size = each.head_size;
    all.rotated = each.rotated;
    all.is_interleaved = each.interleaved;
    return all;
  }

  double want(int64_t at) {
    const int64_t size = each.head_size, i = at % size;
    if (i >= each.rotated) return in.at(at);
    const int64_t line = at / size;
    const int64_t seq = each.seq_first ? line / kHeads % kSeq : line % kSeq;
    const int64_t token = line / (kHeads * kSeq) * kSeq + seq;
    const int64_t row = each.positions ? positions[std::size_t(token)] : token;
    const int64_t pair = each.interleaved ? i / 2 : i % half;
    const bool is_first = each.interleaved ? i % 2 == 0 : i < half;
    const int64_t distance = each.interleaved ? 1 : half;
    const double other = in.at(is_first ? at + distance : at - distance);
    const double c = cosines.at(row * half + pair);
    const double s = sines.at(row * half + pair);
    return is_first ? c * in.at(at) - s * other : s * other + c * in.at(at);
  }
};

TEST_CASE_TEMPLATE("rotary embeddings", T, float, __half, __nv_bfloat16) {
  for (const RotaryCase& each : kRotaryCases) {
    CAPTURE(each.head_size);
    RotaryTest<T> test{each};
    CHECK(rotary_chunks(test.args(), sizeof(T)) > 0);
    check_kernel(
        named<T>("rotary"), test.args(), {.blocks = 2}, test.out,
        [&](int64_t i) { return test.want(i); }, tolerance<T>(), 1e-6);
  }
}

TEST_CASE("a position beyond the caches is told") {
  RotaryTest<float> test{kRotaryCases[0]};
  test.beyond[0] = 0;
  test.positions[3] = kPositions;
  run("rotary_f32", test.args(), {}, Order::kForward);
  CHECK(test.beyond[0] == 1);
  CHECK(test.out.at(3 * 64) == 0);
}

TEST_CASE("a position counts from the end, or on from the first row") {
  RotaryTest<float> test{kRotaryCases[0]};
  RotaryArgs args = test.args();
  std::vector<std::int64_t> same = test.positions;
  for (std::int64_t& each : test.positions) each -= kPositions;
  args.positions = test.positions.data();
  run("rotary_f32", args, {}, Order::kForward);
  args.positions = same.data();
  Buffer<float> out(test.out.size());
  args.out = out.data();
  run("rotary_f32", args, {}, Order::kForward);
  check_close(
      test.out, [&](int64_t i) { return out.at(i); }, 0);

  const std::int64_t first = 2;
  test.positions = {2, 3, 4, 5, 6, 2, 3, 4, 5, 6};
  args = test.args();
  run("rotary_f32", args, {}, Order::kForward);
  args.positions = &first;
  args.counts_on = true;
  args.out = out.data();
  run("rotary_f32", args, {}, Order::kForward);
  check_close(
      test.out, [&](int64_t i) { return out.at(i); }, 0);
}

TEST_CASE("angles may be the same for all of the batch, and for all rows") {
  RotaryTest<float> test{kRotaryCases[2]};
  for (const bool for_rows : {false, true}) {
    RotaryArgs args = test.args();
    args.row_strides[0] = 0;
    args.row_strides[1] = for_rows ? 0 : 1;
    run("rotary_f32", args, {}, Order::kForward);
    // The positions that say the same.
    RotaryArgs told = test.args();
    for (int64_t i = 0; i < kBatch * kSeq; ++i) {
      test.positions[std::size_t(i)] = for_rows ? 0 : i % kSeq;
    }
    told.positions = test.positions.data();
    Buffer<float> out(test.out.size());
    told.out = out.data();
    run("rotary_f32", told, {}, Order::kForward);
    check_close(
        test.out, [&](int64_t i) { return out.at(i); }, 0);
  }
}

TEST_CASE("rotary embeddings may be computed in place") {
  RotaryTest<float> test{kRotaryCases[1]};
  RotaryArgs args = test.args();
  run("rotary_f32", args, {}, Order::kForward);
  args.out = test.in.data();
  run("rotary_f32", args, {}, Order::kRandom);
  check_close(
      test.in, [&](int64_t i) { return test.out.at(i); }, 0);
}

}  // namespace
}  // namespace ruleengine::kernels::device
