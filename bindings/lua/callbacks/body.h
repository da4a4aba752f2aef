// The body of an op as a function of a rule file: called for each call of the
// op with other types or attributes, in the words of `rewrite`. Internal to
// bindings/lua. Both arguments must outlive the body.
#pragma once

#include <memory>
#include <string>

#include "bindings/lua/rule_file.h"
#include "core/engine/op_bodies.h"

namespace ruleengine::lua {

std::unique_ptr<engine::OpBody> make_body(Sandbox& sandbox,
                                          const LoadedRule& rule,
                                          const LoadedBody& body,
                                          std::string place);

}  // namespace ruleengine::lua
