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

# The folder kernels/cuda/attention. cuDNN's frontend takes a minute and is no
# code of ours, so its source is compiled alone.
function(ruleengine_cuda_attention)
  if(NOT RULEENGINE_CUDA)
    return()
  endif()
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
  ruleengine_cuda_plans()
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
  set_property(SOURCE ${folder}/plans_test.cc APPEND PROPERTY
    COMPILE_DEFINITIONS
    RULEENGINE_LOADING_DRIVER="$<TARGET_FILE:loading_driver>")
endfunction()
