// Picture: what is drawn of a model: the outline of its nodes, and marks at the
// nodes that rules match.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/result.h"
#include "core/draw/outline.h"
#include "core/draw/view.h"
#include "core/engine/options.h"
#include "core/engine/rule_set.h"
#include "core/ir/model.h"

namespace ruleengine::engine {

struct Picture {
  draw::Outline outline;
  draw::Marks marks;
  std::vector<rewrite::Found> rejected;  // by `where` or `rewrite`
};

// Of the main graph. `rules` may be nullptr. `boxes`: the limit for one view.
Result<Picture> picture(ir::Model& model, const RuleSet* rules,
                        std::size_t boxes, const RunOptions& options);

}  // namespace ruleengine::engine
