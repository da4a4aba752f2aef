#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bindings/lua/callbacks/callback.h"
#include "bindings/lua/callbacks/results.h"
#include "bindings/lua/callbacks/rule.h"
#include "bindings/lua/nodes/attribute_value.h"
#include "bindings/lua/session/handle.h"
#include "bindings/lua/words/words.h"
#include "core/base/layout.h"
#include "core/engine/options.h"
#include "core/rewrite/edit.h"
#include "core/text/parse.h"

namespace ruleengine::lua {
namespace {

class LuaBody final : public engine::OpBody {
 public:
  LuaBody(Sandbox& sandbox, const LoadedRule& rule, const LoadedBody& body,
          std::string place)
      : OpBody(body.domain, body.type, std::move(place)),
        sandbox_(sandbox),
        rule_(rule) {
    frame_.rule = &rule;
    prepared_ = sandbox.protect([&](lua_State* state) {
      callback_ = Callback::of(sandbox_, rule_, "body", body.function);
      lua_rawgeti(state, LUA_REGISTRYINDEX, body.function);
      parameters_ = parameters_of(state, lua_gettop(state));
    });
  }
  ~LuaBody() override { callback_.release(sandbox_.state()); }

  bool is_shared() const override { return false; }

  Status check(const ir::Graph& graph, ir::NodeId call) const override {
    if (!prepared_) return prepared_;
    const std::size_t most = parameters_.size() - 2;
    const auto inputs = graph.inputs(call);
    std::size_t given = inputs.size();
    while (given > 0 && !inputs[given - 1].value) --given;
    if (given <= most) return {};
    return wrong("a node of " + name() + " does not fit its body",
                 "at most " + counted(most, "input"), counted(given, "input"));
  }

  Result<ir::Function*> add(ir::Graph& graph, ir::Facts& facts, ir::NodeId call,
                            const ir::Op& op) const override {
    ir::Model& model = graph.model();
    auto made = std::make_unique<ir::Function>(model);
    const ir::NodeId stand_in = prepare(graph, facts, call, op, *made);
    const auto inner = engine::facts_of(made->body);
    {
      rewrite::Edit edit(made->body, *inner,
                         {.rule = rule_.qualified, .from = {&stand_in, 1}});
      edit.set_block(ir::Graph::main_block());
      if (Status s = build(graph, call, stand_in, edit); !s) return s.error();
    }
    ir::Graph& body = made->body;
    // Types belong to this call; others infer theirs.
    for (std::size_t i = 0; i < body.value_count(); ++i) {
      body.mutable_value(ir::ValueId(i)).declared = nullptr;
    }
    for (const ir::ValueId v : body.block(ir::Graph::main_block()).outputs) {
      made->outputs.push_back(body.name(v));
    }
    model.functions.push_back(std::move(made));
    model.changed = true;
    return model.functions.back().get();
  }

 private:
  // The function with a node that stands for what it will compute, and is
  // replaced as the match of a rule is.
  ir::NodeId prepare(const ir::Graph& graph, ir::Facts& facts, ir::NodeId call,
                     const ir::Op& op, ir::Function& function) const {
    ir::Model& model = graph.model();
    constexpr ir::BlockId kMain = ir::Graph::main_block();
    ir::Graph& body = function.body;
    function.domain = op.domain;
    function.name = op.type;
    function.overload = op.overload;
    std::int64_t opset = graph.opset("");
    if (opset == 0) opset = model.opset("");
    if (opset == 0) opset = text::kDefaultOpset;
    function.opset_imports.push_back({"", opset});
    for (const ir::Attribute& a : graph.node(call).attributes) {
      function.attributes.push_back(a.name);
    }
    std::vector<ir::ValueId> inputs, outputs;
    const auto add = [&](std::string_view name, ir::ValueKind kind,
                         ir::ValueId like) {
      const ir::ValueId v = body.add_value(
          model.names.intern(model.unique_name(name)), kMain, kind);
      if (like) body.mutable_value(v).declared = facts.type(like);
      return v;
    };
    for (const ir::Operand& o : graph.inputs(call)) {
      const std::size_t place = inputs.size() + 1;
      if (place + 1 >= parameters_.size()) break;  // absent ones
      inputs.push_back(add(parameters_[place], ir::ValueKind::kInput, o.value));
      body.add_block_input(kMain, inputs.back());
      function.inputs.push_back(body.name(inputs.back()));
    }
    for (const ir::ValueId v : graph.outputs(call)) {
      outputs.push_back(add("result", ir::ValueKind::kUndefined, v));
    }
    const ir::NodeId node = body.add_node(model.ops.intern(domain(), type()),
                                          kMain, {}, inputs, outputs, {});
    body.mutable_node(node).rank = std::uint64_t{1} << 20;
    for (const ir::ValueId v : outputs) body.add_block_output(kMain, v);
    return node;
  }

  // Calls the function, and puts its results in the place of the node.
  Status build(const ir::Graph& graph, ir::NodeId call, ir::NodeId stand_in,
               rewrite::Edit& edit) const {
    Host& host = Host::of(sandbox_.state());
    const SessionScope scope(host, {.stage = Stage::kRewrite,
                                    .frame = &frame_,
                                    .graph = &edit.graph(),
                                    .facts = &edit.facts(),
                                    .edit = &edit});
    Status taken;
    const auto ended = callback_.call(
        sandbox_,
        [&](lua_State* state) {
          push_arguments(host, state, graph, call, edit);
        },
        [&](lua_State* state) { taken = take(host, state, stand_in, edit); });
    if (!ended) return at_call(ended.error(), graph, call);
    if (*ended) return none(**ended);
    if (!taken) return at_call(taken.error(), graph, call);
    if (!edit.assumptions().empty()) {
      return at_call(
          wrong("the body of " + name() + " makes an assumption",
                "a meaning for all inputs", edit.assumptions()[0].text),
          graph, call);
    }
    edit.remove_dead({&stand_in, 1});
    const auto rejection = edit.commit();
    if (!rejection) return {};
    if (rejection->opset > 0) return none(*rejection);
    return at_call(
        wrong("the body of " + name() + " is not valid",
              "what can stand in the place of the op",
              rejection->reason +
                  (rejection->value.empty() ? "" : ": " + rejection->value)),
        graph, call);
  }

  void push_arguments(Host& host, lua_State* state, const ir::Graph& graph,
                      ir::NodeId call, const rewrite::Edit& edit) const {
    luaL_checkstack(state, kMostArguments + 4, "inputs of a body");
    lua_rawgeti(state, LUA_REGISTRYINDEX, host.builders);
    const auto& formals = edit.graph().block(ir::Graph::main_block()).inputs;
    for (std::size_t i = 0; i + 2 < parameters_.size(); ++i) {
      const bool is_given = i < formals.size() && graph.input(call, i).valid();
      push_value(host, state, is_given ? formals[i] : ir::ValueId());
    }
    lua_newtable(state);
    for (const ir::Attribute& a : graph.node(call).attributes) {
      push(state, a.name);
      push_attribute(host, state, a);
      lua_rawset(state, -3);
    }
  }

  // The results are the whole stack.
  Status take(Host& host, lua_State* state, ir::NodeId stand_in,
              rewrite::Edit& edit) const {
    const std::size_t wanted = edit.graph().outputs(stand_in).size();
    const auto count = static_cast<std::size_t>(lua_gettop(state));
    if (count < wanted) {
      return wrong("the body of " + name() + " returns too few values",
                   counted(wanted, "value"), counted(count, "value"));
    }
    for (std::size_t i = 0; i < wanted; ++i) {
      const int place = static_cast<int>(i) + 1;
      const Handle* handle = to_handle(host, state, place, HandleKind::kValue);
      if (handle == nullptr) {
        return wrong(fmt::format("result {} of the body of {}", place, name()),
                     "a value", kind_of(state, place));
      }
      if (!check_alive(host, *handle)) {
        return *std::exchange(host.session.error, {});
      }
      edit.replace(edit.graph().output(stand_in, i), value_in(edit, *handle));
    }
    return {};
  }

  Diagnostic at_call(Diagnostic error, const ir::Graph& graph,
                     ir::NodeId call) const {
    if (error.where.empty()) error.where = place();
    error.where += ", at " + graph.describe(call);
    return error;
  }

  // The call has no body, which is no mistake.
  static Diagnostic none(const rewrite::Rejection& why) {
    return {.kind = ErrorKind::kModel, .what = why.reason, .found = why.value};
  }

  Sandbox& sandbox_;
  const LoadedRule& rule_;
  RuleFrame frame_;
  Callback callback_;
  std::vector<std::string> parameters_;  // `op`, the inputs, `attrs`
  Status prepared_;
};

}  // namespace

std::unique_ptr<engine::OpBody> make_body(Sandbox& sandbox,
                                          const LoadedRule& rule,
                                          const LoadedBody& body,
                                          std::string place) {
  return std::make_unique<LuaBody>(sandbox, rule, body, std::move(place));
}

}  // namespace ruleengine::lua
