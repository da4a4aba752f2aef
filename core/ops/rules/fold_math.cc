#include "core/ops/rules/fold_math.h"

#include <algorithm>
#include <cmath>

namespace ruleengine::ops {

std::optional<NumberPair> pair_of(const Call& call, std::optional<Numbers> a,
                                  std::optional<Numbers> b) {
  if (!a || !b || a->real != b->real) return std::nullopt;
  const auto dims = broadcast_dims(a->dims, b->dims);
  if (!dims || !count_of(*dims, call.limit)) return std::nullopt;
  NumberPair out{*std::move(a), *std::move(b), *dims, {}, {}};
  const auto fill = [&](const Ints& from, std::vector<std::size_t>& to) {
    for_each_broadcast(from, out.dims,
                       [&](std::size_t, std::size_t i) { to.push_back(i); });
  };
  fill(out.a.dims, out.left);
  fill(out.b.dims, out.right);
  return out;
}

std::optional<Numbers> combine(const Call& call, std::optional<Numbers> a,
                               std::optional<Numbers> b, WholeOp whole,
                               RealOp real) {
  const auto p = pair_of(call, std::move(a), std::move(b));
  if (!p || (p->a.real ? real == nullptr : whole == nullptr)) {
    return std::nullopt;
  }
  Numbers out;
  out.dtype = p->a.dtype;
  out.real = p->a.real;
  out.dims = p->dims;
  for (std::size_t i = 0; i < p->left.size(); ++i) {
    if (out.real) {
      out.reals.push_back(round_to(
          out.dtype, real(p->a.reals[p->left[i]], p->b.reals[p->right[i]])));
      continue;
    }
    const Whole v = whole(p->a.ints[p->left[i]], p->b.ints[p->right[i]]);
    if (!v) return std::nullopt;
    out.ints.push_back(wrap_to(out.dtype, *v));
  }
  return out;
}

namespace whole {

// Addition and its kin wrap without undefined behaviour as unsigned.
template <typename F>
std::int64_t wrapped(std::int64_t a, std::int64_t b, F f) {
  return static_cast<std::int64_t>(
      f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}
Whole add(std::int64_t a, std::int64_t b) {
  return wrapped(a, b, [](auto x, auto y) { return x + y; });
}
Whole sub(std::int64_t a, std::int64_t b) {
  return wrapped(a, b, [](auto x, auto y) { return x - y; });
}
Whole mul(std::int64_t a, std::int64_t b) {
  return wrapped(a, b, [](auto x, auto y) { return x * y; });
}
Whole div(std::int64_t a, std::int64_t b) {
  if (b == 0) return std::nullopt;
  return b == -1 ? sub(0, a) : a / b;
}
Whole truncated_mod(std::int64_t a, std::int64_t b) {
  if (b == 0) return std::nullopt;
  return b == -1 ? 0 : a % b;
}
Whole mod(std::int64_t a, std::int64_t b) {
  const Whole r = truncated_mod(a, b);
  return r && *r != 0 && (*r < 0) != (b < 0) ? *r + b : r;
}
Whole minimum(std::int64_t a, std::int64_t b) { return std::min(a, b); }

Whole maximum(std::int64_t a, std::int64_t b) { return std::max(a, b); }

}  // namespace whole

namespace real {

double add(double a, double b) { return a + b; }

double mul(double a, double b) { return a * b; }

double minimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
}

double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
}

}  // namespace real

}  // namespace ruleengine::ops
