// Dropout: a copy when inferring; when training, elements become 0 by chance.
#include <optional>
#include <random>

#include "kernels/cpu/families.h"
#include "runtime/seed.h"

namespace ruleengine::kernels {
namespace {

struct Plan {
  double ratio = 0.5;
  bool trains = false;
};

Plan plan_of(Call& c) {
  Plan plan;
  if (c.has_input(1)) plan.ratio = c.scalar_float(1);
  plan.trains = c.has_input(2) && c.scalar_int(2) != 0;
  if (!(plan.ratio >= 0 && plan.ratio < 1) && plan.trains) {
    fail("the ratio is out of range", "0 to less than 1",
         std::to_string(plan.ratio));
  }
  plan.trains = plan.trains && plan.ratio != 0;
  return plan;
}

// One number of [0, 1) of 53 bits from two of the generator, so that a seed
// gives the same elements as in the reference implementation.
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed)
      : bits_(static_cast<std::uint32_t>(seed)) {}
  double operator()() {
    const auto high = static_cast<double>(bits_() >> 5);
    const auto low = static_cast<double>(bits_() >> 6);
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

 private:
  std::mt19937 bits_;
};

// `written`: a seed that the node says.
void drop_out(Call& c, std::optional<std::uint64_t> written,
              const runtime::Seed& seed) {
  const Plan plan = plan_of(c);
  const Tensor x = c.input(0);
  if (!plan.trains) {
    if (c.wants(1)) {
      Tensor& mask = c.output(1, DataType::kBool, x.dims());
      std::fill_n(mask.mutable_data<bool>(), mask.count(), true);
    }
    c.set_output(0, x);
    return;
  }
  Uniform draw(written ? *written : seed.next(c.run()));
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    Tensor& y = c.output(0, x.dtype(), x.dims());
    const T scale = static_cast<T>(1 / (1 - plan.ratio));
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    Tensor kept = c.allocate(DataType::kBool, x.dims());
    Ticker tick(c.threads());
    for (std::int64_t i = 0; i < x.count(); ++i) {
      tick();
      const bool keeps = draw() >= plan.ratio;
      kept.mutable_data<bool>()[i] = keeps;
      out[i] = keeps ? in[i] * scale : T(0);
    }
    if (c.wants(1)) c.set_output(1, kept);
  });
}

}  // namespace

Op dropout(const Preparation& p) {
  std::optional<std::uint64_t> written;
  // An integer, unlike that of other ops.
  if (p.has_attribute("seed")) {
    written = static_cast<std::uint64_t>(p.attribute_int("seed"));
  }
  return [written, seed = runtime::Seed(p)](Call& c) {
    drop_out(c, written, seed);
  };
}

}  // namespace ruleengine::kernels
