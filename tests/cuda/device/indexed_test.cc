#include "kernels/cuda/device/indexed.h"

#include "tests/cuda/device/strided.h"
#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

// Which places indices name, worked out one by one.
struct IndexedCase {
  Dims sizes, steps;              // of the items
  Dims index_sizes, index_steps;  // of the axes that indices are of
  int64_t slices, inner;
  bool is_beyond = false;
};
const IndexedCase kIndexedCases[] = {
    {{5}, {0}, {1}, {1}, 1, 1},
    {{300}, {0}, {17}, {1}, 17, 3},            // many of each
    {{2, 7}, {20, 0}, {4, 5}, {5, 1}, 40, 4},  // with a batch
    {{3, 4, 5}, {30, 0, 1}, {6}, {5}, 90, 1},  // along an axis
    {{6}, {0}, {}, {}, 1, 2},                  // the whole tensor
    {{2, 3}, {24, 0}, {2, 3, 4}, {12, 4, 1}, 48, 8},
    {{40}, {0}, {7}, {1}, 7, 5, true},
};

template <typename Index>
struct IndexedTest {
  const IndexedCase& each;
  int64_t count = count_of(each.sizes);
  std::vector<Index> indices;
  std::vector<int64_t> named;  // -1: none
  Buffer<std::int32_t> beyond{1};
  bool has_beyond = false;

  explicit IndexedTest(const IndexedCase& of) : each(of) {
    std::mt19937 random(7);
    beyond[0] = 0;
    for (int64_t item = 0; item < count; ++item) {
      int64_t place = 0, rest = item;
      for (std::size_t i = each.sizes.size(); i-- > 0;) {
        place += rest % each.sizes[i] * each.steps[i];
        rest /= each.sizes[i];
      }
      bool is_there = true;
      for (std::size_t k = 0; k < each.index_sizes.size(); ++k) {
        const int64_t n = each.index_sizes[k], more = each.is_beyond ? 1 : 0;
        const int64_t index = std::uniform_int_distribution<int64_t>(
            -n - more, n - 1 + more)(random);
        indices.push_back(static_cast<Index>(index));
        is_there = is_there && index >= -n && index < n;
        place += (index < 0 ? index + n : index) * each.index_steps[k];
      }
      named.push_back(is_there ? place : -1);
      has_beyond |= !is_there;
    }
  }

  PlacesArgs places() {
    PlacesArgs args{};
    args.indices = indices.data();
    args.beyond = beyond.data();
    args.count = count;
    std::ranges::copy(each.sizes, args.sizes);
    std::ranges::copy(each.steps, args.steps);
    std::ranges::copy(each.index_sizes, args.index_sizes);
    std::ranges::copy(each.index_steps, args.index_steps);
    args.rank = int(each.sizes.size());
    args.depth = int(each.index_sizes.size());
    args.is_wide = sizeof(Index) == 8;
    return args;
  }
};

template <typename T>
std::string moved(const char* name) {
  return name + std::to_string(sizeof(T));
}

template <typename T>
Buffer<T> numbered(int64_t count, int64_t from) {
  Buffer<T> out(count);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(i * 3 + from);
  return out;
}

template <typename T, typename Index>
void check_gather_at(const IndexedCase& each) {
  IndexedTest<Index> test(each);
  auto in = numbered<T>(each.slices * each.inner, 1);
  Buffer<T> out(test.count * each.inner);
  const GatherAtArgs args{test.places(), in.data(), out.data(), each.inner};
  check_kernel(
      moved<T>("gather_at_"), args, {.blocks = 2, .threads = 64}, out,
      [&](int64_t i) {
        const int64_t place = test.named[std::size_t(i / each.inner)];
        if (place < 0) return 0.0;
        return double(in[place * each.inner + i % each.inner]);
      },
      0);
  CHECK(test.beyond[0] == test.has_beyond);
}

// In the order of the items, as a host would.
template <typename T, typename Index>
void check_scatter_at(const IndexedCase& each) {
  IndexedTest<Index> test(each);
  auto updates = numbered<T>(test.count * each.inner, 7);
  Buffer<T> out(each.slices * each.inner);
  std::vector<double> want(std::size_t(out.size()), double(T(-1)));
  for (int64_t i = 0; i < updates.size(); ++i) {
    const int64_t place = test.named[std::size_t(i / each.inner)];
    if (place < 0) continue;
    want[std::size_t(place * each.inner + i % each.inner)] = double(updates[i]);
  }
  Buffer<std::uint32_t> marks(each.slices);
  for (int64_t i = 0; i < marks.size(); ++i) marks[i] = 0;
  const Shape shape{.blocks = 2, .threads = 64};
  for (const Order order : kOrders) {
    run("mark_last", MarkArgs{test.places(), marks.data()}, shape, order);
  }
  const ScatterAtArgs args{test.places(), updates.data(), out.data(),
                           marks.data(), each.inner};
  check_kernel(
      moved<T>("scatter_at_"), args, shape, out,
      [&](int64_t i) { return want[std::size_t(i)]; }, 0);
  CHECK(test.beyond[0] == test.has_beyond);
}

TEST_CASE_TEMPLATE("gathers slices that indices name", T, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
  for (const IndexedCase& each : kIndexedCases) {
    check_gather_at<T, std::int32_t>(each);
    check_gather_at<T, std::int64_t>(each);
  }
}

TEST_CASE_TEMPLATE("of updates of one slice the last wins", T, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
  for (const IndexedCase& each : kIndexedCases) {
    check_scatter_at<T, std::int32_t>(each);
    check_scatter_at<T, std::int64_t>(each);
  }
}

TEST_CASE("moves units of 16 bytes, and needs no marks for one update") {
  const IndexedCase each{{1}, {0}, {5}, {1}, 5, 2};
  IndexedTest<int64_t> test(each);
  auto slices = numbered<std::uint32_t>(5 * 8, 1);
  Buffer<std::uint32_t> one(8);
  const int64_t from = test.named[0] * 8;
  check_kernel(
      "gather_at_16",
      GatherAtArgs{test.places(), slices.data(), one.data(), each.inner}, {},
      one, [&](int64_t i) { return double(slices[from + i]); }, 0);
  Buffer<std::uint32_t> out(5 * 8);
  check_kernel(
      "scatter_at_16",
      ScatterAtArgs{test.places(), one.data(), out.data(), nullptr, each.inner},
      {}, out,
      [&](int64_t i) {
        const bool is_named = i >= from && i < from + 8;
        return double(is_named ? one[i - from] : std::uint32_t(-1));
      },
      0);
}

}  // namespace
}  // namespace ruleengine::kernels::device
