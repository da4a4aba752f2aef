// ByOp: what somebody knows of each op of a Model, by its OpId. There are as
// many of these as graphs, and a file may have many functions and many ops, so
// that only ops which nearly every model has get a place ahead. Not
// thread-safe.
#ifndef RULEENGINE_CORE_IR_BY_OP_H_
#define RULEENGINE_CORE_IR_BY_OP_H_

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "core/ir/op.h"

namespace ruleengine::ir {

template <typename T>
class ByOp {
 public:
  // T() at first; stays where it is until the next call.
  T& operator[](OpId op) {
    const std::size_t i = op.index();
    if (i >= kNear) return far_[i];
    if (i >= near_.size()) near_.resize(i + 1);
    return near_[i];
  }

 private:
  static constexpr std::size_t kNear = 256;

  std::vector<T> near_;
  std::unordered_map<std::size_t, T> far_;
};

}  // namespace ruleengine::ir

#endif  // RULEENGINE_CORE_IR_BY_OP_H_
