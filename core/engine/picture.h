// Picture: what is drawn of a model, and with what marks: the boxes that its
// nodes are gathered in, and the nodes that rules match.
#ifndef RULEENGINE_CORE_ENGINE_PICTURE_H_
#define RULEENGINE_CORE_ENGINE_PICTURE_H_

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
  std::vector<rewrite::Found> rejected;  // matches that were turned down
};

// Of the main graph. `rules`: nullptr for none. `boxes`: of one view.
Result<Picture> picture(ir::Model& model, const RuleSet* rules,
                        std::size_t boxes, const Options& options);

}  // namespace ruleengine::engine

#endif  // RULEENGINE_CORE_ENGINE_PICTURE_H_
