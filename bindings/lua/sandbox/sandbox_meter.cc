#include "bindings/lua/sandbox/sandbox_meter.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <lua.hpp>
#include <new>

#include "bindings/lua/sandbox/sandbox.h"

namespace ruleengine::lua {
namespace {

// Instructions between two checks of the clock. Few, since one instruction may
// process a whole block.
constexpr int kInstructions = 100;
// Bytes or steps in C++ between two checks of the clock.
constexpr std::size_t kWork = 1 << 16;

// For a new state; LuaJIT 2.1 takes 12 KiB.
constexpr std::size_t kReserve = std::size_t{32} << 10;

// Only a call that takes longer than this reads the CPU time, a system call.
constexpr std::chrono::milliseconds kSoon(1);

std::chrono::nanoseconds thread_time() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) +
         std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Meter& Meter::of(lua_State* state) {
  void* meter = nullptr;
  lua_getallocf(state, &meter);
  return *static_cast<Meter*>(meter);
}

lua_State* Meter::start() {
  reserve_.reset(new (std::nothrow) std::byte[kReserve]);
  if (reserve_ == nullptr) return nullptr;
  lua_State* const state = lua_newstate(&Meter::allocate, this);
  taken_ = kReserve;
  return state;
}

bool Meter::is_reserved(const void* block) const {
  const auto* at = static_cast<const std::byte*>(block);
  return std::less_equal<>()(reserve_.get(), at) &&
         std::less<>()(at, reserve_.get() + kReserve);
}

// A block of the reserve; nullptr if it is taken.
void* Meter::take(std::size_t size) {
  constexpr std::size_t kAlign = alignof(std::max_align_t);
  const std::size_t rounded = (size + kAlign - 1) / kAlign * kAlign;
  if (rounded > kReserve - taken_) return nullptr;
  taken_ += rounded;
  return reserve_.get() + (taken_ - rounded);
}

void* Meter::allocate(void* meter, void* block, std::size_t old_size,
                      std::size_t size) {
  Meter& self = *static_cast<Meter*>(meter);
  if (block == nullptr) old_size = 0;
  const bool was_reserved = self.is_reserved(block);
  if (size == 0) {
    if (!was_reserved) std::free(block);
    self.bytes_ -= old_size;
    return nullptr;
  }
  if (size > old_size) {
    const std::size_t grown = size - old_size;
    if (size > kMaxBlock ||
        grown > self.cap_ - std::min(self.cap_, self.bytes_ + self.beside_)) {
      if (self.timed_) self.spent_ = Spent::kMemory;
      return nullptr;
    }
    // A failed allocation is the only way to stop an instruction that copies.
    self.work_ += grown;
    if (self.timed_ && self.work_ > kWork && self.late()) return nullptr;
  }
  void* moved = nullptr;
  if (was_reserved && size <= old_size) {
    moved = block;  // Lua relies on it
  } else if (block != nullptr && !was_reserved) {
    moved = std::realloc(block, size);
    if (moved == nullptr && size <= old_size) moved = block;
  } else {
    moved = self.take(size);
    if (moved == nullptr) moved = std::malloc(size);
    if (moved != nullptr && old_size > 0) {
      std::memcpy(moved, block, std::min(old_size, size));
    }
  }
  if (moved == nullptr) {
    if (self.timed_) self.spent_ = Spent::kMemory;
    return nullptr;
  }
  self.bytes_ += size - old_size;
  self.peak_ = std::max(self.peak_, self.bytes_);
  return moved;
}

bool Meter::late() {
  work_ = 0;
  if (spent_ != Spent::kNothing) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now < soon_) return false;
  if (begun_.count() == 0) begun_ = thread_time();
  if (now > deadline_ && thread_time() - begun_ > allowed_) {
    spent_ = Spent::kTime;
  } else if (run_->is_over()) {
    spent_ = Spent::kRunTime;
  }
  return spent_ != Spent::kNothing;
}

void Meter::begin(lua_State* state, double seconds, std::size_t cap,
                  const Deadline& run, bool lines) {
  allowed_ = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(std::min(seconds, 1e9)));
  const auto now = std::chrono::steady_clock::now();
  soon_ = now + std::min<std::chrono::nanoseconds>(kSoon, allowed_);
  deadline_ = now + allowed_;
  run_ = &run;
  begun_ = {};
  timed_ = true;
  spent_ = Spent::kNothing;
  cap_ = cap;
  plan_collection();
  work_ = 0;
  nesting = 0;
  place_.clear();
  chunk_[0] = '\0';
  line_ = 0;
  if (lines != lines_ || sticky_) arm(state, lines);
}

void Meter::collect(lua_State* state) {
  // Even a collection may need memory.
  lua_cpcall(
      state,
      [](lua_State* inner) {
        lua_gc(inner, LUA_GCCOLLECT, 0);
        return 0;
      },
      nullptr);
}

// Below the limit, wherever the bytes are now.
void Meter::plan_collection() {
  const std::size_t left = cap_ - std::min(cap_, bytes_);
  collect_at_ =
      std::min(std::max(bytes_ + bytes_ / 2, cap_ / 2), bytes_ + left / 2);
}

void Meter::end(lua_State* state, std::size_t cap) {
  timed_ = false;
  cap_ = cap;
  beside_ = 0;
  if (lines_ || sticky_) arm(state, false);
}

void Meter::arm(lua_State* state, bool lines) {
  lines_ = lines;
  sticky_ = false;
  lua_sethook(state, &Meter::on_hook,
              LUA_MASKCOUNT | (lines ? LUA_MASKLINE : 0), kInstructions);
}

void Meter::on_hook(lua_State* state, lua_Debug* activation) {
  Meter& self = of(state);
  if (activation->event == LUA_HOOKLINE) {
    self.follow(state, activation);
    return;
  }
  if (!self.timed_) return;
  if (self.late()) self.raise(state);
  // Lua does not collect when an allocation fails, so it must collect before
  // garbage reaches the limit.
  if (self.bytes_ > self.collect_at_) {
    self.collect(state);
    self.plan_collection();
  }
}

void Meter::follow(lua_State* state, lua_Debug* activation) {
  lua_getinfo(state, "S", activation);
  std::strncpy(chunk_, activation->short_src, sizeof(chunk_) - 1);
  line_ = activation->currentline;
}

void Meter::charge(lua_State* state, std::size_t work) {
  work_ += work;
  if (work_ > kWork && timed_ && late()) raise(state);
}

void Meter::check(lua_State* state) {
  if (spent_ != Spent::kNothing) raise(state);
}

void Meter::note_place(lua_State* state) {
  lua_Debug activation;
  for (int level = 0; level < 20 && place_.empty(); ++level) {
    if (lua_getstack(state, level, &activation) == 0) return;
    lua_getinfo(state, "Sl", &activation);
    if (activation.currentline > 0) {
      place_ = activation.short_src;
      place_ += ':';
      place_ += std::to_string(activation.currentline);
    }
  }
}

int Meter::raise(lua_State* state) {
  note_place(state);
  sticky_ = true;
  lua_sethook(state, &Meter::on_hook, LUA_MASKCOUNT, 1);
  lua_rawgeti(state, LUA_REGISTRYINDEX, message_);
  return lua_error(state);
}

void Meter::go_on(lua_State* state) {
  spent_ = Spent::kNothing;
  place_.clear();
  arm(state, lines_);
}

Nested::Nested(lua_State* state) : meter_(Meter::of(state)) {
  if (meter_.nesting >= kMaxNesting) {
    luaL_error(state, "calls are nested more than %d deep", kMaxNesting);
  }
  ++meter_.nesting;
}

int nested_call(lua_State* state, int arguments, int results) {
  const Nested nested(state);
  Meter& meter = Meter::of(state);
  const int depth = meter.nesting;
  const int status = lua_pcall(state, arguments, results, 0);
  meter.nesting = depth;
  return status;
}

int guarded_call(lua_State* state, int arguments) {
  const int status = nested_call(state, arguments, LUA_MULTRET);
  Meter::of(state).check(state);
  return status;
}

int too_long(lua_State* state) {
  return Sandbox::fail(state, {.kind = ErrorKind::kLimit,
                               .what = "the string is too long",
                               .expected = "at most 32 MiB"});
}

}  // namespace ruleengine::lua
