// Small graphs, and rules made from lambdas, for the tests of this folder.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/inference.h"
#include "core/ir/model.h"
#include "core/ir/order.h"
#include "core/rewrite/driver.h"
#include "kernels/cpu.h"

namespace ruleengine::rewrite::testing {

using Dims = std::vector<std::int64_t>;

// A model under construction. All values are float[2, 3] by default.
class World {
 public:
  explicit World(std::int64_t opset = 17) {
    model.ir_version = 8;
    model.evaluator = kernels::cpu_evaluator();
    model.import_opset("", opset);
  }

  ir::Graph& graph() { return model.graph; }

  ir::ValueId input(std::string_view name, const Dims& dims = {2, 3},
                    ir::DataType elem = ir::DataType::kFloat) {
    const ir::ValueId v = value(name, ir::ValueKind::kUndefined);
    graph().add_block_input(ir::Graph::main_block(), v);
    graph().mutable_value(v).declared = type(dims, elem);
    return v;
  }

  void output(ir::ValueId v, const ir::Type* declared = nullptr) {
    graph().add_block_output(ir::Graph::main_block(), v);
    if (declared != nullptr) graph().mutable_value(v).declared = declared;
  }

  ir::ValueId constant(std::string_view name, std::vector<float> data,
                       const Dims& dims) {
    const ir::ValueId v = value(name, ir::ValueKind::kUndefined);
    graph().add_initializer(v, tensor(std::move(data), dims));
    return v;
  }

  // One node with named outputs; returns the first.
  ir::ValueId node(std::string_view op, std::vector<ir::ValueId> inputs,
                   std::string_view out,
                   std::vector<ir::Attribute> attributes = {}) {
    return nodes(op, std::move(inputs), {out}, std::move(attributes))[0];
  }
  std::vector<ir::ValueId> nodes(std::string_view op,
                                 std::vector<ir::ValueId> inputs,
                                 std::vector<std::string_view> outs,
                                 std::vector<ir::Attribute> attributes = {}) {
    std::vector<ir::ValueId> outputs;
    for (std::string_view o : outs) {
      outputs.push_back(value(o, ir::ValueKind::kUndefined));
    }
    const auto cut = op.find("::");
    const std::string_view domain =
        cut == std::string_view::npos ? "" : op.substr(0, cut);
    if (cut != std::string_view::npos) op = op.substr(cut + 2);
    const std::string name = "n_" + std::string(outs[0]);
    graph().add_node(
        model.ops.intern(domain, op), block,
        model.arena.copy(std::string_view(name)), inputs, outputs,
        model.arena.copy(std::span<const ir::Attribute>(attributes)));
    return outputs;
  }

  ir::ValueId value(std::string_view name, ir::ValueKind kind) {
    return graph().add_value(model.names.intern(name), block, kind);
  }

  const ir::Type* type(const Dims& dims,
                       ir::DataType elem = ir::DataType::kFloat) {
    const auto all = model.arena.array<ir::Dim>(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) all[i] = ir::Dim(dims[i]);
    return model.arena.make<ir::Type>(
        ir::Type{.elem = elem, .has_shape = true, .dims = all});
  }

  const ir::Literal* tensor(std::vector<float> data, const Dims& dims) {
    const auto bytes = model.arena.array<std::byte>(data.size() * 4);
    std::memcpy(bytes.data(), data.data(), bytes.size());
    return model.arena.make<ir::Literal>(ir::Literal{
        .dtype = ir::DataType::kFloat,
        .dims = model.arena.copy(std::span<const std::int64_t>(dims)),
        .bytes = bytes});
  }

  ir::Attribute ints(std::string_view name, const Dims& values) {
    return {.name = name,
            .kind = ir::AttributeKind::kInts,
            .ints = model.arena.copy(std::span<const std::int64_t>(values))};
  }
  static ir::Attribute integer(std::string_view name, std::int64_t i) {
    return {.name = name, .kind = ir::AttributeKind::kInt, .i = i};
  }

  ir::ValueId find(std::string_view name) {
    for (std::size_t i = 0; i < graph().value_count(); ++i) {
      const ir::ValueId v(i);
      if (!graph().value(v).removed && graph().name(v) == name) return v;
    }
    return {};
  }
  ir::NodeId maker(std::string_view name) {
    return graph().producer(find(name));
  }

  // "y = Relu(x); z = Add(y, y)", the live nodes in order.
  std::string text() { return text_of(model.graph); }
  static std::string text_of(ir::Graph& g) {
    std::string out;
    const auto order = ir::topological_order(g);
    if (!order) return "cycle";
    for (ir::NodeId n : *order) {
      if (!out.empty()) out += "; ";
      for (ir::ValueId v : g.outputs(n)) {
        out += std::string(g.name(v)) + " ";
      }
      out += "= " + g.op(n).text() + "(";
      for (std::size_t i = 0; i < g.inputs(n).size(); ++i) {
        const ir::ValueId v = g.input(n, i);
        out += (i == 0 ? "" : ", ") + (v ? std::string(g.name(v)) : "-");
      }
      out += ")";
    }
    return out;
  }

  ir::Model model;
  ir::BlockId block = ir::Graph::main_block();
};

// Everything that undoing an edit must restore; removed nodes and values are
// left out.
inline std::string dump(const ir::Graph& g) {
  std::string out;
  const auto add = [&](auto... parts) {
    ((out += std::to_string(parts) + " "), ...);
    out += "\n";
  };
  for (std::size_t i = 0; i < g.node_count(); ++i) {
    const ir::Node& n = g.node(ir::NodeId(i));
    out += "node " + std::string(n.name) + " ";
    add(n.op.index(), n.block.index(), n.first_operand, n.operand_count,
        n.first_output, n.output_count, n.attributes.size(), n.metadata.size(),
        n.rank, n.removed, reinterpret_cast<std::uintptr_t>(n.proto.data()),
        reinterpret_cast<std::uintptr_t>(n.attributes.data()));
    for (const ir::Operand& o : g.inputs(ir::NodeId(i))) {
      add(o.value.index(), o.user.index(), o.next.index(), o.previous.index());
    }
    for (ir::ValueId v : g.outputs(ir::NodeId(i))) add(v.index());
  }
  std::size_t values = g.value_count();
  while (values > 0 && g.value(ir::ValueId(values - 1)).removed &&
         !g.value(ir::ValueId(values - 1)).name) {
    --values;
  }
  for (std::size_t i = 0; i < values; ++i) {
    const ir::Value& v = g.value(ir::ValueId(i));
    out += "value ";
    add(v.name.index(), v.block.index(), int(v.kind), v.removed,
        v.producer.index(), v.output_index, v.first_use.index(),
        v.last_use.index(), v.use_count, v.block_output_count,
        reinterpret_cast<std::uintptr_t>(v.tensor),
        reinterpret_cast<std::uintptr_t>(v.declared));
  }
  for (std::size_t i = 0; i < g.block_count(); ++i) {
    const ir::Block& b = g.block(ir::BlockId(i));
    out += "block ";
    add(b.changed);
    for (ir::ValueId v : b.outputs) add(v.index());
    for (ir::NodeId n : b.nodes) add(n.index());
    for (ir::ValueId v : b.initializers) add(v.index());
  }
  add(g.live_node_count());
  return out;
}

// A rule made from lambdas.
class TestRule : public Rule {
 public:
  using Match = match::Match;
  struct Parts {
    std::string name;
    std::function<pattern::Pattern()> pattern;
    std::function<std::optional<Rejection>(const Match&, ir::Graph&)> where;
    std::function<std::optional<Rejection>(std::span<const Match* const>,
                                           Edit&)>
        rewrite;
    std::function<std::string(const Match&, ir::Graph&)> key;
    // The assumptions of `where`.
    std::function<std::vector<Assumption>(const Match&, ir::Graph&)> assumes;
    std::string allowed;  // a warning of `where` that an option silenced
    std::function<bool(Edit&)> pass;
    std::function<Status(Transactions&)> transactions;  // for `pass`
    Phase phase = Phase::kCanonical;
    std::vector<std::string> after;
  };

  explicit TestRule(Parts parts)
      : parts_(std::move(parts)), qualified_("test/" + parts_.name) {
    if (parts_.pattern) pattern_ = parts_.pattern();
  }

  const std::string& name() const override { return parts_.name; }
  const std::string& qualified() const override { return qualified_; }
  const std::string& file() const override { return file_; }
  Phase phase() const override { return parts_.phase; }
  const std::vector<std::string>& after() const override {
    return parts_.after;
  }
  bool groups() const override { return bool(parts_.key); }
  const pattern::Pattern* pattern() const override {
    return pattern_ ? &*pattern_ : nullptr;
  }
  Result<bool> enabled(ir::Graph&, ir::Facts&) override { return true; }

  Result<Filtered> filter(const Match& match, ir::Graph& graph, ir::Facts&,
                          std::vector<Warning>& warnings) override {
    ++filtered;
    if (!parts_.allowed.empty()) {
      warnings.push_back(
          {parts_.name, graph.describe(match.root), parts_.allowed, true});
    }
    if (parts_.where) {
      if (auto rejection = parts_.where(match, graph)) return {*rejection};
    }
    auto made = std::make_unique<Made>();
    made->match = match;
    if (parts_.key) made->text = parts_.key(match, graph);
    if (parts_.assumes) made->assumed = parts_.assumes(match, graph);
    return Filtered(std::move(made));
  }

  Result<std::optional<Rejection>> apply(std::span<Candidate* const> candidates,
                                         Edit& edit) override {
    std::vector<const Match*> matches;
    for (Candidate* c : candidates) {
      matches.push_back(&static_cast<Made*>(c)->match);
    }
    return parts_.rewrite(matches, edit);
  }

  bool has_pass() const override { return true; }
  Status pass(Transactions& transactions) override {
    if (parts_.transactions) return parts_.transactions(transactions);
    if (!parts_.pass || !parts_.pass(transactions.edit())) return {};
    return transactions.end({}, {});
  }

  int filtered = 0;

 private:
  struct Made : Candidate {
    const std::string& key() const override { return text; }
    std::span<const Assumption> assumptions() const override { return assumed; }
    Match match;
    std::string text;
    std::vector<Assumption> assumed;
  };

  Parts parts_;
  std::string qualified_, file_ = "test.lua";
  std::optional<pattern::Pattern> pattern_;
};

// The single output of a node that `edit` builds; the build must succeed.
inline ir::ValueId make(Edit& edit, std::string_view type,
                        std::vector<ir::ValueId> inputs,
                        std::vector<ir::Attribute> attributes = {}) {
  auto built = edit.build({.type = type,
                           .inputs = std::move(inputs),
                           .attributes = std::move(attributes)});
  return std::get<std::vector<ir::ValueId>>(*built)[0];
}

}  // namespace ruleengine::rewrite::testing
