#include "runtime/drawing/input_drawing.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "core/base/random_bits.h"
#include "core/ir/element_types.h"
#include "core/ir/narrow_float.h"
#include "core/ir/shapes.h"
#include "runtime/conversions.h"
#include "runtime/failure.h"

namespace ruleengine::runtime {
namespace {

using ir::ValueId;

// Larger sizes and counts take long.
constexpr std::int64_t kMostCount = 64;

class Drawing {
 public:
  Drawing(const InputPlan& plan, const Drawn& how,
          const std::shared_ptr<HostMemory>& memory)
      : plan_(plan), how_(how), threads_(1) {
    run_.memory = memory;
    run_.threads = &threads_;
    threads_.check = [this] {
      if (how_.deadline.is_over()) {
        throw Failure{how_.deadline.passed("while inputs are drawn")};
      }
    };
  }

  Executor::Named draw() {
    const ir::Graph& graph = plan_.model.graph;
    Executor::Named out;
    const auto& inputs = graph.block(ir::Graph::main_block()).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (graph.value(inputs[i]).tensor != nullptr) continue;
      random_ =
          RandomBits(RandomBits::mixed(how_.seed * RandomBits::kStep + i + 1));
      domain_ = &plan_.domains[i];
      out.emplace_back(graph.name(inputs[i]), value(inputs[i]));
    }
    return out;
  }

 private:
  Datum value(ValueId v) {
    const ir::Type* type = plan_.model.graph.value(v).declared;
    const std::string name(plan_.model.graph.name(v));
    if (!ir::is_ranked(type) || type->elem == DataType::kUndefined) {
      fail("no random values can be drawn for input '" + printable(name) + "'",
           "a tensor of known type and rank",
           type == nullptr ? "" : ir::type_text(plan_.model.dims, *type));
    }
    Dims dims;
    for (const ir::Dim d : type->dims) {
      dims.push_back(
          std::max<std::int64_t>(size_at(plan_.model.dims, d, plan_.sizes), 0));
    }
    if (type->elem == DataType::kString) return strings(dims);
    most_ = std::numeric_limits<double>::infinity();
    if (ir::is_narrow_float(type->elem)) {
      most_ = most(type->elem);
      return narrowed(numbers(DataType::kFloat, dims), type->elem, run_);
    }
    if (!is_packed(type->elem)) return numbers(type->elem, dims);
    Tensor out = allocate(run_, DataType::kUint8, dims);
    fill<std::uint8_t>(out, out.count(), [&] {
      return below(std::uint64_t{1} << ir::bit_width(type->elem));
    });
    return packed(out, type->elem, run_);
  }

  // About the largest number that a narrow type holds.
  static double most(DataType type) {
    if (type == DataType::kFloat16) return 6e4;
    if (type == DataType::kBfloat16) return 1e38;
    double out = 0;
    for (std::uint32_t bits = 0; bits < 1u << ir::bit_width(type); ++bits) {
      const double value = ir::widen(type, bits);
      if (std::isfinite(value)) out = std::max(out, value);
    }
    return out;
  }

  Tensor numbers(DataType type, Shape shape) {
    Tensor out = allocate(run_, type, shape);
    const bool has_numbers = ir::visit_type(
        ir::ElementTypes(), type, [&]<typename T>() { draw<T>(out); });
    if (has_numbers) return out;
    fail("no random values can be drawn", "numbers", text_of(type, shape));
  }

  template <typename T>
  void draw(Tensor& out) {
    if constexpr (std::is_same_v<T, bool>) {
      mask<std::uint8_t>(out);
    } else if constexpr (!std::is_arithmetic_v<T>) {
      // Complex numbers: two floats each.
      fill<typename T::value_type>(out, 2 * out.count(),
                                   [&] { return real(); });
    } else if (draws_mask()) {
      mask<T>(out);
    } else if constexpr (std::is_floating_point_v<T>) {
      floats<T>(out);
    } else if constexpr (sizeof(T) < 4) {
      bytes<T>(out);
    } else {
      integers<T>(out);
    }
  }

  std::uint64_t below(std::uint64_t count) { return random_() % count; }

  // next() for each element, or once for all.
  template <typename T, typename F>
  void fill(Tensor& out, std::int64_t count, F next) {
    T* to = out.mutable_data<T>();
    for (std::int64_t i = 0; i < count; ++i) {
      tick_();
      to[i] = how_.same && i > 0 ? to[0] : static_cast<T>(next());
    }
  }

  bool draws_mask() const {
    if (!domain_->is_mask || domain_->has_table()) return false;
    if (how_.numbers_for_all) return false;
    return !domain_->is_number || !how_.numbers_for_masks;
  }

  // --- floats ----------------------------------------------------------------

  double real() {
    if (how_.specials && below(8) == 0) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const double all[] = {kInfinity, -kInfinity, std::nan("")};
      return all[below(std::size(all))];
    }
    constexpr double kNear = 8;  // ordinary floats come that far by themselves
    if (!domain_->met.empty() && how_.center == 0 && below(4) == 0) {
      const double met = domain_->met[below(domain_->met.size())];
      const double step = std::max(1.0, std::abs(met) * 0.01);
      const double near = met + step * static_cast<double>(below(3)) - step;
      if (how_.meets || (std::abs(met) <= kNear && how_.scale == 1)) {
        return near;
      }
    }
    double x = random_.normal();
    if (how_.signs == Signs::kPositive) x = std::abs(x) + 0.1;
    if (how_.signs == Signs::kUnit) x = std::tanh(x);
    return how_.center + x * how_.scale;
  }

  template <typename T>
  void floats(Tensor& out) {
    fill<T>(out, out.count(), [&] {
      const double x = real();
      return std::isfinite(x) ? std::clamp(x, -most_, most_) : x;
    });
    if (how_.exact) place_exact(out.mutable_data<T>(), out.count());
    if (!how_.meets) return;
    for (std::size_t i = 0; i < turn_size(out.count()); ++i) {
      const auto [met, step] = met_in_turn(i, out.count());
      const double by = std::max(1.0, std::abs(met) * 0.01) * step;
      out.mutable_data<T>()[i] =
          static_cast<T>(std::clamp(met + by, -most_, most_));
    }
  }

  // The first elements are the same in all inputs, and some of them equal.
  template <typename T>
  void place_exact(T* to, std::int64_t count) {
    static constexpr double kFirst[] = {0, 0.5, 0.25, 0.5, -0.5, 0, 1.5, 1.5};
    const auto most = static_cast<std::int64_t>(std::size(kFirst));
    for (std::int64_t i = 0; i < std::min(count, most); ++i) {
      to[i] = static_cast<T>(kFirst[i]);
    }
    if (!how_.specials || count < 3) return;
    to[count - 2] = std::numeric_limits<T>::infinity();
    to[count - 1] = std::numeric_limits<T>::quiet_NaN();
  }

  // --- whole numbers ---------------------------------------------------------

  // All values of the type.
  template <typename T>
  void bytes(Tensor& out) {
    fill<T>(out, out.count(), [&]() -> std::uint64_t {
      if (!domain_->met.empty() && below(2) == 0) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(met()));
      }
      if (!domain_->has_table()) return random_();
      return below(static_cast<std::uint64_t>(domain_->last) + 1);
    });
  }

  // A number that is met, or one beside it.
  double met() {
    const double at = domain_->met[below(domain_->met.size())];
    return std::clamp(std::floor(at) + static_cast<double>(below(3)) - 1, -1e15,
                      1e15);
  }

  struct Span {
    std::int64_t low, high;
  };

  template <typename T>
  Span span() const {
    constexpr bool kSigned = std::is_signed_v<T>;
    if (domain_->has_table()) return in_table(kSigned);
    switch (how_.integers) {
      case Integers::kSmall:
        return {0, 3};
      case Integers::kBits:
        // A size of 0 tells Reshape to keep what is there.
        return {0, domain_->is_size ? 0 : 1};
      case Integers::kOnes:
        return {1, 1};
      default:
        if (domain_->is_size) return {how_.far ? 0 : 1, is_huge() ? 12 : 4};
        return {kSigned ? -3 : 0, 6};
    }
  }

  Span in_table(bool is_signed) const {
    const Domain& d = *domain_;
    const std::int64_t first = std::max<std::int64_t>(d.first, 0);
    if (how_.integers < Integers::kWide) {
      return {is_signed ? d.first : first, d.last};
    }
    std::int64_t most = d.is_guess ? 15 : d.last;
    if (how_.integers == Integers::kSmall) most = 3;
    if (how_.integers == Integers::kBits) most = 1;
    if (how_.integers == Integers::kOnes) most = 0;
    const std::int64_t last =
        std::max(std::min(d.last, most), std::min(first, d.last));
    return {std::min(first, last), last};
  }

  template <typename T>
  void integers(Tensor& out) {
    T* to = out.mutable_data<T>();
    const Span in = span<T>();
    fill<T>(out, out.count(), [&] { return whole<T>(in); });
    place_met(out, to, in);
    if (!how_.ends || how_.same) return;
    if (domain_->has_table()) {
      const auto within = [&](std::int64_t number) {
        return std::clamp(number, in.low, in.high);
      };
      put(out, to, {within(-1), in.high, in.low, within(0)});
    } else if (goes_far() && (domain_->met.empty() || out.count() > 6)) {
      put(out, to,
          {is_huge() ? huge<T>() : far<T>(), 99,
           std::is_signed_v<T> ? -98 : 98});
    }
  }

  // How many elements show what is met in this turn.
  std::size_t turn_size(std::int64_t count) const {
    if (how_.turn == 0 || how_.same) return 0;
    return std::min(static_cast<std::size_t>(count), 3 * domain_->met.size());
  }

  // What element `i` shows: a number, and by how many steps it is beside it.
  std::pair<double, int> met_in_turn(std::size_t i, std::int64_t count) const {
    const std::size_t at = (how_.turn - 1) * turn_size(count) + i;
    return {domain_->met[at / 3 % domain_->met.size()],
            static_cast<int>(at % 3) - 1};
  }

  template <typename T>
  void place_met(const Tensor& out, T* to, Span in) {
    if (how_.integers > Integers::kWide) return;
    for (std::size_t i = 0; i < turn_size(out.count()); ++i) {
      const auto [met, step] = met_in_turn(i, out.count());
      const double at = std::clamp(std::floor(met) + step, -1e15, 1e15);
      const auto number = static_cast<std::int64_t>(at);
      if (is_allowed<T>(number, in)) to[i] = static_cast<T>(number);
    }
  }

  template <typename T>
  bool is_allowed(std::int64_t number, Span in) const {
    if (domain_->has_table()) return number >= in.low && number <= in.high;
    if (domain_->is_size && number > kMostCount) return false;
    return std::is_signed_v<T> || number >= 0;
  }

  template <typename T>
  std::int64_t whole(Span in) {
    const bool is_free = how_.integers <= Integers::kWide;
    if (is_free && !domain_->met.empty() && (how_.meets || below(2) == 0)) {
      const auto at = static_cast<std::int64_t>(met());
      if (is_allowed<T>(at, in)) return at;
    }
    if (goes_far() && below(2) == 0) return far<T>();
    const auto count = static_cast<std::uint64_t>(in.high - in.low) + 1;
    return in.low + static_cast<std::int64_t>(below(count));
  }

  bool goes_far() const {
    return how_.far && how_.integers <= Integers::kWide &&
           !domain_->has_table() && !domain_->is_size;
  }

  bool is_huge() const { return how_.integers == Integers::kHuge; }

  // Of all magnitudes above 100; as a number of 64 bits, of which T takes the
  // low ones.
  template <typename T>
  std::int64_t huge() {
    constexpr int kFewest = 8, kMost = std::numeric_limits<T>::digits;
    const auto bits = kFewest + below(kMost - kFewest + 1);
    const std::uint64_t high = std::uint64_t{1} << (bits - 1);
    const auto magnitude =
        static_cast<std::int64_t>(high | (random_() & (high - 1)));
    return std::is_signed_v<T> && below(2) == 0 ? -magnitude : magnitude;
  }

  template <typename T>
  std::int64_t far() {
    if (is_huge() && below(3) == 0) return huge<T>();
    const auto far = static_cast<std::int64_t>(below(201));
    return std::is_signed_v<T> ? far - 100 : far;
  }

  // Such elements are there for sure; of fewer, some of them by the seed.
  template <typename T>
  void put(const Tensor& out, T* to,
           std::initializer_list<std::int64_t> numbers) {
    const auto count = static_cast<std::size_t>(out.count());
    for (std::size_t i = 0; i < std::min(count, numbers.size()); ++i) {
      to[i] = static_cast<T>(numbers.begin()[(i + how_.seed) % numbers.size()]);
    }
  }

  // --- masks -----------------------------------------------------------------

  // Rows of the last axis that begin with what is shown and end with what is
  // hidden; where whole rows are hidden, every other one shows nothing. A
  // vector, or a mask over queries and keys, is random, and shows most.
  template <typename T>
  void mask(Tensor& out) {
    if (how_.same) return fill<T>(out, out.count(), [&] { return below(2); });
    T* to = out.mutable_data<T>();
    const std::int64_t length = out.rank() == 0 ? 1 : out.dim(out.rank() - 1);
    const bool padded = out.rank() == 2 && out.dim(0) != length;
    const std::int64_t rows = length == 0 ? 0 : out.count() / length;
    const bool hides = domain_->hides;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto shown = 1 + static_cast<std::int64_t>(
                                 below(static_cast<std::uint64_t>(length)));
      const bool hidden = how_.hides_rows && row % 2 == 0;
      tick_(length);
      for (std::int64_t i = 0; i < length; ++i) {
        const bool is_random = !padded && !(how_.shows_first && i == 0);
        const bool one = is_random ? below(4) != 0 : i < shown;
        to[row * length + i] = static_cast<T>((one && !hidden) != hides);
      }
    }
  }

  Datum strings(Shape shape) {
    auto all = run_.memory->strings(static_cast<std::size_t>(count_of(shape)));
    for (String& each : *all) {
      tick_();
      each = word();
    }
    return Tensor(shape, std::move(all));
  }

  // A string that the model knows, or text in several cases; where whole
  // numbers are to be small, those.
  std::string word() {
    if (how_.integers >= Integers::kSmall) return std::to_string(below(4));
    const auto& words = plan_.words;
    if (!words.empty() && below(2) == 0) return words[below(words.size())];
    static constexpr std::string_view kParts[] = {"a", "b", "C", "Ab", "1",
                                                  " ", "é", "@", ".",  "-"};
    std::string out;
    for (std::uint64_t i = below(5); i > 0; --i) {
      out += kParts[below(std::size(kParts))];
    }
    return out;
  }

  const InputPlan& plan_;
  const Drawn& how_;
  const Domain* domain_ = nullptr;  // of the input that is drawn
  double most_ = 0;                 // of its floats
  Threads threads_;
  Ticker tick_{threads_};
  KernelRun run_;
  RandomBits random_;
};

}  // namespace

Result<Executor::Named> draw_inputs(const InputPlan& plan, const Drawn& how,
                                    const std::shared_ptr<HostMemory>& memory) {
  try {
    return Drawing(plan, how, memory).draw();
  } catch (const Failure& failure) {
    return failure.error;
  }
}

}  // namespace ruleengine::runtime
