#include "core/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/rewrite/functions.h"
#include "core/rewrite/portable.h"
#include "core/rewrite/raise.h"
#include "core/verify/verify.h"

namespace ruleengine::engine {
namespace {

bool has_op_with_body(const ir::Graph& graph) {
  return std::ranges::any_of(graph.live_nodes(), [&](ir::NodeId node) {
    return rewrite::has_body(graph.op(node));
  });
}

// The oldest opset among the graphs with ops that get a body; the newest opset
// if there are none.
std::int64_t oldest_with_bodies(const ir::Model& model) {
  std::int64_t oldest = rewrite::kOldestOpset;
  if (has_op_with_body(model.graph)) {
    oldest = std::min(oldest, model.opset(""));
  }
  for (const auto& f : model.functions) {
    if (f->removed || !has_op_with_body(f->body)) continue;
    for (const ir::OpsetImport& each : f->opset_imports) {
      if (each.domain.empty()) oldest = std::min(oldest, each.version);
    }
  }
  return oldest;
}

}  // namespace

// The run of one model.
class Engine::Run {
 public:
  using LeavesOut = decltype(Part::leaves_out);

  Run(Engine& engine, const RunOptions& options, ir::Model& model,
      LeavesOut leaves_out = {})
      : engine_(engine),
        options_(options),
        model_(model),
        leaves_out_(std::move(leaves_out)) {}

  Result<RunReport> run(const Progress& progress) {
    std::optional<ops::Sizes> sizes;
    if (options_.cost_at) {
      sizes.emplace(model_.dims, *options_.cost_at);
      report_.cost.emplace().before = analysis::cost_of(model_, *sizes);
    }
    engine_.bodies_.mark(model_);
    report_.ops_before = count_ops(model_);
    report_.opset_before = model_.opset("");
    const Requirements needs = requirements_of(model_);
    const std::size_t imports = model_.opset_imports.size();
    const std::int64_t ir_version = model_.ir_version;
    if (Status s = raise_to_requested(); !s) return s.error();
    const Target& target = chosen();
    report_.target = target.name;
    const auto plan = engine_.plan(target);
    if (!plan) return plan.error();
    if (Status s = drive(target, **plan, progress); !s) return s.error();
    rewrite::remove_unused_imports(model_, imports);
    const bool is_plain =
        target.plain && model_.opset_imports.size() == imports;
    if (!is_plain) {
      const bool has_functions = !options_.keep_ir_version ||
                                 ir_version >= rewrite::kFunctionIrVersion;
      if (Status s = write_bodies(target, has_functions); !s) return s.error();
    }
    // A model must state one import.
    if (simplifies()) rewrite::remove_unused_imports(model_, 1);
    if (is_plain) drop_new_names();
    if (is_plain || options_.keep_ir_version) {
      keep_ir_version(ir_version);
    }
    if (Status s = verify::check_model(model_); !s) return s.error();
    report_.needs = requirements_of(model_).beyond(needs);
    report_.opset_after = model_.opset("");
    report_.ops_after = count_ops(model_);
    if (sizes) {
      report_.cost->after = report_.is_untouched()
                                ? report_.cost->before
                                : analysis::cost_of(model_, *sizes);
      report_.cost->sizes = sizes->used();
    }
    return std::move(report_);
  }

 private:
  // The requested opset is set first, since rules may need it.
  Status raise_to_requested() {
    const std::int64_t own = model_.opset("");
    if (options_.opset == 0) return {};
    if (options_.opset < own) {
      warn(fmt::format(
          "opset {} was requested, but the model already has opset {}",
          options_.opset, own));
    }
    return rewrite::raise_opset(model_, options_.opset);
  }

  const Target& chosen() const {
    const Target* target = find_target(options_.target);
    return target == nullptr ? target_of(model_) : *target;
  }

  static bool is_lowering(const rewrite::Rule& rule) {
    return rule.qualified().starts_with("lowering/");
  }

  // Whether the model changed, and what is useless in it is to go.
  bool simplifies() const {
    return model_.changed &&
           std::ranges::any_of(engine_.given_->rules(), [](const auto* rule) {
             return rule->phase() == rewrite::Phase::kSimplify;
           });
  }

  // Whether a user may do without the rule's rewrites.
  bool is_optional(const rewrite::Rule& rule) const {
    if (is_lowering(rule)) return false;
    const auto is_canonical = [](const rewrite::Rule* each) {
      return each->phase() == rewrite::Phase::kCanonical;
    };
    return !is_canonical(&rule) ||
           std::ranges::all_of(engine_.given_->rules(), is_canonical);
  }

  Status drive(const Target& target, const Plan& plan,
               const Progress& progress) {
    rewrite::DriverOptions how = rewrite_options(options_);
    if (options_.permits || options_.lists_sites || leaves_out_) {
      how.permits =
          [this](const rewrite::Rule& rule,
                 const rewrite::Site& site) -> std::optional<std::string> {
        if (leaves_out_ && leaves_out_(rule)) return "the rule is left out";
        if (!options_.permits || !is_optional(rule)) return std::nullopt;
        return options_.permits(rule, site);
      };
    }
    how.progress = progress;
    how.raises = !target.plain;
    how.may_return = target.plain;
    rewrite::Driver driver(model_, plan.rules, std::move(how));
    if (Status s = driver.act(engine_.stages_); !s) return s;
    if (!target.plain) {
      if (Status s = raise_for_bodies(driver); !s) return s;
    }
    // If no rule rewrote anything, the target's rules do not run either, unless
    // the user chose the target.
    const bool wanted = options_.target != "auto" || driver.has_rewritten();
    if (!plan.stages.empty() && wanted) {
      if (Status s = write_as(target, plan, driver); !s) return s;
    }
    if (Status s = driver.settle(); !s) return s;
    report_.rewrites = driver.report();
    if (!options_.lists_sites) leave_optional_sites(plan);
    auto& warnings = report_.rewrites.warnings;
    warnings.insert(warnings.end(), warnings_.begin(), warnings_.end());
    note_absent();
    return {};
  }

  void leave_optional_sites(const Plan& plan) {
    std::set<std::string_view> optional;
    for (const rewrite::Rule* rule : plan.rules) {
      if (is_optional(*rule)) optional.insert(rule->qualified());
    }
    std::erase_if(report_.rewrites.sites, [&](const rewrite::Site& site) {
      return !optional.contains(site.rule);
    });
  }

  // Calls it with each node that a rule made and that is still there.
  template <class Visit>
  void for_new_nodes(const Visit& visit) {
    for (ir::Graph* graph : rewrite::rewritable_graphs(model_)) {
      for (const ir::NodeId node : graph->live_nodes()) {
        if (!rewrite::made_by_rule(graph->node(node))) continue;
        visit(graph->mutable_node(node));
      }
    }
  }

  // Where the model leaves nodes without a name, readers make some up, such as
  // "Softmax_1", which must not be those of new nodes.
  void drop_new_names() {
    const auto is_nameless = [](const ir::Graph* graph) {
      return std::ranges::any_of(graph->live_nodes(), [&](ir::NodeId node) {
        return graph->node(node).name.empty();
      });
    };
    if (!std::ranges::any_of(rewrite::rewritable_graphs(model_), is_nameless)) {
      return;
    }
    for_new_nodes([](ir::Node& node) { node.name = {}; });
  }

  // Takes back what only a newer IR version has: the metadata of new nodes.
  void keep_ir_version(std::int64_t version) {
    if (model_.ir_version == version && !options_.keep_ir_version) return;
    for_new_nodes([](ir::Node& node) { node.metadata = {}; });
    model_.ir_version = version;
  }

  // Where functions cannot be, bodies stand in the place of the calls.
  Status write_bodies(const Target& target, bool has_functions) {
    if (Status s = write_own_bodies(target, has_functions); !s) return s;
    const auto bare =
        has_functions
            ? rewrite::write_portable(
                  model_,
                  {.foreign = target.foreign_bodies,
                   .overloads = target.overloads && !options_.keep_ir_version})
            : rewrite::write_inline(model_, target.foreign_bodies);
    if (!bare) return bare.error();
    warn_of_bare(*bare);
    return {};
  }

  // With `auto`, ops of the user's own stay as they are: their runtime may have
  // kernels for them.
  Status write_own_bodies(const Target& target, bool has_functions) {
    if (options_.target == "auto" || !target.foreign_bodies) return {};
    if (!has_functions) {
      bool is_bare = false;
      for_new_nodes([&](const ir::Node& node) {
        is_bare =
            is_bare || engine_.bodies_.find(model_.ops[node.op]) != nullptr;
      });
      if (is_bare) {
        warn(
            fmt::format("ops with a `body` stay as they are: functions need "
                        "IR version {}",
                        rewrite::kFunctionIrVersion));
      }
      return {};
    }
    const auto bare = engine_.bodies_.write(
        model_, {.overloads = target.overloads && !options_.keep_ir_version});
    if (!bare) return bare.error();
    warn_of_bare(*bare);
    return {};
  }

  void warn_of_bare(const std::vector<rewrite::Bare>& bare) {
    for (const rewrite::Bare& each : bare) {
      report_.rewrites.warnings.push_back(
          {.node = each.node,
           .message = each.node + " gets no function body: " + each.reason});
    }
  }

  // Function bodies need a minimum opset.
  Status raise_for_bodies(rewrite::Driver& driver) {
    if (!driver.has_rewritten() ||
        oldest_with_bodies(model_) >= rewrite::kOldestOpset) {
      return {};
    }
    if (Status s = driver.settle(); !s) return s;
    return rewrite::raise_opset(model_, rewrite::kOldestOpset);
  }

  // Runs the target's rules, and a second time after raising the opset if that
  // lets them do more.
  Status write_as(const Target& target, const Plan& plan,
                  rewrite::Driver& driver) {
    if (Status s = driver.act(plan.stages); !s) return s;
    const auto wanted = wanted_opsets(target, plan, driver);
    if (!wanted.empty()) {
      if (Status s = driver.settle(); !s) return s;
      if (!raise_to_one(wanted)) return {};
      if (Status s = driver.act(plan.stages); !s) return s;
    }
    warn_of_rest(target, plan, driver);
    return {};
  }

  // The opsets that rejections of the target's rules need, newest first. With
  // `auto` only those up to the model's own opset: a function may be of an
  // older one.
  std::set<std::int64_t, std::greater<>> wanted_opsets(
      const Target& target, const Plan& plan,
      const rewrite::Driver& driver) const {
    std::set<std::int64_t, std::greater<>> wanted;
    if (!target.raises) return wanted;
    const bool any = options_.target != "auto";
    for_target_rules(plan, driver, [&](const auto&, const auto& rejected) {
      const bool fits = any || rejected.opset <= model_.opset("");
      if (rejected.opset > 0 && fits) wanted.insert(rejected.opset);
    });
    return wanted;
  }

  // Raises the model to the newest of these opsets that is possible; false if
  // none is.
  bool raise_to_one(const std::set<std::int64_t, std::greater<>>& wanted) {
    for (const std::int64_t opset : wanted) {
      const Status raised = rewrite::raise_opset(model_, opset);
      if (raised) return true;
      if (opset != *wanted.begin()) continue;
      warn("the result stays portable where it would need opset " +
           std::to_string(opset) + ": " + raised.error().what + ": " +
           raised.error().found);
    }
    return false;
  }

  // Warns about ops of the engine's own that are left: once for those that
  // have the same reasons.
  void warn_of_rest(const Target& target, const Plan& plan,
                    const rewrite::Driver& driver) {
    struct Rest {
      std::string label;  // of the first node
      std::string reasons;
      std::size_t nodes = 0;
    };
    std::vector<Rest> rests;
    std::map<std::string, std::size_t> of_reasons;
    for (const ir::Graph* graph :
         rewrite::rewritable_graphs(static_cast<const ir::Model&>(model_))) {
      for (const ir::NodeId node : graph->live_nodes()) {
        const ir::Op& op = graph->op(node);
        // The ops of another runtime are not written in another form.
        if (op.domain == "tensor_cast" || !rewrite::has_body(op)) continue;
        std::string reasons = reasons_at(*graph, node, plan, driver);
        const std::size_t at =
            of_reasons.try_emplace(reasons, rests.size()).first->second;
        if (at == rests.size()) {
          rests.push_back(
              {rewrite::node_label(*graph, node), std::move(reasons)});
        }
        ++rests[at].nodes;
      }
    }
    for (const auto& [label, reasons, nodes] : rests) {
      const std::string stay =
          nodes == 1 ? "stays portable"
                     : fmt::format("and {} like it stay portable", nodes - 1);
      warn(fmt::format("{} {}, {} has no form for {}{}", label, stay,
                       target.name, nodes == 1 ? "it" : "them", reasons),
           label);
    }
  }

  // Why each of the target's rules rejected this node.
  static std::string reasons_at(const ir::Graph& graph, ir::NodeId node,
                                const Plan& plan,
                                const rewrite::Driver& driver) {
    std::string text;
    for_target_rules(plan, driver, [&](const auto& rule, const auto& rejected) {
      if (rejected.graph != &graph || rejected.at != node) return;
      if (is_lowering(rule)) return;  // it may only leave what the target has
      text +=
          (text.empty() ? ": " : "; ") + rule.name() + ": " + rejected.reason;
    });
    return text;
  }

  template <class Visit>
  static void for_target_rules(const Plan& plan, const rewrite::Driver& driver,
                               const Visit& visit) {
    for (std::uint32_t i = 0; i < plan.rules.size(); ++i) {
      if (plan.rules[i]->phase() != rewrite::Phase::kTarget) continue;
      for (const auto& each : driver.rejected(i)) visit(*plan.rules[i], each);
    }
  }

  // Notes the rules that took no part, and the options that switch them on.
  void note_absent() {
    std::unique_ptr<ir::Facts> facts;  // seldom needed
    for (const rewrite::RuleReport& each : report_.rewrites.rules) {
      const auto& given = engine_.given_->rules();
      if (each.took_part || each.rule >= given.size()) continue;
      if (!facts) facts = facts_of(model_.graph);
      report_.absent.push_back(
          {each.name, given[each.rule]->qualified(),
           engine_.given_->switches(each.rule, model_.graph, *facts)});
    }
  }

  void warn(std::string text, std::string node = {}) {
    warnings_.push_back({"", std::move(node), std::move(text)});
  }

  Engine& engine_;
  const RunOptions& options_;
  ir::Model& model_;
  LeavesOut leaves_out_;
  RunReport report_;
  std::vector<rewrite::Warning> warnings_;
};

Engine::Engine(const RuleSource& source, RunOptions options)
    : source_(source), options_(std::move(options)) {}

Result<std::unique_ptr<Engine>> Engine::load(
    const RuleSource& source, const std::vector<std::string>& paths,
    const RunOptions& options) {
  if (Status s = check(options); !s) return s.error();
  std::unique_ptr<Engine> engine(new Engine(source, options));
  auto given = source.load(paths);
  if (!given) return given.error();
  engine->given_ = std::move(*given);
  engine->bodies_ = OpBodies(engine->given_->bodies());
  auto stages = rewrite::make_stages(engine->given_->rules());
  if (!stages) return stages.error();
  engine->stages_ = std::move(*stages);
  if (Status s = engine->check_settings(); !s) return s.error();
  return engine;
}

Status Engine::configure(const RunOptions& options) {
  if (Status s = check(options); !s) return s;
  options_ = options;
  return check_settings();
}

// A setting for a rule that was not given must belong to a rule of the target;
// with `auto`, of any target.
Status Engine::check_settings() {
  for (const RuleSet::Unclaimed& each : given_->unclaimed()) {
    bool claimed = false;
    for (const Target& target : targets()) {
      const bool may_be =
          options_.target == "auto" || options_.target == target.name;
      if (!may_be || target.rules.empty()) continue;
      const auto its = plan(target);
      if (!its) return its.error();
      claimed =
          claimed || std::ranges::find((*its)->own->unclaimed(), each.setting,
                                       &RuleSet::Unclaimed::setting) ==
                         (*its)->own->unclaimed().end();
    }
    if (!claimed) return each.error;
  }
  return {};
}

Result<const Engine::Plan*> Engine::plan(const Target& target) {
  const auto known = plans_.find(target.name);
  if (known != plans_.end()) return &known->second;
  Plan plan;
  plan.rules = given_->rules();
  if (!target.rules.empty()) {
    auto own = source_.load_shipped({std::string(target.rules)});
    if (!own) return own.error();
    plan.own = std::move(*own);
    // Given canonical rules also run with the target's rules, which read
    // canonical forms, and rules that simplify after them.
    std::vector<std::uint32_t> members;
    std::map<std::string_view, std::uint32_t> by_name;
    for (std::uint32_t i = 0; i < plan.rules.size(); ++i) {
      by_name.emplace(plan.rules[i]->qualified(), i);
      if (rewrite::is_lent(plan.rules[i]->phase())) members.push_back(i);
    }
    for (rewrite::Rule* rule : plan.own->rules()) {
      auto [at, is_new] = by_name.emplace(
          rule->qualified(), static_cast<std::uint32_t>(plan.rules.size()));
      if (is_new) plan.rules.push_back(rule);
      members.push_back(at->second);
    }
    std::ranges::sort(members);
    const auto twice = std::ranges::unique(members);
    members.erase(twice.begin(), twice.end());
    auto stages = rewrite::make_stages(plan.rules, members);
    if (!stages) return stages.error();
    plan.stages = std::move(*stages);
  }
  return &plans_.emplace(target.name, std::move(plan)).first->second;
}

Result<RunReport> Engine::run(ir::Model& model, const Progress& progress) {
  return Run(*this, options_, model).run(progress);
}

Result<RunReport> Engine::run_part(ir::Model& model, const Part& part) {
  RunOptions options = options_;
  options.judge = part.judge;
  if (part.first) {
    options.limits.first = *part.first;
    options.keep_all = true;
  }
  return Run(*this, options, model, part.leaves_out).run({});
}

Result<rewrite::DriverReport> run_rules(ir::Model& model, const RuleSet& rules,
                                        const RunOptions& options) {
  return rewrite::run(model, rules.rules(), rewrite_options(options));
}

}  // namespace ruleengine::engine
