#include "bindings/lua/load/text_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/ir/call.h"
#include "core/text/parse.h"

namespace ruleengine::lua {
namespace {

text::ParseOptions strict() { return {.check_ops = true}; }

class TextBody final : public engine::OpBody {
 public:
  TextBody(const ir::Op& op, std::string text, std::string place)
      : OpBody(std::string(op.domain), std::string(op.type), std::move(place)),
        text_(std::move(text)) {}

  // Reads the text once, for its errors and for what calls must fit.
  Status read() {
    own_.ir_version = rewrite::kFunctionIrVersion;
    const ir::Op op{domain(), type(), {}};
    const auto made = text::parse_function(own_, text_, op, {}, strict());
    if (!made) return at_place(made.error());
    function_ = *made;
    return {};
  }

  bool is_shared() const override { return true; }

  Status check(const ir::Graph& graph, ir::NodeId call) const override {
    if (!ir::takes(*function_, graph, call)) {
      return wrong(
          "a node of " + name() + " does not fit its body",
          fmt::format("at most {} inputs and {} outputs",
                      function_->inputs.size(), function_->outputs.size()),
          fmt::format("{} inputs and {} outputs", graph.inputs(call).size(),
                      graph.outputs(call).size()));
    }
    for (const ir::Attribute& a : graph.node(call).attributes) {
      if (Status s = check(a); !s) return s;
    }
    for (const std::string_view required : function_->attributes) {
      if (graph.attribute(call, required) != nullptr) continue;
      return wrong(
          "a node of " + name() + " does not fit its body",
          "attribute " + quoted_name(required) + ", which has no default");
    }
    return {};
  }

  Result<ir::Function*> add(ir::Graph& graph, ir::Facts&, ir::NodeId,
                            const ir::Op& op) const override {
    auto made = text::parse_function(graph.model(), text_, op, {}, strict());
    if (!made) return at_place(made.error());
    return made;
  }

 private:
  Status check(const ir::Attribute& given) const {
    if (std::ranges::find(function_->attributes, given.name) !=
        function_->attributes.end()) {
      return {};
    }
    const auto& defaults = function_->attribute_defaults;
    const auto known =
        std::ranges::find(defaults, given.name, &ir::Attribute::name);
    if (known == defaults.end()) {
      return wrong("a node of " + name() + " does not fit its body",
                   "attributes that the body declares",
                   "attribute " + quoted_name(given.name));
    }
    if (known->kind == given.kind) return {};
    const bool wants_float = known->kind == ir::AttributeKind::kFloat &&
                             given.kind == ir::AttributeKind::kInt;
    return wrong("attribute " + quoted_name(given.name) + " of a node of " +
                     name() + " has another type than in its body",
                 std::string(ir::kind_text(known->kind)),
                 std::string(ir::kind_text(given.kind)),
                 wants_float
                     ? fmt::format("`{} = float(...)` in `rewrite`", given.name)
                     : "");
  }

  Diagnostic at_place(Diagnostic error) const {
    error.kind = ErrorKind::kRule;
    error.where = place() + ", body of " + name() +
                  (error.where.empty() ? "" : ", " + error.where);
    return error;
  }

  std::string text_;
  ir::Model own_;
  const ir::Function* function_ = nullptr;  // in it
};

}  // namespace

Result<std::unique_ptr<engine::OpBody>> body_of_text(const ir::Op& op,
                                                     std::string text,
                                                     std::string place) {
  auto made = std::make_unique<TextBody>(op, std::move(text), std::move(place));
  if (Status s = made->read(); !s) return s.error();
  return std::unique_ptr<engine::OpBody>(std::move(made));
}

}  // namespace ruleengine::lua
