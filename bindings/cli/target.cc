#include "bindings/cli/target.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

#include "bindings/cli/session.h"
#include "core/ir/op_facts.h"
#include "core/rewrite/portable.h"
#include "core/rewrite/raise.h"

namespace ruleengine::cli {
namespace {

namespace fs = std::filesystem;

// From here on the standard has Attention.
constexpr std::int64_t kAttention = 23;

// What every target but `portable` has no word for, in standard ops.
constexpr std::array kLowered = {"lowering/linear.lua",
                                 "lowering/mha_in_projection.lua"};

bool is_open(const ir::Model& model, const ir::Node& node) {
  return !node.removed && rewrite::has_body(model.ops[node.op]);
}

// Is there anything that a target would write in another way?
bool has_own_ops(const ir::Model& model) {
  const auto in = [&](const ir::Graph& graph) {
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      if (is_open(model, graph.node(ir::NodeId(i)))) return true;
    }
    return false;
  };
  return in(model.graph) ||
         std::ranges::any_of(model.functions, [&](const auto& f) {
           return !f->removed && !rewrite::is_dialect_function(*f) &&
                  in(f->body);
         });
}

std::string chosen(const ir::Model& model, const Options& options) {
  if (options.target != "auto") return options.target;
  return std::max(model.opset(""), options.opset) >= kAttention ? "onnx"
                                                                : "portable";
}

void append(rewrite::Report& to, rewrite::Report&& more) {
  const auto move = [](auto& a, auto& b) {
    a.insert(a.end(), std::make_move_iterator(b.begin()),
             std::make_move_iterator(b.end()));
  };
  move(to.rules, more.rules);
  move(to.warnings, more.warnings);
  to.match_seconds += more.match_seconds;
  to.rewrite_seconds += more.rewrite_seconds;
}

// What the target's rules turned down is warned of: it stays portable.
void warn_of_rest(const std::string& target, rewrite::Report& report) {
  for (const rewrite::RuleReport& rule : report.rules) {
    if (rule.phase != rewrite::Phase::kTarget) continue;
    for (const rewrite::Rejected& left : rule.rejected) {
      report.warnings.push_back({rule.name, left.node,
                                 left.node + " stays portable, " + target +
                                     " has no form for it: " + left.reason});
    }
  }
}

Status run_rules(ir::Model& model, const std::string& target,
                 const Options& options, RunReport& report) {
  const auto folder = shipped_rules();
  if (!folder) return folder.error();
  std::vector<std::string> paths = {*folder + "/canonical.lua",
                                    *folder + "/targets/" + target};
  for (const char* each : kLowered) paths.push_back(*folder + "/" + each);
  Options own = options;
  own.sets.clear();
  auto rules = load_rules(paths, own);
  if (!rules) return rules.error();
  auto done = rewrite::run(model, rules->pointers, engine_options(options));
  if (!done) return done.error();
  warn_of_rest(target, *done);
  std::erase_if(done->rules, [](const rewrite::RuleReport& rule) {
    return rule.phase != rewrite::Phase::kTarget;
  });
  append(report.engine, std::move(*done));
  return {};
}

// Raised for --opset, and for what the target onnx has to say. False, with a
// warning, when only the latter wanted it and a node cannot go along.
Result<bool> raise(ir::Model& model, const std::string& target,
                   const Options& options, bool own_ops, RunReport& report) {
  const bool wanted = target == "onnx" && own_ops;
  const std::int64_t opset =
      std::max(options.opset, wanted ? kAttention : std::int64_t{0});
  if (opset <= model.opset("")) return true;
  Status raised = rewrite::raise_opset(model, opset);
  report.raised = raised.ok();
  if (raised) return true;
  if (options.opset != 0) return raised.error();
  report.engine.warnings.push_back(
      {"", "",
       "the result stays portable: " + raised.error().what + ": " +
           raised.error().found});
  return false;
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
  if (options.target == "portable" || options.target == "ort") {
    return usage("--opset goes with the targets onnx and auto", "",
                 "--target " + options.target);
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
  const bool own_ops = has_own_ops(model);
  const auto raised = raise(model, report.target, options, own_ops, report);
  if (!raised) return raised.error();
  const bool rewritten = std::ranges::any_of(
      report.engine.rules, [](const auto& rule) { return rule.rewrites > 0; });
  // Left to itself a run writes nothing anew in which no rule fired.
  const bool asked = options.target != "auto" || rewritten;
  if (report.target != "portable" && own_ops && *raised && asked) {
    auto status = run_rules(model, report.target, options, report);
    if (!status) return status;
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
