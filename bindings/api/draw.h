// A model as a picture, with the matches of rules in colour.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/result.h"
#include "core/engine/options.h"
#include "core/engine/rule_set.h"
#include "core/ir/model.h"

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

}  // namespace ruleengine::api
