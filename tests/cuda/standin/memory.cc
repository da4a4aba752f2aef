// Memory of the device, page-locked memory, and copies between them.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda/standin/calls.h"

namespace ruleengine::standin {
namespace {

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

}  // namespace
}  // namespace ruleengine::standin

using namespace ruleengine::standin;  // NOLINT: the functions are C's

RULEENGINE_EXPORT CUresult cuMemGetInfo(std::size_t* unused, std::size_t* all) {
  RULEENGINE_CALL(cuMemGetInfo);
  *all = driver().memory_bytes;
  *unused = *all - std::min(*all, driver().live_bytes());
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuMemAlloc(CUdeviceptr* out, std::size_t bytes) {
  RULEENGINE_CALL(cuMemAlloc);
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *out = machine().heap.allocate(bytes, driver().memory_bytes);
  return *out != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

RULEENGINE_EXPORT CUresult cuMemFree(CUdeviceptr block) {
  RULEENGINE_LAST_CALL(cuMemFree);
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  machine().finish_all();
  if (!machine().heap.release(block)) return CUDA_ERROR_INVALID_VALUE;
  return result;
}

RULEENGINE_EXPORT CUresult cuMemHostAlloc(void** out, std::size_t bytes,
                                          unsigned) {
  RULEENGINE_CALL(cuMemHostAlloc);
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  *out = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*out == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  machine().pinned[static_cast<std::byte*>(*out)] = bytes;
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuMemFreeHost(void* block) {
  RULEENGINE_LAST_CALL(cuMemFreeHost);
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
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
