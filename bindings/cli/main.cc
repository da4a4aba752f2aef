// The command line: parses arguments and calls one verb.

#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "bindings/api/process.h"
#include "bindings/api/streams.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

int parse_and_run(int argc, char** argv) {
  Line line;
  for (AddVerb* add : kVerbs) add(line);
  if (const auto done = line.parse(argc, argv)) return *done;
  api::guard_mapping_faults();
  api::clean_up_on_signals();
  api::use_standard_input();
  const int code = guarded([&] { return line.verb(); });
  flush_stdout();
  return code;
}

}  // namespace
}  // namespace ruleengine::cli

int main(int argc, char** argv) {
  using namespace ruleengine;
  try {
    return cli::parse_and_run(argc, argv);
  } catch (const std::bad_alloc&) {
    return cli::fail({ErrorKind::kLimit, "out of memory", "", "", "", ""});
  } catch (const std::system_error& error) {
    // Printing to stdout throws this; writing files does not throw.
    return cli::fail({ErrorKind::kWrite, "the output cannot be written",
                      "stdout", "", error.code().message(), ""});
  } catch (const std::exception& error) {
    return cli::fail({ErrorKind::kInternal, "internal error", "", "",
                      error.what(),
                      "this is a bug of ruleengine; please report it"});
  }
}
