// ByOp: a table with one T for each op of a Model, indexed by OpId. There is
// one per graph, and a file may have many functions and many ops, so only the
// first ops, which most graphs use, have a place in a dense array. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "core/ir/op.h"

namespace ruleengine::ir {

template <typename T>
class ByOp {
 public:
  // A new entry is T(). The reference is valid until the next call.
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
