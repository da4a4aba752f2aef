#include "kernels/cuda/device/caches.h"

#include <array>

#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

constexpr int kCacheBatch = 2, kCacheHeads = 3;

struct ExtendCase {
  int64_t past, added, rows, size;
  bool by_length = false;    // the new rows are [batch, row, head, size]
  std::vector<int> lengths;  // else they begin where the past ends
  int skip = 0;
};

template <typename T>
void check_extended(const ExtendCase& s) {
  CAPTURE(s.rows);
  CAPTURE(s.size);
  auto past = random_buffer<T>(kCacheBatch * kCacheHeads * s.past * s.size,
                               s.skip, 4, 1);
  auto added = random_buffer<T>(kCacheBatch * kCacheHeads * s.added * s.size,
                                s.skip, 4, 2);
  Buffer<T> out(kCacheBatch * kCacheHeads * s.rows * s.size, s.skip);
  std::vector<std::int32_t> lengths(s.lengths.begin(), s.lengths.end());
  ExtendArgs args{.past = s.past > 0 ? past.data() : nullptr,
                  .added = added.data(),
                  .out = out.data(),
                  .batch = kCacheBatch,
                  .heads = kCacheHeads,
                  .past_rows = s.past,
                  .added_rows = s.added,
                  .rows = s.rows,
                  .size = s.size,
                  .keys = lengths.empty() ? nullptr : lengths.data(),
                  .first = s.past};
  args.added_strides[0] = kCacheHeads * s.added * s.size;
  args.added_strides[1] = s.size * (s.by_length ? 1 : s.added);
  args.added_strides[2] = s.size * (s.by_length ? kCacheHeads : 1);
  constexpr int64_t kBytes = sizeof(T);
  args.is_vector = s.skip == 0 && s.size * kBytes % 16 == 0;
  const auto want = [&](int64_t i) {
    const int64_t column = i % s.size, line = i / s.size;
    const int64_t row = line % s.rows, group = line / s.rows;
    const int64_t batch = group / kCacheHeads, head = group % kCacheHeads;
    const int64_t first =
        lengths.empty() ? s.past : lengths[std::size_t(batch)] - s.added;
    if (row >= first && row < first + s.added) {
      return added.at(batch * args.added_strides[0] +
                      head * args.added_strides[1] +
                      (row - first) * args.added_strides[2] + column);
    }
    return row < s.past ? past.at((group * s.past + row) * s.size + column) : 0;
  };
  const auto blocks =
      static_cast<unsigned>(extend_pieces(args, kBytes) / kCacheThreads + 1);
  check_kernel("extend_cache_" + std::to_string(kBytes), args,
               {.blocks = blocks, .threads = kCacheThreads}, out, want, 0);
}

TEST_CASE_TEMPLATE("a cache has the past, new rows and zeros", T, float, __half,
                   __nv_bfloat16) {
  for (const ExtendCase& each : std::initializer_list<ExtendCase>{
           {6, 3, 9, 16},
           {6, 3, 32, 8, true},
           {0, 5, 5, 24, true},
           {7, 1, 8, 5},
           {8, 2, 8, 16, true, {8, 3}},
           {8, 2, 9, 3, false, {2, 9}, 1},
           {4, 1, 5, 16, false, {}, 1},
       }) {
    check_extended<T>(each);
  }
}

TEST_CASE("new rows alone are written in place") {
  auto cache = random_buffer<float>(kCacheBatch * kCacheHeads * 6 * 5, 0, 4, 1);
  auto added = random_buffer<float>(kCacheBatch * kCacheHeads * 2 * 5, 0, 4, 2);
  std::vector<double> want;
  for (int64_t i = 0; i < cache.size(); ++i) {
    const int64_t row = i / 5 % 6, group = i / 30, first = group < 3 ? 4 : 1;
    const bool is_new = row >= first && row < first + 2;
    want.push_back(is_new ? added.at((group * 2 + row - first) * 5 + i % 5)
                          : cache.at(i));
  }
  const std::vector<std::int32_t> keys = {6, 3};
  ExtendArgs args{.past = cache.data(),
                  .added = added.data(),
                  .out = cache.data(),
                  .added_strides = {30, 10, 5},
                  .batch = kCacheBatch,
                  .heads = kCacheHeads,
                  .past_rows = 6,
                  .added_rows = 2,
                  .rows = 6,
                  .size = 5,
                  .keys = keys.data(),
                  .is_in_place = true};
  CHECK(extend_pieces(args, 4) == 60);
  run("extend_cache_4", args, {}, Order::kRandom);
  check_close(
      cache, [&](int64_t i) { return want[std::size_t(i)]; }, 0);
}

TEST_CASE("a wrong length writes nowhere else") {
  // A cache between two others: 2 heads of 3 rows of 4 elements.
  auto all = random_buffer<float>(3 * 24, 0, 4, 1);
  auto added = random_buffer<float>(2 * 2 * 4, 0, 4, 2);
  std::vector<double> want;
  for (int64_t i = 0; i < all.size(); ++i) want.push_back(all.at(i));
  for (const int length : {0, 1, 4, 5}) {
    CAPTURE(length);
    const std::int32_t keys = length;
    // Of the rows, those within the head.
    for (const int64_t row : {length - 2, length - 1}) {
      if (row < 0 || row >= 3) continue;
      for (const int64_t head : {0, 1}) {
        for (int64_t e = 0; e < 4; ++e) {
          want[std::size_t(24 + (head * 3 + row) * 4 + e)] =
              added.at((head * 2 + row - (length - 2)) * 4 + e);
        }
      }
    }
    ExtendArgs args{.past = all.data() + 24,
                    .added = added.data(),
                    .out = all.data() + 24,
                    .added_strides = {16, 8, 4},
                    .batch = 1,
                    .heads = 2,
                    .past_rows = 3,
                    .added_rows = 2,
                    .rows = 3,
                    .size = 4,
                    .keys = &keys,
                    .is_in_place = true,
                    .is_vector = true};
    run("extend_cache_4", args, {}, Order::kRandom);
    check_close(
        all, [&](int64_t i) { return want[std::size_t(i)]; }, 0);
  }
}

TEST_CASE("lengths are bounded, and what is impossible is told") {
  const std::vector<int64_t> wide = {3, 0, 70, 12, 5};
  const std::vector<std::int32_t> narrow = {3, 0, 70, 12, 5};
  std::array<std::int32_t, 5> queries{}, keys{};
  std::int32_t beyond = 0;
  KeyLengthsArgs args{.in = wide.data(),
                      .plus = 1,
                      .least = 1,
                      .most = 71,
                      .beyond = &beyond,
                      .rows = 40,
                      .queries = queries.data(),
                      .keys = keys.data(),
                      .batch = 5,
                      .q_length = 7,
                      .is_wide = true};
  for (const bool is_wide : {true, false}) {
    if (!is_wide) args.in = narrow.data();
    args.is_wide = is_wide;
    keys = {};
    run("key_lengths", args, {}, Order::kRandom);
    CHECK(keys == std::array{4, 1, 40, 13, 6});
    CHECK(queries == std::array{7, 7, 7, 7, 7});
    CHECK(beyond == 0);
  }
  for (const auto& [least, most] : {std::pair{2, 71}, std::pair{1, 70}}) {
    args.least = least;
    args.most = most;
    beyond = 0;
    run("key_lengths", args, {}, Order::kForward);
    CHECK(beyond == 1);
  }
  args.in = nullptr;
  args.plus = 9;
  args.queries = nullptr;
  run("key_lengths", args, {}, Order::kForward);
  CHECK(keys == std::array{9, 9, 9, 9, 9});
}

TEST_CASE("ragged offsets are where sequences begin") {
  std::vector<int64_t> out(16, -1);
  const OffsetsArgs args{
      .out = out.data(), .pitch = 4, .strides = {10, 7, 8, 0}, .batch = 2};
  run("ragged_offsets", args, {}, Order::kForward);
  CHECK(out == std::vector<int64_t>{0, 10, 20, -1, 0, 7, 14, -1, 0, 8, 16, -1,
                                    0, 0, 0, -1});
}

TEST_CASE("positions go on behind a past") {
  const std::vector<std::int32_t> keys = {5, 9};
  const int64_t start = 4;
  std::array<int64_t, 6> out{};
  PositionsArgs args{
      .keys = keys.data(), .out = out.data(), .batch = 2, .rows = 3};
  run("token_positions", args, {}, Order::kForward);
  CHECK(out == std::array<int64_t, 6>{2, 3, 4, 6, 7, 8});
  args.in = &start;
  run("token_positions", args, {}, Order::kForward);
  CHECK(out == std::array<int64_t, 6>{4, 5, 6, 4, 5, 6});
  args.in = nullptr;
  args.keys = nullptr;
  run("token_positions", args, {}, Order::kForward);
  CHECK(out == std::array<int64_t, 6>{0, 1, 2, 0, 1, 2});
}

}  // namespace
}  // namespace ruleengine::kernels::device
