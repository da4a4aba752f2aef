// The only source that includes cuDNN's frontend, which takes a minute.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include "kernels/cuda/attention/cudnn.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "kernels/cuda/attention/bytes.h"
#include "kernels/cuda/attention/cudnn_graph.h"

namespace cudnn_frontend {
// The frontend leaves it to its user to define this.
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace ruleengine::kernels::cuda {
namespace {

constexpr const char* kLibrary = "libcudnn.so.9";
// Plans without a handle are right from here on.
constexpr std::size_t kOldest = 91100;
// Of what serialize writes.
constexpr std::string_view kFormat = "ruleengine attention plan 1";

std::string version_text(std::size_t v) {
  return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

Diagnostic missing(std::string what) {
  return {.kind = ErrorKind::kUsage, .what = std::move(what)};
}

std::optional<Diagnostic> open_library() {
  void* library = dlopen(kLibrary, RTLD_NOW);
  if (library == nullptr) {
    const char* why = dlerror();
    return missing(fmt::format("cuDNN cannot be opened: {}",
                               why == nullptr ? kLibrary : why));
  }
  if (dlsym(library, "cudnnGetVersion") == nullptr) {
    return missing(fmt::format("{} is not cuDNN", kLibrary));
  }
  fe::cudnn_dlhandle = library;
  const std::size_t version = fe::detail::get_backend_version();
  if (version >= kOldest) return std::nullopt;
  Diagnostic error = missing("cuDNN is too old");
  error.expected = version_text(kOldest) + " or later";
  error.found = version_text(version);
  return error;
}

// Why cuDNN cannot be used. It is opened once.
const std::optional<Diagnostic>& trouble() {
  static const std::optional<Diagnostic> found = open_library();
  return found;
}

// What `body` returns; what the frontend throws becomes an error.
template <typename F>
auto guarded(F body) -> decltype(body()) {
  if (trouble()) return *trouble();
  try {
    return body();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return Diagnostic{
        .kind = ErrorKind::kInternal,
        .what = fmt::format("cuDNN failed: {}", printable(e.what()))};
  }
}

// One line of what cuDNN said.
std::string words(const fe::error_t& e) {
  std::string text = e.err_msg;
  std::ranges::replace(text, '\n', ' ');
  return printable(text, 300);
}

// What cuDNN cannot do here, though it may elsewhere, or in a moment where it
// had too little memory.
Diagnostic failure(const char* step, const fe::error_t& e) {
  Diagnostic out = missing(fmt::format("cuDNN cannot {}: {}", step, words(e)));
  for (const char* each : {"ALLOC_FAILED", "ALLOCATION_FAILED"}) {
    if (e.err_msg.find(each) != std::string::npos) out.kind = ErrorKind::kLimit;
  }
  return out;
}

// What cuDNN does on no machine with such a chip, unless it misses a library or
// fails at the moment.
Diagnostic refusal(const char* step, const fe::error_t& e) {
  for (const char* each :
       {"PREREQUISITE_MISSING", "INTERNAL_ERROR", "ALLOC_FAILED",
        "ALLOCATION_FAILED", "EXECUTION_FAILED"}) {
    if (e.err_msg.find(each) != std::string::npos) return failure(step, e);
  }
  return {.kind = ErrorKind::kModel,
          .what = fmt::format("cuDNN refuses to {}: {}", step, words(e))};
}

using Properties = std::shared_ptr<fe::DeviceProperties>;

Result<Properties> properties_of(std::string_view json) {
  auto out = std::make_shared<fe::DeviceProperties>();
  const fe::error_t e = out->deserialize({json.begin(), json.end()});
  if (e.is_bad()) return failure("read a description of a chip", e);
  return out;
}

Graph new_graph(const AttentionDescription& d, const Chip& chip,
                std::shared_ptr<fe::DeviceProperties> properties) {
  auto graph = std::make_shared<fe::graph::Graph>();
  graph->set_io_data_type(type_of(d.element))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  graph->set_device_properties(std::move(properties));
  // Else the frontend asks the GPU that is there.
  graph->set_sm_version(static_cast<std::int32_t>(chip.sm()));
  GraphWriter(d, graph).write();
  return graph;
}

// Asks cuDNN what it has for the graph, by these ways to choose.
Status choose(fe::graph::Graph& graph,
              const std::vector<fe::HeurMode_t>& modes) {
  fe::error_t e = graph.validate();
  if (e.is_bad()) return refusal("take the graph", e);
  e = graph.build_operation_graph();
  if (e.is_bad()) return refusal("take the operations", e);
  e = graph.create_execution_plans(modes);
  if (e.is_bad()) return refusal("choose a plan", e);
  return {};
}

Status make_plan(fe::graph::Graph& graph) {
  if (Status s = choose(graph, {fe::HeurMode_t::A}); !s) return s;
  fe::error_t e = graph.check_support();
  if (e.is_bad()) return refusal("support a plan", e);
  e = graph.build_plans(fe::BuildPlanPolicy_t::HEURISTICS_CHOICE);
  if (e.is_bad()) return failure("build a plan", e);
  return {};
}

std::unordered_map<std::int64_t, void*> by_role(const AttentionPointers& at,
                                                float* scale, float* cap) {
  std::unordered_map<std::int64_t, void*> out = {
      {kO, at.o}, {kStatistics, at.statistics}, {kScale, scale}, {kCap, cap}};
  const auto add = [&](Role role, const void* address) {
    out[role] = const_cast<void*>(address);  // cuDNN has one type for both
  };
  add(kQ, at.q), add(kK, at.k), add(kV, at.v);
  add(kBias, at.bias), add(kSink, at.sink);
  add(kQLengths, at.q_lengths), add(kKvLengths, at.kv_lengths);
  add(kKPages, at.k_pages), add(kVPages, at.v_pages);
  add(kQOffsets, at.q_offsets), add(kKOffsets, at.k_offsets);
  add(kVOffsets, at.v_offsets), add(kOOffsets, at.o_offsets);
  return out;
}

Diagnostic not_for(std::string what, std::string expected, std::string found) {
  return {.kind = ErrorKind::kModel,
          .what = std::move(what),
          .expected = std::move(expected),
          .found = std::move(found)};
}

// What stands before the bytes of cuDNN: what they are for.
std::string header_of(const Chip& chip) {
  ByteWriter out;
  out.text(kFormat);
  out.number(static_cast<std::int64_t>(fe::detail::get_backend_version()));
  out.number(cudnn_frontend_version());
  out.text(chip.name);
  out.text(chip.key());
  return out.take();
}

// The bytes of cuDNN, if they are for this chip.
Result<std::string_view> checked(std::string_view bytes, const Chip& chip) {
  ByteReader in(bytes);
  const auto format = in.text();
  const auto version = in.number();
  const auto frontend = in.number();
  const auto name = in.text();
  const auto key = in.text();
  const auto plan = in.text();
  if (!plan || !in.is_at_end() || format != kFormat) {
    return not_for("this is no plan of an attention", "", "");
  }
  const auto here = fe::detail::get_backend_version();
  if (*version != static_cast<std::int64_t>(here) ||
      *frontend != cudnn_frontend_version()) {
    return not_for("the plan is of another cuDNN", version_text(here),
                   version_text(static_cast<std::size_t>(*version)));
  }
  if (*key != chip.key()) {
    return not_for("the plan is for another chip, or another driver",
                   quoted_name(chip.name), quoted_name(*name));
  }
  return *plan;
}

Result<Chip> chip_of(const fe::DeviceProperties& properties) {
  std::vector<std::uint8_t> bytes;
  const fe::error_t e = properties.serialize(bytes);
  if (e.is_bad()) return failure("describe a chip", e);
  while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
  const auto json = nlohmann::json::parse(bytes);
  Chip out;
  out.name = json.at(kChipName).get<std::string>();
  for (const ChipNumber& each : kChipNumbers) {
    out.*each.field = json.at(each.name).get<std::int64_t>();
  }
  for (const ChipSizes& each : kChipSizes) {
    out.*each.field = json.at(each.name).get<std::array<std::int64_t, 3>>();
  }
  return out;
}

}  // namespace

struct AttentionPlan::Body {
  Graph graph;
  Chip chip;
  std::int64_t workspace = 0;
  std::optional<std::int64_t> candidate;  // which of those of the graph
  mutable std::atomic<bool> is_trusted = false;

  Body(Graph g, const Chip& c, std::int64_t bytes,
       std::optional<std::int64_t> which)
      : graph(std::move(g)), chip(c), workspace(bytes), candidate(which) {}

  static Result<AttentionPlan> plan_of(
      Graph graph, const Chip& chip,
      std::optional<std::int64_t> candidate = std::nullopt) {
    std::int64_t workspace = 0;
    const fe::error_t e = candidate ? graph->get_workspace_size_plan_at_index(
                                          *candidate, workspace)
                                    : graph->get_workspace_size(workspace);
    if (e.is_bad()) return failure("tell the size of its workspace", e);
    return AttentionPlan(std::make_shared<const Body>(std::move(graph), chip,
                                                      workspace, candidate));
  }
  fe::error_t execute(cudnnHandle_t handle,
                      std::unordered_map<std::int64_t, void*>& pointers,
                      void* memory) const {
    if (!candidate) return graph->execute(handle, pointers, memory);
    return graph->execute_plan_at_index(handle, pointers, memory, *candidate);
  }
};

std::shared_ptr<const void> AttentionPlan::owner() const { return body_; }
bool AttentionPlan::is_trusted() const { return body_->is_trusted; }
void AttentionPlan::trust() const { body_->is_trusted = true; }

Result<std::int64_t> cudnn_version() {
  return guarded([]() -> Result<std::int64_t> {
    return static_cast<std::int64_t>(fe::detail::get_backend_version());
  });
}

std::int64_t cudnn_frontend_version() { return CUDNN_FRONTEND_VERSION; }

Result<Chip> chip_of_device(int device) {
  return guarded([&]() -> Result<Chip> {
    fe::DeviceProperties properties;
    const fe::error_t e = properties.set_device_id(device).build();
    if (e.is_bad()) return failure("describe the GPU", e);
    return chip_of(properties);
  });
}

Result<Chip> chip_from_json(std::string_view json) {
  return guarded([&]() -> Result<Chip> {
    const auto properties = properties_of(json);
    if (!properties) return properties.error();
    return chip_of(**properties);
  });
}

Result<HandlePointer> open_handle(void* stream) {
  return guarded([&]() -> Result<HandlePointer> {
    const auto check = [](cudnnStatus_t status) -> Status {
      if (status == CUDNN_STATUS_SUCCESS) return {};
      return missing(fmt::format("cuDNN cannot be used: {}",
                                 fe::detail::get_error_string(status)));
    };
    cudnnHandle_t made = nullptr;
    if (Status s = check(fe::detail::create_handle(&made)); !s) {
      return s.error();
    }
    HandlePointer out(made, [](void* handle) {
      fe::detail::destroy_handle(static_cast<cudnnHandle_t>(handle));
    });
    const auto status =
        fe::detail::set_stream(made, static_cast<cudaStream_t>(stream));
    if (Status s = check(status); !s) return s.error();
    return out;
  });
}

Result<AttentionPlan> AttentionPlan::build(const AttentionDescription& d,
                                           const Chip& chip) {
  return guarded([&]() -> Result<AttentionPlan> {
    auto properties = properties_of(chip.json());
    if (!properties) return properties.error();
    Graph graph = new_graph(d, chip, *std::move(properties));
    if (Status made = make_plan(*graph); !made) return made.error();
    return Body::plan_of(std::move(graph), chip);
  });
}

Result<std::vector<AttentionPlan>> AttentionPlan::candidates(
    const AttentionDescription& d, const Chip& chip) {
  return guarded([&]() -> Result<std::vector<AttentionPlan>> {
    auto properties = properties_of(chip.json());
    if (!properties) return properties.error();
    const Graph graph = new_graph(d, chip, *std::move(properties));
    using enum fe::HeurMode_t;
    if (Status s = choose(*graph, {A, B, FALLBACK}); !s) return s.error();
    std::vector<AttentionPlan> out;
    std::set<std::string> names;
    for (std::int64_t i = 0; i < graph->get_execution_plan_count(); ++i) {
      std::string name;
      // Several ways give the same.
      if (graph->get_plan_name_at_index(i, name).is_bad() ||
          !names.insert(name).second ||
          graph->build_plan_at_index(i).is_bad()) {
        continue;
      }
      auto plan = Body::plan_of(graph, chip, i);
      if (!plan) return plan.error();
      out.push_back(*std::move(plan));
    }
    if (!out.empty()) return out;
    return not_for("cuDNN has no plan for this attention", "", "");
  });
}

Result<AttentionPlan> AttentionPlan::deserialize(std::string_view bytes,
                                                 const Chip& chip) {
  return guarded([&]() -> Result<AttentionPlan> {
    const auto plan = checked(bytes, chip);
    if (!plan) return plan.error();
    auto properties = properties_of(chip.json());
    if (!properties) return properties.error();
    auto graph = std::make_shared<fe::graph::Graph>();
    graph->set_device_properties(*std::move(properties));
    const std::vector<std::uint8_t> data(plan->begin(), plan->end());
    const fe::error_t e = graph->deserialize(data);
    if (e.is_bad()) return failure("read a plan", e);
    return Body::plan_of(std::move(graph), chip);
  });
}

Result<std::string> AttentionPlan::serialize() const {
  return guarded([&]() -> Result<std::string> {
    if (body_->candidate) return not_for("a candidate is not written", "", "");
    std::vector<std::uint8_t> data;
    const fe::error_t e = body_->graph->serialize(data);
    if (e.is_bad()) return failure("write a plan", e);
    ByteWriter plan;
    plan.text({reinterpret_cast<const char*>(data.data()), data.size()});
    return header_of(body_->chip) + plan.take();
  });
}

std::string AttentionPlan::name() const {
  const auto& [graph, at] = std::tie(body_->graph, body_->candidate);
  std::string out;
  const fe::error_t e =
      at ? graph->get_plan_name_at_index(*at, out) : graph->get_plan_name(out);
  return e.is_bad() ? "" : out;
}

std::int64_t AttentionPlan::workspace_bytes() const { return body_->workspace; }

Status AttentionPlan::execute(void* handle, const AttentionPointers& at,
                              void* workspace) const {
  return guarded([&]() -> Status {
    float scale = at.scale, cap = at.cap;
    auto pointers = by_role(at, &scale, &cap);
    const fe::error_t e =
        body_->execute(static_cast<cudnnHandle_t>(handle), pointers, workspace);
    if (e.is_bad()) return refusal("run a plan", e);
    return {};
  });
}

}  // namespace ruleengine::kernels::cuda
