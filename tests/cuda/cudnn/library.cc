// The functions of cuDNN that its frontend calls, as cudnn_graph.h declares
// them: a stand-in that computes on the host. It takes what it knows, says what
// a program may not do, and does work when its stream is waited for.
#include <cudnn_graph.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <utility>

#include "tests/cuda/cudnn/execution.h"
#include "tests/cuda/cudnn/saved_plan.h"
#include "tests/cuda/plans/chips.h"
#include "tests/cuda/standin/standin.h"

#define RULEENGINE_EXPORT extern "C" __attribute__((visibility("default")))
// The first line of each function that may fail.
#define RULEENGINE_CALL(name) \
  if (ruleengine::standin::fails(#name)) return CUDNN_STATUS_INTERNAL_ERROR

using namespace ruleengine::standin;  // NOLINT: the functions are C's

namespace {

struct Handle {
  void* stream = nullptr;
};

std::string& last_error() {
  thread_local std::string out;
  return out;
}

cudnnStatus_t refuse(cudnnStatus_t status, std::string why) {
  last_error() = std::move(why);
  return status;
}

// Of a program that goes on although none could be made.
cudnnStatus_t no_descriptor() {
  return refuse(CUDNN_STATUS_BAD_PARAM, "there is no descriptor");
}

DescriptorSlot& slot_of(void* descriptor) {
  return *static_cast<DescriptorSlot*>(descriptor);
}

std::string chip_text() {
  return ruleengine::kernels::cuda::chip_named("h200").json();
}

// --- what descriptors are asked for ------------------------------------------

cudnnStatus_t give(const AttributeValue& value, std::int64_t room,
                   std::int64_t* count, void* out) {
  if (!value.parts.empty()) {
    if (count != nullptr) {
      *count = static_cast<std::int64_t>(value.parts.size());
    }
    auto* slots = static_cast<void**>(out);
    for (std::size_t i = 0;
         slots != nullptr &&
         i < std::min<std::size_t>(value.parts.size(),
                                   static_cast<std::size_t>(room));
         ++i) {
      if (slots[i] == nullptr) return no_descriptor();
      slot_of(slots[i]).body =
          std::const_pointer_cast<Descriptor>(value.parts[i]);
    }
    return CUDNN_STATUS_SUCCESS;
  }
  const std::size_t size = size_of(value.type);
  if (count != nullptr) {
    *count = static_cast<std::int64_t>(value.bytes.size() / size);
  }
  if (out != nullptr) {
    const std::size_t most = static_cast<std::size_t>(room) * size;
    std::copy_n(value.bytes.begin(), std::min(most, value.bytes.size()),
                static_cast<std::byte*>(out));
  }
  return CUDNN_STATUS_SUCCESS;
}

template <typename T>
AttributeValue value_of(cudnnBackendAttributeType_t type, const T& data) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data.data());
  return {.type = type,
          .bytes = {bytes, bytes + data.size() * sizeof(data[0])},
          .parts = {}};
}

std::shared_ptr<Descriptor> new_part(cudnnBackendDescriptorType_t type,
                                     cudnnBackendAttributeName_t name,
                                     const Part& part) {
  auto out = std::make_shared<Descriptor>(
      Descriptor{.type = type, .is_final = true, .values = {}});
  out->values[name] = {
      .type = CUDNN_TYPE_BACKEND_DESCRIPTOR, .bytes = {}, .parts = {part}};
  return out;
}

// Two choices for a graph, which compute the same.
AttributeValue choices(const Descriptor& heuristics) {
  const AttributeValue* graph =
      heuristics.find(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (graph == nullptr) return {};
  AttributeValue out{
      .type = CUDNN_TYPE_BACKEND_DESCRIPTOR, .bytes = {}, .parts = {}};
  for (const std::int64_t number : {0, 1}) {
    const auto engine =
        new_part(CUDNN_BACKEND_ENGINE_DESCRIPTOR,
                 CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph->parts.at(0));
    engine->values[CUDNN_ATTR_ENGINE_GLOBAL_INDEX] =
        value_of(CUDNN_TYPE_INT64, std::vector<std::int64_t>{number});
    out.parts.push_back(new_part(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                                 CUDNN_ATTR_ENGINECFG_ENGINE, engine));
  }
  return out;
}

// What is not set by a program; nullopt where it is not known.
std::optional<AttributeValue> own_value(const Descriptor& d,
                                        cudnnBackendAttributeName_t name) {
  using Longs = std::vector<std::int64_t>;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return choices(d);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
    case CUDNN_ATTR_ENGINE_KNOB_INFO:
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
      return AttributeValue{};
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      return value_of(CUDNN_TYPE_INT64, Longs{0});
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return value_of(CUDNN_TYPE_INT64, Longs{2});
    case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED:
      return value_of(CUDNN_TYPE_INT32, std::vector<std::int32_t>{0});
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return value_of(CUDNN_TYPE_INT64, Longs{kWorkspaceBytes});
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION: {
      const Descriptor* how = d.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
      if (how == nullptr) return std::nullopt;
      return value_of(CUDNN_TYPE_CHAR, saved(*how));
    }
    case CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION:
      return value_of(CUDNN_TYPE_CHAR, chip_text());
    default:
      return std::nullopt;
  }
}

}  // namespace

namespace ruleengine::standin {

std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_FRACTION:
      return 16;
    default:
      return 4;
  }
}

}  // namespace ruleengine::standin

// --- handles -----------------------------------------------------------------

RULEENGINE_EXPORT size_t cudnnGetVersion() { return CUDNN_VERSION; }

RULEENGINE_EXPORT const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    default:
      return "CUDNN_STATUS_INTERNAL_ERROR";
  }
}

RULEENGINE_EXPORT void cudnnGetLastErrorString(char* message, size_t size) {
  std::snprintf(message, size, "%s", last_error().c_str());
}

RULEENGINE_EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  RULEENGINE_CALL(cudnnCreate);
  *handle = reinterpret_cast<cudnnHandle_t>(new Handle);
  ++driver().library_objects;
  return CUDNN_STATUS_SUCCESS;
}

RULEENGINE_EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  // What is given back is gone, also where the call fails. A device that is
  // gone took its handles along.
  delete reinterpret_cast<Handle*>(handle);
  if (driver().library_objects > 0) --driver().library_objects;
  RULEENGINE_CALL(cudnnDestroy);
  return CUDNN_STATUS_SUCCESS;
}

RULEENGINE_EXPORT cudnnStatus_t cudnnSetStream(cudnnHandle_t handle,
                                               cudaStream_t stream) {
  RULEENGINE_CALL(cudnnSetStream);
  reinterpret_cast<Handle*>(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

RULEENGINE_EXPORT cudnnStatus_t cudnnGetStream(cudnnHandle_t handle,
                                               cudaStream_t* stream) {
  RULEENGINE_CALL(cudnnGetStream);
  *stream =
      static_cast<cudaStream_t>(reinterpret_cast<Handle*>(handle)->stream);
  return CUDNN_STATUS_SUCCESS;
}

// --- descriptors -------------------------------------------------------------

RULEENGINE_EXPORT cudnnStatus_t cudnnBackendCreateDescriptor(
    cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  RULEENGINE_CALL(cudnnBackendCreateDescriptor);
  *descriptor = new DescriptorSlot{
      std::make_shared<Descriptor>(Descriptor{.type = type, .values = {}})};
  return CUDNN_STATUS_SUCCESS;
}

RULEENGINE_EXPORT cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<DescriptorSlot*>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

RULEENGINE_EXPORT cudnnStatus_t cudnnBackendSetAttribute(
    cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
  RULEENGINE_CALL(cudnnBackendSetAttribute);
  if (descriptor == nullptr) return no_descriptor();
  Descriptor& d = *slot_of(descriptor).body;
  if (d.is_final) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "the descriptor is final");
  }
  AttributeValue value{.type = type, .bytes = {}, .parts = {}};
  if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) {
    try {
      value.type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
      value.parts.push_back(restored({static_cast<const char*>(elements),
                                      static_cast<std::size_t>(count)}));
    } catch (const GraphFault& fault) {
      return refuse(CUDNN_STATUS_BAD_PARAM, fault.what());
    }
    d.values[CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG] = std::move(value);
    return CUDNN_STATUS_SUCCESS;
  }
  const auto* bytes = static_cast<const std::byte*>(elements);
  const std::size_t size = static_cast<std::size_t>(count) * size_of(type);
  value.bytes.assign(bytes, bytes + size);
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (void* each : value.as<void*>()) {
      if (each == nullptr) return no_descriptor();
      value.parts.push_back(slot_of(each).body);
      if (!value.parts.back()->is_final) {
        return refuse(CUDNN_STATUS_BAD_PARAM, "a descriptor is not final");
      }
    }
  }
  d.values[name] = std::move(value);
  return CUDNN_STATUS_SUCCESS;
}

RULEENGINE_EXPORT cudnnStatus_t cudnnBackendGetAttribute(
    cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t, int64_t room, int64_t* count, void* elements) {
  RULEENGINE_CALL(cudnnBackendGetAttribute);
  if (descriptor == nullptr) return no_descriptor();
  const Descriptor& d = *slot_of(descriptor).body;
  if (const AttributeValue* value = d.find(name)) {
    return give(*value, room, count, elements);
  }
  const auto value = own_value(d, name);
  if (!value) {
    return refuse(CUDNN_STATUS_NOT_SUPPORTED,
                  "the attribute is not known: " + std::to_string(name));
  }
  return give(*value, room, count, elements);
}

RULEENGINE_EXPORT cudnnStatus_t
cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  RULEENGINE_CALL(cudnnBackendFinalize);
  if (descriptor == nullptr) return no_descriptor();
  Descriptor& d = *slot_of(descriptor).body;
  try {
    check_descriptor(d);
  } catch (const GraphFault& fault) {
    return refuse(CUDNN_STATUS_BAD_PARAM, fault.what());
  }
  d.is_final = true;
  return CUDNN_STATUS_SUCCESS;
}

RULEENGINE_EXPORT cudnnStatus_t
cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                    cudnnBackendDescriptor_t pack) {
  RULEENGINE_CALL(cudnnBackendExecute);
  try {
    execute(reinterpret_cast<Handle*>(handle)->stream, *slot_of(plan).body,
            *slot_of(pack).body);
  } catch (const GraphFault& fault) {
    driver().misuse.push_back(std::string("a plan of cuDNN: ") + fault.what());
    return refuse(CUDNN_STATUS_BAD_PARAM, fault.what());
  }
  return CUDNN_STATUS_SUCCESS;
}
