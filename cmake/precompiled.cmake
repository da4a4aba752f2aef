# Headers that most of our sources include, parsed once for each build folder:
# a third of the time of a small source. Sources still include what they use; a
# build of the preset `dev` goes without. In angle brackets: other headers get
# absolute paths, and clones could not share what ccache keeps.
set(CMAKE_PCH_WARN_INVALID ON)
set(precompiled
  <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <limits> <map>
  <memory> <optional> <set> <span> <string> <string_view> <unordered_map>
  <utility> <vector> <fmt/format.h> <core/base/result.h> <core/ir/model.h>)

# ruleengine_precompiled(<name> [headers...]): a target whose precompiled headers
# others reuse.
function(ruleengine_precompiled name)
  file(CONFIGURE OUTPUT ${name}.cc CONTENT "" @ONLY)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE ruleengine_options)
  target_precompile_headers(${name} PRIVATE ${precompiled} ${ARGN})
endfunction()
