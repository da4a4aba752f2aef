// What kernels/cuda/device/matrix.h has, on the host.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

#include "tests/cuda/emulator/block.h"

namespace ruleengine::emulator {

struct Product {
  float* sum;
  const std::uint32_t* a;
  std::uint32_t b[2];
};

inline float number(__half x) { return __half2float(x); }
inline float number(__nv_bfloat16 x) { return __bfloat162float(x); }

// The lower or the upper half of a word.
template <typename T>
float half_of(std::uint32_t word, unsigned upper) {
  const auto bits = static_cast<std::uint16_t>(word >> (16 * upper));
  T value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof(bits));
  return number(value);
}

template <typename T>
void multiply_warp(void* const* lanes) {
  float a[16][16], b[16][8];
  for (unsigned lane = 0; lane < 32; ++lane) {
    const auto& own = *static_cast<const Product*>(lanes[lane]);
    const unsigned row = lane / 4, column = lane % 4 * 2;
    for (unsigned i = 0; i < 8; ++i) {
      a[row + i / 2 % 2 * 8][column + i % 2 + i / 4 * 8] =
          half_of<T>(own.a[i / 2], i % 2);
    }
    for (unsigned i = 0; i < 4; ++i) {
      b[column + i % 2 + i / 2 * 8][row] = half_of<T>(own.b[i / 2], i % 2);
    }
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    float* sum = static_cast<const Product*>(lanes[lane])->sum;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      for (unsigned k = 0; k < 16; ++k) sum[i] += a[row][k] * b[k][column];
    }
  }
}

struct Matrices {
  std::uint32_t* to;
  const void* row;
};

template <bool transposes>
void load_warp(void* const* lanes) {
  for (unsigned i = 0; i < 4; ++i) {
    std::uint16_t rows[8][8];
    for (unsigned row = 0; row < 8; ++row) {
      const auto& own = *static_cast<const Matrices*>(lanes[i * 8 + row]);
      std::memcpy(rows[row], own.row, 16);
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned row = lane / 4, column = lane % 4 * 2;
      const std::uint32_t low =
          transposes ? rows[column][row] : rows[row][column];
      const std::uint32_t high =
          transposes ? rows[column + 1][row] : rows[row][column + 1];
      static_cast<const Matrices*>(lanes[lane])->to[i] = low | high << 16;
    }
  }
}

}  // namespace ruleengine::emulator

namespace ruleengine::kernels::device {

template <typename T>
void multiply(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
              std::uint32_t b1,
              const emulator::Site& site = emulator::Site::current()) {
  emulator::Product own{sum, a, {b0, b1}};
  emulator::block().together(&emulator::multiply_warp<T>, &own, site);
}

template <bool transposes>
void load_matrices(std::uint32_t (&to)[4], const void* row,
                   const emulator::Site& site = emulator::Site::current()) {
  emulator::check_aligned(row, 16);
  emulator::Matrices own{to, row};
  emulator::block().together(&emulator::load_warp<transposes>, &own, site);
}

inline void copy_later(void* shared, const void* memory, bool is_there) {
  emulator::check_aligned(shared, 16);
  emulator::check_aligned(memory, 16);
  if (memory == nullptr) emulator::block().fail("a copy from nullptr");
  emulator::block().copy_later({shared, is_there ? memory : nullptr});
}
inline void end_copies() { emulator::block().end_copies(); }
template <int open>
void wait_copies() {
  emulator::block().wait_copies(open);
}

}  // namespace ruleengine::kernels::device
