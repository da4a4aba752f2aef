// A model as a picture, with the matches of rules in colour.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bindings/api/rewrite.h"

namespace ruleengine::api {

// A page to explore; all but kDot need the program `dot`.
enum class Form { kSvg, kHtml, kDot };

struct DrawOptions {
  Form form = Form::kSvg;
  std::string name;         // the heading
  std::size_t boxes = 160;  // the most boxes in one picture
  engine::RunOptions run;
};

struct Drawn {
  std::string text;  // of the file
  std::size_t matches = 0;
};

// `rules` may be nullptr.
Result<Drawn> draw(ir::Model& model, const engine::RuleSet* rules,
                   const DrawOptions& options);

// A page that shows a run: each rewrite, before and after. Rewrites the model,
// which stays as it is, and draws what is kept. Of `how`, what
// Rewriter::configure() reads; of `options` all but the form, which is HTML.
// `matches` of the result are rewrites.
Result<Drawn> draw_run(const std::shared_ptr<ir::Model>& model,
                       Rewriter& rewriter, RewriteOptions how,
                       const DrawOptions& options);

}  // namespace ruleengine::api
