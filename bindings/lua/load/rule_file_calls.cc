// Ops that rule code builds, found in its text, so that a misspelled op in a
// branch that no test reaches is found at load.
#include <fmt/format.h>

#include <lua.hpp>

#include "bindings/lua/load/rule_file_loader.h"
#include "bindings/lua/load/rule_file_scan.h"
#include "core/base/suggest.h"
#include "core/ops/op_facts.h"
#include "core/ops/op_family.h"

namespace ruleengine::lua {

// Recognizes builder.Type(...), builder.domain.Type{...},
// builder["domain"].Type{...} at token `i`; the type is empty if it is
// something else.
SourceScan::Call SourceScan::call_at(std::size_t i) const {
  Call call{.line = tokens_[i].line};
  const auto name = [&](std::size_t at) {
    return is(at, ".") && this->at(at + 1).kind == Kind::kName
               ? this->at(at + 1).text
               : std::string_view();
  };
  std::size_t end = i + 3;
  call.type = name(i + 1);
  if (is(i + 1, "[") && at(i + 2).kind == Kind::kString && is(i + 3, "]")) {
    call.type = at(i + 2).text;
    end = i + 4;
  }
  if (call.type.empty()) return {};
  if (const std::string_view type = name(end); !type.empty()) {
    call.domain = std::exchange(call.type, type);
    end += 2;
  }
  if (!is(end, "(") && !is(end, "{")) return {};
  if (!is(end, "{")) return call;
  for (std::size_t at = end + 1; at < tokens_.size() && !is(at, "}");) {
    const bool fresh = is(at - 1, "{") || is(at - 1, ",") || is(at - 1, ";");
    if (fresh && tokens_[at].kind == Kind::kName && is(at + 1, "=")) {
      call.attributes.push_back(
          {std::string(tokens_[at].text), tokens_[at].line});
    }
    at = skip(at);
  }
  return call;
}

std::vector<SourceScan::Call> SourceScan::calls(std::string_view key,
                                                int line) const {
  std::vector<Call> found;
  const Function* function = find(key, line);
  if (function == nullptr || function->key != key ||
      function->parameters.empty()) {
    return found;
  }
  const std::string_view builder = function->parameters[0];
  if (names_bound_in(*function).contains(builder)) return found;
  for (std::size_t i = function->begin; i < function->end; ++i) {
    if (tokens_[i].kind != Kind::kName || tokens_[i].text != builder ||
        is(i - 1, ".") || is(i - 1, ":")) {
      continue;
    }
    Call call = call_at(i);
    if (!call.type.empty()) found.push_back(std::move(call));
  }
  return found;
}

void check_calls(lua_State* state, const RuleTable& table, FunctionRef rewrite,
                 std::string_view key) {
  if (rewrite == 0) return;
  lua_Debug activation;
  lua_rawgeti(state, LUA_REGISTRYINDEX, rewrite);
  lua_getinfo(state, ">S", &activation);
  for (const SourceScan::Call& call :
       table.scan.calls(key, activation.linedefined)) {
    const std::string domain = call.domain == "ai.onnx" ? "" : call.domain;
    const ops::OpFacts* facts = ops::newest_op(domain, call.type);
    const std::string name =
        printable((domain.empty() ? "" : domain + "::") + call.type, 60);
    if (facts == nullptr && !domain.empty() && !ops::known_domain(domain)) {
      continue;
    }
    if (facts == nullptr) {
      const std::string_view hint = ops::class_hint(domain, call.type);
      fail_at(state, table, call.line,
              {.what = "no op '" + name + "'",
               .hint = hint.empty()
                           ? did_you_mean(ops::similar_ops(domain, call.type))
                           : std::string(hint)});
    }
    for (const SourceScan::Use& attribute : call.attributes) {
      if (attribute.name == "outputs" || facts->attribute(attribute.name)) {
        continue;
      }
      static constexpr std::string_view kMore[] = {"outputs"};
      fail_at(state, table, attribute.line,
              {.what = fmt::format("{} has no attribute '{}'", name,
                                   printable(attribute.name, 60)),
               .hint = ops::attribute_hint(*facts, attribute.name, kMore)});
    }
  }
}

}  // namespace ruleengine::lua
