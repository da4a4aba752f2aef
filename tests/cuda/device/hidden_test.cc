// Zeros for the queries that see no key: against what the kernel of attention
// gives for the same.
#include "tests/cuda/device/attention_case.h"

namespace ruleengine::kernels::device {
namespace {

template <typename T>
void check_hidden(AttentionCase<T>& test, bool is_guarded = false) {
  test.launch(Order::kForward);
  AttentionArgs args = test.args();
  args.is_guarded = is_guarded;
  const int64_t size = test.sizes.v_size;
  // As they lie: [batch, length, heads, size]; the sums [batch, heads, length].
  const auto is_zero = [&](int64_t i) {
    const int64_t head = i / size % test.sizes.q_heads;
    const int64_t line = i / size / test.sizes.q_heads;
    const int64_t query = line % test.sizes.q_length;
    const int64_t batch = line / test.sizes.q_length;
    const double sum = test.log_sums.at(
        (batch * test.sizes.q_heads + head) * test.sizes.q_length + query);
    return sum == -kInf || (is_guarded && std::isnan(sum));
  };
  for (const Order order : kOrders) {
    for (int64_t i = 0; i < test.out.size(); ++i) test.out[i] = of_double<T>(7);
    run(named<T>("clear_hidden"), args,
        {.blocks = static_cast<unsigned>(hidden_blocks(args)),
         .threads = kHiddenThreads},
        order);
    check_close(
        test.out, [&](int64_t i) { return is_zero(i) ? 0 : 7; }, 0);
  }
}

TEST_CASE_TEMPLATE("queries that see nothing are cleared", T, __half,
                   __nv_bfloat16) {
  for (const BiasKind kind : {BiasKind::kF32, BiasKind::kF16, BiasKind::kBf16,
                              BiasKind::kBool, BiasKind::kNone}) {
    CAPTURE(static_cast<int>(kind));
    AttentionSizes sizes{.batch = 2,
                         .q_length = 9,
                         .kv_length = 70,
                         .v_size = 40,
                         .is_bottom_right = true,
                         .bias_kind = kind,
                         .kv_lengths = {70, 5}};
    sizes.right = 0;
    AttentionCase<T> test(sizes);
    const auto hide = [&](int64_t from, int64_t to) {
      if (kind == BiasKind::kNone) return;
      for (int64_t i = from; i < to; ++i) {
        test.bias_f32[i] = -std::numeric_limits<float>::infinity();
        test.bias_f16[i] = of_double<__half>(-kInf);
        test.bias_bf16[i] = of_double<__nv_bfloat16>(-kInf);
        test.bias_bool[std::size_t(i)] = 0;
      }
    };
    hide(3 * 70, 5 * 70);       // whole rows
    hide(7 * 70, 7 * 70 + 69);  // all but what the diagonal hides
    hide(10 * 70, 10 * 70 + 60);
    check_hidden(test);
  }
}

TEST_CASE("guarded rows with weights that are NaN are cleared") {
  AttentionSizes sizes{.q_length = 4, .kv_length = 70};
  sizes.bias_kind = BiasKind::kF32;
  AttentionCase<__half> test(sizes);
  test.bias_f32[1 * 70 + 3] = std::nanf("");
  check_hidden(test);
  check_hidden(test, true);
}

TEST_CASE_TEMPLATE("a row that a mask hides is zeros, whatever its values", T,
                   float, __half) {
  for (const int splits : {1, 2}) {
    AttentionSizes sizes{.q_length = 3, .kv_length = 70, .splits = splits};
    sizes.bias_kind = BiasKind::kBool;
    AttentionCase<T> test(sizes);
    for (int64_t i = 70; i < 140; ++i) test.bias_bool[std::size_t(i)] = 0;
    test.v[5] = of_double<T>(kNan);
    test.v[9] = of_double<T>(kInf);
    test.launch(Order::kForward);
    const int64_t size = test.sizes.v_size;
    for (int64_t i = 0; i < size; ++i) CHECK(test.out.at(2 * size + i) == 0);
  }
}

TEST_CASE_TEMPLATE("attention gives zeros for guarded rows", T, float, __half) {
  for (const int splits : {1, 2}) {
    AttentionSizes sizes{.q_length = 4, .kv_length = 70, .splits = splits};
    sizes.bias_kind = BiasKind::kF32;
    AttentionCase<T> test(sizes);
    test.bias_f32[1 * 70 + 3] = std::nanf("");
    test.is_guarded = true;
    test.launch(Order::kForward);
    for (int64_t i = 0; i < test.sizes.v_size; ++i) {
      CHECK(test.out.at(1 * 2 * test.sizes.v_size + i) == 0);
      CHECK(!std::isnan(test.out.at(i)));
    }
  }
}

}  // namespace
}  // namespace ruleengine::kernels::device
