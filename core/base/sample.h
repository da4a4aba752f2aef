// Statistics of measured times, which have outliers and no known distribution:
// order statistics only.
#pragma once

#include <vector>

namespace ruleengine {

// A median and what lies around it.
struct Spread {
  double low = 0, median = 0, high = 0;
};

// 0 for an empty sample.
double median(std::vector<double> sample);

// The middle half of a sample; zeros for an empty one.
Spread quartiles(std::vector<double> sample);

// An interval that holds the median of the distribution with this confidence:
// from the k-th smallest to the k-th largest number, with k by the binomial
// distribution. A sample that is too small for the confidence gives its whole
// range; 0.95 needs 6 numbers, 0.99 needs 8.
Spread confidence(std::vector<double> sample, double level = 0.95);

}  // namespace ruleengine
