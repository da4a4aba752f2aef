#include "core/base/sample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ruleengine {
namespace {

double middle(const std::vector<double>& sorted) {
  if (sorted.empty()) return 0;
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half]
                                : (sorted[half - 1] + sorted[half]) / 2;
}

// Of k heads among n coins. By logarithms, since 2^-n is 0 from n = 1,075 on.
double chance(std::size_t n, std::size_t k) {
  const auto coins = static_cast<double>(n), heads = static_cast<double>(k);
  return std::exp(std::lgamma(coins + 1) - std::lgamma(heads + 1) -
                  std::lgamma(coins - heads + 1) - coins * std::log(2.0));
}

}  // namespace

double median(std::vector<double> sample) {
  std::ranges::sort(sample);
  return middle(sample);
}

Spread quartiles(std::vector<double> sample) {
  if (sample.empty()) return {};
  std::ranges::sort(sample);
  const std::size_t quarter = sample.size() / 4;
  return {sample[quarter], middle(sample), sample[sample.size() - 1 - quarter]};
}

Spread confidence(std::vector<double> sample, double level) {
  if (sample.empty()) return {};
  std::ranges::sort(sample);
  const std::size_t n = sample.size();
  double tail = chance(n, 0);
  std::size_t k = 0;
  while (k + 1 < n / 2) {
    tail += chance(n, k + 1);
    if (tail > (1 - level) / 2) break;
    ++k;
  }
  return {sample[k], middle(sample), sample[n - 1 - k]};
}

}  // namespace ruleengine
