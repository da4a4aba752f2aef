// `ruleengine exec MODEL`: runs a model on the inputs of an .npz file.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bindings/cli/judging.h"
#include "bindings/cli/profile.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/ir/narrow_float.h"
#include "kernels/cpu.h"
#include "runtime/adapt.h"
#include "runtime/executor.h"
#include "runtime/npz.h"
#include "runtime/random_inputs.h"

namespace ruleengine::cli {
namespace {

using runtime::NamedValues;
using runtime::Value;

std::string summary(const Value& value) {
  if (!value.is_tensor()) return "";
  const runtime::Tensor& t = value.tensor();
  runtime::Threads one(1);
  runtime::RunState run{.memory = runtime::Memory::create(), .threads = &one};
  const auto range = [](const auto* data, std::int64_t count) {
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto v = static_cast<double>(data[i]);
      low = std::min(low, v);
      high = std::max(high, v);
      sum += v;
    }
    return fmt::format("{:.6g} to {:.6g}, mean {:.6g}", low, high,
                       sum / static_cast<double>(count));
  };
  if (t.count() == 0) return "";
  if (ir::is_narrow_float(t.dtype())) {
    const runtime::Tensor wide = runtime::widened(t, run);
    return range(wide.data<float>(), wide.count());
  }
  switch (t.dtype()) {
    case ir::DataType::kFloat:
      return range(t.data<float>(), t.count());
    case ir::DataType::kDouble:
      return range(t.data<double>(), t.count());
    case ir::DataType::kInt32:
      return range(t.data<std::int32_t>(), t.count());
    case ir::DataType::kInt64:
      return range(t.data<std::int64_t>(), t.count());
    default:
      return "";
  }
}

Status write_outputs(const std::string& path, const NamedValues& outputs) {
  const auto bytes = runtime::npz_of(outputs);
  if (!bytes) return bytes.error();
  auto staged = stage_text(path, *bytes);
  if (!staged) return staged.error();
  return staged->commit();
}

Result<NamedValues> random_inputs(runtime::Executor& executor,
                                  const ir::Model& model,
                                  const Options& options) {
  auto dims = parse_dims(options);
  if (!dims) return dims.error();
  return runtime::inputs_to_run(
      executor, model, {.seed = options.seed, .dims = *std::move(dims)},
      runtime::Memory::create(options.exec_memory << 20));
}

Status exec_one(const std::string& path, const Options& options) {
  auto model = load_model(path, options);
  if (!model) return model.error();
  const std::size_t limit = options.exec_memory << 20;
  auto inputs = read_inputs(**model, options);
  if (!inputs) return inputs.error();
  if (auto status = make_runnable(**model); !status) return status;
  Profile profile;
  runtime::ExecutorOptions how{.find_kernel = kernels::find_cpu_kernel,
                               .threads = options.threads,
                               .limit_memory = limit,
                               .seed = options.seed,
                               .deadline = deadline_of(options)};
  if (!options.profile.empty()) how.trace = profile.trace();
  auto executor = runtime::Executor::create(**model, std::move(how));
  if (!executor) return executor.error();
  if (options.random) {
    inputs = random_inputs(**executor, **model, options);
    if (!inputs) return inputs.error();
  }
  profile.clear();
  auto outputs = (*executor)->run(*inputs);
  if (!outputs) {
    Diagnostic error = outputs.error();
    if (error.where.empty()) error.where = path;
    return error;
  }
  if (auto status = check_end(**model, options); !status) return status;
  if (auto status = write_profile(options.profile, profile); !status) {
    return status;
  }
  if (!options.output.empty()) return write_outputs(options.output, *outputs);
  std::vector<std::vector<std::string>> rows = {{"output", "type", "values"}};
  for (const auto& [name, value] : *outputs) {
    rows.push_back({name, value.text(), summary(value)});
  }
  put(table(rows));
  return {};
}

int exec(const Options& options) {
  auto paths = sort_paths(options, Wants::kModels);
  if (!paths) return fail(paths.error());
  if (paths->models.size() != 1) {
    return fail(
        {ErrorKind::kUsage, "expected one model", "", "", "", options.example});
  }
  if (options.random && !options.inputs.empty()) {
    return fail({ErrorKind::kUsage, "--random and --inputs exclude each other",
                 "", "", "", options.example});
  }
  auto status = exec_one(paths->models[0], options);
  return status ? 0 : fail(status.error());
}

}  // namespace

void add_exec(Line& line) {
  Options& o = line.options;
  CLI::App* exec =
      add_verb(line, cli::exec, "exec", "run a model on the CPU",
               "ruleengine exec model.onnx --inputs in.npz --outputs out.npz");
  add_paths(exec, o, "the model");
  add_inputs(exec, o);
  exec->add_flag("--random", o.random, "draw the inputs");
  exec->add_option("--outputs", o.output,
                   "an .npz file for the outputs; without it a table of them");
  exec->add_option("--profile", o.profile,
                   "a file for the run as a Chrome trace");
}

}  // namespace ruleengine::cli
