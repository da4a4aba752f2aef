// `--watch`: does a verb's work again whenever a file that it reads changes.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ruleengine::cli {

// Calls `once`, and again after each change of these rules and models: of the
// files themselves, of rule files beside a rule and two folders below it, and
// of libs in the folders where rules look for them. Of very many files only the
// first are looked at, with a warning. Inputs and external data are not looked
// at. A signal ends it; so does a first call that returns the exit code of a
// wrong command line, which is then returned.
int watch(const std::vector<std::string>& paths,
          const std::function<int()>& once);

}  // namespace ruleengine::cli
