#include "bindings/api/execution.h"

#include <fmt/format.h>

#include <utility>

#include "core/ir/element_types.h"
#include "core/ir/narrow_float.h"
#include "kernels/cpu.h"
#include "kernels/cuda.h"
#include "runtime/conversions.h"
#include "runtime/verify.h"

namespace ruleengine::api {
namespace {

// A raw type of NumPy's becomes the type of that width that the model declares.
void fit_types(const ir::Model& model, runtime::NamedData& inputs,
               runtime::KernelRun& run) {
  const ir::Graph& graph = model.graph;
  for (const ir::ValueId v : graph.block(ir::Graph::main_block()).inputs) {
    const ir::Type* type = graph.value(v).declared;
    if (type == nullptr || !type->is_tensor()) continue;
    for (auto& [name, value] : inputs) {
      if (name != graph.name(v) || !value.is_tensor()) continue;
      const ir::DataType given = value.tensor().dtype();
      const bool is_raw = given == ir::DataType::kUint8 ||
                          given == ir::DataType::kUint16 ||
                          given == ir::DataType::kInt8;
      if (!is_raw || given == type->elem) continue;
      if (runtime::is_packed(type->elem)) {
        value = runtime::packed(value.tensor(), type->elem, run);
      } else if (ir::is_narrow_float(type->elem) &&
                 ir::bit_width(given) == ir::bit_width(type->elem)) {
        value = value.tensor().as(type->elem);
      }
    }
  }
}

std::string text_of(const runtime::Datum& value) {
  if (!value.is_tensor()) return value.text();
  constexpr std::size_t kMostShown = 12;
  const runtime::Tensor& t = value.tensor();
  const bool is_bool = t.dtype() == ir::DataType::kBool;
  std::vector<std::string> all;
  const bool is_shown = ir::visit_type(
      ir::Types<float, double, std::int64_t, std::int32_t, std::uint8_t>(),
      is_bool ? ir::DataType::kUint8 : t.dtype(), [&]<typename T>() {
        for (const T x : t.values<T>()) {
          if (all.size() == kMostShown) {
            all.emplace_back("...");
            return;
          }
          all.push_back(fmt::format("{:.9g}", static_cast<double>(x)));
        }
      });
  if (!is_shown) return t.text();
  return fmt::format("{} {{{}}}", t.text(), fmt::join(all, ", "));
}

std::string text_of(const runtime::Mismatch& mismatch) {
  if (mismatch.output.empty()) return mismatch.text;
  return "output '" + printable(mismatch.output) + "', " + mismatch.text;
}

std::string text_of(const runtime::Executor::Named& inputs) {
  std::string out;
  for (const auto& [name, value] : inputs) {
    out += printable(name) + " = " + text_of(value) + "\n";
  }
  return out;
}

Result<runtime::Backends> backends_of(const ExecutionOptions& options) {
  const std::string& device = options.device;
  if (device.empty() || device == "cpu")
    return runtime::Backends{&kernels::cpu()};
  if (device == "cuda" || device == "auto") {
    const auto gpu = kernels::find_cuda({.tf32 = options.tf32});
    if (gpu) return runtime::Backends{*gpu, &kernels::cpu()};
    Diagnostic error = gpu.error();
    error.remedy = Remedy::kDevice;
    return error;
  }
  return Diagnostic{.kind = ErrorKind::kUsage,
                    .what = "there is no such device",
                    .expected = "cpu, cuda or auto",
                    .found = printable(device),
                    .remedy = Remedy::kDevice};
}

}  // namespace

Status check(const ExecutionOptions& options) {
  constexpr int kMost = 4096;
  if (options.threads < 0 || options.threads > kMost) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "the number of threads is out of range",
                      .expected = fmt::format("0 to {}", kMost),
                      .found = std::to_string(options.threads)};
  }
  const auto& within = options.tolerance;
  if (within && (!(within->abs >= 0) || !(within->rel >= 0))) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "a tolerance is negative"};
  }
  return {};
}

bool falls_back(ExecutionOptions& how, const Diagnostic& error) {
  if (how.device != "auto" || error.remedy != Remedy::kDevice) return false;
  how.device = "cpu";
  if (!how.warn) return true;
  std::string why = error.what;
  if (!error.found.empty()) why += " (" + error.found + ")";
  how.warn("the CPU runs the model: " + printable(why, 400));
  return true;
}

std::size_t tensor_limit(const Limits& limits) {
  return limits.tensors != 0 ? limits.tensors
                             : runtime::HostMemory::of_machine() / 4 * 3;
}

Result<runtime::NamedData> read_inputs(const ir::Model& model,
                                       const std::string& path,
                                       const Limits& limits) {
  if (path.empty()) return runtime::NamedData();
  auto read = runtime::read_npz(path, tensor_limit(limits));
  if (!read) return read.error();
  runtime::Threads one(1);
  runtime::KernelRun run{.memory = runtime::HostMemory::create(),
                         .threads = &one};
  fit_types(model, *read, run);
  return read;
}

runtime::InputOptions input_options(const ExecutionOptions& options) {
  return {.seed = options.seed,
          .dims = options.dims,
          .most_bytes = options.most_input_bytes,
          .seconds = options.most_seconds,
          .deadline = options.limits.deadline};
}

Result<runtime::ExecutorOptions> executor_options(
    const ExecutionOptions& options) {
  auto backends = backends_of(options);
  if (!backends) return backends.error();
  return runtime::ExecutorOptions{
      .backends = *std::move(backends),
      .threads = options.threads,
      .memory = runtime::HostMemory::create(tensor_limit(options.limits)),
      .seed = options.seed,
      .deadline = options.limits.deadline};
}

Result<runtime::NamedData> inputs_for(runtime::Executor& executor,
                                      const ir::Model& model,
                                      const ExecutionOptions& options) {
  if (!options.inputs.empty()) {
    return read_inputs(model, options.inputs, options.limits);
  }
  return runtime::inputs_to_run(
      executor, model, input_options(options),
      runtime::HostMemory::create(tensor_limit(options.limits)));
}

std::optional<runtime::Tolerance> tolerance_of(
    const ExecutionOptions& options, const engine::Comparing& comparing) {
  if (options.tolerance || !comparing.within) return options.tolerance;
  return runtime::Tolerance{comparing.within->abs, comparing.within->rel};
}

engine::CompareModels compare_by_kernels(
    ExecutionOptions options, std::shared_ptr<runtime::NamedData> shown_by) {
  return [options = std::move(options), shown_by = std::move(shown_by)](
             const ir::Model& before, const ir::Model& after,
             const engine::Comparing& comparing) -> Result<engine::Finding> {
    runtime::InputOptions inputs = input_options(options);
    inputs.extremes = !comparing.assumes;
    const runtime::VerifyOptions how{
        .backends = {&kernels::cpu()},
        .threads = options.threads,
        .limit_memory = tensor_limit(options.limits),
        .deadline = options.limits.deadline,
        .inputs = inputs,
        .tolerance = tolerance_of(options, comparing)};
    // Inputs that showed a difference once tell which rewrite makes it.
    auto given = shown_by && !shown_by->empty()
                     ? Result<runtime::NamedData>(*shown_by)
                     : read_inputs(before, options.inputs, options.limits);
    if (!given) return given.error();
    auto found =
        runtime::verify(before, after, how, given->empty() ? nullptr : &*given);
    if (!found) return found.error();
    engine::Finding out{.verified = {found->inputs, found->max_abs,
                                     found->max_rel, std::move(found->sizes)},
                        .unverified = std::move(found->unverified),
                        .left_out = found->left_out,
                        .notes = std::move(found->notes)};
    if (found->mismatch) {
      out.difference = text_of(*found->mismatch);
      out.is_overflow = found->mismatch->is_overflow;
      out.shown_by = text_of(found->shown_by);
      if (shown_by) *shown_by = std::move(found->shown_by);
    }
    return out;
  };
}

}  // namespace ruleengine::api
