// "Did you mean": which known word a mistyped one looks like. Pure; any thread.
#ifndef RULEENGINE_BINDINGS_LUA_SUGGEST_H_
#define RULEENGINE_BINDINGS_LUA_SUGGEST_H_

#include <span>
#include <string>
#include <string_view>

namespace ruleengine::lua {

// The nearest of `known` by edit distance, if near enough; else "".
std::string nearest(std::string_view word, std::span<const std::string> known);

// "did you mean 'x'?", or what there is: "known: a, b, c", or "".
std::string suggestion(std::string_view word,
                       std::span<const std::string> known);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_SUGGEST_H_
