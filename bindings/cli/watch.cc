#include <algorithm>
#include <filesystem>
#include <system_error>

#include "bindings/api/changes.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"

namespace ruleengine::cli {

int watch(const std::vector<std::string>& paths,
          const std::function<int()>& once) {
  if (std::ranges::find(paths, "-") != paths.end()) {
    throw misuse("--watch waits for changes of files", "", "the model -",
                 "name a file");
  }
  api::Changes changes(paths);
  if (!changes.sees_all()) {
    warn(
        "--watch looks at some of the rule files only: there are very many "
        "files beside the rules");
  }
  const int code = guarded(once);
  if (code == exit_code(ErrorKind::kUsage)) return code;
  while (true) {
    flush_stdout();
    say("waiting for changes; Ctrl-C ends");
    const std::string which = changes.wait();
    std::error_code none;
    say("\nchanged: " +
        printable(std::filesystem::proximate(which, none).string()));
    guarded(once);
  }
}

}  // namespace ruleengine::cli
