// One loaded rule as the driver sees it. Internal to bindings/lua; everybody
// else calls make_rules (bindings/lua/rule_file.h). The rule refers to both
// arguments, which must outlive it, and so must every candidate it makes.
#pragma once

#include <memory>

#include "bindings/lua/rule_file.h"
#include "core/rewrite/rule.h"

namespace ruleengine::lua {

std::unique_ptr<rewrite::Rule> make_rule(Sandbox& sandbox,
                                         const LoadedRule& rule);

}  // namespace ruleengine::lua
