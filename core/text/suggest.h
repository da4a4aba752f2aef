// "Did you mean": the word nearest to a misspelt one. Pure, safe anywhere.
#ifndef RULEENGINE_CORE_TEXT_SUGGEST_H_
#define RULEENGINE_CORE_TEXT_SUGGEST_H_

#include <span>
#include <string>
#include <string_view>

namespace ruleengine::text {

// "did you mean 'axis'?", or "" when nothing is near. Of equals the first.
std::string did_you_mean(std::string_view word,
                         std::span<const std::string_view> known);

}  // namespace ruleengine::text

#endif  // RULEENGINE_CORE_TEXT_SUGGEST_H_
