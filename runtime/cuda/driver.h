// The functions of CUDA's driver, from the library that is on the machine
// (libcuda.so.1), so that the program starts where there is none. Constant once
// loaded, and never unloaded; any thread may use it.
#pragma once

#include <cuda.h>

#include <string_view>

#include "core/base/result.h"
#include "runtime/failure.h"

namespace ruleengine::runtime::cuda {

// cuda.h defines some of the names as newer versions of themselves, which are
// the names of the fields, too.
// clang-format off
#define RULEENGINE_CUDA_DRIVER(each) \
  each(cuInit) \
  each(cuDriverGetVersion) \
  each(cuGetErrorName) \
  each(cuDeviceGetCount) \
  each(cuDeviceGet) \
  each(cuDeviceGetAttribute) \
  each(cuDevicePrimaryCtxRetain) \
  each(cuDevicePrimaryCtxRelease) \
  each(cuCtxPushCurrent) \
  each(cuCtxPopCurrent) \
  each(cuMemGetInfo) \
  each(cuMemAlloc) \
  each(cuMemFree) \
  each(cuMemHostAlloc) \
  each(cuMemFreeHost) \
  each(cuMemcpyHtoDAsync) \
  each(cuMemcpyDtoHAsync) \
  each(cuStreamCreate) \
  each(cuStreamDestroy) \
  each(cuStreamSynchronize) \
  each(cuEventCreate) \
  each(cuEventDestroy) \
  each(cuEventRecord) \
  each(cuEventElapsedTime) \
  each(cuModuleLoadData) \
  each(cuModuleUnload) \
  each(cuModuleGetFunction) \
  each(cuFuncSetAttribute) \
  each(cuLaunchKernel) \
  each(cuStreamBeginCapture) \
  each(cuStreamEndCapture) \
  each(cuGraphDestroy) \
  each(cuGraphInstantiate) \
  each(cuGraphLaunch) \
  each(cuGraphExecDestroy)
// clang-format on

// A call of the driver failed: kLimit, which the CPU remedies.
struct DriverFailure : Failure {
  CUresult status;

  bool is_memory() const { return status == CUDA_ERROR_OUT_OF_MEMORY; }
  // Whether a kernel did what it may not, after which the context is lost.
  bool is_fault() const;
};

struct Driver {
#define RULEENGINE_FIELD(name) decltype(&::name) name = nullptr;
  RULEENGINE_CUDA_DRIVER(RULEENGINE_FIELD)
#undef RULEENGINE_FIELD

  // An error (kUsage) says what is missing: the library, a function of it, or a
  // GPU, or that the driver is older than the toolkit that this was built with.
  static Result<const Driver*> load();

  // Throws DriverFailure where a call failed.
  // `doing`: "to allocate memory".
  void check(CUresult status, std::string_view doing) const;
};

}  // namespace ruleengine::runtime::cuda
