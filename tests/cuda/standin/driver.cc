// The functions of the driver, as cuda.h declares them.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/standin/machine.h"

#define RULEENGINE_EXPORT extern "C" __attribute__((visibility("default")))
// The first line of each function: counts it, and lets it fail. What gives
// things back, or ends something, does so also where it fails.
#define RULEENGINE_CALL(name)                                        \
  if (const CUresult failed = called(#name); failed != CUDA_SUCCESS) \
  return failed

namespace ruleengine::standin {
namespace {

CUresult called(const char* name) {
  return fails(name) ? static_cast<CUresult>(driver().failure) : CUDA_SUCCESS;
}

StreamState& state_of(CUstream stream) {
  return *reinterpret_cast<StreamState*>(stream);
}

// For calls that need a context.
bool has_context(const char* name) {
  Machine& m = machine();
  if (!m.current.empty()) return true;
  m.misuse(std::string(name) + " without a context");
  return false;
}

// For calls that a capture does not allow.
CUresult refuse_capture() {
  Machine& m = machine();
  if (!m.is_capturing()) return CUDA_SUCCESS;
  for (StreamState* each : m.streams) {
    if (each->capture != nullptr) each->is_capture_broken = true;
  }
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

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

CUresult add_copy(CUstream stream, std::string what, CUdeviceptr device,
                  const void* host, std::size_t bytes,
                  std::function<void()> copy) {
  Machine& m = machine();
  if (!m.heap.holds(device, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (!m.is_pinned(host, bytes)) {
    m.misuse(what + " of memory that is not page-locked");
  }
  m.add(state_of(stream),
        {std::move(what), {m.heap.find(device)}, std::move(copy)});
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
  RULEENGINE_CALL(cuInit);
  return driver().devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

RULEENGINE_EXPORT CUresult cuDriverGetVersion(int* version) {
  RULEENGINE_CALL(cuDriverGetVersion);
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
  RULEENGINE_CALL(cuDeviceGetCount);
  *count = driver().devices;
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  RULEENGINE_CALL(cuDeviceGet);
  if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  RULEENGINE_CALL(cuDeviceGetName);
  std::strncpy(name, "stand-in for an H200", static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuDeviceGetAttribute(int* value,
                                                CUdevice_attribute which,
                                                CUdevice) {
  RULEENGINE_CALL(cuDeviceGetAttribute);
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

RULEENGINE_EXPORT CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  RULEENGINE_CALL(cuDeviceTotalMem);
  *bytes = driver().memory_bytes;
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context,
                                                    CUdevice) {
  RULEENGINE_CALL(cuDevicePrimaryCtxRetain);
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
  RULEENGINE_CALL(cuCtxPushCurrent);
  machine().current.push_back(1);
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuCtxPopCurrent(CUcontext* context) {
  const CUresult result = called("cuCtxPopCurrent");
  if (machine().current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  machine().current.pop_back();
  *context = reinterpret_cast<CUcontext>(&machine());
  return result;
}

// --- memory ----------------------------------------------------------------

RULEENGINE_EXPORT CUresult cuMemGetInfo(std::size_t* unused, std::size_t* all) {
  RULEENGINE_CALL(cuMemGetInfo);
  *all = driver().memory_bytes;
  *unused = *all - std::min(*all, driver().live_bytes());
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuMemAlloc(CUdeviceptr* out, std::size_t bytes) {
  RULEENGINE_CALL(cuMemAlloc);
  if (!has_context("cuMemAlloc")) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *out = machine().heap.allocate(bytes, driver().memory_bytes);
  return *out != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

RULEENGINE_EXPORT CUresult cuMemFree(CUdeviceptr block) {
  const CUresult result = called("cuMemFree");
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  machine().finish_all();
  if (!machine().heap.release(block)) return CUDA_ERROR_INVALID_VALUE;
  return result;
}

RULEENGINE_EXPORT CUresult cuMemHostAlloc(void** out, std::size_t bytes,
                                          unsigned) {
  RULEENGINE_CALL(cuMemHostAlloc);
  if (!has_context("cuMemHostAlloc")) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  *out = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*out == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  machine().pinned[static_cast<std::byte*>(*out)] = bytes;
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuMemFreeHost(void* block) {
  const CUresult result = called("cuMemFreeHost");
  machine().finish_all();
  const auto found = machine().pinned.find(static_cast<std::byte*>(block));
  if (found == machine().pinned.end()) return CUDA_ERROR_INVALID_VALUE;
  ::munmap(block, found->second);
  machine().pinned.erase(found);
  return result;
}

RULEENGINE_EXPORT CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from,
                                             std::size_t bytes,
                                             CUstream stream) {
  RULEENGINE_CALL(cuMemcpyHtoDAsync);
  return add_copy(stream, "a copy to the device", to, from, bytes, [=] {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  });
}

RULEENGINE_EXPORT CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from,
                                             std::size_t bytes,
                                             CUstream stream) {
  RULEENGINE_CALL(cuMemcpyDtoHAsync);
  return add_copy(stream, "a copy from the device", from, to, bytes, [=] {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  });
}

RULEENGINE_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value,
                                           std::size_t bytes, CUstream stream) {
  RULEENGINE_CALL(cuMemsetD8Async);
  if (!machine().heap.holds(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  machine().add(state_of(stream), {"a fill", {machine().heap.find(to)}, [=] {
                                     std::memset(reinterpret_cast<void*>(to),
                                                 value, bytes);
                                   }});
  return CUDA_SUCCESS;
}

// --- streams and events ----------------------------------------------------

RULEENGINE_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned) {
  RULEENGINE_CALL(cuStreamCreate);
  if (!has_context("cuStreamCreate")) return CUDA_ERROR_INVALID_CONTEXT;
  auto* made = new StreamState;
  machine().streams.insert(made);
  *stream = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuStreamDestroy(CUstream stream) {
  const CUresult result = called("cuStreamDestroy");
  StreamState* state = &state_of(stream);
  if (machine().streams.erase(state) == 0) return CUDA_ERROR_INVALID_HANDLE;
  machine().finish(*state);
  delete state;
  return result;
}

RULEENGINE_EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  RULEENGINE_CALL(cuStreamSynchronize);
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  machine().finish(state_of(stream));
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuEventCreate(CUevent* event, unsigned) {
  RULEENGINE_CALL(cuEventCreate);
  if (!has_context("cuEventCreate")) return CUDA_ERROR_INVALID_CONTEXT;
  auto* made = new EventState;
  machine().events.insert(made);
  *event = reinterpret_cast<CUevent>(made);
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuEventDestroy(CUevent event) {
  const CUresult result = called("cuEventDestroy");
  auto* state = reinterpret_cast<EventState*>(event);
  // Work that is still to be done sets it.
  machine().finish_all();
  if (machine().events.erase(state) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete state;
  return result;
}

RULEENGINE_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
  RULEENGINE_CALL(cuEventRecord);
  auto* state = reinterpret_cast<EventState*>(event);
  state->reset();
  machine().add(state_of(stream), {"an event", {}, [state] {
                                     *state = std::chrono::steady_clock::now();
                                   }});
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuEventElapsedTime(float* ms, CUevent begin,
                                              CUevent end) {
  RULEENGINE_CALL(cuEventElapsedTime);
  const EventState& from = *reinterpret_cast<EventState*>(begin);
  const EventState& to = *reinterpret_cast<EventState*>(end);
  if (!from || !to) return CUDA_ERROR_NOT_READY;
  *ms = std::chrono::duration<float, std::milli>(*to - *from).count();
  return CUDA_SUCCESS;
}

// --- kernels ---------------------------------------------------------------

RULEENGINE_EXPORT CUresult cuModuleLoadData(CUmodule* module,
                                            const void* image) {
  RULEENGINE_CALL(cuModuleLoadData);
  if (!has_context("cuModuleLoadData")) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  constexpr std::uint32_t kFatBinary = 0xBA55ED50;
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof(magic));
  if (magic != kFatBinary) return CUDA_ERROR_INVALID_IMAGE;
  *module = new_handle<CUmodule>(machine().modules);
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuModuleUnload(CUmodule module) {
  const CUresult result = called("cuModuleUnload");
  const CUresult dropped = drop_handle(machine().modules, module);
  return dropped != CUDA_SUCCESS ? dropped : result;
}

RULEENGINE_EXPORT CUresult cuModuleGetFunction(CUfunction* function,
                                               CUmodule module,
                                               const char* name) {
  RULEENGINE_CALL(cuModuleGetFunction);
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
                   emulator::launch(*kernel, launch, args.data());
                 }});
  return CUDA_SUCCESS;
}

// --- graphs ----------------------------------------------------------------

RULEENGINE_EXPORT CUresult cuStreamBeginCapture(CUstream stream,
                                                CUstreamCaptureMode) {
  RULEENGINE_CALL(cuStreamBeginCapture);
  StreamState& state = state_of(stream);
  if (state.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  state.capture = std::make_unique<Graph>();
  state.is_capture_broken = false;
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const CUresult result = called("cuStreamEndCapture");
  StreamState& state = state_of(stream);
  *graph = nullptr;
  if (state.capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const auto made = std::move(state.capture);
  if (result != CUDA_SUCCESS) return result;
  if (state.is_capture_broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  auto* out = new Graph(std::move(*made));
  machine().graphs.insert(out);
  *graph = reinterpret_cast<CUgraph>(out);
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  const CUresult result = called("cuGraphDestroy");
  auto* state = reinterpret_cast<Graph*>(graph);
  if (machine().graphs.erase(state) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete state;
  return result;
}

RULEENGINE_EXPORT CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph,
                                              unsigned long long) {
  RULEENGINE_CALL(cuGraphInstantiate);
  auto* out = new Graph(*reinterpret_cast<Graph*>(graph));
  machine().execs.insert(out);
  *exec = reinterpret_cast<CUgraphExec>(out);
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuGraphUpload(CUgraphExec, CUstream) {
  RULEENGINE_CALL(cuGraphUpload);
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  RULEENGINE_CALL(cuGraphLaunch);
  for (const Work& each : reinterpret_cast<Graph*>(exec)->works) {
    machine().add(state_of(stream), each);
  }
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
  const CUresult result = called("cuGraphExecDestroy");
  auto* state = reinterpret_cast<Graph*>(exec);
  if (machine().execs.erase(state) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete state;
  return result;
}
