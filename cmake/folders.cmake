# One target per folder. A folder's *.cc make a library named after its path
# (core/ir -> core_ir), its *_test.cc one doctest program (core_ir_test). A
# folder without a .cc is an interface, so the tree always configures.

set_property(GLOBAL PROPERTY RULEENGINE_TESTS "")

add_library(doctest_main OBJECT EXCLUDE_FROM_ALL cmake/doctest_main.cc)
target_link_libraries(doctest_main PUBLIC doctest::doctest ruleengine_options)

add_library(ruleengine_fmt_code STATIC EXCLUDE_FROM_ALL cmake/fmt.cc)
target_compile_options(ruleengine_fmt_code PRIVATE -ffunction-sections)
target_link_libraries(ruleengine_options INTERFACE ruleengine_fmt_code)

ruleengine_precompiled(precompiled)
ruleengine_precompiled(precompiled_tests <doctest/doctest.h>)

function(ruleengine_targets result)
  string(REPLACE "/" "_" names "${ARGN}")
  set(${result} ${names} PARENT_SCOPE)
endfunction()

# A doctest program that `ctest` and `./test` know; it runs at the root.
function(ruleengine_test name sources)
  add_executable(${name} EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(${name} PRIVATE ${ARGN} doctest_main doctest::doctest
                        ruleengine_options Threads::Threads)
  target_precompile_headers(${name} REUSE_FROM precompiled_tests)
  # As the precompiled headers are; CMake would say -fPIE.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  # Only where it is read: a path would keep clones from sharing a compilation.
  foreach(source ${sources})
    file(STRINGS ${source} reads REGEX RULEENGINE_SOURCE_DIR LIMIT_COUNT 1)
    if(reads)
      set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS
        RULEENGINE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    endif()
  endforeach()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_property(TEST ${name} PROPERTY ENVIRONMENT
    ASAN_OPTIONS=detect_stack_use_after_return=1
    UBSAN_OPTIONS=print_stacktrace=1)
  set_property(GLOBAL APPEND PROPERTY RULEENGINE_TESTS ${name})
endfunction()

# ruleengine_folder(<folder> [OPTIONAL] [COLD|HOT] [TESTS folder...]
#                   [DEPS folder...] [LIBS target...] [PROGRAM name])
# OPTIONAL: nothing where the folder is absent. COLD: nothing in it runs long, so
# it is optimized less, which compiles in three quarters of the time. HOT: its loops
# become vector code. TESTS: what only its tests use. PROGRAM: main.cc of the
# folder becomes that program, at the top of the build folder.
function(ruleengine_folder folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIONAL;COLD;HOT" "PROGRAM"
                        "TESTS;DEPS;LIBS")
  ruleengine_targets(target ${folder})
  ruleengine_targets(tests_use ${arg_TESTS})
  ruleengine_targets(deps ${arg_DEPS})
  if(arg_OPTIONAL AND NOT IS_DIRECTORY ${CMAKE_SOURCE_DIR}/${folder})
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
       ${CMAKE_SOURCE_DIR}/${folder}/*.cc)
  # CUDA's parts are folders of their own; cmake/cuda.cmake has that of attention.
  set(apart cuda)
  if(folder MATCHES "/cuda$")
    set(apart attention)
  endif()
  list(FILTER sources EXCLUDE REGEX "^${CMAKE_SOURCE_DIR}/${folder}/${apart}/")
  if(RULEENGINE_CUDA)
    list(FILTER sources EXCLUDE REGEX "/without_cuda\\.cc$")
  endif()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  # A pragma for an instruction set would reach the files that a unity build
  # puts behind it.
  foreach(source ${sources})
    file(STRINGS ${source} pragmas REGEX "^#pragma GCC target")
    if(pragmas)
      set_source_files_properties(${source} PROPERTIES
                                  SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC ${deps} ruleengine_options
                          PRIVATE ${arg_LIBS})
    target_precompile_headers(${target} REUSE_FROM precompiled)
    if(arg_COLD)
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    if(arg_HOT)
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
    endif()
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${deps} ruleengine_options)
  endif()
  if(tests)
    # Tests speak ONNX text, whatever the folder itself may know.
    ruleengine_test(${target}_test "${tests}" ${target} core_text ${tests_use}
                    ${arg_LIBS})
  endif()
  if(arg_PROGRAM AND EXISTS ${CMAKE_SOURCE_DIR}/${folder}/main.cc)
    add_executable(${arg_PROGRAM} ${folder}/main.cc)
    target_link_libraries(${arg_PROGRAM} PRIVATE ${target} ${arg_LIBS})
    set_target_properties(${arg_PROGRAM} PROPERTIES
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  endif()
endfunction()

# tests/<dir>/*.cc: what crosses modules, one program tests_<dir>_test each.
function(ruleengine_cross_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "DEPS;LIBS")
  ruleengine_targets(deps ${arg_DEPS})
  file(GLOB dirs LIST_DIRECTORIES true CONFIGURE_DEPENDS
       ${CMAKE_SOURCE_DIR}/tests/*)
  foreach(dir ${dirs})
    get_filename_component(name ${dir} NAME)
    file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc)
    set(tests ${sources})
    list(FILTER tests INCLUDE REGEX "_test\\.cc$")
    if(tests AND NOT name STREQUAL bench)
      ruleengine_test(tests_${name}_test "${sources}" ${deps} ${arg_LIBS})
    endif()
  endforeach()
endfunction()

# tests/bench/*.cc: Google Benchmark, built only when asked for.
function(ruleengine_bench)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "DEPS")
  ruleengine_targets(deps ${arg_DEPS})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/bench/*.cc)
  if(sources AND benchmark_FOUND)
    add_executable(bench EXCLUDE_FROM_ALL ${sources})
    target_link_libraries(bench PRIVATE ${deps} ruleengine_onnx
                          benchmark::benchmark_main ruleengine_options)
  endif()
endfunction()

# core/ops answers questions about ops from a table made at build time, since
# the ONNX library's own registry takes 30 ms of every start to fill.
function(ruleengine_op_facts)
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/core/ops/op_facts.cc)
    return()
  endif()
  add_executable(op_facts_generator EXCLUDE_FROM_ALL
                 cmake/op_facts_generator.cc)
  target_link_libraries(op_facts_generator PRIVATE ruleengine_onnx
                        ruleengine_options)
  set(table ${CMAKE_BINARY_DIR}/generated/core/ops/op_facts_table.inc)
  add_custom_command(OUTPUT ${table} COMMAND op_facts_generator ${table}
                     DEPENDS op_facts_generator VERBATIM)
  target_sources(core_ops PRIVATE ${table})
endfunction()

# The man page and the completions for shells, built only when asked for.
function(ruleengine_pages)
  set(templates ${CMAKE_SOURCE_DIR}/cmake/pages)
  set(docs ${CMAKE_SOURCE_DIR}/docs)
  set(folder ${CMAKE_BINARY_DIR}/pages)
  set(stubs ${CMAKE_BINARY_DIR}/lua/ruleengine.lua)
  set(names ruleengine.1 ruleengine.bash _ruleengine ruleengine.fish)
  list(TRANSFORM names PREPEND ${folder}/ OUTPUT_VARIABLE pages)
  list(TRANSFORM names REPLACE "(.+)" "${templates}/\\1.in"
       OUTPUT_VARIABLE sources)
  add_executable(pages_generator EXCLUDE_FROM_ALL cmake/pages/generator.cc
                 cmake/pages/described.cc)
  target_link_libraries(pages_generator PRIVATE bindings_cli ruleengine_options)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lua)
  add_custom_command(OUTPUT ${pages} ${stubs}
    COMMAND pages_generator ${templates} ${docs} ${folder} ${stubs}
    DEPENDS pages_generator ${sources} ${docs}/promises.md
            ${RULEENGINE_REFERENCE} VERBATIM)
  add_custom_target(ruleengine_pages ALL DEPENDS ${pages} ${stubs})
endfunction()

# The examples of all rules but the fragments in rules/lib.
function(ruleengine_rule_examples)
  file(GLOB_RECURSE rules RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
       ${CMAKE_SOURCE_DIR}/rules/*.lua)
  list(FILTER rules EXCLUDE REGEX "/lib/")
  add_test(NAME rule_examples COMMAND ruleengine test ${rules}
           WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
endfunction()

# The programs that ./test runs, one name per line.
function(ruleengine_write_test_list)
  get_property(tests GLOBAL PROPERTY RULEENGINE_TESTS)
  list(JOIN tests "\n" text)
  file(CONFIGURE OUTPUT tests.txt CONTENT "${text}\n" @ONLY)
  add_custom_target(unit_tests DEPENDS ${tests})
endfunction()
