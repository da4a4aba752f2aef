#include "kernels/cuda/device/patterns.h"

#include "tests/cuda/device/strided.h"
#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

const Shape kFewThreads{.blocks = 2, .threads = 96};

template <typename T>
Buffer<T> plain(int64_t count) {
  Buffer<T> out(count, 1);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(i * 5 + 1);
  return out;
}

template <typename T>
std::string of_width(const char* name) {
  return name + std::to_string(sizeof(T));
}

TEST_CASE_TEMPLATE("triangles of matrices", T, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t) {
  const int64_t sizes[][3] = {{1, 1, 1}, {2, 5, 9}, {3, 9, 5}, {1, 33, 33}};
  for (const auto& [batch, height, width] : sizes) {
    auto in = plain<T>(batch * height * width);
    Buffer<T> out(in.size(), 1);
    for (const int64_t diagonal : {-10, -2, 0, 1, 40}) {
      for (const int how : {0, 1, 2, 3}) {
        const bool is_upper = how % 2 == 1, is_small = how < 2;
        const TriluArgs args{in.data(),
                             out.data(),
                             in.size(),
                             is_small,
                             divisor_of(std::uint64_t(height)),
                             divisor_of(std::uint64_t(width)),
                             diagonal,
                             is_upper};
        check_kernel(
            of_width<T>("trilu_"), args, kFewThreads, out,
            [&, w = width, h = height](int64_t i) {
              const int64_t row = i / w % h, column = i % w;
              const bool stays = is_upper ? column >= row + diagonal
                                          : column <= row + diagonal;
              return stays ? double(in[i]) : 0.0;
            },
            0);
      }
    }
  }
}

TEST_CASE_TEMPLATE("ranges", T, float, __half, __nv_bfloat16, std::int32_t,
                   std::int64_t) {
  for (const int64_t count : {1, 1000}) {
    Buffer<T> out(count, 1);
    const RangeArgs args{out.data(), count, 0.5, -0.25, 7, -3};
    check_kernel(
        named<T>("range"), args, kFewThreads, out,
        [](int64_t i) {
          return std::is_integral_v<T> ? 7.0 - 3.0 * double(i)
                                       : 0.5 - 0.25 * double(i);
        },
        std::is_integral_v<T> ? 0 : tolerance<T>());
  }
}

template <typename T, typename Index>
void check_one_hot() {
  const std::vector<Index> indices = {0, 4, -1, 5, -5, -6, 2, 3};
  const int64_t depth = 5, inner = 2;
  auto values = plain<T>(2);
  Buffer<T> out(int64_t(indices.size()) * depth);
  const OneHotArgs args{indices.data(),          values.data(), out.data(),
                        int64_t(indices.size()), depth,         inner,
                        sizeof(Index) == 8};
  check_kernel(
      of_width<T>("one_hot_"), args, kFewThreads, out,
      [&](int64_t i) {
        const int64_t at = i / (depth * inner) * inner + i % inner;
        const int64_t index = indices[std::size_t(at)];
        const int64_t place = i / inner % depth;
        return double(values[index == place || index + depth == place]);
      },
      0);
}

TEST_CASE_TEMPLATE("one of many", T, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  check_one_hot<T, std::int32_t>();
  check_one_hot<T, std::int64_t>();
}

// The pads of an axis; the element of it that comes to each place.
struct PadCase {
  int64_t size, before, after;
  PadMode mode;
  Dims sources;
};
const PadCase kPadCases[] = {
    {3, 2, 1, PadMode::kConstant, {-1, -1, 0, 1, 2, -1}},
    {3, -1, 2, PadMode::kConstant, {1, 2, -1, -1}},
    {0, 1, 1, PadMode::kConstant, {-1, -1}},
    {3, 2, 1, PadMode::kEdge, {0, 0, 0, 1, 2, 2}},
    {3, 2, 5, PadMode::kReflect, {2, 1, 0, 1, 2, 1, 0, 1, 2, 1}},
    {1, 1, 1, PadMode::kReflect, {0, 0, 0}},
    {4, -1, 2, PadMode::kReflect, {1, 2, 3, 2, 1}},
    {3, 4, 1, PadMode::kWrap, {2, 0, 1, 2, 0, 1, 2, 0}},
};

TEST_CASE_TEMPLATE("pads", T, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  auto value = plain<T>(1);
  for (const PadCase& each : kPadCases) {
    const int64_t size = std::ssize(each.sources);
    auto in = plain<T>(2 * each.size * 3);
    Buffer<T> out(2 * size * 3);
    PadArgs args{.in = in.data(),
                 .value = value.data(),
                 .out = out.data(),
                 .count = out.size(),
                 .rank = 3,
                 .mode = each.mode};
    args.axes[0] = {2, each.size * 3, {0, 0, 2}};
    args.axes[1] = {size,
                    3,
                    {each.before, std::max<int64_t>(0, -each.before),
                     each.size - std::max<int64_t>(0, -each.after)}};
    args.axes[2] = {3, 1, {0, 0, 3}};
    check_kernel(
        of_width<T>("pad_"), args, kFewThreads, out,
        [&](int64_t i) {
          const int64_t source = each.sources[std::size_t(i / 3 % size)];
          if (source < 0) return double(value[0]);
          return double(in[(i / (3 * size) * each.size + source) * 3 + i % 3]);
        },
        0);
  }
}

}  // namespace
}  // namespace ruleengine::kernels::device
