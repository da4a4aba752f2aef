#include "runtime/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/inference.h"
#include "core/io/load.h"
#include "core/io/standard_body.h"
#include "core/ops/function_body.h"
#include "core/ops/node_spec.h"
#include "core/ops/older_meanings.h"
#include "core/ops/op_row.h"
#include "core/ops/upgrade.h"

namespace ruleengine::runtime {
namespace {

using ir::NodeId;

// Calls of one function may give it this many different sets of attributes.
constexpr std::size_t kMostVariants = 10000;

// Whether attributes of the node are those of the function around it.
bool has_references(const ir::Graph& graph, NodeId node) {
  return std::ranges::any_of(
      graph.node(node).attributes,
      [](const ir::Attribute& a) { return !a.ref.empty(); });
}

bool has_references(const ir::Graph& graph) {
  return std::ranges::any_of(graph.live_nodes(), [&](NodeId node) {
    return has_references(graph, node);
  });
}

std::string reason_of(const Diagnostic& error) {
  return error.found.empty() ? error.what : error.what + ": " + error.found;
}

std::string key_of(std::span<const ir::Type* const> types) {
  std::string key;
  for (const ir::Type* type : types) {
    if (type == nullptr) {
      key += '?';
      continue;
    }
    const int rank = type->has_shape ? static_cast<int>(type->rank()) : -1;
    key += fmt::format("{}/{}/{}:", static_cast<int>(type->elem), rank,
                       type->other.size());
    key.append(reinterpret_cast<const char*>(type->other.data()),
               type->other.size());
  }
  return key;
}

class Lowering {
 public:
  Lowering(const ir::Model& model, const OpChoice& choice)
      : model_(model), choice_(choice), newest_(ops::newest_opset("")) {}

  Result<Lowered> run() && {
    if (!is_needed()) return Lowered();
    copy_ = model_.copy();
    for (const auto& [graph, node] : choice_.declined) {
      declined_.emplace(&graph_in(*copy_, model_, *graph), node);
    }
    lower(copy_->graph, copy_->opset_imports);
    // Grows meanwhile.
    for (std::size_t i = 0; i < called_.size() && !error_; ++i) {
      lower(called_[i]->body, called_[i]->opset_imports);
    }
    if (error_) return *std::move(error_);
    return Lowered{.model = std::move(copy_),
                   .reasons = std::move(reasons_),
                   .spelled = std::move(spelled_)};
  }

 private:
  bool is_needed() {
    const bool has_declined = !choice_.declined.empty();
    bool needed = has_declined;
    const auto look = [&](const ir::Graph& graph, bool is_body) {
      for (const NodeId node : graph.live_nodes()) {
        const bool is_itself = runs_as(graph, node) == RunsAs::kItself;
        types_matter_ =
            types_matter_ || (is_body && (has_declined || !is_itself));
        needed = needed || !is_itself || has_references(graph, node) ||
                 is_old(graph, graph.op(node));
      }
    };
    look(model_.graph, false);
    for (const auto& each : model_.functions) {
      if (!each->removed) look(each->body, true);
    }
    return needed;
  }

  // What runs the nodes of an op: its own kernel or function, if it has one;
  // else our meaning of it or the standard's body, which are chosen by the
  // types of a node's inputs.
  enum class RunsAs : std::uint8_t { kUnknown, kItself, kMeaning, kBody };

  RunsAs runs_as(const ir::Graph& graph, NodeId node) {
    if (declined_.contains({&graph, node})) {
      return runs_as(graph.op(node), false);
    }
    const std::size_t op = graph.node(node).op.index();
    if (op >= runs_as_.size()) runs_as_.resize(op + 1);
    RunsAs& known = runs_as_[op];
    if (known == RunsAs::kUnknown)
      known = runs_as(graph.op(node), choice_.has_kernel(graph.op(node)));
    return known;
  }

  RunsAs runs_as(const ir::Op& op, bool has_kernel) const {
    const bool is_formula = choice_.spells_gelu && op.standard("Gelu");
    const bool has_meaning = ops::meaning_of(op.domain, op.type) != nullptr;
    // The ops of its meaning may stay where the others are.
    const bool leaves = has_meaning && choice_.leaves_device(op);
    const bool has_own = !is_formula && !leaves && has_kernel;
    if (model_.find_function(op) != nullptr || has_own) return RunsAs::kItself;
    if (has_meaning) return RunsAs::kMeaning;
    return io::has_standard_body(op) ? RunsAs::kBody : RunsAs::kItself;
  }

  static bool is_old(const ir::Graph& graph, const ir::Op& op) {
    const std::int64_t opset = graph.opset("");
    if (!op.domain.empty() || opset == 0) return false;
    return ops::Upgrades::needed(op, opset) ||
           ops::older_meaning(op.type, opset) != nullptr;
  }

  // What becomes of a node: another op, or, with a form, the same op in that.
  struct Change {
    NodeId node;
    ir::OpId op;
    std::optional<ops::NewestForm> form;
  };

  void lower(ir::Graph& graph, ir::OpsetImports& imports) {
    ops::Upgrades upgrades(graph, graph.opset(""));
    std::optional<analysis::Inference> certain;
    replace_nodes(graph, [&](const auto& facts, NodeId node) {
      if (!is_old(graph, graph.op(node))) return;
      if (!certain) {
        certain.emplace(graph, analysis::InferenceOptions{.believe = false});
      }
      make_newer(graph, *certain, facts, upgrades, node);
    });
    const std::size_t standard = imports.find("");
    if (standard < imports.size()) imports.set_version(standard, newest_);
    replace_nodes(graph, [&](const auto& facts, NodeId node) {
      const RunsAs how = runs_as(graph, node);
      const auto* function = choice_.function(*copy_, graph.op(node));
      if (declined_.contains({&graph, node}) && how == RunsAs::kItself) {
        function = copy_->find_function(graph.op(node));
        if (function != nullptr) spelled_.insert(graph.op(node).text());
      }
      if (how == RunsAs::kMeaning) {
        write_meaning(graph, facts(), node);
      } else if (function != nullptr) {
        auto& called = const_cast<ir::Function&>(*function);
        bind(graph, types_matter_ ? &facts() : nullptr, node, called);
      } else if (how == RunsAs::kBody) {
        write_standard_body(graph, facts(), node);
      }
    });
  }

  // Calls `visit` for each node, then makes the changes: the facts are of the
  // graph as it was.
  template <typename Visit>
  void replace_nodes(ir::Graph& graph, Visit visit) {
    std::optional<analysis::Inference> inference;
    const auto facts = [&]() -> ir::Facts& {
      if (!inference) inference.emplace(graph);
      return *inference;
    };
    for (const NodeId node : graph.live_nodes()) {
      if (!error_) visit(facts, node);
    }
    for (Change& change : changes_) {
      if (!change.form) {
        if (declined_.contains({&graph, change.node})) {
          spelled_.insert(copy_->ops[change.op].text());
        }
        graph.mutable_node(change.node).op = change.op;
        continue;
      }
      graph.replace_node(change.node, change.form->inputs,
                         copy_->arena.copy(std::span<const ir::Attribute>(
                             change.form->attributes)));
    }
    changes_.clear();
  }

  // --- Meanings --------------------------------------------------------------

  void write_meaning(ir::Graph& graph, ir::Facts& facts, NodeId node) {
    const ir::Op op = graph.op(node);  // interning others moves the table
    std::optional<std::string> reason;
    if (has_references(graph, node)) {
      reason = "an attribute is that of a function";
    } else if (const auto spec =
                   ops::checked(*copy_, ops::spec_of(graph, node));
               !spec) {
      reason = spec.error().what;
    } else {
      reason = call(graph, node,
                    ops::FunctionBody(graph, facts, node, newest_,
                                      ops::FunctionBody::Use::kRun));
    }
    if (reason) reasons_.try_emplace(op.text(), *std::move(reason));
  }

  // What the file declares of values between nodes may be wrong, so it is asked
  // where there is no other way.
  template <typename Facts>
  void make_newer(ir::Graph& graph, ir::Facts& certain, const Facts& facts,
                  ops::Upgrades& upgrades, NodeId node) {
    const std::string_view type = graph.op(node).type;
    const std::int64_t opset = graph.opset("");
    const auto* older = ops::older_meaning(type, opset);
    if (older == nullptr || older->may_upgrade) {
      ops::NewestForm form;
      upgrades.view(node, certain, form);
      if (!form.readable && older == nullptr) {
        form = {};
        upgrades.view(node, facts(), form);
      }
      if (form.readable) {
        changes_.push_back({.node = node, .form = std::move(form)});
        return;
      }
    }
    const auto* version = ops::find_op("", type, static_cast<int>(opset));
    if (version == nullptr) return;
    std::string reason = "newer opsets mean something else by it";
    if (older != nullptr) {
      const auto refusal = [&](ir::Facts& known) {
        return call(
            graph, node,
            ops::FunctionBody(graph, known, node, newest_, *version,
                              older->meaning, ops::FunctionBody::Use::kRun));
      };
      auto refused = refusal(certain);
      if (refused) refused = refusal(facts());
      if (!refused) return;
      reason = *std::move(refused);
    }
    // There may be a kernel for this version alone.
    const ir::OpId own = copy_->ops.intern(
        "", std::string(type) + "-" + std::to_string(version->since_version));
    changes_.push_back({.node = node, .op = own, .form = {}});
    reasons_.try_emplace(copy_->ops[own].text(), std::move(reason));
  }

  // The standard's own definition.
  void write_standard_body(const ir::Graph& graph, ir::Facts& facts,
                           NodeId node) {
    const ir::Op op = graph.op(node);  // interning others moves the table
    const auto sized = types_of(graph, facts, node);
    const auto types = without_sizes(sized);
    const auto attributes = graph.node(node).attributes;
    const auto body = io::standard_body(graph, node, sized);
    if (!body) {
      reasons_.try_emplace(op.text(), reason_of(body.error()));
      return;
    }
    const auto [at, is_new] = standard_.try_emplace(
        op.text() + ir::key_of(attributes) + key_of(types) + *body);
    if (is_new) {
      const ir::OpId own =
          overload(op, "standard-" + std::to_string(standard_.size()));
      auto function = io::add_function(*copy_, *body, copy_->ops[own]);
      if (!function) {
        reasons_.try_emplace(op.text(), reason_of(function.error()));
        standard_.erase(at);
        return;
      }
      (*function)->attribute_defaults =
          copy_->arena.copy(std::span<const ir::Attribute>(
              ops::default_attributes(*ops::newest_op(op.domain, op.type))));
      add_variant(own, **function, attributes, types);
      at->second = own;
    }
    changes_.push_back({.node = node, .op = at->second, .form = {}});
  }

  // Makes the node a call of its variant, which gets a function where it is the
  // first call; or says why not.
  std::optional<std::string> call(const ir::Graph& graph, NodeId node,
                                  const ops::FunctionBody& body) {
    if (const auto& refusal = body.refusal()) return refusal->text();
    const ir::OpId own = overload(
        graph.op(node), body.variant() + "-" + std::to_string(graph.opset("")));
    if (!added_.contains(own)) {
      const Status status = body.add_to(*copy_, copy_->ops[own]);
      if (!status) return reason_of(status.error());
      added_.insert(own);
      reach(*copy_->functions.back());
    }
    changes_.push_back({.node = node, .op = own, .form = {}});
    return std::nullopt;
  }

  // A function that the file has under that name may say something else.
  ir::OpId overload(ir::Op op, std::string name) {
    while (true) {
      const ir::OpId own = copy_->ops.intern(op.domain, op.type, name);
      const bool is_free =
          model_.find_function({op.domain, op.type, name}) == nullptr;
      if (is_free || added_.contains(own)) return own;
      name += '_';
    }
  }

  // --- Attributes of calls ---------------------------------------------------

  // Makes the node a call of the function with the attributes of the node and,
  // with facts, for the types of its inputs.
  void bind(ir::Graph& graph, ir::Facts* facts, NodeId node,
            ir::Function& function) {
    const auto [known, is_first] = bound_.try_emplace(&function);
    Bound& bound = known->second;
    if (is_first) {
      bound.is_needed = facts != nullptr || has_references(function.body);
    }
    const std::string omitted = omitted_inputs(graph, node, function);
    if (!bound.is_needed && omitted.empty()) return reach(function);
    const auto attributes = graph.node(node).attributes;
    for (const ir::Attribute& a : attributes) {
      if (a.blocks.empty()) continue;
      error_ = Diagnostic{.kind = ErrorKind::kModel,
                          .what = "a function cannot be given a subgraph",
                          .where = graph.describe(node),
                          .found = "attribute " + quoted_name(a.name)};
      return;
    }
    std::vector<const ir::Type*> types;
    if (facts != nullptr) types = without_sizes(types_of(graph, *facts, node));
    const auto [at, is_new] = bound.variants.try_emplace(
        ir::key_of(attributes) + key_of(types) + omitted);
    if (is_new) {
      if (bound.variants.size() > kMostVariants) {
        error_ = Diagnostic{
            .kind = ErrorKind::kLimit,
            .what = "a function is called with too many different attributes",
            .expected = "at most " + std::to_string(kMostVariants),
            .found = quoted_name(function.name)};
        return;
      }
      const ir::OpId own =
          overload(graph.op(node), std::string(function.overload) + "#" +
                                       std::to_string(bound.variants.size()));
      auto made = std::make_unique<ir::Function>(function, *copy_);
      made->overload = copy_->ops[own].overload;
      for (const NodeId each : function.body.live_nodes()) {
        if (!declined_.contains({&function.body, each})) continue;
        declined_.emplace(&made->body, each);
      }
      copy_->functions.push_back(std::move(made));
      omit_inputs(copy_->functions.back()->body, omitted);
      add_variant(own, *copy_->functions.back(), attributes, types);
      at->second = own;
    }
    changes_.push_back({.node = node, .op = at->second, .form = {}});
  }

  // '-' for each input that the call omits, '+' for others; "" if it omits
  // none.
  static std::string omitted_inputs(const ir::Graph& graph, NodeId node,
                                    const ir::Function& function) {
    std::string out;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      out += graph.input(node, i) ? '+' : '-';
    }
    return out.find('-') == std::string::npos ? std::string() : out;
  }

  // Nodes of the body omit those inputs, too.
  static void omit_inputs(ir::Graph& body, const std::string& omitted) {
    const auto formals = body.block(ir::Graph::main_block()).inputs;
    for (std::size_t i = 0; i < omitted.size(); ++i) {
      if (omitted[i] == '+') continue;
      while (const ir::OperandId use = body.first_use(formals[i])) {
        body.set_operand(use, ir::ValueId());
      }
    }
  }

  // The function is for calls with these attributes and types of inputs.
  void add_variant(ir::OpId own, ir::Function& function,
                   std::span<const ir::Attribute> attributes,
                   std::span<const ir::Type* const> types) {
    added_.insert(own);
    ir::Graph& body = function.body;
    // Puts values in the place of what refers to attributes of the function.
    for (const NodeId node : body.live_nodes()) {
      if (!has_references(body, node)) continue;
      body.mutable_node(node).attributes =
          copy_->arena.copy(std::span<const ir::Attribute>(
              ir::bound_attributes(body.node(node).attributes, attributes,
                                   function.attribute_defaults)));
    }
    const auto inputs = body.block(ir::Graph::main_block()).inputs;
    for (std::size_t i = 0; i < std::min(inputs.size(), types.size()); ++i) {
      body.mutable_value(inputs[i]).declared = types[i];
    }
    reach(function);
  }

  static std::vector<const ir::Type*> types_of(const ir::Graph& graph,
                                               ir::Facts& facts, NodeId node) {
    std::vector<const ir::Type*> out;
    for (const ir::Operand& in : graph.inputs(node)) {
      out.push_back(in.value ? facts.type(in.value) : nullptr);
    }
    return out;
  }

  // So that calls with other sizes share a function; for as long as the copy.
  std::vector<const ir::Type*> without_sizes(
      std::vector<const ir::Type*> types) {
    for (const ir::Type*& type : types) {
      if (type == nullptr) continue;
      ir::Type own = *type;
      own.dims = copy_->arena.array<ir::Dim>(type->dims.size());
      own.other = copy_->arena.copy(type->other);
      type = copy_->arena.make<ir::Type>(own);
    }
    return types;
  }

  void reach(ir::Function& function) {
    if (reached_.insert(&function).second) called_.push_back(&function);
  }

  const ir::Model& model_;
  const OpChoice& choice_;
  int newest_;
  std::shared_ptr<ir::Model> copy_;
  std::set<std::pair<const ir::Graph*, NodeId>> declined_;
  std::set<std::string> spelled_;
  std::set<ir::OpId> added_;
  std::map<std::string, std::string> reasons_;
  std::optional<Diagnostic> error_;
  std::vector<ir::Function*> called_;      // that run, each once
  std::set<const ir::Function*> reached_;  // the same; never iterated
  std::vector<Change> changes_;            // of the graph that is lowered
  struct Bound {
    bool is_needed = false;
    std::map<std::string, ir::OpId> variants;  // by the attributes of a call
  };
  std::map<const ir::Function*, Bound> bound_;  // never iterated
  std::map<std::string, ir::OpId> standard_;    // by body, attributes and types
  std::vector<RunsAs> runs_as_;                 // by op
  bool types_matter_ = false;  // whether bodies depend on the types of inputs
};

}  // namespace

ir::Graph& graph_in(ir::Model& copy, const ir::Model& model,
                    const ir::Graph& graph) {
  for (std::size_t i = 0; i < model.functions.size(); ++i) {
    if (&model.functions[i]->body == &graph) return copy.functions[i]->body;
  }
  return copy.graph;
}

Result<Lowered> lower(const ir::Model& model, const OpChoice& choice) {
  return Lowering(model, choice).run();
}

}  // namespace ruleengine::runtime
