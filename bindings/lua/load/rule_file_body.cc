// `body`: what ops of the user's own mean, as texts and functions.
#include <fmt/format.h>

#include <algorithm>
#include <lua.hpp>
#include <map>
#include <utility>

#include "bindings/lua/callbacks/rule.h"
#include "bindings/lua/load/rule_file_loader.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "bindings/lua/session/host.h"
#include "core/ir/call.h"
#include "core/ops/op_facts.h"
#include "core/text/parse.h"

namespace ruleengine::lua {
namespace {

constexpr std::size_t kMostBodies = 1000;
constexpr std::size_t kMostText = std::size_t{1} << 20;  // of one body

// Reads the entries of the table at the top of the stack.
class BodyReader {
 public:
  BodyReader(lua_State* state, const RuleTable& table)
      : state_(state),
        table_(table),
        line_(table.scan.key_line("rule", "body")) {}

  std::vector<LoadedBody> read() {
    if (!lua_istable(state_, -1)) fail_form(luaL_typename(state_, -1));
    const TableKeys keys = table_keys(state_, -1);
    if (!keys.numbers.empty() || !keys.other.empty()) {
      fail_form("a list element");
    }
    if (keys.names.size() > kMostBodies) {
      fail(wrong("`body` has too many ops",
                 fmt::format("at most {}", kMostBodies)));
    }
    std::vector<LoadedBody> out;
    for (const std::string& name : keys.names) {
      out.push_back(read_name(name));
      push_field(state_, lua_gettop(state_), name);
      read_meaning(name, out.back());
    }
    return out;
  }

 private:
  void fail(Diagnostic error) {
    fail_at(state_, table_, line_, std::move(error));
  }
  void fail_form(std::string_view found) {
    fail(wrong("`body` of a rule", "{[\"com.example.Swish\"] = a graph}",
               std::string(found)));
  }

  LoadedBody read_name(const std::string& name) {
    const int line = table_.scan.entry_line("rule", "body", name);
    if (line > 0) line_ = line;
    const std::string shown = printable(name, 100);
    const std::size_t dot = name.rfind('.');
    LoadedBody out{.line = line_};
    if (dot != std::string::npos) out.domain = name.substr(0, dot);
    out.type = name.substr(dot + 1);  // 0 where there is none
    if (out.domain == "ai.onnx") out.domain = "";
    if (!is_lua_name(out.type) || name.size() > 200) {
      fail(wrong("a body is for '" + shown + "'", "domain.Type",
                 "no name of an op", "for instance com.example.Swish"));
    }
    if (out.domain.empty() || ops::known_domain(out.domain) ||
        ops::newest_op(out.domain, out.type) != nullptr) {
      const bool is_known = ops::newest_op(out.domain, out.type) != nullptr;
      fail(wrong("a body is for '" + shown + "'",
                 "an op of a domain of your own",
                 is_known             ? "an op that the engine knows"
                 : out.domain.empty() ? "a name of the standard's domain"
                                      : "a domain whose ops the engine knows",
                 "for instance com.example." + out.type));
    }
    return out;
  }

  // The value is on top of the stack; pops it.
  void read_meaning(const std::string& name, LoadedBody& out) {
    if (lua_type(state_, -1) == LUA_TSTRING) {
      if (lua_objlen(state_, -1) > kMostText) {
        fail(wrong("the body of " + printable(name, 100) + " is too large",
                   fmt::format("at most {} bytes", kMostText)));
      }
      out.text = take_text(state_, table_, -1, line_);
      lua_pop(state_, 1);
      return;
    }
    if (!lua_isfunction(state_, -1) || lua_iscfunction(state_, -1)) {
      fail(wrong("the body of " + printable(name, 100),
                 "a graph as text, or a function of this file",
                 fmt::format("a {}", luaL_typename(state_, -1))));
    }
    const auto parameters = parameters_of(state_, lua_gettop(state_));
    if (parameters.size() < 2 || parameters.back() != "attrs") {
      fail(wrong("the parameters of the body of " + printable(name, 100),
                 "`op` first, then the inputs of the op, and `attrs` last",
                 parameters.empty() ? "none"
                                    : "`" + parameters.back() + "` is the last",
                 "function(op, x, attrs)"));
    }
    if (parameters.size() > kMostArguments) {
      fail(wrong("the body of " + printable(name, 100) + " has too many inputs",
                 fmt::format("at most {}", kMostArguments - 2)));
    }
    out.function = luaL_ref(state_, LUA_REGISTRYINDEX);
    // The key is `["..."]`.
    check_calls(state_, table_, out.function, "]");
  }

  lua_State* state_;
  const RuleTable& table_;
  int line_;  // of the entry
};

// The body of an op as the text of a function (core/text/parse.h).
class TextBody final : public engine::OpBody {
 public:
  TextBody(const ir::Op& op, std::string text, std::string place)
      : OpBody(std::string(op.domain), std::string(op.type), std::move(place)),
        text_(std::move(text)) {}

  // Reads the text once, for its errors and for what calls must fit.
  Status read() {
    own_.ir_version = rewrite::kFunctionIrVersion;
    const ir::Op op{domain(), type(), {}};
    const auto made = parse(own_, op);
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
    auto made = parse(graph.model(), op);
    if (!made) return at_place(made.error());
    return made;
  }

 private:
  Result<ir::Function*> parse(ir::Model& model, const ir::Op& op) const {
    return text::parse_function(model, text_, op, {}, {.check_ops = true});
  }

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

// Fails, with kind kRule, for a text that is wrong by itself.
Result<std::unique_ptr<engine::OpBody>> body_of_text(const ir::Op& op,
                                                     std::string text,
                                                     std::string place) {
  auto made = std::make_unique<TextBody>(op, std::move(text), std::move(place));
  if (Status s = made->read(); !s) return s.error();
  return std::unique_ptr<engine::OpBody>(std::move(made));
}

// Reads all texts into one model, to check how they call each other. Functions
// are checked when they are called.
class Texts {
 public:
  Status add(const LoadedBody& body, const std::string& place) {
    const ir::Op op{body.domain, body.type, {}};
    const auto made = text::parse_function(model_, body.text, op);
    if (!made) return made.error();
    places_[op.text()] = place;
    return {};
  }

  Status check() const {
    Status calls = text::check_functions(model_);
    if (calls) return calls;
    Diagnostic error = calls.error();
    error.kind = ErrorKind::kRule;
    const auto place = places_.find(error.where);
    error.where = "body of " + error.where;
    if (place != places_.end())
      error.where = place->second + ", " + error.where;
    return error;
  }

 private:
  ir::Model model_;
  std::map<std::string, std::string> places_;  // by op
};

}  // namespace

std::vector<LoadedBody> read_bodies(lua_State* state, const RuleTable& table) {
  return BodyReader(state, table).read();
}

Result<OwnBodies> make_bodies(
    Sandbox& sandbox, const std::vector<std::unique_ptr<LoadedRule>>& rules) {
  struct Known {
    const LoadedBody* body = nullptr;
    std::string meaning, place;
  };
  std::map<std::pair<std::string, std::string>, Known> known;
  OwnBodies out;
  Texts texts;
  lua_State* state = sandbox.state();
  for (const auto& rule : rules) {
    for (const LoadedBody& body : rule->bodies) {
      const std::string place = fmt::format("{}:{}", rule->file, body.line);
      // A function of a lib is the same for all files.
      std::string meaning = "text " + body.text;
      if (body.function != 0) {
        lua_rawgeti(state, LUA_REGISTRYINDEX, body.function);
        meaning = "function " + Sandbox::place_of(state, -1);
        lua_pop(state, 1);
      }
      const auto [at, is_new] = known.try_emplace({body.domain, body.type},
                                                  Known{&body, meaning, place});
      if (!is_new && at->second.meaning == meaning) continue;
      const std::string name = body.domain + "." + body.type;
      if (!is_new) {
        return Diagnostic{
            .kind = ErrorKind::kRule,
            .what = "there are two bodies of " + name,
            .where = place,
            .expected = "one meaning of each op",
            .found = "another one at " + at->second.place,
            .hint = "give it in one file, or the same text in both"};
      }
      if (body.function != 0) {
        out.push_back(make_body(sandbox, *rule, body, place));
        continue;
      }
      auto made = body_of_text({body.domain, body.type, {}}, body.text, place);
      if (!made) return made.error();
      out.push_back(*std::move(made));
      if (Status s = texts.add(body, place); !s) return s.error();
    }
  }
  if (Status s = texts.check(); !s) return s.error();
  std::ranges::sort(out, {}, [](const auto& each) { return each->name(); });
  return out;
}

}  // namespace ruleengine::lua
