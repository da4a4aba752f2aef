// Stands for libcuda.so.1 where no GPU is: cuDNN may load the kernels of a plan
// into it, and nothing else. Each other call says that there is no device, so
// that nothing runs by mistake.
#include <cstddef>

namespace {

constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;

void* const kLibrary = reinterpret_cast<void*>(0x1000);
void* const kKernel = reinterpret_cast<void*>(0x2000);

int set(int* to, int value) {
  *to = value;
  return kSuccess;
}
int set(void** to, void* value) {
  *to = value;
  return kSuccess;
}

}  // namespace

#define DRIVER extern "C" __attribute__((visibility("default"))) int

DRIVER cuLibraryLoadData(void** to, const void*, void*, void*, unsigned, void*,
                         void*, unsigned) {
  return set(to, kLibrary);
}
DRIVER cuLibraryGetKernel(void** to, void*, const char*) {
  return set(to, kKernel);
}
DRIVER cuLibraryUnload(void*) { return kSuccess; }
DRIVER cuKernelSetAttribute(int, int, void*, int) { return kSuccess; }
DRIVER cuKernelGetAttribute(int* to, int, void*, int) { return set(to, 0); }
DRIVER cuFuncSetAttribute(void*, int, int) { return kSuccess; }
DRIVER cuFuncGetAttribute(int* to, int, void*) { return set(to, 0); }
DRIVER cuModuleLoadData(void** to, const void*) { return set(to, kLibrary); }
DRIVER cuModuleUnload(void*) { return kSuccess; }
DRIVER cuModuleGetFunction(void** to, void*, const char*) {
  return set(to, kKernel);
}
DRIVER cuOccupancyMaxActiveBlocksPerMultiprocessor(int* to, void*, int,
                                                   std::size_t) {
  return set(to, 1);
}
DRIVER cuDriverGetVersion(int* to) { return set(to, 13000); }
DRIVER cuGetErrorName(int error, const char** to) {
  *to = error == kSuccess ? "CUDA_SUCCESS" : "CUDA_ERROR_NO_DEVICE";
  return kSuccess;
}
DRIVER cuGetErrorString(int, const char** to) {
  *to = "this driver only loads";
  return kSuccess;
}

// cuDNN asks for these, though it does not call them to make a plan.
#define NO_DEVICE(name) \
  DRIVER name(...) { return kNoDevice; }
NO_DEVICE(cuInit)
NO_DEVICE(cuDeviceGet)
NO_DEVICE(cuDeviceGetCount)
NO_DEVICE(cuDeviceGetAttribute)
NO_DEVICE(cuCtxGetCurrent)
NO_DEVICE(cuCtxGetDevice)
NO_DEVICE(cuCtxGetLimit)
NO_DEVICE(cuCtxPopCurrent)
NO_DEVICE(cuCtxPopCurrent_v2)
NO_DEVICE(cuCtxPushCurrent)
NO_DEVICE(cuCtxPushCurrent_v2)
NO_DEVICE(cuDevicePrimaryCtxRelease)
NO_DEVICE(cuDevicePrimaryCtxRelease_v2)
NO_DEVICE(cuDevicePrimaryCtxReset)
NO_DEVICE(cuDevicePrimaryCtxRetain)
NO_DEVICE(cuGetProcAddress)
NO_DEVICE(cuGetProcAddress_v2)
NO_DEVICE(cuKernelGetFunction)
NO_DEVICE(cuLaunchCooperativeKernel)
NO_DEVICE(cuLaunchKernel)
NO_DEVICE(cuLaunchKernelEx)
NO_DEVICE(cuLibraryGetGlobal)
NO_DEVICE(cuLibraryGetModule)
NO_DEVICE(cuLibraryLoadFromFile)
NO_DEVICE(cuLinkAddData)
NO_DEVICE(cuLinkAddData_v2)
NO_DEVICE(cuLinkAddFile_v2)
NO_DEVICE(cuLinkComplete)
NO_DEVICE(cuLinkCreate)
NO_DEVICE(cuLinkCreate_v2)
NO_DEVICE(cuLinkDestroy)
NO_DEVICE(cuMemcpyDtoH_v2)
NO_DEVICE(cuModuleGetGlobal_v2)
NO_DEVICE(cuModuleLoadDataEx)
NO_DEVICE(cuModuleLoadFatBinary)
NO_DEVICE(cuOccupancyMaxPotentialClusterSize)
NO_DEVICE(cuStreamGetCtx)
NO_DEVICE(cuStreamSynchronize)
NO_DEVICE(cuTensorMapEncodeIm2col)
NO_DEVICE(cuTensorMapEncodeTiled)
