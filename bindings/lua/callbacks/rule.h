// What a rule file has, as the engine sees it. Internal to bindings/lua;
// everybody else calls make_rules (bindings/lua/rule_file.h). All refer to
// their arguments, which must outlive them.
#pragma once

#include <memory>
#include <string>

#include "bindings/lua/rule_file.h"
#include "core/engine/op_bodies.h"
#include "core/rewrite/rule.h"

namespace ruleengine::lua {

// One loaded rule, as the driver sees it; it outlives every candidate it makes.
std::unique_ptr<rewrite::Rule> make_rule(Sandbox& sandbox,
                                         const LoadedRule& rule);

// The body of an op as a function of a rule file: called for each call of the
// op with other types or attributes, in the words of `rewrite`.
std::unique_ptr<engine::OpBody> make_body(Sandbox& sandbox,
                                          const LoadedRule& rule,
                                          const LoadedBody& body,
                                          std::string place);

}  // namespace ruleengine::lua
