#include "tests/cuda/device/strided.h"

#include "kernels/cuda/device/elementwise.h"
#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

std::uint64_t quotient_by(std::uint64_t x, const Divisor& by) {
  return (((x * by.magic) >> 32) + x) >> by.shift;
}

TEST_CASE("a divisor divides as / does") {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 31;
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t by = (random() % kEnd >> random() % 31) + 1;
    if (by >= kEnd) continue;
    const Divisor divisor = divisor_of(by);
    for (const std::uint64_t x : {std::uint64_t{0}, by - 1, by, kEnd - 1,
                                  random() % kEnd, random() % kEnd / by * by}) {
      REQUIRE(quotient_by(x, divisor) == x / by);
    }
  }
}

TEST_CASE("dimensions that lie behind each other are merged") {
  Buffer<float> a(120), b(6), out(120);
  BinaryArgs args;
  args.operands[0] = operand_of(out, {4, 5, 2, 3, 1}, {4, 5, 2, 3, 1});
  args.operands[1] = operand_of(a, {4, 5, 2, 3, 1}, {4, 5, 2, 3, 1});
  args.operands[2] = operand_of(b, {1, 1, 2, 3, 1}, {4, 5, 2, 3, 1});
  const int64_t dims[] = {4, 5, 2, 3, 1};
  plan(args, dims, 5, 2);
  CHECK(args.loop.rank == 1);
  CHECK(args.loop.sizes[0].divisor == 20);
  CHECK(args.loop.inner == 6);
  CHECK(args.loop.total == 60);
  CHECK(args.operands[1].is_wide);
  CHECK(args.operands[2].strides[0] == 0);
}

TEST_CASE("a loop that is too large for quick division divides") {
  const Dims dims = {3, 5, 2, 7};
  auto a = random_buffer<float>(210);
  auto b = random_buffer<float>(10);
  Buffer<float> out(210);
  BinaryArgs args;
  args.operands[0] = operand_of(out, dims, dims);
  args.operands[1] = operand_of(a, dims, dims);
  args.operands[2] = operand_of(b, {1, 5, 2, 1}, dims);
  plan(args, dims.data(), 4, chunk_of(sizeof(float)));
  CHECK(args.loop.is_small);
  args.loop.is_small = false;
  check_kernel(
      "sub_f32", args, {}, out,
      [&](int64_t i) { return a.at(i) - b.at(i / 7 % 10); }, 2e-7);
}

}  // namespace
}  // namespace ruleengine::kernels::device
