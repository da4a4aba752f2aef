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
  # ccache compares preprocessed text, which has no comments. But #pragma once
  # knows a header by all of its bytes: after a change in a comment the compiler
  # would read it a second time beside an old precompiled one.
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/base/*.h
         ${CMAKE_SOURCE_DIR}/core/ir/*.h)
    list(JOIN headers ":" headers)
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER
      "env;CCACHE_EXTRAFILES=${headers};${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()
