# The Python package: the module _native beside the sources of bindings/python,
# the rules and the program, as one folder that works where it is built and in a
# wheel (pyproject.toml).

# ruleengine_python(<folder> DEPS folder...)
function(ruleengine_python folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS")
  ruleengine_targets(parts ${arg_DEPS})
  find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module
               OPTIONAL_COMPONENTS Development.SABIModule)
  if(SKBUILD)
    if(NOT Python_Development.Module_FOUND)
      message(FATAL_ERROR "The headers of Python are missing (python3-dev).")
    endif()
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                    OUTPUT_VARIABLE nanobind OUTPUT_STRIP_TRAILING_WHITESPACE
                    COMMAND_ERROR_IS_FATAL ANY)
  elseif(RULEENGINE_NANOBIND AND Python_Development.Module_FOUND)
    set(nanobind ${RULEENGINE_NANOBIND}/nanobind/cmake)
  else()
    message(STATUS "no Python package: it needs python3-dev and nanobind")
    return()
  endif()
  include(${nanobind}/nanobind-config.cmake)

  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cc)
  nanobind_add_module(python_native STABLE_ABI NB_STATIC NB_SUPPRESS_WARNINGS
                      NOMINSIZE ${sources})
  target_link_libraries(python_native PRIVATE ${parts} ruleengine_options)
  # Nothing of ours, or of what is linked, is seen from outside.
  set(symbols ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/python.map)
  target_link_options(python_native PRIVATE -Wl,--version-script=${symbols})
  set(package ${CMAKE_BINARY_DIR}/python/ruleengine)
  set_target_properties(python_native PROPERTIES EXCLUDE_FROM_ALL ON
    OUTPUT_NAME _native
    LINK_DEPENDS ${symbols}
    LIBRARY_OUTPUT_DIRECTORY ${package}
    BUILD_RPATH_USE_ORIGIN ON
    INSTALL_RPATH "$ORIGIN/lib")
  add_custom_target(python_package DEPENDS python_native ruleengine
                    ruleengine_pages)

  # The package where it is built.
  file(GLOB files CONFIGURE_DEPENDS
       ${CMAKE_SOURCE_DIR}/${folder}/ruleengine/*.py*
       ${CMAKE_SOURCE_DIR}/${folder}/ruleengine/py.typed)
  file(MAKE_DIRECTORY ${package}/bin ${package}/share/ruleengine)
  foreach(file ${files})
    get_filename_component(name ${file} NAME)
    file(CREATE_LINK ${file} ${package}/${name} SYMBOLIC)
  endforeach()
  file(CREATE_LINK ${CMAKE_BINARY_DIR}/ruleengine ${package}/bin/ruleengine
       SYMBOLIC)
  foreach(name rules docs)
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${name}
         ${package}/share/ruleengine/${name} SYMBOLIC)
  endforeach()
  file(CREATE_LINK ${CMAKE_BINARY_DIR}/lua ${package}/share/ruleengine/lua
       SYMBOLIC)

  # The package in a wheel, beside the sources.
  set(to COMPONENT python EXCLUDE_FROM_ALL)
  install(TARGETS python_native LIBRARY DESTINATION ruleengine ${to})
  install(TARGETS ruleengine RUNTIME DESTINATION ruleengine/bin ${to})
  install(DIRECTORY rules DESTINATION ruleengine/share/ruleengine ${to}
          FILES_MATCHING PATTERN "*.lua")
  install(FILES ${RULEENGINE_REFERENCE}
          DESTINATION ruleengine/share/ruleengine/docs ${to})
  install(FILES ${CMAKE_BINARY_DIR}/lua/ruleengine.lua
          DESTINATION ruleengine/share/ruleengine/lua ${to})
  install(FILES cmake/copyright DESTINATION ruleengine/share/ruleengine ${to})
  # Debian's libraries that other systems may lack, under names of their own:
  # the process may have others of theirs.
  install(CODE [[
    find_program(patchelf patchelf REQUIRED)
    set(folder $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/ruleengine)
    file(GLOB modules ${folder}/_native*.so)
    file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${modules}
         RESOLVED_DEPENDENCIES_VAR libraries
         PRE_INCLUDE_REGEXES "lib(minizip|re2|unistring|protobuf|luajit)[.-]"
         PRE_EXCLUDE_REGEXES ".")
    file(MAKE_DIRECTORY ${folder}/lib)
    foreach(library ${libraries})
      get_filename_component(name ${library} NAME)
      string(REGEX REPLACE "^lib" "libruleengine_" own ${name})
      file(REAL_PATH ${library} real)
      file(COPY_FILE ${real} ${folder}/lib/${own})
      execute_process(COMMAND ${patchelf} --set-soname ${own}
                              ${folder}/lib/${own} COMMAND_ERROR_IS_FATAL ANY)
      execute_process(COMMAND ${patchelf} --replace-needed ${name} ${own}
                              ${modules} COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
  ]] ${to})
endfunction()
