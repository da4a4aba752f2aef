#include "core/engine/op_bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/analysis/inference.h"
#include "core/ir/shapes.h"
#include "core/ops/op_facts.h"
#include "core/rewrite/driver.h"
#include "core/rewrite/functions.h"
#include "core/rewrite/raise.h"

namespace ruleengine::engine {
namespace {

// Bodies may use ops with bodies, so few lines may say many nodes.
constexpr std::uint64_t kMostBodyNodes = 100'000;  // of one call, in all
constexpr std::size_t kMostBodyFunctions = 1'000;  // that one run adds
constexpr std::size_t kDeepestBody = 64;
constexpr std::size_t kMostGrowth = std::size_t{1} << 30;  // of a copy

// Equal for calls of one model that a body cannot tell apart.
std::string signature_of(const ir::Graph& graph, ir::Facts& facts,
                         ir::NodeId call) {
  std::string key;
  const ir::DimTable& dims = graph.model().dims;
  for (const ir::Operand& o : graph.inputs(call)) {
    const ir::Type* type = o.value ? facts.type(o.value) : nullptr;
    if (!o.value) {
      key += "-;";
    } else if (type == nullptr) {
      key += "?;";
    } else if (!type->is_tensor()) {
      key += std::to_string(type->other.size()) + ":";
      key.append(reinterpret_cast<const char*>(type->other.data()),
                 type->other.size());
    } else {
      key += ir::data_type_name(type->elem);
      for (const ir::Dim d : type->dims) key += "," + dims.text(d);
      key += type->has_shape ? ";" : "?;";
    }
  }
  key += ir::key_of(graph.node(call).attributes);
  return key + std::to_string(graph.outputs(call).size());
}

// Whether no value has both types.
bool contradict(const ir::Type* a, const ir::Type* b) {
  if (a == nullptr || b == nullptr) return false;
  if (!a->is_tensor() || !b->is_tensor()) {
    return a->is_tensor() != b->is_tensor();
  }
  constexpr auto kNone = ir::DataType::kUndefined;
  if (a->elem != b->elem && a->elem != kNone && b->elem != kNone) return true;
  if (!a->has_shape || !b->has_shape) return false;
  if (a->rank() != b->rank()) return true;
  for (std::size_t i = 0; i < a->rank(); ++i) {
    const ir::Dim x = a->dims[i], y = b->dims[i];
    if (x.known() && y.known() && x.size() != y.size()) return true;
  }
  return false;
}

class BodyWriter {
 public:
  BodyWriter(ir::Model& model, const OpBodies& bodies,
             const OpBodies::Options& options)
      : model_(model), bodies_(bodies), options_(options) {}

  Result<std::vector<rewrite::Bare>> run() && {
    std::vector<ir::Graph*> graphs = {&model_.graph};
    if (options_.runs) {
      for (const auto& f : model_.functions) {
        if (!f->removed) graphs.push_back(&f->body);
      }
    } else {
      graphs = rewrite::rewritable_graphs(model_);
    }
    for (ir::Graph* graph : graphs) {
      if (Status s = write(*graph); !s) return s.error();
    }
    return std::move(bare_);
  }

 private:
  struct Call {
    ir::NodeId node;
    const OpBody* body = nullptr;
    const ir::Function* function = nullptr;
    std::vector<const ir::Type*> types;  // of the outputs, before
  };

  bool is_wanted(const ir::Graph& graph, ir::NodeId node) const {
    return !graph.node(node).removed &&
           (options_.runs || rewrite::made_by_rule(graph.node(node))) &&
           model_.find_function(graph.op(node)) == nullptr;
  }

  // All calls are looked at before any is written, since facts are of the graph
  // as it was.
  Status write(ir::Graph& graph) {
    std::vector<Call> calls;
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      const ir::NodeId node(i);
      const OpBody* body = bodies_.find(graph.op(node));
      if (body != nullptr && is_wanted(graph, node)) {
        calls.push_back({.node = node, .body = body});
      }
    }
    if (calls.empty()) return {};
    analysis::Inference facts(graph);
    for (Call& call : calls) {
      for (const ir::ValueId v : graph.outputs(call.node)) {
        call.types.push_back(v ? facts.type(v) : nullptr);
      }
    }
    for (Call& call : calls) {
      auto function = function_of(graph, facts, call.node, *call.body);
      if (!function) return function.error();
      call.function = *function;
    }
    return check_types(graph, calls);
  }

  // nullptr: the call has no body.
  Result<const ir::Function*> function_of(ir::Graph& graph, ir::Facts& facts,
                                          ir::NodeId node, const OpBody& body) {
    bool refers = false;
    for (const ir::Attribute& a : graph.node(node).attributes) {
      refers = refers || !a.ref.empty();
      if (a.blocks.empty()) continue;
      Diagnostic error = body.wrong(
          "a node of " + body.name() + " has a graph as an attribute",
          "what a function can be given", quoted_name(a.name));
      error.where += ", at " + graph.describe(node);
      return error;
    }
    if (refers && !body.is_shared()) {
      bare_.push_back({rewrite::node_label(graph, node),
                       "an attribute is that of the function around it"});
      return nullptr;
    }
    if (Status s = body.check(graph, node); !s) {
      Diagnostic error = s.error();
      error.where += ", at " + graph.describe(node);
      return error;
    }
    const std::int64_t opset = opset_of(graph);
    std::string key = std::to_string(opset) + ";";
    if (!body.is_shared()) key += signature_of(graph, facts, node);
    const bool overloads = options_.overloads && &graph == &model_.graph;
    const auto [at, is_new] =
        written_.try_emplace({&body, std::move(key), overloads});
    if (is_new) {
      at->second = name_of(graph, body, overloads);
      auto made = make(graph, facts, node, body, at->second);
      if (!made) {
        if (made.error().kind != ErrorKind::kModel) return made.error();
        const Diagnostic& why = made.error();
        bare_.push_back(
            {rewrite::node_label(graph, node),
             why.what + (why.found.empty() ? "" : ": ") + why.found});
        at->second = {};
      }
    }
    if (!at->second) return nullptr;
    ir::Function* const function = model_.find_function(model_.ops[at->second]);
    const ir::Function* const caller = graph.function();
    if (caller != nullptr && rewrite::reaches(*function, *caller)) {
      return calls_itself(body);
    }
    set_op(graph, node, at->second);
    return function;
  }

  // The node, which an earlier run may have made, is written anew.
  void set_op(ir::Graph& graph, ir::NodeId node, ir::OpId op) {
    model_.changed = true;
    if (graph.node(node).op == op) return;
    graph.mutable_node(node).op = op;
    while (node) {
      graph.mutable_node(node).proto = {};
      const ir::BlockId block = graph.node(node).block;
      graph.mutable_block(block).changed = true;
      node = graph.block(block).owner;
    }
  }

  std::int64_t opset_of(const ir::Graph& graph) const {
    const std::int64_t opset = graph.opset("");
    return opset != 0 ? opset : model_.opset("");
  }

  // A shared body has the op's own name; what a model has under that name is
  // used as it is. A body of one signature has not: later calls may differ.
  ir::OpId name_of(const ir::Graph& graph, const OpBody& body, bool overloads) {
    if (body.is_shared() && opset_of(graph) == model_.opset("")) {
      return model_.ops.intern(body.domain(), body.type());
    }
    for (int i = 1;; ++i) {
      const std::string number = std::to_string(i);
      const ir::OpId id =
          overloads
              ? model_.ops.intern(body.domain(), body.type(), number)
              : model_.ops.intern(body.domain(), body.type() + "_" + number);
      if (model_.find_function(model_.ops[id]) == nullptr) return id;
    }
  }

  Result<ir::Function*> make(ir::Graph& graph, ir::Facts& facts,
                             ir::NodeId node, const OpBody& body, ir::OpId id) {
    if (std::ranges::find(chain_, &body) != chain_.end()) {
      return calls_itself(body);
    }
    if (++functions_ > kMostBodyFunctions || chain_.size() == kDeepestBody) {
      return too_many(body);
    }
    const ir::Op op = model_.ops[id];
    auto made = body.add(graph, facts, node, op);
    if (!made) return made;
    ir::Function& function = **made;
    // A model that imports no standard ops leaves the body's opset as it is.
    const std::int64_t opset = opset_of(graph);
    if (!options_.runs && opset != 0) {
      if (Status s = rewrite::set_opset(function, opset); !s) {
        function.removed = true;
        return s.error();
      }
    }
    model_.ir_version = std::max(
        model_.ir_version, op.overload.empty() ? rewrite::kFunctionIrVersion
                                               : rewrite::kOverloadIrVersion);
    model_.import_opset(body.domain(), 1);
    for (std::size_t i = 0; i < function.opset_imports.size(); ++i) {
      const ir::OpsetImport import = function.opset_imports[i];
      if (!import.domain.empty()) {
        model_.import_opset(import.domain, import.version);
      }
    }
    claim_nodes(function.body, body);
    chain_.push_back(&body);
    const Status inner = write(function.body);
    chain_.pop_back();
    if (!inner) return inner.error();
    std::uint64_t& size = sizes_[&function];
    for (std::size_t i = 0; i < function.body.node_count(); ++i) {
      const auto known =
          sizes_.find(model_.find_function(function.body.op(ir::NodeId(i))));
      size += known == sizes_.end() ? 1 : known->second;
      if (size > kMostBodyNodes) return too_many(body);
    }
    return made;
  }

  // Its nodes are made by a rule file: those of the engine's own ops get a body
  // like the others.
  void claim_nodes(ir::Graph& graph, const OpBody& body) {
    const ir::Metadata made{
        .key = "ruleengine.rule",
        .value = model_.arena.copy(std::string_view(body.name()))};
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      const ir::NodeId node(i);
      const ir::Op& op = graph.op(node);
      const bool may_have_body =
          !op.domain.empty() && (bodies_.find(op) != nullptr ||
                                 ops::newest_op(op.domain, op.type) != nullptr);
      graph.mutable_node(node).metadata = {};
      if (may_have_body) {
        graph.mutable_node(node).metadata =
            model_.arena.copy(std::span<const ir::Metadata>(&made, 1));
      }
    }
  }

  Status check_types(ir::Graph& graph, const std::vector<Call>& calls) {
    analysis::Inference facts(graph, {.believe = false});
    for (const Call& call : calls) {
      if (call.function == nullptr) continue;
      for (std::size_t i = 0; i < call.types.size(); ++i) {
        const ir::ValueId v = graph.output(call.node, i);
        if (!v) continue;
        const ir::Type* const found = facts.type(v);
        if (!contradict(call.types[i], found)) continue;
        Diagnostic error = call.body->wrong(
            "the body of " + call.body->name() +
                " gives another type than the value that the op stands for",
            ir::type_text(model_.dims, *call.types[i]),
            ir::type_text(model_.dims, *found));
        error.where += ", at " + graph.describe(call.node);
        return error;
      }
    }
    return {};
  }

  static Diagnostic calls_itself(const OpBody& body) {
    return body.wrong("the body of " + body.name() + " calls itself",
                      "bodies without recursion");
  }
  static Diagnostic too_many(const OpBody& body) {
    return body.wrong(
        "the body of " + body.name() + " is too large",
        fmt::format("at most {} nodes with those of the bodies within it, {} "
                    "functions for one model, and {} bodies in each other",
                    kMostBodyNodes, kMostBodyFunctions, kDeepestBody));
  }

  ir::Model& model_;
  const OpBodies& bodies_;
  OpBodies::Options options_;
  // By body, call and way to tell them apart; an invalid one: there is none.
  std::map<std::tuple<const OpBody*, std::string, bool>, ir::OpId> written_;
  std::map<const ir::Function*, std::uint64_t> sizes_;
  std::vector<const OpBody*> chain_;  // those that are being written
  std::size_t functions_ = 0;
  std::vector<rewrite::Bare> bare_;
};

}  // namespace

Diagnostic OpBody::wrong(std::string what, std::string expected,
                         std::string found, std::string hint) const {
  return {.kind = ErrorKind::kRule,
          .what = std::move(what),
          .where = place_,
          .expected = std::move(expected),
          .found = std::move(found),
          .hint = std::move(hint)};
}

const OpBody* OpBodies::find(const ir::Op& op) const {
  const auto found = std::ranges::find_if(all_, [&](const OpBody* each) {
    return each->type() == op.type && each->domain() == op.domain;
  });
  return found == all_.end() ? nullptr : *found;
}

void OpBodies::mark(ir::Model& model) const {
  for (const auto& f : model.functions) {
    // The functions of several signatures are Swish_1, Swish_2, ...
    const std::size_t end = f->name.find_last_not_of("0123456789");
    const bool is_numbered = end != std::string_view::npos &&
                             end + 1 < f->name.size() && f->name[end] == '_';
    f->is_op = find({f->domain, f->name, {}}) != nullptr ||
               (is_numbered &&
                find({f->domain, f->name.substr(0, end), {}}) != nullptr);
  }
}

Result<std::vector<rewrite::Bare>> OpBodies::write(
    ir::Model& model, const Options& options) const {
  if (empty()) return std::vector<rewrite::Bare>();
  return BodyWriter(model, *this, options).run();
}

CompareModels OpBodies::compare_with(CompareModels compare) const {
  if (empty()) return compare;
  return [this, compare = std::move(compare)](
             const ir::Model& before, const ir::Model& after,
             const Comparing& how) -> Result<Finding> {
    const auto first = before.copy(), second = after.copy();
    for (ir::Model* each : {first.get(), second.get()}) {
      each->limit_growth(kMostGrowth);
      if (const auto done = write(*each, {.runs = true}); !done) {
        return done.error();
      }
    }
    return compare(*first, *second, how);
  };
}

}  // namespace ruleengine::engine
