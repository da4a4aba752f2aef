#include "runtime/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace ruleengine::runtime::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

Diagnostic absent(std::string what, std::string expected = {},
                  std::string found = {}) {
  return {.kind = ErrorKind::kUsage,
          .what = std::move(what),
          .expected = std::move(expected),
          .found = std::move(found)};
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string name_of(const Driver& driver, CUresult status) {
  const char* name = nullptr;
  driver.cuGetErrorName(status, &name);
  return name != nullptr ? name : fmt::format("error {}", int{status});
}

Result<const Driver*> open() {
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absent("there is no driver of CUDA on this machine",
                  fmt::format("the library {}", kLibrary), ::dlerror());
  }
  static Driver out;
#define RULEENGINE_TEXT(name) #name
#define RULEENGINE_LOAD(name)                                           \
  out.name = reinterpret_cast<decltype(out.name)>(                      \
      ::dlsym(library, RULEENGINE_TEXT(name)));                         \
  if (out.name == nullptr) {                                            \
    return absent("the driver of CUDA on this machine is too old",      \
                  fmt::format("a function {}", RULEENGINE_TEXT(name))); \
  }
  RULEENGINE_CUDA_DRIVER(RULEENGINE_LOAD)
#undef RULEENGINE_LOAD
#undef RULEENGINE_TEXT

  int version = 0;
  out.cuDriverGetVersion(&version);
  // The code of kernels needs a driver of the toolkit's major version.
  if (version / 1000 < CUDA_VERSION / 1000) {
    return absent("the driver of CUDA on this machine is too old",
                  fmt::format("one for CUDA {}", version_text(CUDA_VERSION)),
                  fmt::format("one for CUDA {}", version_text(version)));
  }
  int count = 0;
  CUresult status = out.cuInit(0);
  if (status == CUDA_SUCCESS) status = out.cuDeviceGetCount(&count);
  if (status != CUDA_SUCCESS || count == 0) {
    return absent("CUDA finds no GPU on this machine", {},
                  status != CUDA_SUCCESS ? name_of(out, status) : "");
  }
  return &out;
}

}  // namespace

Result<const Driver*> Driver::load() {
  static const Result<const Driver*> kDriver = open();
  return kDriver;
}

void Driver::check(CUresult status, std::string_view doing) const {
  if (status == CUDA_SUCCESS) return;
  Diagnostic error{.kind = ErrorKind::kLimit,
                   .what = fmt::format("the GPU failed {}", doing),
                   .found = name_of(*this, status),
                   .remedy = Remedy::kDevice};
  if (status == CUDA_ERROR_OUT_OF_MEMORY) {
    error.what = "the GPU has too little memory";
  } else if (status == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
    error.what = "the driver of CUDA is too old for the kernels";
    error.expected = fmt::format("one for CUDA {}", version_text(CUDA_VERSION));
  } else if (status == CUDA_ERROR_NO_BINARY_FOR_GPU) {
    error.what = "the kernels have no code for this GPU";
  }
  throw DriverFailure{{std::move(error)}, status};
}

bool DriverFailure::is_fault() const {
  constexpr CUresult kFaults[] = {
      CUDA_ERROR_ILLEGAL_ADDRESS,       CUDA_ERROR_MISALIGNED_ADDRESS,
      CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC,
      CUDA_ERROR_ILLEGAL_INSTRUCTION,   CUDA_ERROR_HARDWARE_STACK_ERROR,
      CUDA_ERROR_LAUNCH_FAILED,         CUDA_ERROR_ASSERT};
  return std::ranges::find(kFaults, status) != std::end(kFaults);
}

}  // namespace ruleengine::runtime::cuda
