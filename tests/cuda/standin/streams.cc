// Streams, events and graphs.
#include "tests/cuda/standin/calls.h"

using namespace ruleengine::standin;  // NOLINT: the functions are C's

RULEENGINE_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned) {
  RULEENGINE_CALL(cuStreamCreate);
  auto* made = new StreamState;
  machine().streams.insert(made);
  *stream = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuStreamDestroy(CUstream stream) {
  RULEENGINE_LAST_CALL(cuStreamDestroy);
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
  auto* made = new EventState;
  machine().events.insert(made);
  *event = reinterpret_cast<CUevent>(made);
  return CUDA_SUCCESS;
}

RULEENGINE_EXPORT CUresult cuEventDestroy(CUevent event) {
  RULEENGINE_LAST_CALL(cuEventDestroy);
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
  RULEENGINE_LAST_CALL(cuStreamEndCapture);
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
  RULEENGINE_LAST_CALL(cuGraphDestroy);
  auto* state = reinterpret_cast<Graph*>(graph);
  if (machine().graphs.erase(state) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete state;
  return result;
}

RULEENGINE_EXPORT CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph,
                                              unsigned long long) {
  RULEENGINE_CALL(cuGraphInstantiate);
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  auto* out = new Graph(*reinterpret_cast<Graph*>(graph));
  machine().execs.insert(out);
  *exec = reinterpret_cast<CUgraphExec>(out);
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
  RULEENGINE_LAST_CALL(cuGraphExecDestroy);
  if (const CUresult no = refuse_capture(); no != CUDA_SUCCESS) return no;
  auto* state = reinterpret_cast<Graph*>(exec);
  if (machine().execs.erase(state) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete state;
  return result;
}
