// What the functions of the driver share, which are as cuda.h declares them.
// Internal to tests/cuda/standin.
#pragma once

#include "tests/cuda/standin/machine.h"

#define RULEENGINE_EXPORT extern "C" __attribute__((visibility("default")))

// The first line of each function: counts it, and lets it fail. Most need a
// context. What gives things back, or ends something, does so also where it
// fails.
#define RULEENGINE_CALL_ANYWHERE(name)                               \
  if (const CUresult failed = called(#name); failed != CUDA_SUCCESS) \
  return failed
#define RULEENGINE_CALL(name)     \
  RULEENGINE_CALL_ANYWHERE(name); \
  if (!has_context(#name)) return CUDA_ERROR_INVALID_CONTEXT
#define RULEENGINE_LAST_CALL(name)       \
  const CUresult result = called(#name); \
  if (!has_context(#name)) return CUDA_ERROR_INVALID_CONTEXT

namespace ruleengine::standin {

inline CUresult called(const char* name) {
  return fails(name) ? static_cast<CUresult>(driver().failure) : CUDA_SUCCESS;
}

// Also where the test let the call fail that was to bring one.
inline bool has_context(const char* name) {
  Machine& m = machine();
  if (!m.current.empty() || m.push_failed) return true;
  m.misuse(std::string(name) + " without a context");
  return false;
}

inline StreamState& state_of(CUstream stream) {
  return *reinterpret_cast<StreamState*>(stream);
}

// For calls that a capture does not allow.
inline CUresult refuse_capture() {
  Machine& m = machine();
  if (!m.is_capturing()) return CUDA_SUCCESS;
  for (StreamState* each : m.streams) {
    if (each->capture != nullptr) each->is_capture_broken = true;
  }
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

}  // namespace ruleengine::standin
