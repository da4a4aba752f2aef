# What bindings/c/ruleengine.h declares, as a shared library and as an archive.

# ruleengine_library(<folder of the interface> [folder...])
# The other folders are all that it is made of.
function(ruleengine_library folder)
  ruleengine_targets(interface ${folder})
  ruleengine_targets(parts ${ARGN})

  set(symbols ${CMAKE_BINARY_DIR}/generated/symbols.map)
  configure_file(bindings/c/symbols.map.in ${symbols} @ONLY)

  # While the version is 0.N, each N is an interface of its own. -Bsymbolic: the
  # library calls its own functions, whatever a program calls so too.
  add_library(ruleengine_shared SHARED cmake/empty.cc)
  set_target_properties(ruleengine_shared PROPERTIES
    OUTPUT_NAME ruleengine
    EXPORT_NAME shared
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${symbols})
  target_link_libraries(ruleengine_shared PRIVATE
    -Wl,--whole-archive ${interface} -Wl,--no-whole-archive ruleengine_options)
  target_include_directories(ruleengine_shared INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_options(ruleengine_shared PRIVATE
    -Wl,--version-script=${symbols}
    -Wl,--no-undefined -Wl,-Bsymbolic)

  # One object in which only re_* is global, so that a program may have its own
  # Lua, ONNX and protobuf. Code that several objects share would be merged with
  # the program's, which is compiled in another way: its groups go.
  set(archives)
  foreach(part ${parts} ruleengine_fmt_code ONNX::onnx ONNX::onnx_proto)
    list(APPEND archives $<TARGET_FILE:${part}>)
  endforeach()
  foreach(part luajit protobuf zip regex)
    list(APPEND archives ${ruleengine_${part}_ARCHIVE})
  endforeach()
  list(APPEND archives ${RULEENGINE_XSMM})
  set(object ${CMAKE_BINARY_DIR}/ruleengine.o)
  set(archive ${CMAKE_BINARY_DIR}/libruleengine.a)
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object}
            --whole-archive $<TARGET_FILE:${interface}> --no-whole-archive
            --start-group ${archives} --end-group
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=re_* ${object}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_AR} rcsD ${archive} ${object}
    COMMAND ${CMAKE_COMMAND} -E rm ${object}
    DEPENDS ${interface} ${parts} ruleengine_fmt_code
    VERBATIM)
  add_custom_target(ruleengine_static ALL DEPENDS ${archive})
endfunction()
