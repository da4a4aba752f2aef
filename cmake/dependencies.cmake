# What comes from outside, each behind one target of ours:
# ruleengine_onnx, ruleengine_luajit, ruleengine_cli, ruleengine_json,
# ruleengine_zip, ruleengine_regex, ruleengine_unicode, ruleengine_xsmm;
# doctest, benchmark.
# Archives where RULEENGINE_STATIC asks for them.

# ruleengine_archive(<target> <name> [system libraries...])
# Debian's archives fit into programs only; libraries take the shared ones.
function(ruleengine_archive target name)
  add_library(${target} INTERFACE)
  find_library(${target}_SHARED NAMES ${name} REQUIRED)
  find_library(${target}_ARCHIVE NAMES lib${name}.a REQUIRED)
  set(file ${${target}_SHARED})
  if(RULEENGINE_STATIC)
    set(is_program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
    set(file $<IF:${is_program},${${target}_ARCHIVE},${file}>)
  endif()
  target_link_libraries(${target} INTERFACE ${file} ${ARGN})
endfunction()

if(NOT RULEENGINE_ONNX)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/cmake/setup.sh onnx-path
                  OUTPUT_VARIABLE RULEENGINE_ONNX
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(NOT EXISTS ${RULEENGINE_ONNX}/lib)
  message(FATAL_ERROR "The ONNX library is not at '${RULEENGINE_ONNX}'; "
                      "cmake/setup.sh dependencies builds it.")
endif()

ruleengine_archive(ruleengine_luajit luajit-5.1 m dl)
find_path(LUAJIT_INCLUDE luajit-2.1/lua.h REQUIRED)
target_include_directories(ruleengine_luajit SYSTEM INTERFACE
  ${LUAJIT_INCLUDE}/luajit-2.1)

find_package(Threads REQUIRED)
# What the ONNX library asks for by this name.
ruleengine_archive(ruleengine_protobuf protobuf Threads::Threads)
add_library(protobuf::libprotobuf INTERFACE IMPORTED)
target_link_libraries(protobuf::libprotobuf INTERFACE ruleengine_protobuf)
find_package(Protobuf REQUIRED)
# Not the cached one, which may be of an older build of the library.
set(ONNX_DIR ${RULEENGINE_ONNX}/lib/cmake/ONNX)
find_package(ONNX 1.23.2 CONFIG REQUIRED)
add_library(ruleengine_onnx INTERFACE)
target_link_libraries(ruleengine_onnx INTERFACE ONNX::onnx)

find_package(CLI11 REQUIRED)
add_library(ruleengine_cli INTERFACE)
target_link_libraries(ruleengine_cli INTERFACE CLI11::CLI11)

find_package(nlohmann_json REQUIRED)
add_library(ruleengine_json INTERFACE)
target_link_libraries(ruleengine_json INTERFACE nlohmann_json::nlohmann_json)

ruleengine_archive(ruleengine_zip minizip z)
# Regular expressions in linear time; letter case beyond ASCII.
ruleengine_archive(ruleengine_regex re2 Threads::Threads)
ruleengine_archive(ruleengine_unicode unistring)

# Code for small products of matrices, made at run time. Debian has it for x86-64
# only, as an archive; without it loops of ours compute them.
add_library(ruleengine_xsmm INTERFACE)
find_library(XSMM_ARCHIVE NAMES libxsmm.a)
find_library(XSMM_NOBLAS_ARCHIVE NAMES libxsmmnoblas.a)
set(RULEENGINE_XSMM)
if(XSMM_ARCHIVE AND XSMM_NOBLAS_ARCHIVE)
  set(RULEENGINE_XSMM ${XSMM_ARCHIVE} ${XSMM_NOBLAS_ARCHIVE})
  target_link_libraries(ruleengine_xsmm INTERFACE
    ${RULEENGINE_XSMM} Threads::Threads m dl)
  target_compile_definitions(ruleengine_xsmm INTERFACE RULEENGINE_XSMM=1)
endif()

find_package(doctest REQUIRED)
find_package(benchmark QUIET)
