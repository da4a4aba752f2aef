#include "bindings/lua/load/shipped.h"

#include <system_error>

#include "bindings/lua/sandbox/sandbox.h"

namespace ruleengine::lua {

namespace fs = std::filesystem;

// Follows links: an installed program may be a link.
std::vector<fs::path> shipped_places() {
  std::vector<fs::path> places;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path home = program.parent_path().parent_path();
    places = {home / "rules", home / "share" / "ruleengine" / "rules"};
  }
  places.emplace_back(RULEENGINE_RULES_DIR);
  return places;
}

Result<fs::path> shipped_rules() {
  std::error_code error;
  for (const fs::path& place : shipped_places()) {
    if (fs::exists(place / "canonical.lua", error)) {
      return place.lexically_normal();
    }
  }
  return wrong("the rules that ship with the program are missing",
               "the folder rules/ beside the program's");
}

}  // namespace ruleengine::lua
