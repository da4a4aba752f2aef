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

}  // namespace

double median(std::vector<double> sample) {
  std::ranges::sort(sample);
  return middle(sample);
}

Spread quartiles(std::vector<double> sample) {
  std::ranges::sort(sample);
  const std::size_t quarter = sample.size() / 4;
  return {sample[quarter], middle(sample), sample[sample.size() - 1 - quarter]};
}

Spread confidence(std::vector<double> sample, double level) {
  if (sample.empty()) return {};
  std::ranges::sort(sample);
  const std::size_t n = sample.size();
  double term = std::pow(0.5, static_cast<double>(n)), tail = term;
  std::size_t k = 0;
  while (k + 1 < n / 2) {
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    if (tail + term > (1 - level) / 2) break;
    tail += term;
    ++k;
  }
  return {sample[k], middle(sample), sample[n - 1 - k]};
}

}  // namespace ruleengine
