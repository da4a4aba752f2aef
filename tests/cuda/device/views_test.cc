#include "kernels/cuda/device/views.h"

#include "tests/cuda/device/strided.h"
#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

template <typename T>
Buffer<T> counting(int64_t count, int skip = 0) {
  Buffer<T> buffer(count, skip);
  for (int64_t i = 0; i < count; ++i) buffer[i] = static_cast<T>(i * 7 + 1);
  return buffer;
}

template <typename T>
std::string sized(const char* name) {
  return std::string(name) + "_" + std::to_string(sizeof(T));
}

// A view of a tensor: sizes, and strides and start of input and output.
struct View {
  Dims dims, in, out;
  int64_t in_start = 0, out_start = 0;
  int skip = 0;
};
const View kViews[] = {
    {{1}, {1}, {1}},
    {{4097}, {1}, {1}},
    {{4097}, {1}, {1}, 0, 0, 1},
    {{8, 64}, {128, 1}, {64, 1}, 32},         // a part of each row
    {{8, 33}, {128, 1}, {100, 1}, 5, 17, 1},  // unaligned
    {{31}, {-2}, {1}, 60},                    // backwards
    {{3, 5, 7}, {1, 3, 15}, {35, 7, 1}},      // a transpose
    {{4, 1, 16}, {0, 5, 1}, {16, 16, 1}},     // an expand
    {{2, 2, 2, 2, 2, 2, 2, 3},
     {3, 12, 6, 24, 48, 96, 192, 1},
     {192, 96, 48, 24, 12, 6, 3, 1}},
};

// The offset of element `at` of a view.
int64_t offset_of(int64_t at, const Dims& dims, const Dims& strides) {
  int64_t offset = 0;
  for (std::size_t i = dims.size(); i-- > 0;) {
    offset += at % dims[i] * strides[i];
    at /= dims[i];
  }
  return offset;
}

int64_t end_of(const View& view, const Dims& strides, int64_t start) {
  int64_t end = start + 1;
  for (std::size_t i = 0; i < view.dims.size(); ++i) {
    end += std::max<int64_t>(0, (view.dims[i] - 1) * strides[i]);
  }
  return end;
}

TEST_CASE_TEMPLATE("copies between any strides", T, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t) {
  for (const View& view : kViews) {
    auto in = counting<T>(end_of(view, view.in, view.in_start), view.skip);
    Buffer<T> out(end_of(view, view.out, view.out_start), view.skip);
    CopyArgs args;
    args.operands[0] = {.data = out.data() + view.out_start,
                        .bytes = sizeof(T)};
    args.operands[1] = {.data = in.data() + view.in_start, .bytes = sizeof(T)};
    for (std::size_t i = 0; i < view.dims.size(); ++i) {
      args.operands[0].strides[i] = view.out[i];
      args.operands[1].strides[i] = view.in[i];
    }
    plan(args, view.dims.data(), int(view.dims.size()), chunk_of(sizeof(T)));
    std::vector<double> want(std::size_t(out.size()), double(T(-1)));
    for (int64_t i = 0; i < count_of(view.dims); ++i) {
      const int64_t to = view.out_start + offset_of(i, view.dims, view.out);
      want[std::size_t(to)] =
          double(in[view.in_start + offset_of(i, view.dims, view.in)]);
    }
    check_kernel(
        sized<T>("copy"), args, {.blocks = 2}, out,
        [&](int64_t i) { return want[std::size_t(i)]; }, 0);
  }
}

TEST_CASE_TEMPLATE("transposes in tiles", T, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t) {
  const int64_t sizes[][3] = {{1, 1, 1},   {2, 31, 33}, {3, 32, 32},
                              {1, 1, 100}, {1, 65, 1},  {2, 100, 70}};
  for (const auto& [batch, rows, columns] : sizes) {
    auto in = counting<T>(batch * rows * columns, 1);
    Buffer<T> out(in.size(), 1);
    const TransposeArgs args{in.data(), out.data(), batch, rows, columns};
    const Shape shape{.blocks = unsigned(transpose_blocks(args))};
    check_kernel(
        sized<T>("transpose"), args, shape, out,
        [&, r = rows, c = columns](int64_t i) {
          const int64_t row = i % r, column = i / r % c;
          return double(in[i / (r * c) * r * c + row * c + column]);
        },
        0);
  }
}

template <typename T, typename Index>
void check_gather(int64_t outer, int64_t n, int64_t inner,
                  const std::vector<Index>& indices) {
  auto in = counting<T>(outer * n * inner);
  const int64_t count = int64_t(indices.size());
  Buffer<T> out(outer * count * inner);
  Buffer<std::int32_t> beyond(1);
  beyond[0] = 0;
  const GatherArgs args{in.data(),     indices.data(), out.data(),
                        beyond.data(), outer,          n,
                        inner,         count,          sizeof(Index) == 8};
  bool is_beyond = false;
  for (const Index each : indices) is_beyond |= each < -n || each >= n;
  const auto want = [&](int64_t i) {
    int64_t index = indices[std::size_t(i / inner % count)];
    if (index < -n || index >= n) return 0.0;
    if (index < 0) index += n;
    return double(in[(i / inner / count * n + index) * inner + i % inner]);
  };
  check_kernel(sized<T>("gather"), args, {.blocks = 2}, out, want, 0);
  CHECK(beyond[0] == is_beyond);
}

TEST_CASE_TEMPLATE("gathers along an axis", T, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t) {
  check_gather<T, std::int32_t>(1, 10, 1, {0, 9, -1, -10, 3});
  check_gather<T, std::int64_t>(3, 5, 33, {4, -5, 0, 2});
  check_gather<T, std::int64_t>(2, 5, 7, {4, 5, 0});
  check_gather<T, std::int32_t>(2, 5, 1, {-6, 2});
}

TEST_CASE("gathers units of 16 bytes") {
  auto in = counting<std::uint32_t>(10 * 12);
  Buffer<std::uint32_t> out(3 * 12);
  Buffer<std::int32_t> beyond(1);
  beyond[0] = 0;
  const std::vector<int64_t> indices = {7, -1, 10};
  const GatherArgs args{
      in.data(), indices.data(), out.data(), beyond.data(), 1, 10, 3, 3, true};
  check_kernel(
      "gather_16", args, {}, out,
      [&](int64_t i) {
        const int64_t rows[] = {7, 9};
        return i < 24 ? double(in[rows[i / 12] * 12 + i % 12]) : 0.0;
      },
      0);
  CHECK(beyond[0] == 1);
}

TEST_CASE_TEMPLATE("fills", T, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  for (const int64_t count : {1, 31, 4097}) {
    for (const int skip : {0, 1}) {
      Buffer<T> out(count, skip);
      const FillArgs args{out.data(), count, 0x1122334455667788};
      check_kernel(
          sized<T>("fill"), args, {.blocks = 2}, out,
          [](int64_t) { return double(T(0x1122334455667788)); }, 0);
    }
  }
}

}  // namespace
}  // namespace ruleengine::kernels::device
