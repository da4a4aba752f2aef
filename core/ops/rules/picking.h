// Folds that pick elements, whatever their type: each is a list of places in
// the input, one for each element of the output. Internal to core/ops.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/ops/rules/fold_helpers.h"

namespace ruleengine::ops {

// Reads any element of stored bytes without touching the others.
class Source {
 public:
  Source(const Call& call, const ir::Literal* t);

  bool ok() const { return ok_; }
  std::size_t width() const {
    return static_cast<std::size_t>(ir::bit_width(tensor_->dtype) / 8);
  }
  const std::byte* at(std::int64_t i) const {
    return bytes_.data() + static_cast<std::size_t>(i) * width();
  }

 private:
  const ir::Literal* tensor_;
  std::vector<std::byte> scratch_;
  std::span<const std::byte> bytes_;
  bool ok_ = false;
};

// nullptr where they cannot be read.
const ir::Literal* pick(const Call& call, const ir::Literal* t,
                        const Ints& dims, const Ints& places);

}  // namespace ruleengine::ops
