#include "kernels/cuda/device/attention.h"

#include "tests/cuda/device/attention_case.h"

namespace ruleengine::kernels::device {
namespace {

constexpr int kLengths[] = {1, 15, 16, 17, 63, 64, 65, 100, 257};

TEST_CASE_TEMPLATE("attention of edge lengths", T, float, __half,
                   __nv_bfloat16) {
  for (const int length : kLengths) {
    AttentionCase<T>({.q_length = length, .kv_length = length}).check();
    AttentionCase<T>({.q_length = 33, .kv_length = length}).check();
    AttentionCase<T>({.q_length = length, .kv_length = 40}).check();
  }
}

TEST_CASE_TEMPLATE("attention of edge head sizes", T, float, __half,
                   __nv_bfloat16) {
  constexpr int kSizes[][2] = {{1, 1},    {7, 3},     {8, 24},   {63, 64},
                               {65, 8},   {72, 128},  {128, 40}, {100, 129},
                               {200, 96}, {256, 256}, {5, 250}};
  for (const auto& [qk_size, v_size] : kSizes) {
    AttentionCase<T>(
        {.q_length = 20, .kv_length = 45, .qk_size = qk_size, .v_size = v_size})
        .check();
  }
}

TEST_CASE_TEMPLATE("attention of addresses that are no vectors", T, float,
                   __half, __nv_bfloat16) {
  AttentionCase<T>({.q_length = 20, .kv_length = 45, .skip = 1}).check();
}

TEST_CASE_TEMPLATE("attention within a band", T, float, __half, __nv_bfloat16) {
  for (const int q_length : {1, 17, 70}) {
    for (const int kv_length : {16, 65, 150}) {
      for (const bool is_bottom_right : {false, true}) {
        AttentionSizes sizes{.batch = 2,
                             .q_length = q_length,
                             .kv_length = kv_length,
                             .is_bottom_right = is_bottom_right};
        sizes.right = 0;
        AttentionCase<T>(sizes).check();
        sizes.left = 20;
        sizes.right = 3;
        sizes.diagonal = 5;
        AttentionCase<T>(sizes).check();
        sizes.right.reset();
        sizes.kv_lengths = {kv_length, kv_length / 2};
        sizes.q_lengths = {q_length / 2, q_length};
        AttentionCase<T>(sizes).check();
      }
    }
  }
}

TEST_CASE_TEMPLATE("attention with a cap, biases, lengths and sinks", T, float,
                   __half, __nv_bfloat16) {
  AttentionSizes sizes{
      .batch = 3, .q_heads = 4, .kv_heads = 2, .q_length = 21, .kv_length = 70};
  for (const BiasKind kind : {BiasKind::kNone, BiasKind::kF32, BiasKind::kF16,
                              BiasKind::kBf16, BiasKind::kBool}) {
    for (const int options : {0, 6, 11, 13}) {
      CAPTURE(options);
      sizes.bias_kind = kind;
      sizes.broadcasts = options & 1;
      sizes.cap = options & 2 ? 2.0f : 0.0f;
      sizes.has_sinks = options & 4;
      sizes.kv_lengths.clear();
      if (options & 8) sizes.kv_lengths = {70, 0, 33};
      AttentionCase<T>(sizes).check();
    }
  }
}

TEST_CASE_TEMPLATE("attention with split keys", T, float, __half,
                   __nv_bfloat16) {
  for (const int splits : {2, 3, 7}) {
    for (const int q_length : {1, 3, 16}) {
      AttentionSizes sizes{.batch = 2,
                           .q_heads = 6,
                           .kv_heads = 2,
                           .q_length = q_length,
                           .kv_length = 300,
                           .v_size = 50,
                           .splits = splits};
      AttentionCase<T>(sizes).check();
      sizes.has_sinks = true;
      sizes.is_bottom_right = true;
      sizes.right = 0;
      sizes.kv_lengths = {290, 40};
      sizes.v_size = 64;
      AttentionCase<T>(sizes).check();
    }
  }
}

TEST_CASE_TEMPLATE("attention with pages", T, float, __half, __nv_bfloat16) {
  for (const int page_size : {1, 16, 30}) {
    AttentionCase<T>({.batch = 2,
                      .q_length = 5,
                      .kv_length = 90,
                      .kv_lengths = {90, 41},
                      .page_size = page_size})
        .check();
  }
}

// Sums of so many exponents stay finite, and exact where they can be.
TEST_CASE_TEMPLATE("attention to many keys of equal scores", T, float, __half,
                   __nv_bfloat16) {
  constexpr int kKeys = 65536;
  for (const int splits : {1, 16}) {
    AttentionCase<T> test({.q_heads = 1,
                           .kv_heads = 1,
                           .q_length = 1,
                           .kv_length = kKeys,
                           .qk_size = 8,
                           .v_size = 8,
                           .splits = splits});
    for (int64_t i = 0; i < test.q.size(); ++i) test.q[i] = of_double<T>(100);
    for (int64_t i = 0; i < test.k.size(); ++i) {
      test.k[i] = of_double<T>(8 + (i / 8 % 7 == 0) * 1e-3);
      test.v[i] = of_double<T>(2);
    }
    test.launch(Order::kForward);
    for (int64_t i = 0; i < 8; ++i) CHECK(is_close(test.out.at(i), 2, 1e-3, 0));
    CHECK(std::isfinite(test.log_sums.at(0)));
  }
}

TEST_CASE_TEMPLATE("keys that no query sees leave the diagonal where it is", T,
                   float, __half) {
  for (const int splits : {1, 2}) {
    AttentionSizes sizes{.batch = 2,
                         .q_length = 9,
                         .kv_length = 90,
                         .is_bottom_right = true,
                         .kv_lengths = {90, 30},
                         .splits = splits,
                         .seen_keys = 40};
    sizes.right = 0;
    AttentionCase<T>(sizes).check();
    sizes.left = 60;
    AttentionCase<T>(sizes).check();
  }
}

TEST_CASE("a NaN of a bias gives NaN in its row only") {
  AttentionSizes sizes{.q_length = 4, .kv_length = 70};
  sizes.bias_kind = BiasKind::kF32;
  AttentionCase<float> test(sizes);
  test.bias_f32[1 * 70 + 3] = std::nanf("");
  test.check();
}

TEST_CASE("splits fill a chip where keys are long") {
  AttentionArgs args{};
  args.batch = 1;
  args.q_heads = 32;
  args.kv_heads = 8;
  args.q_length = 1;
  args.kv_length = 8192;
  CHECK(attention_blocks(args) == 8);
  CHECK(attention_splits(args, 132) == 32);
  args.kv_length = 1024;
  CHECK(attention_splits(args, 132) == 4);
  args.kv_length = 100;
  CHECK(attention_splits(args, 132) == 1);
  args.q_length = 8192;
  CHECK(attention_splits(args, 132) == 1);
}

TEST_CASE("each kernel fits the smallest chip") {
  for (const int size : {64, 128, 256}) {
    CHECK(attention_shared(size, 2) <= 99 << 10);
    CHECK(attention_shared(size, 4) <= 99 << 10);
  }
}

}  // namespace
}  // namespace ruleengine::kernels::device
