// `--watch`: does a verb's work again whenever a file that it reads changes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace ruleengine::cli {

// Calls `once`, and again after each change of these rules and models: of the
// files themselves, of rule files beside and below them, and of libs in the
// folders where rules look for them. Returns only with an error: kUsage for
// the model on stdin. A signal ends it.
Diagnostic watch(const std::vector<std::string>& paths,
                 const std::function<void()>& once);

}  // namespace ruleengine::cli
