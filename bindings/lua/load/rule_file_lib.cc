// lib "name": finds libs, and runs one for the file that uses it.
#include <algorithm>
#include <lua.hpp>
#include <system_error>
#include <utility>

#include "bindings/lua/load/rule_file_loader.h"
#include "bindings/lua/sandbox/sandbox.h"
#include "core/base/folder.h"
#include "core/base/suggest.h"

namespace ruleengine::lua {

namespace fs = std::filesystem;

namespace {

constexpr int kMaxLibs = 16;  // libs that use libs

// The folders in which `lib` searches, in that order.
std::vector<fs::path> lib_folders(const fs::path& rule, const fs::path& running,
                                  const RuleStore& store) {
  std::vector<fs::path> folders;
  if (running != rule) folders.push_back(running.parent_path());
  fs::path folder = rule.parent_path();
  for (int i = 0; i < 3; ++i) {
    folders.push_back(folder / "lib");
    if (folder == folder.parent_path()) break;
    folder = folder.parent_path();
    if (folder.empty()) break;  // above "memory:"
  }
  for (const fs::path& shipped : store.shipped()) {
    folders.push_back(shipped / "lib");
  }
  return folders;
}

struct FoundLib {
  fs::path real;
  std::string text;
};

// The names of all libs in the folders, for "did you mean".
std::vector<std::string> lib_names(const std::vector<fs::path>& folders) {
  std::vector<std::string> names;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (const fs::path name : names_in(folder, error)) {
      if (name.extension() == ".lua") names.push_back(name.stem().string());
    }
  }
  std::ranges::sort(names);
  const auto rest = std::ranges::unique(names);
  names.erase(rest.begin(), rest.end());
  return names;
}

bool is_shipped(const fs::path& folder, const RuleStore& store) {
  return std::ranges::any_of(store.shipped(), [&](const fs::path& shipped) {
    return shipped / "lib" == folder;
  });
}

FoundLib find_lib(lua_State* state, const std::string& name,
                  const std::vector<fs::path>& folders, RuleStore& store) {
  for (const fs::path& folder : folders) {
    auto found = store.real(folder / (name + ".lua"));
    if (!found) Sandbox::fail(state, found.error());
    if (!*found) continue;
    const fs::path& real = **found;
    // A lib must not be a link: a rule by others could read any file with it.
    if (real.parent_path() != folder && !is_shipped(folder, store)) {
      Sandbox::fail(state, "lib '" + name + "' is behind a symbolic link",
                    "a file in " + folder.string(), real.string(),
                    "put the file itself there");
    }
    Result<std::optional<std::string>> text = store.read(real, kMaxSource);
    if (!text) Sandbox::fail(state, text.error());
    if (*text) return {real, std::move(**text)};
  }
  Sandbox::fail(state, "no lib '" + name + "'",
                (folders.front() / (name + ".lua")).string(), {},
                suggestion(name, lib_names(folders)));
  return {};
}

}  // namespace

void Loader::push_lib(lua_State* state, const std::string& file,
                      const fs::path& real, const std::string& text) {
  Lib& lib = libs_[real];
  if (lib.function == 0 || lib.file != file || lib.text != text) {
    if (lib.function != 0) luaL_unref(state, LUA_REGISTRYINDEX, lib.function);
    lib.function = 0;
    static_cast<void>(compile(state, file, text));
    lib = {file, text, luaL_ref(state, LUA_REGISTRYINDEX)};
  }
  lua_rawgeti(state, LUA_REGISTRYINDEX, lib.function);
}

int Loader::lib(lua_State* state) {
  const std::string name(check_text(state, 1));
  if (request_ == nullptr || state != sandbox_.state()) {
    return Sandbox::fail(state,
                         "`lib` must be called at the top of a rule file");
  }
  if (!is_lua_name(name)) {
    return Sandbox::fail(
        state, quoted_name(name, 60) + " is not a valid name of a lib");
  }
  Request& request = *request_;
  const FoundLib found = find_lib(
      state, name,
      lib_folders(request.real, request.running.back().real, store_), store_);
  lua_rawgeti(state, LUA_REGISTRYINDEX, request.libs);
  const int libs = lua_gettop(state);
  lua_getfield(state, libs, found.real.c_str());
  if (!lua_isnil(state, -1)) return 1;
  lua_pop(state, 1);
  if (std::ranges::find(request.running, found.real, &RunningFile::real) !=
      request.running.end()) {
    return Sandbox::fail(state, "lib '" + name + "' uses itself");
  }
  if (request.running.size() > kMaxLibs) {
    return Sandbox::fail(state, "libs are nested too deeply");
  }
  // Shown relative to the rule's path as the user gave it, if possible.
  const fs::path relative =
      found.real.lexically_relative(request.real.parent_path());
  const std::string file =
      relative.empty() ? found.real.string()
                       : (fs::path(request.file).parent_path() / relative)
                             .lexically_normal()
                             .string();
  request.running.push_back({file, found.real, true});
  push_lib(state, file, found.real, found.text);
  run(state);
  request.running.pop_back();
  if (lua_isnil(state, -1)) {
    return fail_in(state, file, 1, "the lib returns nothing",
                   "return { name = function ... }");
  }
  lua_pushvalue(state, -1);
  lua_setfield(state, libs, found.real.c_str());
  return 1;
}

}  // namespace ruleengine::lua
