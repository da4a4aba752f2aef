// What kernels/cuda/device is written with, on the host. The compiler includes
// this before each source of a kernel.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "tests/cuda/emulator/block.h"

#define __device__
#define __host__
#define __forceinline__ inline

#define RULEENGINE_KERNEL(name, Args, threads)                       \
  static void name(const Args& args);                                \
  static const ::ruleengine::emulator::Registered name##_registered( \
      {#name, sizeof(Args), threads, [](const void* arguments) {     \
         name(*static_cast<const Args*>(arguments));                 \
       }});                                                          \
  static void name(const Args& args)
#define RULEENGINE_SHARED(Type, name, count)                          \
  static char name##_site;                                            \
  Type* const name =                                                  \
      reinterpret_cast<Type*>(::ruleengine::emulator::block().shared( \
          &name##_site, sizeof(Type) * (count)))
#define RULEENGINE_DYNAMIC_SHARED(Type, name) \
  Type* const name = reinterpret_cast<Type*>( \
      ::ruleengine::emulator::block().dynamic_shared())

namespace ruleengine::emulator {

inline void check_aligned(const void* data, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(data) % bytes != 0) {
    block().fail("a vector of " + std::to_string(bytes) +
                 " bytes is misaligned");
  }
}

template <typename T>
T shuffle(unsigned mask, T value, unsigned from, const Site& site) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = block().exchange(Exchange::kShuffle, mask, bits, from, site);
  T result;
  std::memcpy(&result, &bits, sizeof(T));
  return result;
}

}  // namespace ruleengine::emulator

namespace ruleengine::kernels::device {

template <int bytes>
void load_vector(void* to, const void* memory) {
  emulator::check_aligned(memory, bytes);
  std::memcpy(to, memory, bytes);
}
template <int bytes>
void store_vector(void* memory, const void* from) {
  emulator::check_aligned(memory, bytes);
  std::memcpy(memory, from, bytes);
}

}  // namespace ruleengine::kernels::device

#include "tests/cuda/emulator/matrix.h"

inline void __syncthreads(const ruleengine::emulator::Site& site =
                              ruleengine::emulator::Site::current()) {
  ruleengine::emulator::block().sync(site);
}

inline void __syncwarp(unsigned mask = 0xffffffff,
                       const ruleengine::emulator::Site& site =
                           ruleengine::emulator::Site::current()) {
  ruleengine::emulator::block().exchange(ruleengine::emulator::Exchange::kSync,
                                         mask, 0, 0, site);
}

inline unsigned __ballot_sync(unsigned mask, bool is,
                              const ruleengine::emulator::Site& site =
                                  ruleengine::emulator::Site::current()) {
  return static_cast<unsigned>(ruleengine::emulator::block().exchange(
      ruleengine::emulator::Exchange::kVote, mask, is, 0, site));
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int from,
              const ruleengine::emulator::Site& site =
                  ruleengine::emulator::Site::current()) {
  return ruleengine::emulator::shuffle(mask, value, from & 31, site);
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int bits,
                  const ruleengine::emulator::Site& site =
                      ruleengine::emulator::Site::current()) {
  const unsigned lane = ruleengine::emulator::block().lane();
  return ruleengine::emulator::shuffle(mask, value, (lane ^ bits) & 31, site);
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance,
                   const ruleengine::emulator::Site& site =
                       ruleengine::emulator::Site::current()) {
  const unsigned lane = ruleengine::emulator::block().lane();
  const unsigned from = lane + distance < 32 ? lane + distance : lane;
  return ruleengine::emulator::shuffle(mask, value, from, site);
}

// Threads of the emulator take turns.
inline unsigned atomicMax(unsigned* at, unsigned value) {
  const unsigned before = *at;
  if (value > before) *at = value;
  return before;
}
