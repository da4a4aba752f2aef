#include "core/rewrite/inline.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/ir/model.h"
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

}  // namespace

Result<Edit::Built> inline_call(Edit& edit, ir::NodeId call) {
  const ir::Graph& graph = edit.graph();
  const ir::Op& op = graph.op(call);
  const ops::Meaning meaning = ops::meaning_of(op.domain, op.type);
  if (meaning == nullptr) {
    return Edit::Built(
        Rejection{"the op has no function body", graph.describe(call)});
  }
  const ops::OpFacts& facts = *ops::newest_op(op.domain, op.type);
  ops::Body::Values inputs;
  for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
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
