// A page that shows a run: each rewrite, before and after.
#pragma once

#include <memory>

#include "bindings/api/draw.h"
#include "bindings/api/rewrite.h"
#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::api {

// Rewrites the model, which stays as it is, and draws what is kept. Of `how`,
// what Rewriter::configure() reads; of `options` all but the form, which is
// HTML. `matches` of the result are rewrites.
Result<Drawn> draw_run(const std::shared_ptr<ir::Model>& model,
                       Rewriter& rewriter, RewriteOptions how,
                       const DrawOptions& options);

}  // namespace ruleengine::api
