// `ruleengine exec MODEL`: runs a model on the inputs of an .npz file.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bindings/api/exec.h"
#include "bindings/api/files.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/ir/narrow_float.h"
#include "runtime/adapt.h"

namespace ruleengine::cli {
namespace {

using api::Executed;
using runtime::Datum;

std::string range_text(const Datum& value) {
  if (!value.is_tensor()) return "";
  const runtime::Tensor& t = value.tensor();
  runtime::Threads one(1);
  runtime::KernelRun run{.memory = runtime::Memory::create(), .threads = &one};
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

// "{rank}" in a path becomes the number.
constexpr std::string_view kRank = "{rank}";
std::string of_rank(std::string path, std::size_t rank) {
  const std::size_t at = path.find(kRank);
  if (at != std::string::npos) {
    path.replace(at, kRank.size(), std::to_string(rank));
  }
  return path;
}

// All files, or none.
Status write_all(const std::string& path,
                 const std::vector<std::string>& contents) {
  std::vector<io::Staged> files;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    auto staged = api::stage_text(of_rank(path, i), contents[i]);
    if (!staged) return staged.error();
    files.push_back(*std::move(staged));
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto status = files[i].commit();
    if (status) continue;
    while (i-- > 0) files[i].revert();
    return status;
  }
  for (io::Staged& each : files) each.release();
  return {};
}

Status write_outputs(const std::vector<Executed>& all, const Options& options) {
  std::vector<std::string> files, traces;
  for (const Executed& each : all) traces.push_back(each.trace);
  if (!options.profile.empty()) {
    auto status = write_all(options.profile, traces);
    if (!status) return status;
  }
  if (options.output.empty()) return {};
  for (const Executed& each : all) {
    auto bytes = runtime::npz_of(each.outputs);
    if (!bytes) return bytes.error();
    files.push_back(*std::move(bytes));
  }
  return write_all(options.output, files);
}

void print_outputs(const std::vector<Executed>& all) {
  const bool several = all.size() > 1;
  std::vector<std::vector<std::string>> rows = {{"output", "type", "values"}};
  if (several) rows[0].insert(rows[0].begin(), "rank");
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const auto& [name, value] : all[i].outputs) {
      rows.push_back({name, value.text(), range_text(value)});
      if (several) rows.back().insert(rows.back().begin(), std::to_string(i));
    }
  }
  put(table(rows));
}

// The bytes that were sent, beside those that the graph predicts.
void print_traffic(const std::vector<Executed>& all) {
  std::vector<std::vector<std::string>> rows = {
      {"rank", "op", "count", "bytes sent", "predicted"}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const auto& [op, sent] : all[i].sent) {
      const auto it = all[i].predicted.find(op);
      const bool is_known =
          it != all[i].predicted.end() && it->second.unknown == 0;
      rows.push_back(
          {std::to_string(i), op, std::to_string(sent.count),
           std::to_string(sent.bytes),
           is_known ? fmt::format("{:.0f}", it->second.bytes) : "not known"});
    }
  }
  if (rows.size() > 1) put("\n" + table(rows));
}

// The options of the library, where those of the command line are right.
Result<api::ExecOptions> exec_options(const std::vector<std::string>& models,
                                      const Options& options) {
  auto how = execution_options(options);
  if (!how) return how.error();
  api::ExecOptions out{.how = *std::move(how),
                       .draws = options.random,
                       .ranks = options.ranks,
                       .traces = !options.profile.empty(),
                       .warn = warn};
  const auto count = options.ranks > 0 ? static_cast<std::size_t>(options.ranks)
                                       : models.size();
  for (std::size_t i = 0; i < count && !options.inputs.empty(); ++i) {
    out.inputs.push_back(of_rank(options.inputs, i));
  }
  return out;
}

Status check_exec(const std::vector<std::string>& models,
                  const Options& options) {
  if (options.random && !options.inputs.empty()) {
    return usage("--random and --inputs exclude each other", "",
                 options.example);
  }
  const auto count = static_cast<int>(models.size());
  if (options.ranks > 0 && count != 1 && count != options.ranks) {
    return usage("there are " + std::to_string(count) + " models for " +
                     std::to_string(options.ranks) + " ranks",
                 "", "one model for all ranks, or one for each");
  }
  const bool several = options.ranks > 1 || count > 1;
  const auto is_shared = [&](const std::string& path) {
    return several && !path.empty() && path.find(kRank) == std::string::npos;
  };
  if (is_shared(options.output)) {
    return usage("each rank has outputs of its own", "",
                 "--outputs 'out{rank}.npz'");
  }
  if (is_shared(options.profile)) {
    return usage("each rank has a profile of its own", "",
                 "--profile 'trace{rank}.json'");
  }
  return {};
}

int exec(const Options& options) {
  auto paths = sort_paths(options, Wants::kModels);
  if (!paths) return fail(paths.error());
  if (auto status = check_exec(paths->models, options); !status) {
    return fail(status.error());
  }
  const auto how = exec_options(paths->models, options);
  if (!how) return fail(how.error());
  const auto all = api::exec(paths->models, *how);
  if (!all) return fail(all.error());
  if (auto status = write_outputs(*all, options); !status) {
    return fail(status.error());
  }
  if (options.output.empty()) print_outputs(*all);
  if (options.ranks > 0 || all->size() > 1) print_traffic(*all);
  return 0;
}

}  // namespace

void add_exec(Line& line) {
  Options& o = line.options;
  VerbLine exec =
      line.add(cli::exec, "exec", "run a model on the CPU",
               "ruleengine exec model.onnx --inputs in.npz --outputs out.npz");
  exec.paths("the model, or one for each rank");
  add_inputs(exec, o);
  exec.flag("--random", o.random, "draw the inputs");
  exec.option("--outputs", o.output,
              "an .npz file for the outputs; without it a table of them");
  exec.option("--ranks", o.ranks,
              "run on so many ranks, as threads; {rank} in the names of "
              "--inputs and --outputs is the number of the rank")
      .whole(1, 1024);
  exec.option("--profile", o.profile, "a file for the run as a Chrome trace");
}

}  // namespace ruleengine::cli
