#include "tests/cuda/emulator/fiber.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "tests/cuda/emulator/sanitizer.h"

#ifdef __x86_64__
// Saves what a call preserves on the stack, keeps that stack's end in *save and
// goes on with the stack `to`. swapcontext costs six times as much.
extern "C" void ruleengine_switch_stack(void** save, void* to);
asm(R"(.pushsection .text
.hidden ruleengine_switch_stack
.globl ruleengine_switch_stack
.type ruleengine_switch_stack,@function
ruleengine_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size ruleengine_switch_stack,.-ruleengine_switch_stack
.popsection)");
#endif

namespace ruleengine::emulator {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStack = 256 << 10;

Fiber* running = nullptr;

}  // namespace

Fiber::Fiber() {
  void* memory = ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::mprotect(memory, kPage, PROT_NONE);  // a stack that is full ends there
  stack_ = static_cast<std::byte*>(memory);
}

Fiber::~Fiber() {
  unpoison(stack_, kStack);
  ::munmap(stack_, kStack);
}

void Fiber::start(void (*entry)(void*), void* argument) {
  entry_ = entry;
  argument_ = argument;
  fake_stack_ = nullptr;
  unpoison(stack_, kStack);
#ifdef __x86_64__
  void** top = reinterpret_cast<void**>(stack_ + kStack);
  *--top = nullptr;  // enter() returns to nowhere
  *--top = reinterpret_cast<void*>(&Fiber::enter);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  self_ = top;
#else
  ::getcontext(&self_);
  self_.uc_stack.ss_sp = stack_;
  self_.uc_stack.ss_size = kStack;
  self_.uc_link = nullptr;
  ::makecontext(&self_, &Fiber::enter, 0);
#endif
}

void Fiber::resume() {
  running = this;
  void* fake_stack = nullptr;
  start_switch(&fake_stack, stack_, kStack);
#ifdef __x86_64__
  ruleengine_switch_stack(&caller_, self_);
#else
  ::swapcontext(&caller_, &self_);
#endif
  finish_switch(fake_stack, nullptr, nullptr);
}

void Fiber::enter() {
  Fiber* self = running;
  finish_switch(nullptr, &self->caller_bottom_, &self->caller_size_);
  self->entry_(self->argument_);
  self->switch_out(true);
  std::abort();  // nobody resumes what has ended
}

void Fiber::switch_out(bool last) {
  start_switch(last ? nullptr : &fake_stack_, caller_bottom_, caller_size_);
#ifdef __x86_64__
  ruleengine_switch_stack(&self_, caller_);
#else
  ::swapcontext(&self_, &caller_);
#endif
  finish_switch(fake_stack_, &caller_bottom_, &caller_size_);
}

}  // namespace ruleengine::emulator
