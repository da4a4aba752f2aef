#include "bindings/cli/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/cli/session.h"
#include "core/analysis/attention_sites.h"
#include "core/ir/op_facts.h"
#include "core/rewrite/functions.h"
#include "core/rewrite/portable.h"
#include "core/rewrite/raise.h"

namespace ruleengine::cli {
namespace {

namespace fs = std::filesystem;

// From here on the standard has Attention.
constexpr std::int64_t kAttention = 23;

// What every target but `portable` has no word for, and the rule that says it
// in standard ops; and what takes away the layout that this leaves: the whole
// pack only in a run that makes things uniform anyway, since a target's rules
// read canonical forms too. What none of them needed is taken back.
struct Lowered {
  std::string_view op, rule;
};
constexpr Lowered kLowered[] = {
    {"Linear", "lowering/linear.lua"},
    {"MHAInProjection", "lowering/mha_in_projection.lua"},
    {"RelativePositionBias", "lowering/relative_position_bias.lua"},
    {"SwinAttention", "lowering/swin_attention.lua"},
    {"SwinWindowPartition", "lowering/swin_window_partition.lua"},
    {"SwinWindowReverse", "lowering/swin_window_reverse.lua"}};
constexpr std::array kTidied = {"canonical/cancel_reshapes.lua",
                                "canonical/cancel_transposes.lua"};

template <class Wanted>
bool has_op(const ir::Graph& graph, const Wanted& wanted) {
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const ir::NodeId node(i);
    if (!graph.node(node).removed && wanted(graph.op(node))) return true;
  }
  return false;
}

// Is there such an op anywhere?
template <class Wanted>
bool has_op(const ir::Model& model, const Wanted& wanted) {
  return std::ranges::any_of(
      rewrite::rewritable_graphs(model),
      [&](const ir::Graph* graph) { return has_op(*graph, wanted); });
}

std::string chosen(const ir::Model& model, const Options& options) {
  if (options.target != "auto") return options.target;
  return std::max(model.opset(""), options.opset) >= kAttention ? "onnx"
                                                                : "portable";
}

// A rule that ran before has one row all the same, and what it turned down
// then is met again.
void append(rewrite::Report& to, rewrite::Report&& more) {
  std::erase_if(more.rules, [&](rewrite::RuleReport& rule) {
    const auto old = std::ranges::find_if(to.rules, [&](const auto& each) {
      return each.name == rule.name && each.phase == rule.phase;
    });
    if (old == to.rules.end()) return false;
    old->matches -= std::min<std::uint64_t>(old->matches, old->rejected.size());
    old->matches += rule.matches;
    old->rewrites += rule.rewrites;
    old->rejected = std::move(rule.rejected);
    old->seconds += rule.seconds;
    return true;
  });
  const auto move = [](auto& a, auto& b) {
    a.insert(a.end(), std::make_move_iterator(b.begin()),
             std::make_move_iterator(b.end()));
  };
  move(to.rules, more.rules);
  move(to.warnings, more.warnings);
  move(to.assumptions, more.assumptions);
  move(to.allowed, more.allowed);
  to.match_seconds += more.match_seconds;
  to.rewrite_seconds += more.rewrite_seconds;
}

// Why each of the target's rules left this node alone.
std::string reasons_at(const rewrite::Report& report, const std::string& node) {
  std::string text;
  for (const rewrite::RuleReport& rule : report.rules) {
    if (rule.phase != rewrite::Phase::kTarget) continue;
    for (const rewrite::Rejected& left : rule.rejected) {
      if (left.node != node) continue;
      text += (text.empty() ? ": " : "; ") + rule.name + ": " + left.reason;
    }
  }
  return text;
}

// The engine's own ops that are left stay portable, with a warning.
void warn_of_rest(const ir::Model& model, const std::string& target,
                  rewrite::Report& report) {
  for (const ir::Graph* graph : rewrite::rewritable_graphs(model)) {
    for (std::size_t i = 0; i < graph->node_count(); ++i) {
      const ir::NodeId node(i);
      if (graph->node(node).removed || !rewrite::has_body(graph->op(node))) {
        continue;
      }
      const std::string label = rewrite::node_label(*graph, node);
      report.warnings.push_back({"", label,
                                 label + " stays portable, " + target +
                                     " has no form for it" +
                                     reasons_at(report, label)});
    }
  }
}

// Runs these of the rules that ship, and adds what they did to the report.
Status run_rules(ir::Model& model, const std::vector<std::string>& files,
                 const Options& options, RunReport& report) {
  const auto folder = shipped_rules();
  if (!folder) return folder.error();
  std::vector<std::string> paths;
  for (const std::string& file : files) paths.push_back(*folder + "/" + file);
  Options own = options;
  own.sets.clear();
  auto rules = load_rules(paths, own);
  if (!rules) return rules.error();
  auto done = rewrite::run(model, rules->pointers, engine_options(options));
  if (!done) return done.error();
  append(report.engine, std::move(*done));
  return {};
}

Status write_as(ir::Model& model, const Options& options, RunReport& report) {
  const bool uniform =
      std::ranges::any_of(report.engine.rules, [](const auto& rule) {
        return rule.phase == rewrite::Phase::kCanonical;
      });
  std::vector<std::string> files;
  for (const Lowered& each : kLowered) {
    const bool is_there = has_op(
        model, [&](const ir::Op& op) { return op.is("ruleengine", each.op); });
    if (is_there) files.emplace_back(each.rule);
  }
  files.push_back("targets/" + report.target);
  if (uniform) {
    files.emplace_back("canonical.lua");
  } else {
    files.insert(files.end(), kTidied.begin(), kTidied.end());
  }
  const auto status = run_rules(model, files, options, report);
  if (status) warn_of_rest(model, report.target, report.engine);
  return status;
}

// The oldest opset of the main graph, and of functions that hold fused ops.
std::int64_t oldest_opset(const ir::Model& model) {
  std::int64_t oldest = model.opset("");
  for (const auto& f : model.functions) {
    if (f->removed || !has_op(f->body, rewrite::has_body)) continue;
    for (const ir::OpsetImport& each : f->opset_imports) {
      if (each.domain.empty()) oldest = std::min(oldest, each.version);
    }
  }
  return oldest;
}

// Raised for --opset, and for what the target has to say. False, with a
// warning, when only the target onnx wanted it and a node cannot go along.
Result<bool> raise(ir::Model& model, const Options& options,
                   RunReport& report) {
  const std::int64_t own = model.opset("");
  if (options.opset != 0 && options.opset < own) {
    report.engine.warnings.push_back(
        {"", "",
         fmt::format("--opset {} does nothing: {} is of opset {} already",
                     options.opset, report.model, own)});
  }
  const bool made = has_fired(report) && has_op(model, rewrite::has_body);
  const auto is_fused_attention = [](const ir::Op& op) {
    return rewrite::has_body(op) && analysis::is_attention(op);
  };
  const std::int64_t least =
      std::max(options.opset, made ? rewrite::kOldestOpset : 0);
  std::int64_t wanted = least;
  if (report.target == "onnx" && has_op(model, is_fused_attention)) {
    wanted = std::max(wanted, kAttention);
  }
  if (wanted <= oldest_opset(model)) return true;
  Status raised = rewrite::raise_opset(model, wanted);
  const bool all = raised.ok();
  if (!all && least < wanted) {
    report.engine.warnings.push_back(
        {"", "",
         "the result stays portable: " + raised.error().what + ": " +
             raised.error().found});
    raised = rewrite::raise_opset(model, least);
  }
  report.opset_after = model.opset("");
  if (!raised) return raised.error();
  return all;
}

}  // namespace

Status check_target(const Options& options) {
  const auto usage = [](std::string what, std::string expected,
                        std::string found) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = std::move(what),
                      .expected = std::move(expected),
                      .found = std::move(found)};
  };
  constexpr std::array kTargets = {"auto", "portable", "onnx", "ort"};
  if (std::ranges::find(kTargets, options.target) == kTargets.end()) {
    return usage("there is no such target", "auto, portable, onnx or ort",
                 options.target);
  }
  if (options.opset == 0) return {};
  if (options.target == "portable") {
    return usage("--opset goes with the targets auto, onnx and ort", "",
                 "--target portable");
  }
  const int newest = ir::newest_opset("");
  if (options.opset < 1 || options.opset > newest) {
    return usage("--opset", "an opset up to " + std::to_string(newest),
                 std::to_string(options.opset));
  }
  return {};
}

Status write_target(ir::Model& model, const Options& options,
                    RunReport& report) {
  report.target = chosen(model, options);
  const auto raised = raise(model, options, report);
  if (!raised) return raised.error();
  // Left to itself a run writes nothing anew in which no rule fired.
  const bool asked = options.target != "auto" || has_fired(report);
  if (report.target != "portable" && *raised && asked) {
    if (auto status = write_as(model, options, report); !status) return status;
  }
  return rewrite::write_portable(model);
}

Result<std::string> shipped_rules() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path here = program.parent_path();
  for (const fs::path& folder :
       {here / "../rules", here / "../share/ruleengine/rules",
        fs::path(RULEENGINE_RULES_DIR)}) {
    if (fs::exists(folder / "canonical.lua", error)) {
      return folder.lexically_normal().string();
    }
  }
  return Diagnostic{.kind = ErrorKind::kRule,
                    .what = "the rules that ship with the program are missing",
                    .expected = "the folder rules/ beside the program's"};
}

}  // namespace ruleengine::cli
