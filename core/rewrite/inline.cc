#include "core/rewrite/inline.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/ir/model.h"
#include "core/ir/shapes.h"
#include "core/ir/small_tensor.h"
#include "core/ops/call_site.h"
#include "core/ops/op_facts.h"
#include "core/ops/op_row.h"
#include "core/rewrite/edits/workspace.h"

namespace ruleengine::rewrite {
namespace {

using ir::ValueId;

class InlineBody final : public ops::Body {
 public:
  explicit InlineBody(Edit& edit)
      : edit_(edit), opset_(Workspace(edit.graph()).opset("")) {}

  Result<Edit::Built> finish(Values outputs) {
    if (error_) return *std::move(error_);
    if (rejection_) return Edit::Built(*std::move(rejection_));
    if (refusal_) {
      return Edit::Built(
          Rejection{std::move(refusal_->reason), std::move(refusal_->value)});
    }
    return Edit::Built(std::move(outputs));
  }

  Values nodes(std::string_view type, Values inputs,
               const std::vector<std::string>& names,
               Attributes attributes) override {
    if (type == "Identity") return inputs;
    Values outputs = build({.type = type,
                            .inputs = std::move(inputs),
                            .attributes = std::move(attributes)},
                           names.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = folded(outputs[i], names[i]);
    }
    return outputs;
  }

  Values call(std::string_view domain, std::string_view type, Values inputs,
              Attributes attributes) override {
    const ops::OpFacts& op = *ops::newest_op(domain, type);
    return build({.domain = domain,
                  .type = type,
                  .inputs = std::move(inputs),
                  .attributes = std::move(attributes)},
                 op.outputs.size());
  }

  std::int64_t opset() const override { return opset_; }
  bool is_shared() const override { return false; }
  const ir::Type* type(ValueId value) override {
    return is_good() ? edit_.facts().type(value) : nullptr;
  }
  std::optional<std::vector<std::int64_t>> elements(ValueId value) override {
    const auto dims = is_good() ? edit_.facts().dims_of(value) : std::nullopt;
    if (!dims) return std::nullopt;
    std::vector<std::int64_t> out;
    for (ir::Dim d : *dims) {
      if (!d.known()) return std::nullopt;
      out.push_back(d.size());
    }
    return out;
  }
  ir::NodeId producer(ValueId value) override {
    return edit_.graph().producer(value);
  }
  const ir::Graph& host() const override { return edit_.graph(); }
  void note(const std::string&) override {}  // nobody shares it

 protected:
  ValueId constant(const ir::Literal& tensor, std::string_view name) override {
    return edit_.constant(arena().make<ir::Literal>(tensor), name);
  }
  Arena& arena() override { return edit_.graph().model().arena; }
  std::string describe(ValueId value) override {
    return ir::describe(edit_.graph(), edit_.facts(), value);
  }

 private:
  // After a failure nothing more is built.
  bool is_good() const { return !error_ && !rejection_ && !refusal_; }

  Values build(NodeSpec spec, std::size_t count) {
    Values none(count);
    if (!is_good()) return none;
    spec.output_count = static_cast<std::uint32_t>(count);
    std::ranges::sort(spec.attributes, {}, &ir::Attribute::name);
    auto built = edit_.build(spec);
    if (!built) {
      error_ = std::move(built.error());
      return none;
    }
    if (auto* rejection = std::get_if<Rejection>(&*built)) {
      rejection_ = std::move(*rejection);
      return none;
    }
    return std::get<Values>(*std::move(built));
  }

  // A list of sizes that is known, though not computed from constants alone.
  ValueId folded(ValueId value, std::string_view name) {
    const ir::Type* known = value ? type(value) : nullptr;
    if (known == nullptr || known->elem != ir::DataType::kInt64 ||
        !known->has_shape || edit_.facts().is_constant(value)) {
      return value;
    }
    const auto numbers = elements(value);
    return numbers ? integers(*numbers, name, known->rank() == 0) : value;
  }

  Edit& edit_;
  std::int64_t opset_;
  std::optional<Diagnostic> error_;
  std::optional<Rejection> rejection_;
};

Rejection rejected(const Edit& edit, std::string reason, ir::ValueId value) {
  return {std::move(reason),
          value ? ir::describe(edit.graph(), edit.facts(), value) : ""};
}

// The only number of a constant.
std::optional<std::int64_t> known_number(Edit& edit, ValueId value) {
  const ir::Literal* const tensor = edit.facts().constant(value);
  if (tensor == nullptr) return std::nullopt;
  const auto numbers =
      ir::to_ints(*tensor, edit.graph().model().external.get(), 1);
  if (!numbers || numbers->size() != 1) return std::nullopt;
  return (*numbers)[0];
}

ir::BlockId body_of(const ir::Graph& graph, ir::NodeId node,
                    std::string_view name) {
  const ir::Attribute* const body = graph.attribute(node, name);
  return body == nullptr || body->blocks.empty() ? ir::BlockId()
                                                 : body->blocks[0];
}

// The branch that is always taken.
Edit::Built inline_branch(Edit& edit, ir::NodeId node) {
  const ir::Graph& graph = edit.graph();
  const auto condition = known_number(edit, graph.input(node, 0));
  if (!condition) {
    return rejected(edit, "the condition is not known", graph.input(node, 0));
  }
  const ir::BlockId body =
      body_of(graph, node, *condition != 0 ? "then_branch" : "else_branch");
  if (!body) return Rejection{"the branch is missing", graph.describe(node)};
  return edit.copy_body({.from = graph, .body = body});
}

// A loop that runs once, or never.
class InlineLoop {
 public:
  InlineLoop(Edit& edit, ir::NodeId node)
      : edit_(edit),
        graph_(edit.graph()),
        node_(node),
        body_(body_of(graph_, node, "body")) {}

  Result<Edit::Built> run() {
    const auto& inputs = graph_.inputs(node_);
    if (!body_ || graph_.block(body_).inputs.size() != inputs.size()) {
      return Edit::Built(
          Rejection{"the body does not fit the loop", graph_.describe(node_)});
    }
    const auto most = known(0, std::numeric_limits<std::int64_t>::max());
    const auto condition = known(1, 1);
    if ((most && *most <= 0) || (condition && *condition == 0)) {
      return run_never();
    }
    if (!most || !condition) {
      return Edit::Built(rejected(edit_, "it is not known how often it runs",
                                  graph_.input(node_, most ? 1 : 0)));
    }
    if (*most != 1 && known_number(edit_, result(0)) != 0) {
      return Edit::Built(
          Rejection{"it may run more than once", graph_.describe(node_)});
    }
    return run_once();
  }

 private:
  // Of an input; `otherwise` if it is absent.
  std::optional<std::int64_t> known(std::uint32_t input,
                                    std::int64_t otherwise) {
    const ValueId v = graph_.input(node_, input);
    return v ? known_number(edit_, v) : otherwise;
  }

  ValueId result(std::size_t i) const {
    const auto& outputs = graph_.block(body_).outputs;
    return i < outputs.size() ? outputs[i] : ValueId();
  }

  std::size_t carried() const { return graph_.inputs(node_).size() - 2; }

  Edit::Built run_never() {
    std::vector<ValueId> out;
    for (std::uint32_t i = 0; i < graph_.outputs(node_).size(); ++i) {
      out.push_back(i < carried() ? graph_.input(node_, i + 2) : ValueId());
      const ValueId old = graph_.output(node_, i);
      if (out.back() || !old || graph_.reader_count(old) == 0) continue;
      return rejected(edit_, "it never runs, but what it collects is read",
                      old);
    }
    return out;
  }

  Result<Edit::Built> run_once() {
    Arena& arena = graph_.model().arena;
    static constexpr bool kTrue[] = {true};
    std::vector<ValueId> inputs = {
        constant(ir::int64_scalar(arena, 0)),
        constant({.dtype = ir::DataType::kBool,
                  .bytes = std::as_bytes(std::span(kTrue))})};
    for (std::uint32_t i = 0; i < carried(); ++i) {
      inputs.push_back(graph_.input(node_, i + 2));
    }
    Edit::Built copied = edit_.copy_body(
        {.from = graph_, .body = body_, .inputs = std::move(inputs)});
    auto* const values = std::get_if<std::vector<ValueId>>(&copied);
    if (values == nullptr || values->empty()) return copied;
    values->erase(values->begin());  // the condition
    static constexpr std::int64_t kFirst[] = {0};
    const ir::Literal first_axis = ir::int64_vector(arena, kFirst);
    for (std::size_t i = carried(); i < values->size(); ++i) {
      const ValueId old = graph_.output(node_, i);
      if (!old || graph_.reader_count(old) == 0) continue;
      auto stacked =
          edit_.build({.type = "Unsqueeze",
                       .inputs = {(*values)[i], constant(first_axis)}});
      if (!stacked || std::holds_alternative<Rejection>(*stacked))
        return stacked;
      (*values)[i] = std::get<std::vector<ValueId>>(*stacked)[0];
    }
    return copied;
  }

  ValueId constant(const ir::Literal& tensor) {
    return edit_.constant(graph_.model().arena.make<ir::Literal>(tensor), "");
  }

  Edit& edit_;
  const ir::Graph& graph_;
  ir::NodeId node_;
  ir::BlockId body_;
};

Edit::Built inline_function(Edit& edit, ir::NodeId call,
                            const ir::Function& function) {
  const ir::Graph& graph = edit.graph();
  std::vector<ValueId> inputs;
  for (const ir::Operand& o : graph.inputs(call)) inputs.push_back(o.value);
  // A long name, or that of a call within calls, would be repeated for each
  // value.
  constexpr std::size_t kLongest = 200;
  std::string_view name = graph.node(call).name;
  if (name.empty() || name.size() > kLongest) name = function.name;
  return edit.copy_body(
      {.from = function.body,
       .body = ir::Graph::main_block(),
       .inputs = std::move(inputs),
       .attributes = graph.node(call).attributes,
       .defaults = function.attribute_defaults,
       .prefix = name.size() > kLongest ? "" : std::string(name) + "/"});
}

}  // namespace

Result<Edit::Built> inline_call(Edit& edit, ir::NodeId call) {
  const ir::Graph& graph = edit.graph();
  const ir::Op& op = graph.op(call);
  const ops::Meaning meaning = ops::meaning_of(op.domain, op.type);
  if (meaning == nullptr) {
    edit.inlines(call);
    edit.set_block(graph.node(call).block);
    if (op.standard("If")) return inline_branch(edit, call);
    if (op.standard("Loop")) return InlineLoop(edit, call).run();
    if (const ir::Function* f = graph.model().find_function(op)) {
      return inline_function(edit, call, *f);
    }
    return Edit::Built(
        Rejection{"the op has no function body", graph.describe(call)});
  }
  const ops::OpFacts& facts = *ops::newest_op(op.domain, op.type);
  ops::Body::Values inputs;
  for (std::size_t i = 0; i < ops::input_count(facts, graph, call); ++i) {
    inputs.push_back(graph.input(call, i));
  }
  // Edits may move the node's own list.
  const auto written = graph.node(call).attributes;
  const std::vector<ir::Attribute> attributes(written.begin(), written.end());
  edit.inlines(call);
  InlineBody body(edit);
  ops::refuse_surplus(body, facts, graph, call);
  ops::refuse_uncertain(body, facts, graph, call);
  ops::Body::Values outputs =
      meaning(ops::CallSite(body, facts, std::move(inputs), attributes,
                            ops::outputs_of(graph, call, ops::Wanted::kRead)));
  outputs.resize(facts.outputs.size());
  return body.finish(std::move(outputs));
}

}  // namespace ruleengine::rewrite
