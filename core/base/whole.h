// Whether a number is an integer that a double represents exactly, so that its
// neighbours differ from it.
#pragma once

#include <cmath>

namespace ruleengine {

inline bool is_whole(double number) {
  return std::trunc(number) == number && std::fabs(number) < 0x1p53;
}

}  // namespace ruleengine
