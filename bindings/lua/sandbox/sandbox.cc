#include "bindings/lua/sandbox/sandbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <lua.hpp>
#include <map>
#include <new>
#include <utility>

#include "bindings/lua/sandbox/sandbox_globals.h"
#include "bindings/lua/sandbox/sandbox_impl.h"
#include "bindings/lua/sandbox/sandbox_meter.h"

namespace ruleengine::lua {

namespace {

// Bytes of source between two checks of the clock.
constexpr std::size_t kPiece = 512;

// The length of a leading "chunk:line"; 0 if the text does not begin with one
// of `files`.
std::size_t place_size(
    std::string_view text,
    const std::map<std::string, std::string, std::less<>>& files) {
  std::size_t best = 0;
  for (std::size_t colon = text.find(':'); colon != text.npos && colon < 64;
       colon = text.find(':', colon + 1)) {
    std::size_t end = colon + 1;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end > colon + 1 && files.contains(text.substr(0, colon))) best = end;
  }
  return best;
}

struct Source {
  std::string_view rest;
  Meter* meter;
};

const char* read_piece(lua_State* state, void* data, std::size_t* size) {
  Source& source = *static_cast<Source*>(data);
  source.meter->charge(state, kPiece * 32);
  const std::string_view piece = source.rest.substr(0, kPiece);
  source.rest.remove_prefix(piece.size());
  *size = piece.size();
  return piece.data();
}

struct CompileRequest {
  Source source;
  const char* chunk;
  int globals;
};

// Whether it is one of Lua's errors about a value that has no name there, such
// as "attempt to index a nil value" for a[1].x: only the line shows which one.
bool is_unnamed(std::string_view text) {
  return text.starts_with("attempt to ") && text.ends_with(" value");
}

// Arguments: the request, and the words or nil. Leaves the function.
int compile_body(lua_State* state) {
  auto& request = *static_cast<CompileRequest*>(lua_touserdata(state, 1));
  const int status =
      lua_loadx(state, &read_piece, &request.source, request.chunk, "t");
  Meter::of(state).check(state);
  if (status != 0) return lua_error(state);
  lua_rawgeti(state, LUA_REGISTRYINDEX, request.globals);
  push_environment(state, 2);
  lua_setfenv(state, -3);
  lua_pop(state, 1);
  return 1;
}

struct Protected {
  const std::function<void(lua_State*)>& body;
  bool exhausted = false;
};

int run_body(lua_State* state) {
  auto& call = *static_cast<Protected*>(lua_touserdata(state, 1));
  lua_settop(state, 0);
  try {
    call.body(state);
  } catch (const std::bad_alloc&) {
    call.exhausted = true;
  }
  return 0;
}

}  // namespace

// --- errors ---

int Sandbox::fail(lua_State* state, Diagnostic error) {
  Impl& impl = *of(state).impl_;
  if (error.where.empty()) error.where = here(state);
  impl.pending_text =
      error.where.empty() ? error.what : error.where + ": " + error.what;
  impl.pending = std::move(error);
  push(state, impl.pending_text);
  return lua_error(state);
}

Diagnostic wrong(std::string what, std::string expected, std::string found,
                 std::string hint) {
  return {.kind = ErrorKind::kRule,
          .what = std::move(what),
          .expected = std::move(expected),
          .found = std::move(found),
          .hint = std::move(hint)};
}

void hide_metatable(lua_State* state) {
  lua_pushboolean(state, 0);
  lua_setfield(state, -2, "__metatable");
}

int Sandbox::fail(lua_State* state, std::string what, std::string expected,
                  std::string found, std::string hint) {
  return fail(state, wrong(std::move(what), std::move(expected),
                           std::move(found), std::move(hint)));
}

int Sandbox::stop(lua_State* state) {
  Meter& meter = Meter::of(state);
  of(state).impl_->stopped = true;
  meter.stop();
  return meter.raise(state);
}

int Sandbox::out_of_memory(lua_State* state) {
  Meter& meter = Meter::of(state);
  meter.run_out();
  return meter.raise(state);
}

bool Sandbox::call_until_stop(lua_State* state, int arguments) {
  Meter& meter = Meter::of(state);
  if (nested_call(state, arguments, 0) == 0) return true;
  if (meter.spent() != Meter::Spent::kStopped) return lua_error(state) != 0;
  lua_pop(state, 1);
  of(state).impl_->stopped = false;
  meter.go_on(state);
  return false;
}

bool Sandbox::stopped() const { return impl_->stopped; }

void Sandbox::charge(lua_State* state, std::size_t work) {
  Meter::of(state).charge(state, work);
}

Diagnostic Sandbox::Impl::spent(std::string_view what) const {
  Diagnostic limit{.kind = ErrorKind::kLimit,
                   .where = meter.place().empty() ? running_place(state)
                                                  : file_place(meter.place())};
  const bool load = budget == Budget::kLoad;
  if (meter.spent() == Meter::Spent::kStopped) {
    limit.kind = ErrorKind::kRule;
    limit.what = fmt::format("{} was stopped", what);
  } else if (meter.spent() == Meter::Spent::kRunTime) {
    return limits.deadline.passed(std::move(limit.where),
                                  fmt::format("{} at work", what));
  } else if (meter.spent() == Meter::Spent::kTime) {
    limit.what =
        fmt::format("{} ran longer than {} s", what,
                    load ? limits.load_seconds : limits.callback_seconds);
    limit.remedy = load ? Remedy::kLoad : Remedy::kCallback;
  } else {
    limit.what = fmt::format("{} needs more memory than the limit", what);
    limit.expected =
        fmt::format("at most {} MiB, {} MiB in one piece",
                    (load ? std::min(limits.load_bytes, limits.total_bytes)
                          : limits.total_bytes) >>
                        20,
                    kMaxBlock >> 20);
    if (meter.beside() > 0) {
      constexpr double kMebi = 1 << 20;
      limit.found = fmt::format(
          "{:.1f} MiB in Lua, {:.1f} MiB that the engine uses for "
          "rules",
          static_cast<double>(meter.bytes()) / kMebi,
          static_cast<double>(meter.beside()) / kMebi);
    }
    if (!load) limit.remedy = Remedy::kMemory;
  }
  return limit;
}

// Converts the error on top of the stack to a Diagnostic; allocates nothing in
// Lua.
Diagnostic Sandbox::Impl::diagnose(std::string_view what) {
  if (meter.spent() != Meter::Spent::kNothing) return spent(what);
  if (lua_type(state, -1) != LUA_TSTRING) {
    return {.kind = ErrorKind::kRule,
            .what = fmt::format("{} raised an error that is not a text", what),
            .where = running_place(state),
            .found = lua_typename(state, lua_type(state, -1))};
  }
  std::string_view text = text_at(state, -1);
  // LuaJIT's text for a foreign C++ exception. Our code only throws bad_alloc.
  if (text == "C++ exception") {
    return {.kind = ErrorKind::kLimit,
            .what = fmt::format("{} ran out of memory", what),
            .where = running_place(state)};
  }
  if (pending && text == pending_text) return *std::exchange(pending, {});
  Diagnostic error{.kind = ErrorKind::kRule};
  std::string line;
  if (const std::size_t place = place_size(text, files); place > 0) {
    error.where = file_place(text.substr(0, place));
    line = source_line(text.substr(0, place));
    text.remove_prefix(place);
    if (text.starts_with(": ")) text.remove_prefix(2);
  } else {
    error.where = running_place(state);
  }
  error.what = printable(text, 1000);
  if (is_unnamed(text)) error.found = printable(line);
  return error;
}

// --- life ---

Sandbox::Sandbox(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->meter.owner = this;
}

Sandbox::~Sandbox() {
  // lua_close must not trigger the hook or the limit.
  lua_sethook(impl_->state, nullptr, 0, 0);
  lua_close(impl_->state);
}

Result<std::unique_ptr<Sandbox>> Sandbox::create(const SandboxLimits& limits) {
  auto impl = std::make_unique<Impl>();
  impl->limits = limits;
  impl->state = impl->meter.start();
  if (impl->state == nullptr) {
    return Diagnostic{.kind = ErrorKind::kLimit,
                      .what = "not enough memory to start Lua"};
  }
  impl->meter.set_cap(limits.total_bytes);
  std::unique_ptr<Sandbox> sandbox(new Sandbox(std::move(impl)));
  Impl& made = *sandbox->impl_;
  Status status = sandbox->protect([&made](lua_State* state) {
    luaJIT_setmode(state, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    lua_pushliteral(state, "the limit of this call is spent");
    made.meter.set_message(luaL_ref(state, LUA_REGISTRYINDEX));
    lua_pushcfunction(state, &compile_body);
    made.compiler = luaL_ref(state, LUA_REGISTRYINDEX);
    lua_newtable(state);
    install_globals(state);
    made.globals = luaL_ref(state, LUA_REGISTRYINDEX);
    made.meter.arm(state, false);
  });
  if (!status) return status.error();
  return sandbox;
}

lua_State* Sandbox::state() const { return impl_->state; }
const SandboxLimits& Sandbox::limits() const { return impl_->limits; }
void Sandbox::set_beside(std::size_t bytes) { impl_->meter.set_beside(bytes); }
std::size_t Sandbox::bytes() const { return impl_->meter.bytes(); }
std::size_t Sandbox::peak_bytes() const { return impl_->meter.peak(); }

Sandbox& Sandbox::of(lua_State* state) { return *Meter::of(state).owner; }

// --- calls ---

Status Sandbox::protect(const std::function<void(lua_State*)>& body) {
  Protected call{body};
  const int status = lua_cpcall(impl_->state, &run_body, &call);
  if (status == 0 && !call.exhausted) return {};
  Diagnostic error;
  if (call.exhausted || status == LUA_ERRMEM) {
    error = {.kind = ErrorKind::kLimit,
             .what = "Lua needs more memory than the limit",
             .remedy = Remedy::kMemory};
  } else {
    error = impl_->diagnose("a rule file");
  }
  if (status != 0) lua_pop(impl_->state, 1);
  return error;
}

Status Sandbox::compile(std::string_view text, const std::string& chunk,
                        int words_index) {
  if (!text.empty() && text[0] == LUA_SIGNATURE[0]) {
    return Diagnostic{.kind = ErrorKind::kRule,
                      .what = "bytecode is not loaded",
                      .where = chunk + ":1",
                      .hint = "use the source file"};
  }
  lua_State* state = impl_->state;
  words_index = absolute(state, words_index);
  const std::string registered = impl_->register_chunk(chunk);
  impl_->sources[registered] = text;
  const std::string name = "@" + registered;
  CompileRequest request{{text, &impl_->meter}, name.c_str(), impl_->globals};
  lua_rawgeti(state, LUA_REGISTRYINDEX, impl_->compiler);
  lua_pushlightuserdata(state, &request);
  if (words_index != 0) {
    lua_pushvalue(state, words_index);
  } else {
    lua_pushnil(state);
  }
  Status status =
      call(2, 1, Budget::kLoad, fmt::format("rule file '{}'", chunk));
  if (!status) status.error().hint = syntax_hint(status.error().what);
  return status;
}

Status Sandbox::call(int arguments, int results, Budget budget,
                     std::string_view what) {
  Impl& impl = *impl_;
  lua_State* state = impl.state;
  const int base = lua_gettop(state) - arguments - 1;
  if (impl.depth == 0) {
    const bool load = budget == Budget::kLoad;
    const std::size_t most =
        load ? std::min(impl.limits.total_bytes,
                        impl.meter.bytes() + impl.limits.load_bytes)
             : impl.limits.total_bytes;
    impl.budget = budget;
    impl.stopped = false;
    impl.pending.reset();
    lua_Debug activation;
    lua_pushvalue(state, base + 1);
    lua_getinfo(state, ">S", &activation);
    std::memcpy(impl.entered_chunk, activation.short_src, LUA_IDSIZE);
    impl.entered_line = activation.linedefined;
    impl.meter.begin(
        state, load ? impl.limits.load_seconds : impl.limits.callback_seconds,
        most, impl.limits.deadline, budget != Budget::kCallback);
  }
  ++impl.depth;
  const int nesting = impl.meter.nesting;
  const int status = lua_pcall(state, arguments, results, 0);
  impl.meter.nesting = nesting;
  --impl.depth;
  Status outcome;
  if (status != 0) {
    outcome = impl.diagnose(what);
    lua_settop(state, base);
  }
  if (impl.depth > 0) return outcome;
  impl.meter.end(state, impl.limits.total_bytes);
  if (impl.meter.spent() == Meter::Spent::kMemory) {
    impl.meter.collect(state);  // what the failed call used
  }
  return outcome;
}

Sandbox::WordHint Sandbox::set_word_hint(WordHint hint) {
  return std::exchange(impl_->word_hint, std::move(hint));
}

std::string Sandbox::word_hint(std::string_view word, std::string near) const {
  return impl_->word_hint ? impl_->word_hint(word, std::move(near)) : near;
}

std::string_view text_at(lua_State* state, int index) {
  std::size_t size = 0;
  const char* text = lua_tolstring(state, index, &size);
  return {text, size};
}

std::optional<std::string_view> string_at(lua_State* state, int index) {
  if (lua_type(state, index) != LUA_TSTRING) return std::nullopt;
  return text_at(state, index);
}

std::string_view check_text(lua_State* state, int argument) {
  luaL_checkstring(state, argument);
  return text_at(state, argument);
}

int push(lua_State* state, std::string_view text) {
  lua_pushlstring(state, text.data(), text.size());
  return 1;
}

int push_bool(lua_State* state, bool is_so) {
  lua_pushboolean(state, static_cast<int>(is_so));
  return 1;
}

int absolute(lua_State* state, int index) {
  const bool relative = index < 0 && index > LUA_REGISTRYINDEX;
  return relative ? lua_gettop(state) + index + 1 : index;
}

}  // namespace ruleengine::lua
