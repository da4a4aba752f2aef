#include "bindings/lua/code/code_record.h"

#include <cstring>
#include <lua.hpp>
#include <set>
#include <utility>

#include "bindings/lua/code/code_objects.h"
#include "bindings/lua/sandbox/sandbox_meter.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "bindings/lua/words/words.h"
#include "core/base/suggest.h"
#include "core/base/whole.h"
#include "core/ir/data_type.h"
#include "core/ops/op_facts.h"
#include "core/rewrite/edit.h"

namespace ruleengine::lua {

using code::found_at;
using code::kTensorMetatable;
using code::line_of;

namespace {

constexpr const char* kValueMetatable = "ruleengine.code.value";
constexpr const char* kRecordedOpMetatable = "ruleengine.code.op";
constexpr std::size_t kMostRecordedInputs = 100'000;
constexpr std::size_t kMostBlocks = 10'000;
constexpr std::size_t kMostNesting = 50;

struct OpObject {
  char domain[200] = "";
  char type[200] = "";
};

}  // namespace

// Upvalue 1 of its C functions is the recorder.
class CodeRecorder {
 public:
  CodeRecorder(Sandbox& sandbox, ir::Model& model)
      : sandbox_(sandbox), model_(model) {
    record_.blocks.emplace_back();
    open_.push_back(0);
  }

  Result<CodeRecord> run(std::string_view code, const std::string& file) {
    Status prepared = sandbox_.protect([this](lua_State* s) { prepare(s); });
    if (!prepared) return prepared.error();
    lua_State* state = sandbox_.state();
    lua_rawgeti(state, LUA_REGISTRYINDEX, words_);
    const int words = lua_gettop(state);
    Status compiled = sandbox_.compile(code, file, words);
    if (!compiled) return compiled.error();
    lua_getfenv(state, -1);  // the words, read-only
    inner_ = luaL_ref(state, LUA_REGISTRYINDEX);
    lua_rawgeti(state, LUA_REGISTRYINDEX, environment_);
    lua_setfenv(state, -2);
    Status ran =
        sandbox_.call(0, 0, Sandbox::Budget::kLoad, "code '" + file + "'");
    if (!ran) return ran.error();
    if (!record_.blocks[0].ended) {
      return Diagnostic{.kind = ErrorKind::kRule,
                        .what = "the code has no `output`",
                        .where = file,
                        .expected = "output(y) after the last statement"};
    }
    Status named = names_.apply(record_, file);
    if (!named) return named.error();
    return std::move(record_);
  }

 private:
  static CodeRecorder& of(lua_State* state) {
    return *static_cast<CodeRecorder*>(
        lua_touserdata(state, lua_upvalueindex(1)));
  }
  template <int (CodeRecorder::*method)(lua_State*)>
  static int call(lua_State* state) {
    return (of(state).*method)(state);
  }

  void set(lua_State* state, const char* name, lua_CFunction function) {
    lua_pushlightuserdata(state, this);
    lua_pushcclosure(state, function, 1);
    lua_setfield(state, -2, name);
  }

  void metatable(lua_State* state, const char* name, lua_CFunction index,
                 lua_CFunction called) {
    luaL_newmetatable(state, name);
    if (index != nullptr) set(state, "__index", index);
    if (called != nullptr) set(state, "__call", called);
    hide_metatable(state);
    lua_pop(state, 1);
  }

  void prepare(lua_State* state) {
    metatable(state, kValueMetatable, nullptr, nullptr);
    metatable(state, kTensorMetatable, nullptr, nullptr);
    metatable(state, kRecordedOpMetatable, &call<&CodeRecorder::op_index>,
              &call<&CodeRecorder::op_call>);
    lua_newtable(state);
    set(state, "input", &call<&CodeRecorder::input>);
    set(state, "weight", &call<&CodeRecorder::weight>);
    set(state, "output", &call<&CodeRecorder::output>);
    set(state, "names", &call<&CodeRecorder::names>);
    set(state, "part", &call<&CodeRecorder::part>);
    set(state, "tensor", &call<&CodeRecorder::tensor>);
    push_object(state, OpObject{}, kRecordedOpMetatable);
    lua_setfield(state, -2, "op");
    push_word(state, "none", none_);
    push_word(state, "stored", stored_);
    words_ = luaL_ref(state, LUA_REGISTRYINDEX);
    lua_newtable(state);
    variables_ = luaL_ref(state, LUA_REGISTRYINDEX);
    lua_newtable(
        state);  // always empty, so that every access calls our metamethods
    lua_newtable(state);
    set(state, "__index", &call<&CodeRecorder::read>);
    set(state, "__newindex", &call<&CodeRecorder::assign>);
    hide_metatable(state);
    lua_setmetatable(state, -2);
    environment_ = luaL_ref(state, LUA_REGISTRYINDEX);
  }

  // A word without a value: it is recognized by its address.
  static void push_word(lua_State* state, const char* name, const void*& id) {
    id = lua_newuserdata(state, 1);
    lua_setfield(state, -2, name);
  }

  // --- variables ---

  int read(lua_State* state) {
    lua_settop(state, 2);
    lua_rawgeti(state, LUA_REGISTRYINDEX, variables_);
    lua_pushvalue(state, 2);
    lua_rawget(state, -2);
    if (!lua_isnil(state, -1)) return 1;
    const std::string name(string_at(state, 2).value_or(""));
    if (released_.contains(name)) {
      return Sandbox::fail(state, quoted_name(name, 60) + " was released", {},
                           {}, "it is set to nil at its last use");
    }
    lua_rawgeti(state, LUA_REGISTRYINDEX, inner_);
    lua_pushvalue(state, 2);
    lua_gettable(state, -2);  // raises for an unknown word
    return 1;
  }

  int assign(lua_State* state) {
    lua_settop(state, 3);
    if (lua_type(state, 2) != LUA_TSTRING) {
      return Sandbox::fail(state, "a variable must have a name");
    }
    budget_.take(state, 64);
    const std::string name(text_at(state, 2));
    if (const std::size_t* value =
            to_object<std::size_t>(state, 3, kValueMetatable)) {
      name_value(state, *value, name);
      if (name == "_") return 0;
    }
    lua_rawgeti(state, LUA_REGISTRYINDEX, variables_);
    lua_pushvalue(state, 2);
    lua_rawget(state, -2);
    const bool there = !lua_isnil(state, -1);
    lua_pop(state, 1);
    const bool release = lua_isnil(state, 3);
    if (release) {
      budget_.take(state, 128 + name.size());
      released_.insert(name);
    }
    if (!release && (there || released_.contains(name))) {
      return Sandbox::fail(state, quoted_name(name, 60) + " is assigned twice",
                           "one value for each variable");
    }
    lua_pushvalue(state, 2);
    lua_pushvalue(state, 3);
    lua_rawset(state, -3);
    return 0;
  }

  void name_value(lua_State* state, std::size_t id, const std::string& name) {
    CodeValue& value = record_.values[id];
    if (value.kind != CodeValue::Kind::kOutput) return;
    if (name == "_") {
      value.absent = value.name.empty();
    } else if (value.absent) {
      Sandbox::fail(state, "an absent output cannot have a name");
    } else if (value.name.empty()) {
      value.name = name;
    }
  }

  // --- words ---

  std::size_t add_value(lua_State* state, CodeValue::Kind kind,
                        std::string name) {
    budget_.take(state, 256 + name.size());
    record_.values.push_back(
        {.kind = kind, .name = std::move(name), .line = line_of(state)});
    return record_.values.size() - 1;
  }
  void push_value(lua_State* state, std::size_t id) {
    push_object(state, id, kValueMetatable);
  }

  int outside(lua_State* state, const char* word, CodeValue::Kind kind) {
    if (lua_type(state, 1) != LUA_TSTRING) {
      return Sandbox::fail(
          state, std::string("`") + word + "` expects a name of the model",
          std::string(word) + " \"x\"", found_at(state, 1));
    }
    push_value(state, add_value(state, kind, std::string(text_at(state, 1))));
    return 1;
  }
  int input(lua_State* state) {
    return outside(state, "input", CodeValue::Kind::kInput);
  }
  int weight(lua_State* state) {
    lua_settop(state, 2);
    const auto* made =
        to_object<const ir::Literal*>(state, 2, kTensorMetatable);
    if (made == nullptr && !lua_isnil(state, 2)) {
      return Sandbox::fail(state, "a new weight needs a tensor",
                           "weight(\"x\", tensor(\"float\", {2}, {1, 2}))",
                           found_at(state, 2));
    }
    outside(state, "weight", CodeValue::Kind::kWeight);
    if (made != nullptr) record_.values.back().tensor = *made;
    return 1;
  }

  int output(lua_State* state) {
    CodeBlock& block = record_.blocks[open_.back()];
    if (block.ended) return Sandbox::fail(state, "a graph has two `output`s");
    block.ended = true;
    for (int i = 1; i <= lua_gettop(state); ++i) {
      const auto* value = to_object<std::size_t>(state, i, kValueMetatable);
      if (value == nullptr) {
        return Sandbox::fail(state, "an output is not a value", "output(y)",
                             found_at(state, i));
      }
      block.outputs.push_back(*value);
    }
    return 0;
  }

  int part(lua_State* state) {
    if (!lua_isfunction(state, 1)) {
      return Sandbox::fail(state, "`part` expects a function",
                           "part(function() ... end)", found_at(state, 1));
    }
    Nested nested(state);
    lua_settop(state, 1);
    lua_call(state, 0, 0);
    return 0;
  }

  int tensor(lua_State* state) {
    push_object(state, read_tensor(state, model_.arena, budget_),
                kTensorMetatable);
    return 1;
  }
  int names(lua_State* state) {
    names_.read(state, budget_);
    return 0;
  }

  // --- op ---

  int op_index(lua_State* state) {
    const auto* op = to_object<OpObject>(state, 1, kRecordedOpMetatable);
    const std::string_view name = string_at(state, 2).value_or("");
    if (op == nullptr || name.empty()) {
      return Sandbox::fail(state, "an op is written as op.Add");
    }
    std::string domain = op->domain;
    if (op->type[0] != '\0') {
      domain += (domain.empty() ? "" : ".") + std::string(op->type);
    }
    OpObject next;
    if (domain.size() >= sizeof next.domain ||
        name.size() >= sizeof next.type || name.find('\0') != name.npos) {
      return Sandbox::fail(state, "the name of an op is too long");
    }
    std::memcpy(next.domain, domain.data(), domain.size());
    std::memcpy(next.type, name.data(), name.size());
    push_object(state, next, kRecordedOpMetatable);
    return 1;
  }

  int op_call(lua_State* state) {
    const auto* op = to_object<OpObject>(state, 1, kRecordedOpMetatable);
    if (op == nullptr || op->type[0] == '\0') {
      return Sandbox::fail(state, "a call of an op is written as op.Add(a, b)");
    }
    CodeNode node{.domain = op->domain, .line = line_of(state)};
    std::string_view type = op->type;
    const std::size_t colon = type.find(':');
    node.type = type.substr(0, colon);
    if (colon != type.npos) node.overload = type.substr(colon + 1);
    if (node.domain == "ai.onnx") node.domain.clear();
    check_op(state, node);
    budget_.take(state, 1024);
    int outputs = 1;
    if (lua_gettop(state) == 2 && lua_istable(state, 2)) {
      outputs = read_node(state, node);
    } else {
      for (int i = 2; i <= lua_gettop(state); ++i) {
        node.inputs.push_back(check_input(state, i));
      }
    }
    luaL_checkstack(state, outputs + 4, "outputs");
    for (int i = 0; i < outputs; ++i) {
      node.outputs.push_back(
          add_value(state, CodeValue::Kind::kOutput, std::string()));
      push_value(state, node.outputs.back());
    }
    record_.blocks[open_.back()].nodes.push_back(std::move(node));
    return outputs;
  }

  // Checks an op of a known domain that is not a function of the model.
  void check_op(lua_State* state, const CodeNode& node) const {
    if (!ops::known_domain(node.domain) ||
        ops::newest_op(node.domain, node.type) != nullptr ||
        model_.find_function({node.domain, node.type, node.overload}) !=
            nullptr ||
        model_.ops.find(node.domain, node.type, node.overload)) {
      return;
    }
    Sandbox::fail(state, "no op '" + printable(node.type, 60) + "'", {}, {},
                  did_you_mean(ops::similar_ops(node.domain, node.type)));
  }

  std::size_t check_input(lua_State* state, int index) const {
    if (lua_touserdata(state, index) == none_) return kNoValue;
    const auto* value = to_object<std::size_t>(state, index, kValueMetatable);
    if (value == nullptr) {
      Sandbox::fail(state, "an input is not a value", "a value, or `none`",
                    found_at(state, index));
    }
    return *value;
  }

  // Reads the table of a call; returns the number of outputs.
  int read_node(lua_State* state, CodeNode& node) {
    const std::size_t inputs = lua_objlen(state, 2);
    budget_.take(state, inputs * 16);
    if (inputs > kMostRecordedInputs) {
      Sandbox::fail(state, "a node has too many inputs");
    }
    all_elements(state, 2, inputs, [&](int at) {
      node.inputs.push_back(check_input(state, at));
      return true;
    });
    int outputs = 1;
    for (const std::string& key : string_keys(state, 2)) {
      lua_getfield(state, 2, key.c_str());
      if (key == "outputs") {
        const double count = lua_tonumber(state, -1);
        if (lua_type(state, -1) != LUA_TNUMBER || !(count >= 0) ||
            count > rewrite::kMaxOutputs || !is_whole(count)) {
          Sandbox::fail(state, "`outputs` must be a number", "outputs = 2");
        }
        outputs = static_cast<int>(count);
      } else if (key == "attrs" && lua_istable(state, -1)) {
        const int table = lua_gettop(state);
        for (const std::string& name : string_keys(state, table)) {
          lua_getfield(state, table, name.c_str());
          read_attribute(state, node, name);
          lua_pop(state, 1);
        }
      } else {
        read_attribute(state, node, key);
      }
      lua_pop(state, 1);
    }
    return outputs;
  }

  // --- attributes ---

  void read_attribute(lua_State* state, CodeNode& node,
                      const std::string& name) {
    const int index = lua_gettop(state);
    budget_.take(state, 512 + name.size());
    budget_.take_at(state, index);
    CodeAttribute out;
    out.value.name = model_.arena.copy(std::string_view(name));
    if (lua_touserdata(state, index) == stored_) {
      out.stored = true;
    } else if (lua_isfunction(state, index)) {
      out.value.kind = ir::AttributeKind::kGraph;
      out.body = run_body(state, index);
    } else {
      // A domain that the model does not import yet will be imported.
      const auto opset = static_cast<int>(model_.opset(node.domain));
      const auto* facts = opset == 0
                              ? ops::newest_op(node.domain, node.type)
                              : ops::find_op(node.domain, node.type, opset);
      const auto* formal = facts == nullptr ? nullptr : facts->attribute(name);
      if (!read_plain(state, model_.arena, index, formal, out.value)) {
        Sandbox::fail(
            state,
            "attribute '" + printable(name, 60) + "' cannot have this value",
            formal == nullptr ? "a number, a text, a list, a tensor, `stored`"
                              : "a value of the type that the op requires",
            found_at(state, index));
      }
    }
    node.attributes.push_back(out);
  }

  std::size_t run_body(lua_State* state, int index) {
    if (record_.blocks.size() >= kMostBlocks || open_.size() > kMostNesting) {
      Sandbox::fail(state, "graphs are nested too deeply");
    }
    const std::size_t block = record_.blocks.size();
    record_.blocks.emplace_back();
    // Closes the block also if the code catches an error of its body.
    struct Open {
      std::vector<std::size_t>& blocks;
      ~Open() { blocks.pop_back(); }
    };
    {
      open_.push_back(block);
      const Open open{open_};
      Nested nested(state);
      lua_pushvalue(state, index);
      lua_call(state, 0, 0);
    }
    if (!record_.blocks[block].ended) {
      Sandbox::fail(state, "the graph of an attribute has no `output`",
                    "output(y) after its last statement");
    }
    return block;
  }

  Sandbox& sandbox_;
  ir::Model& model_;
  CodeRecord record_;
  std::vector<std::size_t> open_;  // blocks that are open
  CodeNames names_;
  code::Budget budget_;
  std::set<std::string> released_;
  const void* none_ = nullptr;
  const void* stored_ = nullptr;
  int words_ = 0, variables_ = 0, environment_ = 0, inner_ = 0;
};

Result<CodeRecord> record_code(ir::Model& model, std::string_view code,
                               const std::string& file,
                               const SandboxLimits& limits) {
  auto sandbox = Sandbox::create(limits);
  if (!sandbox) return sandbox.error();
  return CodeRecorder(**sandbox, model).run(code, file);
}

}  // namespace ruleengine::lua
