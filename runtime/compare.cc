#include "runtime/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ir/narrow_float.h"
#include "runtime/adapt.h"

namespace ruleengine::runtime {
namespace {

// Some units in the last place, since a rewrite may change the order of sums.
double tolerance_of(DataType type) {
  switch (type) {
    case DataType::kDouble:
      return 1e-10;
    case DataType::kFloat:
      return 2e-5;
    case DataType::kFloat16:
      return 4e-3;
    case DataType::kBfloat16:
      return 3e-2;
    default:
      return ir::is_narrow_float(type) ? 0.15 : 0;
  }
}

// Denormal numbers may become 0.
double least_of(DataType type) {
  switch (type) {
    case DataType::kDouble:
      return std::numeric_limits<double>::min();
    case DataType::kFloat16:
      return 6.2e-5;
    case DataType::kFloat:
    case DataType::kBfloat16:
      return std::numeric_limits<float>::min();
    default:
      return 0;
  }
}

template <typename T>
std::vector<double> doubles(const Tensor& t) {
  return {t.data<T>(), t.data<T>() + t.count()};
}

// The elements of a tensor of numbers; empty for other types.
std::vector<double> numbers_of(const Tensor& t) {
  Threads one(1);
  KernelRun run{.memory = Memory::create(), .threads = &one};
  if (ir::is_narrow_float(t.dtype())) return doubles<float>(widened(t, run));
  if (is_packed(t.dtype())) return numbers_of(unpacked(t, run));
  switch (t.dtype()) {
    case DataType::kFloat:
      return doubles<float>(t);
    case DataType::kDouble:
      return doubles<double>(t);
    case DataType::kInt64:
      return doubles<std::int64_t>(t);
    case DataType::kInt32:
      return doubles<std::int32_t>(t);
    case DataType::kInt16:
      return doubles<std::int16_t>(t);
    case DataType::kInt8:
      return doubles<std::int8_t>(t);
    case DataType::kUint64:
      return doubles<std::uint64_t>(t);
    case DataType::kUint32:
      return doubles<std::uint32_t>(t);
    case DataType::kUint16:
      return doubles<std::uint16_t>(t);
    case DataType::kUint8:
    case DataType::kBool:
      return doubles<std::uint8_t>(t);
    default:
      return {};
  }
}

double largest_finite(const std::vector<double>& values) {
  double out = 0;
  for (const double v : values) {
    if (std::isfinite(v)) out = std::max(out, std::abs(v));
  }
  return out;
}

std::string place_text(Shape dims, std::int64_t at) {
  std::string out;
  for (std::size_t i = dims.size(); i-- > 0;) {
    out = std::to_string(at % dims[i]) + (out.empty() ? "" : ",") + out;
    at /= dims[i];
  }
  return "[" + out + "]";
}

class Comparer {
 public:
  explicit Comparer(Comparison& out) : out_(out) {}

  // nullopt where they agree.
  std::optional<std::string> values(const Datum& a, const Datum& b,
                                    double slack) {
    if (a.kind() != b.kind()) return a.text() + " became " + b.text();
    if (a.is_tensor()) return tensors(a.tensor(), b.tensor(), slack);
    if (!a.is_sequence()) return std::nullopt;
    if (a.items().size() != b.items().size()) {
      return a.text() + " became " + b.text();
    }
    for (std::size_t i = 0; i < a.items().size(); ++i) {
      auto why = values(a.items()[i], b.items()[i], slack);
      if (why) return fmt::format("item {}: {}", i, *why);
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> tensors(const Tensor& a, const Tensor& b,
                                     double slack) {
    if (a.dtype() != b.dtype() || !std::ranges::equal(a.dims(), b.dims())) {
      return a.text() + " became " + b.text();
    }
    if (a.is_string()) {
      if (a.strings() == b.strings()) return std::nullopt;
      return "strings differ";
    }
    return numbers(a, numbers_of(a), numbers_of(b), slack);
  }

  std::optional<std::string> numbers(const Tensor& tensor,
                                     const std::vector<double>& a,
                                     const std::vector<double>& b,
                                     double slack) {
    const double size = largest_finite(a), eps = tolerance_of(tensor.dtype());
    const double least = least_of(tensor.dtype()) + slack;
    const auto bound = [&](double v) {
      return eps * (std::abs(v) + size) + least;
    };
    double worst = 0;
    std::optional<std::size_t> at;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) || a[i] == b[i]) continue;
      const double off = std::isfinite(a[i]) && std::isfinite(b[i])
                             ? std::abs(a[i] - b[i])
                             : INFINITY;
      if (std::isfinite(off)) {
        out_.max_abs = std::max(out_.max_abs, off);
        if (size > 0) out_.max_rel = std::max(out_.max_rel, off / size);
      }
      const double beyond = off - bound(a[i]);
      // Also where it is NaN, as for an infinity that was lost.
      if (beyond <= 0 || (at && beyond <= worst)) continue;
      worst = beyond;
      at = i;
    }
    if (!at) return std::nullopt;
    return fmt::format(
        "{} at {}: {:.9g} became {:.9g} (largest element {:.6g}, tolerance "
        "{:.3g})",
        tensor.text(),
        place_text(tensor.dims(), static_cast<std::int64_t>(*at)), a[*at],
        b[*at], size, bound(a[*at]));
  }

  Comparison& out_;
};

double distance(const Datum& a, const Datum& b) {
  if (!a.is_tensor() || !b.is_tensor() ||
      a.tensor().count() != b.tensor().count()) {
    return 0;
  }
  const auto x = numbers_of(a.tensor()), y = numbers_of(b.tensor());
  double out = 0;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    const double off = std::abs(x[i] - y[i]);
    if (std::isfinite(off)) out = std::max(out, off);
  }
  return out;
}

}  // namespace

Comparison compare(const Executor::Named& before, const Executor::Named& after,
                   const Slack& slack) {
  Comparison out;
  if (before.size() != after.size()) {
    out.mismatch = {"", "the number of outputs differs"};
    return out;
  }
  Comparer comparer(out);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double own = i < slack.size() ? slack[i] : 0;
    auto why = comparer.values(before[i].second, after[i].second, own);
    if (why && !out.mismatch) {
      out.mismatch = {before[i].first, *std::move(why)};
    }
  }
  return out;
}

Slack distances(const Executor::Named& a, const Executor::Named& b) {
  Slack out;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    out.push_back(distance(a[i].second, b[i].second));
  }
  return out;
}

}  // namespace ruleengine::runtime
