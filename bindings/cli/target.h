// The last step of a run: the result in the form that its target wants. The
// target's own rules, the lowering of what it has no word for, function bodies
// for the rest. Rules that ship lie beside the program.
#ifndef RULEENGINE_BINDINGS_CLI_TARGET_H_
#define RULEENGINE_BINDINGS_CLI_TARGET_H_

#include <string>

#include "bindings/cli/options.h"
#include "bindings/cli/run_report.h"
#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::cli {

// Targets and opsets that do not go together are usage errors.
Status check_target(const Options& options);

// Writes what rules made for the target, and says in the report which target
// that was, what its rules did and what stayed as it is.
Status write_target(ir::Model& model, const Options& options,
                    RunReport& report);

// The folder rules/ of this program: beside the build folder, where it was
// installed, or where it was built. A Diagnostic when there is none.
Result<std::string> shipped_rules();

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_TARGET_H_
