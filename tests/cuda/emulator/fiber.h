// A function on a stack of its own, which stops where it says so and goes on
// when it is resumed. For one thread at a time.
#pragma once

#include <cstddef>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace ruleengine::emulator {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next resume() calls entry(argument). What ran before is forgotten.
  void start(void (*entry)(void*), void* argument);
  // Runs until the fiber leaves.
  void resume();
  // Called by what runs in the fiber.
  void leave() { switch_out(false); }

 private:
  static void enter();
  void switch_out(bool last);

  std::byte* stack_;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
#ifdef __x86_64__
  void* self_ = nullptr;    // where its stack ends while it waits
  void* caller_ = nullptr;  // where the stack of resume() ends
#else
  ucontext_t self_, caller_;
#endif
  void* fake_stack_ = nullptr;  // AddressSanitizer's, of the fiber
  const void* caller_bottom_ = nullptr;
  std::size_t caller_size_ = 0;
};

}  // namespace ruleengine::emulator
