// Older meanings: what a node of an older opset means where no single node of
// the newest opset says it. Written like the meanings of the engine's own ops
// (core/ops/body.h), with the inputs and attributes of the older version.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/ops/op_row.h"

namespace ruleengine::ops {

struct OlderMeaning {
  std::string_view type;
  int before;  // nodes of opsets below it
  Meaning meaning;
  // Whether upgrade.h, which lets a few inputs pass that meant something else,
  // may read the node.
  bool may_upgrade = true;
};

// That of an op of the standard at `opset`; nullptr where there is none.
const OlderMeaning* older_meaning(std::string_view type, std::int64_t opset);

}  // namespace ruleengine::ops
