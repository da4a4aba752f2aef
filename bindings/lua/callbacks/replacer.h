// Replacer: builds a Replacement in the place of one match, through the
// session's Edit. Internal to bindings/lua.
#pragma once

#include <map>
#include <vector>

#include "bindings/lua/session/handle.h"
#include "bindings/lua/words/replacement.h"

namespace ruleengine::lua {

class Replacer {
 public:
  // `computed` is the table of what `where` put onto m; 0: none.
  Replacer(Host& host, lua_State* state, const Replacement& replacement,
           const match::Match& match, FunctionRef computed)
      : host_(host),
        state_(state),
        made_(replacement),
        match_(match),
        computed_(computed) {}

  // Pushes a value for each result. False after a fail() or reject().
  bool push_results();

 private:
  using Values = std::vector<ir::ValueId>;

  bool push(pattern::TermId id);
  bool push_attribute_of(const pattern::NodePattern& node,
                         const pattern::AttributePattern& attribute);
  void push_captured(const pattern::NodePattern& node, pattern::VariableId id);
  void push_variable(pattern::VariableId id);
  bool push_taken(const pattern::Term& term);
  bool is_taken(pattern::TermId id);
  bool any_taken(const pattern::Term& term);
  const Values* values_of(pattern::NodePatternId id);
  bool build(const pattern::NodePattern& node, ir::NodeId kept, Values& out);
  bool push_inputs(const pattern::NodePattern& node, ir::NodeId kept, int table,
                   bool& changed);
  bool fail_at(int line);

  Host& host_;
  lua_State* state_;
  const Replacement& made_;
  const match::Match& match_;
  FunctionRef computed_;
  std::map<std::uint32_t, Values> built_;
  std::map<std::uint32_t, bool> taken_;  // each `either`, once
};

}  // namespace ruleengine::lua
