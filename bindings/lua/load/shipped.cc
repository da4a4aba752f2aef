#include "bindings/lua/load/shipped.h"

#include <dlfcn.h>

#include <system_error>

#include "bindings/lua/sandbox/sandbox.h"
#include "core/base/folder.h"

namespace ruleengine::lua {

namespace fs = std::filesystem;

namespace {

// Where this code is: libruleengine.so, or the program. Follows links, since an
// installed program may be one.
fs::path own_file() {
  std::error_code error;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&shipped_places), &info) != 0 &&
      fs::path(info.dli_fname)
          .filename()
          .string()
          .starts_with("libruleengine.so")) {
    const fs::path own = fs::canonical(info.dli_fname, error);
    check_memory(error);
    return own;
  }
  return fs::read_symlink("/proc/self/exe", error);
}

}  // namespace

std::vector<fs::path> shipped_places(const RuleTexts* texts) {
  if (texts != nullptr && !texts->shipped().empty()) {
    return {texts->shipped()};
  }
  const fs::path own = own_file(), folder = own.parent_path();
  std::vector<fs::path> places;
  std::error_code error;
  if (fs::exists(folder / "CMakeCache.txt", error)) {
    places = {folder.parent_path() / "rules", folder / "rules"};
  } else if (own.filename().string().find("ruleengine") != own.string().npos) {
    // PREFIX/bin/ruleengine, PREFIX/lib/TRIPLET/libruleengine.so
    for (const fs::path& prefix :
         {folder.parent_path(), folder.parent_path().parent_path()}) {
      places.push_back(prefix / "share" / "ruleengine" / "rules");
    }
  }
  // For programs that were linked with the archive too.
  places.emplace_back(RULEENGINE_RULES_DIR);
  places.emplace_back("/usr/share/ruleengine/rules");
  return places;
}

Result<fs::path> shipped_rules(const RuleTexts* texts) {
  std::error_code error;
  for (const fs::path& place : shipped_places(texts)) {
    if (fs::exists(place / "canonical.lua", error)) {
      return place.lexically_normal();
    }
  }
  std::string all;
  for (const fs::path& place : shipped_places(texts)) {
    all += (all.empty() ? "" : ", ") + place.lexically_normal().string();
  }
  return wrong("the rules that ship are missing", "canonical.lua in " + all);
}

}  // namespace ruleengine::lua
