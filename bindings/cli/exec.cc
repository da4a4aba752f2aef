// `ruleengine exec MODEL`: runs a model on the inputs of an .npz file.

#include <fmt/format.h>

#include "bindings/api/exec.h"
#include "bindings/api/files.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

using api::Executed;

struct ExecFlags : Flags {
  InputFlags in;
  bool random = false;
  std::string output, profile;  // files
  int ranks = 0;                // 0: one for each model
};

std::string range_text(const runtime::Datum& value) {
  const auto range = api::range_of(value);
  return range ? fmt::format("{:.6g} to {:.6g}, mean {:.6g}", range->low,
                             range->high, range->mean)
               : "";
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

// A file for each rank: all of them, or none. No path: none.
template <typename Content>
void write_all(const std::string& path, const std::vector<Executed>& ranks,
               const Content& content) {
  if (path.empty()) return;
  std::vector<io::Staged> files;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    files.push_back(take(api::stage_text(of_rank(path, i), content(ranks[i]))));
  }
  std::vector<io::Staged*> all;
  for (io::Staged& each : files) all.push_back(&each);
  check(api::commit_all(all));
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

api::ExecOptions exec_options(const std::vector<std::string>& models,
                              const ExecFlags& flags) {
  api::ExecOptions out{.how = execution_options(flags, flags.in),
                       .draws = flags.random,
                       .ranks = flags.ranks,
                       .traces = !flags.profile.empty(),
                       .warn = warn};
  const auto count =
      flags.ranks > 0 ? static_cast<std::size_t>(flags.ranks) : models.size();
  for (std::size_t i = 0; i < count && !flags.in.how.inputs.empty(); ++i) {
    out.inputs.push_back(of_rank(flags.in.how.inputs, i));
  }
  return out;
}

void check_exec(const std::vector<std::string>& models,
                const ExecFlags& flags) {
  if (flags.random && !flags.in.how.inputs.empty()) {
    throw misuse("--random and --inputs exclude each other", "", "",
                 flags.example);
  }
  const bool several = flags.ranks > 1 || models.size() > 1;
  const auto check_path = [&](const std::string& path, const char* what,
                              const char* hint) {
    if (!several || path.empty() || path.find(kRank) != std::string::npos) {
      return;
    }
    throw misuse(fmt::format("each rank has {} of its own", what), "", "",
                 hint);
  };
  check_path(flags.output, "outputs", "--outputs 'out{rank}.npz'");
  check_path(flags.profile, "a profile", "--profile 'trace{rank}.json'");
}

int exec(const ExecFlags& flags) {
  const auto paths = sort_paths(flags, Wants::kModelsAndRules);
  check_exec(paths.models, flags);
  auto how = exec_options(paths.models, flags);
  how.rules = paths.rules;
  const auto all = take(api::exec(paths.models, how));
  write_all(flags.profile, all, [](const auto& each) { return each.trace; });
  write_all(flags.output, all, [](const auto& each) {
    return take(runtime::npz_of(each.outputs));
  });
  if (flags.output.empty()) print_outputs(all);
  if (flags.ranks > 0 || all.size() > 1) print_traffic(all);
  return 0;
}

}  // namespace

void add_exec(Line& line) {
  auto [exec, flags] =
      line.add(cli::exec, "exec", "run a model",
               "ruleengine exec model.onnx --inputs in.npz --outputs out.npz");
  exec.paths(
      "MODEL|RULE", flags,
      "the model, or one for each rank; and rule files whose `body` says "
      "what ops mean");
  exec.inputs(flags, flags.in);
  exec.device(flags.in);
  exec.flag("--random", flags.random, "draw the inputs");
  exec.option("--outputs", flags.output,
              "an .npz file for the outputs; without it a table of them")
      .takes("FILE.npz");
  exec.option("--ranks", flags.ranks,
              "run on so many ranks, as threads; {rank} in the names of "
              "--inputs and --outputs is the number of the rank")
      .whole(1, 1024);
  exec.option("--profile", flags.profile,
              "a file for the run as a Chrome trace")
      .takes("FILE.json");
}

}  // namespace ruleengine::cli
