// A call that fails while plans are built and tried: the run fails with one
// error, or is right without them.
#include <doctest/doctest.h>

#include <string>

#include "runtime/compare.h"
#include "tests/cuda/backend/support.h"

namespace ruleengine::kernels {
namespace {

// Of other lengths for each number, so that no plan is there.
std::string attention_of(std::size_t n) {
  const std::string queries = std::to_string(1 + n % 16);
  const std::string keys = std::to_string(3 + n / 16);
  return "(float16[1,2," + queries + ",40] q, float16[1,2," + keys +
         ",40] k, bool[" + queries + "," + keys + "] m) => (float16[1,2," +
         queries + ",40] y) { y = Attention(q, k, k, m) }";
}

TEST_CASE("a failure while a plan is built is an error, or no plan") {
  standin::Driver& driver = standin::driver();
  gpu();  // what is looked for once is there
  std::size_t failed = 0, right = 0;
  for (std::size_t n = 1; n < 2000; ++n) {
    CAPTURE(n);
    const auto model = model_of(attention_of(n));
    const auto on_cpu = executor_of(*model, false);
    const Named inputs = inputs_of(*on_cpu, *model, 0);
    const Named expected = results_of(*on_cpu, inputs);
    driver.counts = {};
    driver.failure = 719;
    driver.fails_at = n;
    {
      const auto on_gpu =
          Executor::create(*model, {.backends = {gpu(), &cpu()}, .threads = 1});
      const auto out = on_gpu ? (*on_gpu)->run(inputs) : on_gpu.error();
      if (out) CHECK(!runtime::compare_by_type(expected, *out).mismatch);
      ++(out ? right : failed);
    }
    const bool was_reached = driver.counts.all >= n;
    driver.fails_at = 0;
    CAPTURE(driver.failed);
    CHECK(misuse() == "");
    check_nothing_left();
    if (!was_reached) break;
  }
  CHECK(failed > 20);
  CHECK(right > 50);
}

}  // namespace
}  // namespace ruleengine::kernels
