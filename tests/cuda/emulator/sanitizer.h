// What AddressSanitizer is told; nothing without it.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace ruleengine::emulator {

#ifdef __SANITIZE_ADDRESS__
inline void poison(void* data, std::size_t size) {
  __asan_poison_memory_region(data, size);
}
inline void unpoison(void* data, std::size_t size) {
  __asan_unpoison_memory_region(data, size);
}
inline void start_switch(void** fake_stack, const void* bottom,
                         std::size_t size) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, size);
}
inline void finish_switch(void* fake_stack, const void** bottom,
                          std::size_t* size) {
  __sanitizer_finish_switch_fiber(fake_stack, bottom, size);
}
#else
inline void poison(void*, std::size_t) {}
inline void unpoison(void*, std::size_t) {}
inline void start_switch(void**, const void*, std::size_t) {}
inline void finish_switch(void*, const void**, std::size_t*) {}
#endif

}  // namespace ruleengine::emulator
