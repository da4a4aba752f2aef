# CUDA, where the toolkit, cuDNN and cuBLAS have their headers here. The
# libraries are opened at run time, so that one program serves machines with and
# without them. Without the headers the folders */cuda are left out.
#
# RULEENGINE_CUDA: whether they are built. ruleengine_cuda: headers.
set(RULEENGINE_CUDNN_FRONTEND "" CACHE PATH
    "the folder of the package nvidia-cudnn-frontend")
set(RULEENGINE_CUDA OFF)

set(hints $ENV{CUDA_HOME} /usr/local/cuda)
find_program(NVCC nvcc HINTS ${hints} PATH_SUFFIXES bin)
find_path(CUDA_INCLUDE cuda.h HINTS ${hints} PATH_SUFFIXES include)
find_path(CUDNN_INCLUDE cudnn_graph.h HINTS ${hints} PATH_SUFFIXES include)
find_path(CUBLASLT_INCLUDE cublasLt.h HINTS ${hints} PATH_SUFFIXES include)
find_path(CUDNN_FRONTEND_INCLUDE cudnn_frontend.h
          HINTS ${RULEENGINE_CUDNN_FRONTEND} PATH_SUFFIXES include)
if(NVCC AND CUDA_INCLUDE AND CUDNN_INCLUDE AND CUBLASLT_INCLUDE AND
   CUDNN_FRONTEND_INCLUDE)
  set(RULEENGINE_CUDA ON)
  add_library(ruleengine_cuda INTERFACE)
  target_include_directories(ruleengine_cuda SYSTEM INTERFACE
    ${CUDA_INCLUDE} ${CUDNN_INCLUDE} ${CUBLASLT_INCLUDE}
    ${CUDNN_FRONTEND_INCLUDE})
  target_link_libraries(ruleengine_cuda INTERFACE dl)
  # The code of Hopper also runs on what comes later, compiled by the driver.
  set(RULEENGINE_CUDA_CHIPS
      -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_89,code=sm_89
      -gencode=arch=compute_90,code=[sm_90,compute_90]
      -gencode=arch=compute_100,code=sm_100)
endif()
message(STATUS "CUDA: ${RULEENGINE_CUDA}")

# kernels/cuda/device/*.cu. kernels_cuda_images: their machine code
# (kernels/cuda/images.h). cuda_emulated_kernels: the same sources for the host,
# with the emulator that runs them.
file(GLOB RULEENGINE_CUDA_KERNELS CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/kernels/cuda/device/*.cu)

# The image of a kernel's source: <build>/cuda/<name>.fatbin. ccache does not
# keep fat binaries, so it is not asked.
function(ruleengine_cuda_image source image)
  add_custom_command(OUTPUT ${image}
    COMMAND ${NVCC} --fatbin -O3 -std=c++20 --expt-relaxed-constexpr
            ${RULEENGINE_CUDA_CHIPS}
            --compress-mode=size --Werror all-warnings -I ${CMAKE_SOURCE_DIR}
            -MD -MF ${image}.d
            -o ${image} ${source}
    DEPENDS ${source} DEPFILE ${image}.d VERBATIM)
endfunction()

function(ruleengine_cuda_images)
  set(folder ${CMAKE_BINARY_DIR}/cuda)
  file(MAKE_DIRECTORY ${folder})
  set(images "")
  set(data "")
  set(names "")
  set(table "")
  foreach(source ${RULEENGINE_CUDA_KERNELS})
    get_filename_component(name ${source} NAME_WE)
    ruleengine_cuda_image(${source} ${folder}/${name}.fatbin)
    list(APPEND images ${folder}/${name}.fatbin)
    string(APPEND data "    \".balign 64\\n${name}_image:\\n\"\n"
      "    \".incbin \\\"${folder}/${name}.fatbin\\\"\\n${name}_image_end:\\n\"\n")
    string(APPEND names "extern const unsigned char ${name}_image[], "
      "${name}_image_end[];\n")
    string(APPEND table
      "    {\"${name}\", {${name}_image, ${name}_image_end}},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/images.cc @ONLY CONTENT [[
#include "kernels/cuda/images.h"

asm(".pushsection .rodata\n"
@data@    ".popsection");
extern "C" {
@names@}

namespace ruleengine::kernels {

std::span<const Image> images() {
  static const Image all[] = {
@table@  };
  return all;
}

}  // namespace ruleengine::kernels
]])
  set_source_files_properties(${folder}/images.cc PROPERTIES
                              OBJECT_DEPENDS "${images}")
  add_library(kernels_cuda_images STATIC EXCLUDE_FROM_ALL ${folder}/images.cc)
  target_link_libraries(kernels_cuda_images PUBLIC ruleengine_options)
  # It would not see that an image changed.
  set_target_properties(kernels_cuda_images PROPERTIES CXX_COMPILER_LAUNCHER "")
endfunction()

# Sources of kernels as C++, for the emulator of tests/cuda. g++ does not know
# their `#pragma unroll`.
function(ruleengine_emulated target)
  target_sources(${target} PRIVATE ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX
    SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
    "-Wno-unknown-pragmas;-include;${CMAKE_SOURCE_DIR}/tests/cuda/emulator/device.h")
  target_link_libraries(${target} PRIVATE ruleengine_cuda)
endfunction()

function(ruleengine_cuda_tests)
  set(emulator ${CMAKE_SOURCE_DIR}/tests/cuda/emulator)
  file(GLOB sources CONFIGURE_DEPENDS ${emulator}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  add_library(cuda_emulated_code STATIC EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(cuda_emulated_code PUBLIC ruleengine_options)
  ruleengine_emulated(cuda_emulated_code ${RULEENGINE_CUDA_KERNELS})
  # No symbol asks for the kernels: they register themselves.
  add_library(cuda_emulated_kernels INTERFACE)
  target_link_libraries(cuda_emulated_kernels INTERFACE
    $<LINK_LIBRARY:WHOLE_ARCHIVE,cuda_emulated_code> ruleengine_options)
  file(GLOB tests CONFIGURE_DEPENDS ${emulator}/*_test.cc
       ${CMAKE_SOURCE_DIR}/tests/cuda/device/*_test.cc)
  ruleengine_test(cuda_device_test "${tests}" cuda_emulated_kernels
                  ruleengine_cuda)
  ruleengine_emulated(cuda_device_test ${emulator}/faults.cu)

  # A library of the driver's name, which a test links: whoever opens the driver
  # gets it.
  file(GLOB standin CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cuda/standin/*.cc)
  add_library(cuda_standin SHARED EXCLUDE_FROM_ALL ${standin})
  set_target_properties(cuda_standin PROPERTIES
    OUTPUT_NAME cuda SOVERSION 1
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/cuda/standin)
  target_link_libraries(cuda_standin PRIVATE cuda_emulated_kernels
                        ruleengine_cuda ruleengine_options)
  file(STRINGS ${CUBLASLT_INCLUDE}/cublas_api.h major REGEX "define CUBLAS_VER_MAJOR")
  string(REGEX MATCH "([0-9]+)$" major ${major})
  add_library(cublaslt_standin SHARED EXCLUDE_FROM_ALL
              ${CMAKE_SOURCE_DIR}/tests/cuda/cublaslt/cublaslt.cc)
  set_target_properties(cublaslt_standin PROPERTIES
    OUTPUT_NAME cublasLt SOVERSION ${CMAKE_MATCH_1}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/cuda/standin)
  target_link_libraries(cublaslt_standin PRIVATE cuda_standin ruleengine_cuda
                        ruleengine_options)
  ruleengine_cudnn_standin()
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cuda/backend/*.cc)
  ruleengine_test(cuda_backend_test "${tests}" kernels_cuda kernels
                  -Wl,--no-as-needed cuda_standin cublaslt_standin
                  cudnn_standin -Wl,--as-needed
                  core_text core_io ruleengine_cuda)
  # A fiber that has a second stack for what outlives its functions takes many
  # times as long.
  set_property(TEST cuda_device_test cuda_backend_test PROPERTY ENVIRONMENT
    ASAN_OPTIONS=detect_stack_use_after_return=0
    UBSAN_OPTIONS=print_stacktrace=1)
  add_dependencies(standins cuda_standin cublaslt_standin cudnn_standin)
  ruleengine_cuda_plans()

  # tests/gpu/run asks it.
  add_executable(cuda_attention_bench EXCLUDE_FROM_ALL
    ${CMAKE_SOURCE_DIR}/tests/gpu/attention_bench.cc)
  target_link_libraries(cuda_attention_bench PRIVATE kernels_cuda kernels
    core_text ruleengine_cuda)
  add_dependencies(standins cuda_attention_bench)

  # tests/cuda/static asks it.
  add_executable(cuda_occupancy EXCLUDE_FROM_ALL
    ${CMAKE_SOURCE_DIR}/tests/cuda/static/occupancy.cc
    ${CMAKE_SOURCE_DIR}/tests/cuda/plans/chips.cc)
  target_link_libraries(cuda_occupancy PRIVATE ruleengine_options
                        ruleengine_cuda)
endfunction()

# A library of cuDNN's name, beside that of the driver, which computes on the
# host; and the test of what plans compute.
function(ruleengine_cudnn_standin)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cuda/cudnn/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(plans ${CMAKE_SOURCE_DIR}/kernels/cuda/attention)
  add_library(cudnn_standin SHARED EXCLUDE_FROM_ALL ${sources}
              ${CMAKE_SOURCE_DIR}/tests/cuda/plans/chips.cc ${plans}/chip.cc
              ${plans}/bytes.cc)
  set_target_properties(cudnn_standin PROPERTIES
    OUTPUT_NAME cudnn SOVERSION 9
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/cuda/standin)
  target_link_libraries(cudnn_standin PRIVATE cuda_standin core_base core_ir
                        ruleengine_cuda ruleengine_options)
  ruleengine_test(cuda_attention_test "${tests}" kernels_cuda_attention
                  -Wl,--no-as-needed cuda_standin cudnn_standin -Wl,--as-needed
                  core_ir ruleengine_cuda)
endfunction()

# The folder kernels/cuda/attention. cuDNN's frontend takes a minute and is no
# code of ours, so its source is compiled alone.
function(ruleengine_cuda_attention)
  set(folder ${CMAKE_SOURCE_DIR}/kernels/cuda/attention)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(kernels_cuda_attention STATIC EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(kernels_cuda_attention
    PUBLIC core_base core_ir ruleengine_options PRIVATE ruleengine_cuda)
  target_precompile_headers(kernels_cuda_attention REUSE_FROM precompiled)
  file(READ ${folder}/blocked.txt BLOCKED)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
               ${folder}/blocked.txt)
  configure_file(${folder}/blocked_text.h.in
    generated/kernels/cuda/attention/blocked_text.h @ONLY)
  set_source_files_properties(${folder}/cudnn.cc PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS -O1)
  if(tests)
    ruleengine_test(kernels_cuda_attention_test "${tests}"
                    kernels_cuda_attention)
  endif()
endfunction()

# cuDNN makes plans without a GPU where a driver that only loads is there.
function(ruleengine_cuda_plans)
  set(folder ${CMAKE_SOURCE_DIR}/tests/cuda/plans)
  add_library(loading_driver MODULE EXCLUDE_FROM_ALL
              ${folder}/loading_driver.cc)
  set_target_properties(loading_driver PROPERTIES PREFIX "" SUFFIX ""
    OUTPUT_NAME libcuda.so.1
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/loading_driver)
  target_link_options(loading_driver PRIVATE -Wl,-soname,libcuda.so.1)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
  list(REMOVE_ITEM sources ${folder}/loading_driver.cc)
  ruleengine_test(cuda_plans_test "${sources}" kernels_cuda_attention)
  add_dependencies(cuda_plans_test loading_driver)
  # cuDNN opens and closes libraries of its own, which do not free all they have.
  set_property(TEST cuda_plans_test PROPERTY ENVIRONMENT
    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1)
  set_property(SOURCE ${folder}/plans_test.cc APPEND PROPERTY
    COMPILE_DEFINITIONS
    RULEENGINE_LOADING_DRIVER="$<TARGET_FILE:loading_driver>")
endfunction()
