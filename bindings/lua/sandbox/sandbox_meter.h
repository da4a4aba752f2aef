// Meter: measures what rule code uses: memory by the allocator, time by the
// count hook and by charge(), and the nesting of C calls. Time is the CPU time
// of the thread, so that a busy machine does not make a rule fail. A spent
// budget stays spent until the call ends: every further instruction of rule
// code raises again. Lives in the Sandbox, outlives its lua_State, is used by
// its thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

struct lua_State;
struct lua_Debug;

#include "core/base/deadline.h"

namespace ruleengine::lua {

class Sandbox;

// The limit for a string or a part of a table; it bounds the work of one
// instruction.
inline constexpr std::size_t kMaxBlock = std::size_t{32} << 20;
// The limit on nested C functions that call back into Lua.
inline constexpr int kMaxNesting = 150;

class Meter {
 public:
  enum class Spent : std::uint8_t {
    kNothing,
    kTime,
    kRunTime,  // of the whole run
    kMemory,
    kStopped,
  };

  static Meter& of(lua_State* state);
  // The lua_Alloc; `meter` is a Meter.
  static void* allocate(void* meter, void* block, std::size_t old_size,
                        std::size_t size);

  // A new state: LuaJIT does not survive a failed allocation while it makes
  // one, so this has the memory ready before. nullptr if there is none.
  lua_State* start();

  // Begin and end the budget of an outermost call. `lines` tracks the current
  // line, which costs time, and is the only way to know the place of a tail
  // call. `run`: the deadline of all calls, which must outlive this one.
  void begin(lua_State* state, double seconds, std::size_t cap,
             const Deadline& run, bool lines);
  void end(lua_State* state, std::size_t cap);

  void collect(lua_State* state);
  void charge(lua_State* state, std::size_t work);
  // Raises if the budget is spent.
  void check(lua_State* state);
  // Raises the error that no pcall can catch.
  int raise(lua_State* state);
  void stop() { spent_ = Spent::kStopped; }
  void run_out() { spent_ = Spent::kMemory; }
  void go_on(lua_State* state);  // after a stop

  Spent spent() const { return spent_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t peak() const { return peak_; }
  std::size_t beside() const { return beside_; }
  void set_beside(std::size_t bytes) { beside_ = bytes; }
  std::size_t cap() const { return cap_; }
  // Where the time was up: "chunk:line".
  const std::string& place() const { return place_; }
  // The tracked line: its chunk ("" if none) and number.
  const char* chunk() const { return chunk_; }
  int line() const { return line_; }

  void set_cap(std::size_t cap) { cap_ = cap; }
  void set_message(int reference) { message_ = reference; }
  void arm(lua_State* state, bool lines);

  Sandbox* owner = nullptr;
  int nesting = 0;

 private:
  static void on_hook(lua_State* state, lua_Debug* activation);
  bool late();
  void plan_collection();
  void follow(lua_State* state, lua_Debug* activation);
  void note_place(lua_State* state);

  bool is_reserved(const void* block) const;
  void* take(std::size_t size);

  // What start() gives away, up to `taken_`; it lives as long as the state.
  std::unique_ptr<std::byte[]> reserve_;
  std::size_t taken_ = 0;
  std::size_t bytes_ = 0, peak_ = 0;
  std::size_t cap_ = SIZE_MAX;
  std::size_t beside_ = 0;             // memory outside of Lua that counts too
  std::size_t collect_at_ = SIZE_MAX;  // bytes at which the hook collects
  std::size_t work_ = 0;               // since the clock was last read
  // Deadlines by the wall clock, which is cheap to read. It runs ahead of the
  // CPU time, which is read only for longer calls, and decides.
  std::chrono::steady_clock::time_point soon_, deadline_;
  const Deadline* run_ = nullptr;
  std::chrono::nanoseconds allowed_{0}, begun_{0};
  bool timed_ = false;
  bool lines_ = false;
  bool sticky_ = false;  // the hook raises at every instruction
  Spent spent_ = Spent::kNothing;
  int message_ = 0;  // registry reference of the message that raise() throws
  std::string place_;
  char chunk_[64] = "";
  int line_ = 0;
};

// Counts a C function that calls back into Lua; raises if they nest too deeply.
class Nested {
 public:
  explicit Nested(lua_State* state);
  ~Nested() { --meter_.nesting; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  Meter& meter_;
};

// A lua_pcall that counts the nesting, also where an error ends it.
int nested_call(lua_State* state, int arguments, int results);
// The same with all results; passes on the error of a spent budget.
int guarded_call(lua_State* state, int arguments);

// Raises the error for a string longer than kMaxBlock: a limit. Never returns.
int too_long(lua_State* state);

}  // namespace ruleengine::lua
