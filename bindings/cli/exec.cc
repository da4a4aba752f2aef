// `ruleengine exec MODEL`: runs a model on the inputs of an .npz file.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bindings/cli/execution.h"
#include "bindings/cli/profile.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/engine/options.h"
#include "core/ir/narrow_float.h"
#include "core/ranks/communication.h"
#include "runtime/adapt.h"
#include "runtime/executor.h"
#include "runtime/npz.h"
#include "runtime/random_inputs.h"
#include "runtime/rank_threads.h"

namespace ruleengine::cli {
namespace {

using runtime::Datum;
using runtime::NamedData;

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
std::string of_rank(std::string path, int rank) {
  const std::size_t at = path.find(kRank);
  if (at != std::string::npos) {
    path.replace(at, kRank.size(), std::to_string(rank));
  }
  return path;
}

// What one rank, or the only one, runs, and what came of it.
struct Done {
  std::unique_ptr<ir::Model> model;  // the outputs may refer to its weights
  NamedData inputs;
  NamedData outputs;
  ranks::Traffic predicted;
  runtime::Sent sent;
};

Result<Done> load(const std::string& path, const Options& options, int rank) {
  auto model = load_model(path, options);
  if (!model) return model.error();
  Done done{.model = *std::move(model)};
  if (rank >= 0) {
    const auto facts = engine::facts_of(done.model->graph);
    done.predicted = ranks::traffic(done.model->graph, *facts);
  }
  Options own = options;
  own.inputs = of_rank(options.inputs, std::max(rank, 0));
  auto inputs = read_inputs(*done.model, own);
  if (!inputs) return inputs.error();
  done.inputs = *std::move(inputs);
  return done;
}

// Where the inputs are drawn, `place` is null or `draw` says how.
Status run_model(Done& done, const Options& options, runtime::RankPlace* place,
                 const runtime::InputOptions* draw) {
  Profile profile;
  runtime::ExecutorOptions how = executor_options(options);
  if (!options.profile.empty()) how.trace = profile.trace();
  if (place != nullptr) {
    how.threads = std::max(1, options.threads);
    how.communicator = &place->communicator;
    how.is_cancelled = place->is_cancelled;
  }
  auto executor = runtime::Executor::create(*done.model, std::move(how));
  if (!executor) return executor.error();
  if (options.random) {
    auto inputs = draw == nullptr
                      ? draw_inputs(**executor, *done.model, options)
                      : runtime::random_inputs(
                            *done.model, *draw,
                            runtime::Memory::create(tensor_limit(options)));
    if (!inputs) return inputs.error();
    done.inputs = *std::move(inputs);
  }
  profile.clear();
  auto outputs = (*executor)->run(done.inputs);
  if (!outputs) {
    Diagnostic error = outputs.error();
    if (error.where.empty()) error.where = done.model->path;
    return error;
  }
  done.outputs = *std::move(outputs);
  if (place != nullptr) done.sent = place->communicator.sent();
  if (auto status = check_end(*done.model, options); !status) return status;
  return write_profile(
      of_rank(options.profile,
              place == nullptr ? 0 : place->communicator.rank()),
      profile);
}

// All files, or none.
Status write_outputs(const std::vector<Done>& all, const Options& options) {
  std::vector<io::Staged> files;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto bytes = runtime::npz_of(all[i].outputs);
    if (!bytes) return bytes.error();
    auto staged =
        stage_text(of_rank(options.output, static_cast<int>(i)), *bytes);
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

void print_outputs(const std::vector<Done>& all) {
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
void print_traffic(const std::vector<Done>& all) {
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

Status run_ranks(std::vector<Done>& all, const Options& options,
                 const runtime::InputOptions* draw) {
  return runtime::run_ranks(
      static_cast<int>(all.size()), [&](runtime::RankPlace& place) {
        const auto rank = static_cast<std::size_t>(place.communicator.rank());
        return run_model(all[rank], options, &place, draw);
      });
}

// A model each, or one for all. Inputs are drawn alike on all ranks, until all
// can run on them.
Result<std::vector<Done>> run_all(const std::vector<std::string>& models,
                                  const Options& options) {
  const int count =
      options.ranks > 0 ? options.ranks : static_cast<int>(models.size());
  const bool is_alone = count == 1 && options.ranks == 0;
  std::vector<Done> all;
  for (int rank = 0; rank < count; ++rank) {
    const auto i = models.size() == 1 ? 0 : static_cast<std::size_t>(rank);
    auto done = load(models[i], options, is_alone ? -1 : rank);
    if (!done) return done.error();
    all.push_back(*std::move(done));
  }
  if (is_alone || !options.random) {
    const auto status = is_alone ? run_model(all[0], options, nullptr, nullptr)
                                 : run_ranks(all, options, nullptr);
    if (!status) return status.error();
    return all;
  }
  const auto how = input_options(options);
  if (!how) return how.error();
  const auto status = runtime::try_inputs(
      *how, [&](const auto& draw) { return run_ranks(all, options, &draw); });
  if (!status) return status.error();
  return all;
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
  const auto all = run_all(paths->models, options);
  if (!all) return fail(all.error());
  if (!options.output.empty()) {
    const auto status = write_outputs(*all, options);
    if (!status) return fail(status.error());
  } else {
    print_outputs(*all);
  }
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
