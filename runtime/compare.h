// Whether two runs gave the same results, element by element.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/executor.h"

namespace ruleengine::runtime {

struct Mismatch {
  std::string output;
  std::string text;  // how they differ: type, shape, or the worst element
  bool is_overflow = false;  // of that element, one side alone is infinite
};

// What a user accepts: |a - b| <= abs + rel * |a|.
struct Tolerance {
  double abs = 0, rel = 0;
};

// The largest differences that were seen, and the first output that differs by
// more than its bound.
struct Comparison {
  double max_abs = 0, max_rel = 0;  // max_rel: of the largest element
  std::optional<Mismatch> mismatch;
};

// How far an element may be off. `tensor` counts the tensors of all outputs,
// those of a sequence one by one; `value` is that of the original.
using Bound = std::function<double(std::size_t tensor, std::size_t element,
                                   double value)>;

// The bound rel * |value| + abs; rel counts for nothing at an infinity, which
// is right alone.
double relative_bound(double value, double rel, double abs);

// The first output, by place, that has another type or shape.
std::optional<Mismatch> compare_forms(const Executor::Named& before,
                                      const Executor::Named& after);

// Compares outputs of the same forms by place. Integers, bool, complex numbers
// and strings count as numbers too; equal ones agree whatever the bound. Where
// `before` has NaN, anything is right. Outputs for which `leaves_out` holds
// are not looked at.
Comparison compare(const Executor::Named& before, const Executor::Named& after,
                   const Bound& bound,
                   const std::vector<bool>& leaves_out = {});

// Compares forms, and elements by what nothing but the types of the outputs
// tells: some units in the last place of an element and of the largest one.
// `precision`: significant bits of the narrowest float type on the way to them
// (Numbers::precision), where that is known.
Comparison compare_by_type(const Executor::Named& before,
                           const Executor::Named& after,
                           const std::vector<bool>& leaves_out = {},
                           int precision = 53);
// What rounding a result may do: few units in the last place of an element.
Bound last_place_bound(const Executor::Named& before);

// How far each element of outputs has moved.
class Spread {
 public:
  explicit Spread(const Executor::Named& center);
  // Outputs of the same model on the same inputs. An element that was NaN has
  // not moved. Of a tensor that has another form than before nothing is known
  // of its elements; if it never has the same, they may be off by a part of the
  // largest.
  void add(const Executor::Named& moved);
  double at(std::size_t tensor, std::size_t element) const {
    const OfTensor& all = of_tensors_[tensor];
    return all.off.empty() ? all.other_form : all.off[element];
  }

 private:
  struct OfTensor {
    std::vector<double> off;  // empty: has not moved
    double other_form = 0;
  };

  const Executor::Named& center_;
  std::vector<OfTensor> of_tensors_;
};

// By output: whether two runs differ in it.
std::vector<bool> differing(const Executor::Named& a, const Executor::Named& b);

// By output: whether some element is a finite number, or no float at all;
// nullopt where there are no elements.
std::vector<std::optional<bool>> finite_outputs(const Executor::Named& outputs);

}  // namespace ruleengine::runtime
