// How wide the vectors of this machine are, for kernels that have a version for
// each width.
#pragma once

namespace ruleengine::kernels {

// 512 (x86-64-v4), 256 (x86-64-v3) or 128 bits. For tests of all versions on
// one machine, RULEENGINE_VECTOR_BITS=256 or =128 in the environment asks for
// narrower ones; other values are ignored.
int vector_bits();

}  // namespace ruleengine::kernels
