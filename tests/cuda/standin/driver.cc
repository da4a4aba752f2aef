// The device, its contexts, and kernels.
#include <cstring>
#include <string_view>

#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/standin/calls.h"

namespace ruleengine::standin {
namespace {

// A handle that is no address of anything.
template <typename T>
T new_handle(std::set<void*>& all) {
  void* out = ::operator new(1);
  all.insert(out);
  return static_cast<T>(out);
}

CUresult drop_handle(std::set<void*>& all, void* handle) {
  if (all.erase(handle) == 0) return CUDA_ERROR_INVALID_HANDLE;
  ::operator delete(handle);
  return CUDA_SUCCESS;
}

struct Function {
  const emulator::Kernel* kernel;
  std::size_t shared_limit = 48 << 10;
};

std::map<std::string, Function, std::less<>>& functions() {
  static std::map<std::string, Function, std::less<>> out;
  return out;
}

}  // namespace
}  // namespace ruleengine::standin

using namespace ruleengine::standin;  // NOLINT: the functions are C's
namespace emulator = ruleengine::emulator;

// --- the device ------------------------------------------------------------

RULEENGINE_EXPORT CUresult cuInit(unsigned) {
  RULEENGINE_CALL_ANYWHERE(cuInit);
  return driver().devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

RULEENGINE_EXPORT CUresult cuDriverGetVersion(int* version) {
  RULEENGINE_CALL_ANYWHERE(cuDriverGetVersion);
  *version = driver().version;
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuGetErrorName(CUresult error, const char** name) {
  switch (error) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case CUDA_ERROR_NO_DEVICE:
      *name = "CUDA_ERROR_NO_DEVICE";
      break;
    case CUDA_ERROR_LAUNCH_FAILED:
      *name = "CUDA_ERROR_LAUNCH_FAILED";
      break;
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      *name = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
      break;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
      *name = "CUDA_ERROR_NO_BINARY_FOR_GPU";
      break;
    case CUDA_ERROR_UNKNOWN:
      *name = "CUDA_ERROR_UNKNOWN";
      break;
    default:
      *name = nullptr;
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuDeviceGetCount(int* count) {
  RULEENGINE_CALL_ANYWHERE(cuDeviceGetCount);
  *count = driver().devices;
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  RULEENGINE_CALL_ANYWHERE(cuDeviceGet);
  if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}

// tests/gpu asks for it.
RULEENGINE_EXPORT CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  RULEENGINE_CALL_ANYWHERE(cuDeviceGetName);
  std::strncpy(name, "stand-in for an H200", static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuDeviceGetAttribute(int* value,
                                                CUdevice_attribute which,
                                                CUdevice) {
  RULEENGINE_CALL_ANYWHERE(cuDeviceGetAttribute);
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 227 << 10;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context,
                                                    CUdevice) {
  RULEENGINE_CALL_ANYWHERE(cuDevicePrimaryCtxRetain);
  ++machine().contexts;
  *context = reinterpret_cast<CUcontext>(&machine());
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice) {
  const CUresult result = called("cuDevicePrimaryCtxRelease");
  --machine().contexts;
  return result;
}

RULEENGINE_EXPORT CUresult cuCtxPushCurrent(CUcontext) {
  const CUresult result = called("cuCtxPushCurrent");
  machine().push_failed = result != CUDA_SUCCESS;
  if (result == CUDA_SUCCESS) machine().current.push_back(1);
  return result;
}

RULEENGINE_EXPORT CUresult cuCtxPopCurrent(CUcontext* context) {
  const CUresult result = called("cuCtxPopCurrent");
  if (machine().current.empty()) {
    machine().misuse("cuCtxPopCurrent without a context");
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  machine().current.pop_back();
  *context = reinterpret_cast<CUcontext>(&machine());
  return result;
}

// --- kernels ---------------------------------------------------------------

RULEENGINE_EXPORT CUresult cuModuleLoadData(CUmodule* module,
                                            const void* image) {
  RULEENGINE_CALL(cuModuleLoadData);
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  constexpr std::uint32_t kFatBinary = 0xBA55ED50;
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof(magic));
  if (magic != kFatBinary) return CUDA_ERROR_INVALID_IMAGE;
  *module = new_handle<CUmodule>(machine().modules);
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuModuleUnload(CUmodule module) {
  RULEENGINE_LAST_CALL(cuModuleUnload);
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  const CUresult dropped = drop_handle(machine().modules, module);
  return dropped != CUDA_SUCCESS ? dropped : result;
}

RULEENGINE_EXPORT CUresult cuModuleGetFunction(CUfunction* function,
                                               CUmodule module,
                                               const char* name) {
  RULEENGINE_CALL(cuModuleGetFunction);
  // It may load the code, which is put off until then.
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  if (!machine().modules.contains(module)) return CUDA_ERROR_INVALID_HANDLE;
  const emulator::Kernel* kernel = emulator::find_kernel(name);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  Function& found = functions()[name];
  found.kernel = kernel;
  *function = reinterpret_cast<CUfunction>(&found);
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuFuncSetAttribute(CUfunction function,
                                              CUfunction_attribute which,
                                              int value) {
  RULEENGINE_CALL(cuFuncSetAttribute);
  if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
      value > 227 << 10) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  reinterpret_cast<Function*>(function)->shared_limit =
      static_cast<std::size_t>(value);
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult
cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z,
               unsigned threads_x, unsigned threads_y, unsigned threads_z,
               unsigned shared, CUstream stream, void** params, void**) {
  RULEENGINE_CALL(cuLaunchKernel);
  const auto& [kernel, shared_limit] = *reinterpret_cast<Function*>(function);
  const std::size_t threads = std::size_t{threads_x} * threads_y * threads_z;
  const bool is_valid = x > 0 && y > 0 && z > 0 && x <= 0x7FFFFFFF &&
                        y <= 65535 && z <= 65535 && threads > 0 &&
                        threads <= kernel->threads && shared <= shared_limit;
  if (!is_valid) {
    machine().misuse(std::string(kernel->name) + " is launched wrongly");
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto* bytes = static_cast<const std::byte*>(params[0]);
  std::vector<std::byte> args(bytes, bytes + kernel->args_size);
  auto uses = machine().uses_in(args.data(), args.size());
  const emulator::Launch launch{
      .grid = {x, y, z},
      .block = {threads_x, threads_y, threads_z},
      .shared_bytes = shared,
      .order = static_cast<emulator::Order>(driver().order),
      .seed = driver().seed};
  machine().add(state_of(stream),
                {std::string(kernel->name), std::move(uses),
                 [kernel = kernel, launch, args = std::move(args)] {
                   ++driver().counts.kernels;
                   ++driver().counts.named[std::string(kernel->name)];
                   emulator::launch(*kernel, launch, args.data());
                 }});
  return CUDA_SUCCESS;
}
