// Places in rule code: files and lines, as the user knows them.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "bindings/lua/sandbox/sandbox_impl.h"
#include "core/text/lines.h"

namespace ruleengine::lua {
namespace {

std::string current_place(const lua_Debug& activation) {
  return fmt::format("{}:{}", activation.short_src, activation.currentline);
}

// The folder of a "file:line".
std::string place_folder(std::string_view place) {
  const auto slash = place.rfind('/');
  return std::string(slash == place.npos ? "" : place.substr(0, slash));
}

}  // namespace

std::string Sandbox::Impl::register_chunk(const std::string& file) {
  std::string name = file;
  if (const auto slash = name.rfind('/'); slash != name.npos) {
    name.erase(0, slash + 1);
  }
  name = printable(name, 40);
  std::string chunk = name;
  for (int i = 2; true; ++i) {
    const auto [at, fresh] = files.emplace(chunk, file);
    if (fresh || at->second == file) return chunk;
    chunk = fmt::format("{}#{}", name, i);
  }
}

std::string Sandbox::Impl::source_line(std::string_view place) const {
  const auto colon = place.rfind(':');
  if (colon == place.npos) return "";
  const auto source = sources.find(place.substr(0, colon));
  if (source == sources.end()) return "";
  std::string_view rest = source->second;
  for (int line = line_of(place); line > 1; --line) text::take_line(rest);
  rest = text::take_line(rest);
  const auto begin = rest.find_first_not_of(" \t");
  if (begin == rest.npos) return "";
  return std::string(
      rest.substr(begin, rest.find_last_not_of(" \t\r") + 1 - begin));
}

std::string Sandbox::Impl::file_place(std::string_view place) const {
  const auto colon = place.rfind(':');
  if (colon == place.npos) return std::string(place);
  const auto file = files.find(place.substr(0, colon));
  if (file == files.end()) return std::string(place);
  return file->second + std::string(place.substr(colon));
}

// After a tail call the callee replaces its caller on the stack, so the tracked
// line is more exact than the stack.
std::string Sandbox::Impl::running_place(lua_State* running) const {
  if (meter.line() > 0) {
    return file_place(fmt::format("{}:{}", meter.chunk(), meter.line()));
  }
  lua_Debug activation;
  for (int level = 1; lua_getstack(running, level, &activation) != 0; ++level) {
    lua_getinfo(running, "Sl", &activation);
    if (activation.currentline > 0) {
      return file_place(current_place(activation));
    }
  }
  if (entered_line <= 0) return {};
  return file_place(fmt::format("{}:{}", entered_chunk, entered_line));
}

std::string Sandbox::here(lua_State* state) {
  return of(state).impl_->running_place(state);
}

std::string Sandbox::caller(lua_State* state) {
  const Impl& impl = *of(state).impl_;
  std::string own, place;
  lua_Debug activation;
  for (int level = 1; lua_getstack(state, level, &activation) != 0; ++level) {
    lua_getinfo(state, "Sl", &activation);
    if (activation.currentline <= 0) continue;
    const std::string at = current_place(activation);
    const std::string folder = place_folder(impl.file_place(at));
    if (place.empty()) {
      own = folder;
      place = at;
    }
    if (own != folder) return at;
  }
  return place;
}

std::string Sandbox::place_of(lua_State* state, int function_index) {
  lua_Debug activation;
  lua_pushvalue(state, function_index);
  lua_getinfo(state, ">S", &activation);
  return file_place(state, fmt::format("{}:{}", activation.short_src,
                                       activation.linedefined));
}

int Sandbox::line_of(std::string_view place) {
  const auto colon = place.rfind(':');
  if (colon == place.npos) return 0;
  int line = 0;
  for (const char c : place.substr(colon + 1)) {
    if (c < '0' || c > '9' || line > 100'000'000) return 0;
    line = line * 10 + (c - '0');
  }
  return line;
}

std::string Sandbox::file_place(lua_State* state, std::string_view place) {
  return of(state).impl_->file_place(place);
}

int Sandbox::blame(lua_State* state, std::string_view place) {
  Impl& impl = *of(state).impl_;
  std::optional<std::string> own;
  lua_Debug activation;
  for (int level = 1; lua_getstack(state, level, &activation) != 0; ++level) {
    lua_getinfo(state, "Sl", &activation);
    if (activation.currentline <= 0) continue;
    own = place_folder(impl.file_place(current_place(activation)));
    break;
  }
  const bool text = impl.pending && lua_type(state, -1) == LUA_TSTRING &&
                    impl.pending_text == lua_tostring(state, -1);
  if (!text || !own || place_folder(impl.pending->where) != *own) {
    return lua_error(state);
  }
  Diagnostic error = *std::exchange(impl.pending, {});
  error.where = impl.file_place(place);
  return fail(state, std::move(error));
}

}  // namespace ruleengine::lua
