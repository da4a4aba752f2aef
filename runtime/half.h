// Numbers of float16 as float and back, rounded half to even, by the
// instructions for it where the machine has them: the compiler vectorizes no
// loop over _Float16.
#pragma once

#include <cstdint>

namespace ruleengine::runtime {

void floats_of_halves(const std::uint16_t* in, float* out, std::int64_t n);
void halves_of_floats(const float* in, std::uint16_t* out, std::int64_t n);

}  // namespace ruleengine::runtime
