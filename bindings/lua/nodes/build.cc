#include "bindings/lua/nodes/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bindings/lua/nodes/attribute_value.h"
#include "bindings/lua/nodes/build_inputs.h"
#include "bindings/lua/nodes/node_api.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "core/base/suggest.h"
#include "core/base/whole.h"
#include "core/ir/model.h"
#include "core/ops/op_family.h"
#include "core/rewrite/inline.h"
#include "core/rewrite/prune.h"

namespace ruleengine::lua {
namespace {

// The most builders of unknown ops that are cached: rule code can make up any
// number of names.
constexpr int kMaxUnknownOps = 1000;

// Pushes the outputs of what was built. `like` is the node of the model whose
// inputs and attributes were kept (invalid: none); an error in them is not the
// rule's fault and rejects the match.
int push_built(Host& host, lua_State* state, Result<rewrite::Edit::Built> built,
               ir::NodeId like) {
  if (!built.ok()) {
    if (!like) return fail(host, std::move(built.error()));
    return reject(host, std::move(built.error().what),
                  host.session.graph->describe(like));
  }
  if (auto* rejection = std::get_if<rewrite::Rejection>(&*built)) {
    return reject(host, std::move(*rejection));
  }
  const auto& values = std::get<std::vector<ir::ValueId>>(*built);
  luaL_checkstack(state, static_cast<int>(values.size()) + 4, "outputs");
  for (ir::ValueId value : values) push_value(host, state, value);
  return static_cast<int>(values.size());
}

// Builds one node.
class Build {
 public:
  Build(Host& host, lua_State* state, std::string_view domain,
        std::string_view type)
      : host_(host),
        state_(state),
        facts_(ops::newest_op(domain, type)),
        op_(ir::Op{domain, type, {}}.text()),
        inputs_(host, state, facts_, op_) {
    spec_.domain = domain;
    spec_.type = type;
  }

  // The arguments first..top: inputs, or one table that is the node.
  bool read_arguments(int first) {
    const int top = lua_gettop(state_);
    const bool is_node = top == first && lua_istable(state_, first) &&
                         !is_list(host_, state_, first) &&
                         !is_shape(host_, state_, first);
    if (is_node) return read_table(first);
    for (int i = first; i <= top; ++i) {
      if (!inputs_.add(i)) return false;
    }
    return true;
  }

  // Takes the inputs and attributes of `node`; the arguments then change some.
  bool start_from(ir::NodeId node) {
    const ir::Graph& graph = *host_.session.graph;
    spec_.like = node;
    spec_.output_count = static_cast<std::uint32_t>(graph.outputs(node).size());
    const Reading reading = read_node(host_, node);
    if (!reading.readable) {
      return reject(
          host_,
          "this older form of " + op_ + " does not exist in the newest opset",
          graph.describe(node));
    }
    for (const ir::Attribute& a : reading.attributes) {
      if (facts_ != nullptr && !has_attribute(a.name)) {
        return reject(host_,
                      op_ + " has an unknown attribute: " + std::string(a.name),
                      graph.describe(node));
      }
      if (a.blocks.empty()) continue;
      return reject(host_, "a node with subgraphs cannot be built again",
                    graph.describe(node));
    }
    spec_.attributes.assign(reading.attributes.begin(),
                            reading.attributes.end());
    kept_.assign(reading.inputs.begin(), reading.inputs.end());
    return true;
  }
  void keep_inputs() {
    for (std::size_t i = inputs_.size(); i < kept_.size(); ++i) {
      inputs_.add_value(kept_[i]);
    }
  }

  int finish() {
    if (op_ == "Reshape" && !says("allowzero")) inputs_.reshapes();
    if (!inputs_.finish(spec_.inputs)) return kFailed;
    // Without sizes a Split states the number of its parts.
    if (op_ == "Split" && !says("num_outputs") &&
        (spec_.inputs.size() < 2 || !spec_.inputs[1])) {
      add_integer("num_outputs", spec_.output_count);
    }
    if (inputs_.allows_zero()) add_integer("allowzero", 1);
    return push_built(host_, state_, host_.session.edit->build(spec_),
                      spec_.like);
  }

 private:
  bool read_table(int table) {
    const TableKeys keys = table_keys(state_, table);
    if (!keys.other.empty()) {
      return fail(host_, op_ + " gets a key that is not a name", "an attribute",
                  keys.other);
    }
    return inputs_.add_array(table, keys.numbers) &&
           read_attributes(table, keys);
  }

  bool read_attributes(int table, const TableKeys& keys) {
    for (const std::string& key : keys.names) {
      push_field(state_, table, key);
      const int value = lua_gettop(state_);
      const bool good = key == "outputs" && !has_attribute(key)
                            ? read_outputs(value)
                            : read_one(key, value);
      if (!good) return false;
      lua_pop(state_, 1);
    }
    std::ranges::sort(spec_.attributes, {}, &ir::Attribute::name);
    return true;
  }

  void add_integer(std::string_view name, std::int64_t value) {
    spec_.attributes.push_back(
        {.name = name, .kind = ir::AttributeKind::kInt, .i = value});
  }

  bool says(std::string_view name) const {
    return std::ranges::find(spec_.attributes, name, &ir::Attribute::name) !=
           spec_.attributes.end();
  }

  bool has_attribute(std::string_view name) const {
    return facts_ != nullptr && facts_->attribute(name) != nullptr;
  }

  bool read_outputs(int index) {
    const double count = lua_tonumber(state_, index);
    if (count < 1 || !is_whole(count)) {
      return fail(host_, "outputs is the number of outputs of " + op_,
                  "1 or more", kind_of(state_, index));
    }
    if (count > rewrite::kMaxOutputs) {  // the model may give the number
      return reject(
          host_,
          fmt::format("a node has {} outputs at most", rewrite::kMaxOutputs),
          fmt::format("{} of {}", count, op_));
    }
    spec_.output_count = static_cast<std::uint32_t>(count);
    return true;
  }

  bool read_one(std::string_view key, int index) {
    const ops::FormalAttribute* formal = nullptr;
    std::string_view name = key;
    if (facts_ != nullptr) {
      formal = facts_->attribute(key);
      if (formal == nullptr) return no_such_attribute(key);
      name = formal->name;
    } else {
      name = host_.session.graph->model().arena.copy(key);
    }
    const auto old =
        std::ranges::find(spec_.attributes, name, &ir::Attribute::name);
    const bool changes = old != spec_.attributes.end();
    ir::Attribute read;
    if (!read_attribute(host_, state_, index, name, formal,
                        changes ? &*old : nullptr, read)) {
      return false;
    }
    if (changes) {
      *old = read;
    } else {
      spec_.attributes.push_back(read);
    }
    if (spec_.like) host_.session.hear(spec_.like, name);
    return true;
  }

  bool no_such_attribute(std::string_view key) {
    static constexpr std::string_view kMore[] = {"outputs"};
    return fail(host_, op_ + " has no attribute '" + printable(key, 60) + "'",
                {}, {}, ops::attribute_hint(*facts_, key, kMore));
  }

  Host& host_;
  lua_State* state_;
  const ops::OpFacts* facts_;
  std::string op_;
  BuildInputs inputs_;
  rewrite::NodeSpec spec_;
  std::vector<ir::ValueId> kept_;  // inputs of the node that :with changes
};

bool check_can_build(Host& host) {
  if (host.session.edit != nullptr) return true;
  return fail(host, "nodes are built only in `rewrite` and `pass`", {}, {},
              "compute numbers in `where` and put them onto m");
}

// Builds from a node of which nothing is lost: the rule mentions all its
// attributes.
template <typename Make>
int build_from(Host& host, lua_State* state, ir::NodeId node,
               const Make& make) {
  if (!check_can_build(host)) return kFailed;
  for (const auto& a : host.session.graph->node(node).attributes) {
    host.session.hear(node, a.name);
  }
  return push_built(host, state, make(*host.session.edit, node), node);
}

// In `where`: a node of constants, built aside. The handles of its outputs are
// invalid once `where` has ended.
int compute_aside(Host& host, lua_State* state, std::string_view domain,
                  std::string_view type) {
  Session& session = host.session;
  if (!session.aside) {
    session.first_value = session.graph->value_count();
    session.first_node = session.graph->node_count();
    session.aside = std::make_unique<rewrite::Edit>(
        *session.graph, *session.facts, rewrite::Provenance());
    session.aside->set_block(
        session.graph->node(session.members[0].match->root).block);
    session.epochs.insert(session.epochs.begin(), session.epochs.back() - 1);
  }
  session.edit = session.aside.get();
  const int top = lua_gettop(state);
  const int count = build_op(host, state, domain, type, 1);
  session.edit = nullptr;
  for (int i = top + 1; i <= top + count; ++i) {
    const ir::ValueId value = to_handle(host, state, i)->value();
    if (session.facts->is_constant(value)) continue;
    return reject(host, "`where` computes with constants alone",
                  ir::Op{domain, type, {}}.text());
  }
  return count;
}

// Upvalues: the domain, the type.
int build_call(Host& host, lua_State* state) {
  const std::string_view domain = *string_at(state, lua_upvalueindex(2));
  const std::string_view type = *string_at(state, lua_upvalueindex(3));
  if (host.session.stage == Stage::kWhere) {
    return compute_aside(host, state, domain, type);
  }
  if (!check_can_build(host)) return kFailed;
  return build_op(host, state, domain, type, 1);
}

// --- op.X, op.domain.X ---

int domain_assign(Host& host, lua_State*) {
  return fail(host, "`op` cannot be assigned to");
}

int no_such_op(Host& host, std::string_view domain, std::string_view type) {
  const std::string_view hint = ops::class_hint(domain, type);
  return fail(host,
              "no op '" + ir::Op{domain, printable(type, 60), {}}.text() + "'",
              {}, {},
              hint.empty() ? did_you_mean(ops::similar_ops(domain, type))
                           : std::string(hint));
}

// Calling a domain: an op was meant. Upvalue: its name.
int domain_call(Host& host, lua_State* state) {
  return no_such_op(host, "", *string_at(state, lua_upvalueindex(2)));
}

int domain_index(Host& host, lua_State* state);

// Pushes the object of a domain. Its __index is a table of the builders used so
// far, so that the interpreter finds them by itself; the table's own __index
// makes the others.
void push_domain(Host& host, lua_State* state, std::string_view name) {
  lua_newuserdata(state, 0);
  lua_createtable(state, 0, 4);  // its metatable
  lua_createtable(state, 0, 8);  // the builders
  lua_createtable(state, 0, 1);  // their metatable
  push(state, name);
  set_function(state, host, "__index", entry<domain_index>, 1);
  lua_setmetatable(state, -2);
  lua_setfield(state, -2, "__index");
  set_function(state, host, "__newindex", entry<domain_assign>);
  if (!name.empty()) {
    push(state, name);
    set_function(state, host, "__call", entry<domain_call>, 1);
  }
  hide_metatable(state);
  lua_setmetatable(state, -2);
}

// Argument 1: the table of builders. Upvalue: the domain.
int domain_index(Host& host, lua_State* state) {
  const std::string_view domain = *string_at(state, lua_upvalueindex(2));
  const auto key = string_at(state, 2);
  if (!key || key->empty()) {
    return fail(host, "`op` is indexed by names only", "op.Add",
                kind_of(state, 2));
  }
  const bool known = ops::newest_op(domain, *key) != nullptr;
  if (!known && !domain.empty() && ops::known_domain(domain)) {
    return no_such_op(host, domain, *key);
  }
  if (known || !domain.empty()) {
    push(state, domain);
    push(state, *key);
    push_function(state, host, entry<build_call>, 2);
  } else {
    push_domain(host, state, *key == "ai.onnx" ? "" : *key);
  }
  if (known || ++host.unknown_ops <= kMaxUnknownOps) {
    lua_pushvalue(state, 2);
    lua_pushvalue(state, -2);
    lua_rawset(state, 1);
  }
  return 1;
}

}  // namespace

void make_builders(Host& host, lua_State* state) {
  push_domain(host, state, "");
  host.builders = luaL_ref(state, LUA_REGISTRYINDEX);
}

int build_op(Host& host, lua_State* state, std::string_view domain,
             std::string_view type, int first) {
  Build build(host, state, domain, type);
  if (!build.read_arguments(first)) return kFailed;
  return build.finish();
}

int build_like(Host& host, lua_State* state, ir::NodeId node, int first) {
  const ir::Op& op = host.session.graph->op(node);
  Build build(host, state, op.domain, op.type);
  if (!build.start_from(node)) return kFailed;
  if (!build.read_arguments(first)) return kFailed;
  build.keep_inputs();
  return build.finish();
}

int build_with(Host& host, lua_State* state, const Handle& node) {
  if (!check_can_build(host)) return kFailed;
  return build_like(host, state, node.node(), 2);
}

int build_inline(Host& host, lua_State* state, const Handle& node) {
  return build_from(host, state, node.node(), rewrite::inline_call);
}

int build_pruned(Host& host, lua_State* state, const Handle& node) {
  return build_from(host, state, node.node(), rewrite::prune_bodies);
}

}  // namespace ruleengine::lua
