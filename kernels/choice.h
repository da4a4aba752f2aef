// Attributes that say by a word which of some ways is meant. Internal to
// kernels.
#pragma once

#include <algorithm>

#include "kernels/dispatch.h"

namespace ruleengine::kernels {

// The enumerator of the word's place among `known`; the first one for "".
template <typename E>
E choice_of(const Preparation& p, std::string_view name,
            std::initializer_list<std::string_view> known) {
  const std::string_view word = p.choice(name, known);
  if (word.empty()) return E();
  return static_cast<E>(std::ranges::find(known, word) - known.begin());
}

}  // namespace ruleengine::kernels
