#include "kernels/cpu/products/gemm.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <vector>

#include "runtime/vectors.h"

namespace ruleengine::kernels {
namespace {

using runtime::Threads;

struct Case {
  std::int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  double alpha = 1, beta = 0;
};

std::string text(const Case& s) {
  return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" +
         std::to_string(s.k) + (s.transpose_a ? " a'" : "") +
         (s.transpose_b ? " b'" : "") + " alpha " + std::to_string(s.alpha) +
         " beta " + std::to_string(s.beta);
}

// Matrices with more elements in a row than they have columns.
template <typename T>
struct Matrices {
  static constexpr std::int64_t kMore = 3;

  Case s;
  std::int64_t lda, ldb, ldc;
  std::vector<T> a, b, c;

  Matrices(const Case& shape, unsigned seed)
      : s(shape),
        lda((s.transpose_a ? s.m : s.k) + kMore),
        ldb((s.transpose_b ? s.k : s.n) + kMore),
        ldc(s.n + kMore),
        a(size(lda * (s.transpose_a ? s.k : s.m))),
        b(size(ldb * (s.transpose_b ? s.n : s.k))),
        c(size(ldc * s.m)) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<T> number(-1, 1);
    for (auto* all : {&a, &b, &c}) {
      for (T& each : *all) each = number(random);
    }
    // It is not read where beta is 0.
    if (s.beta == 0) {
      for (T& each : c) each = std::numeric_limits<T>::quiet_NaN();
    }
  }

  static std::size_t size(std::int64_t n) {
    return static_cast<std::size_t>(n);
  }

  GemmArguments<T> arguments(std::vector<T>& out) const {
    return {.m = s.m,
            .n = s.n,
            .k = s.k,
            .alpha = T(s.alpha),
            .a = {a.data(), lda, s.transpose_a},
            .b = {b.data(), ldb, s.transpose_b},
            .beta = T(s.beta),
            .c = out.data(),
            .ldc = ldc};
  }

  std::vector<T> product(Threads& threads) const {
    std::vector<T> out = c;
    gemm<T>(threads, arguments(out));
    return out;
  }

  template <typename Packed = T>
  std::vector<T> packed_product(Threads& threads) const {
    std::vector<T> out = c;
    struct Free {
      void operator()(Packed* p) const { ::operator delete(p, kAlign); }
    };
    const PanelLayout<T> layout{s.k, s.n};
    const std::size_t bytes = size(layout.count()) * sizeof(Packed);
    const std::unique_ptr<Packed, Free> packed(
        static_cast<Packed*>(::operator new(bytes + 1, kAlign)));
    pack_matrix<T>(threads, layout, {b.data(), ldb, s.transpose_b},
                   packed.get());
    gemm_packed<T>(threads, arguments(out), packed.get());
    return out;
  }

  // The largest difference from sums in long double, in units of what rounding
  // may do to them; and whether what lies behind the rows is as it was.
  double error(const std::vector<T>& out) const {
    double worst = 0;
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < ldc; ++j) {
        const std::size_t at = size(i * ldc + j);
        if (j >= s.n) {
          if (std::memcmp(&out[at], &c[at], sizeof(T)) != 0) return 1e9;
          continue;
        }
        long double sum = 0, terms = 0;
        for (std::int64_t t = 0; t < s.k; ++t) {
          const long double x =
              a[size(s.transpose_a ? t * lda + i : i * lda + t)];
          const long double y =
              b[size(s.transpose_b ? j * ldb + t : t * ldb + j)];
          sum += x * y;
          terms += std::abs(x * y);
        }
        sum *= s.alpha;
        terms *= std::abs(s.alpha);
        if (s.beta != 0) {
          sum += s.beta * c[at];
          terms += std::abs(s.beta * c[at]);
        }
        const double unit =
            std::numeric_limits<T>::epsilon() * static_cast<double>(terms);
        const double off = std::abs(static_cast<double>(out[at] - sum));
        if (!(off <= unit * 1e9)) return 1e9;  // NaN too
        if (off > 0) worst = std::max(worst, off / unit);
      }
    }
    return worst;
  }

  static constexpr std::align_val_t kAlign{64};
};

// Sizes around those of tiles and blocks.
std::vector<Case> cases() {
  std::vector<Case> out;
  for (const std::int64_t m : {1, 2, 4, 5, 31, 33}) {
    for (const std::int64_t n : {1, 15, 17, 63, 65, 130}) {
      for (const std::int64_t k : {0, 1, 16, 31, 513}) {
        out.push_back({m, n, k});
        out.push_back({m, n, k, true, false, -0.5, 1});
        out.push_back({m, n, k, false, true, 2, 0.25});
        out.push_back({m, n, k, true, true});
      }
    }
  }
  for (const bool turned : {false, true}) {
    out.push_back({70, 1100, 40, turned, !turned});
    out.push_back({3, 2100, 2060, turned, turned, 1, 1});
    out.push_back({600, 1, 2060, turned, turned});
    out.push_back({40, 20, 30, turned, turned, 0, 1});
  }
  return out;
}

template <typename T>
void check(const Case& shape) {
  CAPTURE(text(shape));
  Threads one(1), three(3);
  const Matrices<T> all(shape, 7);
  // A sum of k terms is rounded k times, most of them in part.
  const double most = 2 + 0.5 * std::sqrt(static_cast<double>(shape.k));
  const auto same = [](const std::vector<T>& x, const std::vector<T>& y) {
    return std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
  };
  const auto product = all.product(one), packed = all.packed_product(one);
  CHECK(all.error(product) <= most);
  CHECK(all.error(packed) <= most);
  CHECK(same(product, all.product(three)));
  CHECK(same(packed, all.packed_product(three)));
}

TEST_CASE("products equal sums of products, whatever the number of threads") {
  for (const Case& each : cases()) {
    check<float>(each);
    check<double>(each);
  }
}

TEST_CASE("products of bfloat16 are right") {
  if (!has_bfloat16_tiles()) return;
  for (const Case& each : cases()) {
    CAPTURE(text(each));
    Matrices<float> all(each, 5);
    for (auto* numbers : {&all.a, &all.b}) {
      for (float& x : *numbers) {
        x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) >> 16 << 16);
      }
    }
    Threads one(1), three(3);
    const auto packed = all.packed_product<BFloat16>(one);
    CHECK(all.error(packed) <=
          2 + 0.5 * std::sqrt(static_cast<double>(each.k)));
    const auto again = all.packed_product<BFloat16>(three);
    CHECK(std::memcmp(packed.data(), again.data(),
                      packed.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("products with the vectors of all machines are right") {
  const runtime::CommonVectors common;
  for (const Case& each : cases()) {
    const Matrices<float> all(each, 9);
    Threads threads(1);
    CAPTURE(text(each));
    CHECK(all.error(all.product(threads)) <=
          2 + 0.5 * std::sqrt(static_cast<double>(each.k)));
  }
}

}  // namespace
}  // namespace ruleengine::kernels
