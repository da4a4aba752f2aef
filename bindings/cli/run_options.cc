// The options that the verbs that rewrite models share.

#include <algorithm>
#include <cmath>

#include "bindings/cli/run.h"
#include "bindings/cli/session.h"

namespace ruleengine::cli {
namespace {

void check_verify(const RunFlags& flags) {
  if (flags.verify != "" && flags.verify != "model" &&
      flags.verify != "lenient" && flags.verify != "local") {
    throw misuse("unknown kind of verification",
                 "--verify, --verify=lenient or --verify=local",
                 printable(flags.verify));
  }
  if (flags.in.tolerance && flags.verify.empty()) {
    throw misuse("nothing is compared", "", "--tolerance", "add --verify");
  }
}

}  // namespace

void check_options(const RunFlags& flags) {
  for (double limit : {flags.seconds, flags.limits.callback_seconds,
                       flags.limits.load_seconds}) {
    if (std::isnan(limit))
      throw misuse("a limit is not a number", "", "nan", "");
  }
  check_verify(flags);
  const TuningFlags& tuning = flags.tuning;
  const bool measures = flags.if_faster || flags.bench;
  if (flags.step && (measures || flags.jobs > 1 || flags.watch)) {
    throw misuse("--step asks about one run after another", "", "",
                 "leave out --jobs, --watch, --if-faster and --bench");
  }
  if (flags.watch && (flags.output == "-" || flags.report == "-")) {
    throw misuse("--watch writes again and again, which stdout cannot show", "",
                 "-o - or --report -", "give a file");
  }
  if (flags.step && std::ranges::find(flags.paths, "-") != flags.paths.end()) {
    throw misuse("--step reads answers from stdin", "", "the model -",
                 "name a file");
  }
  const std::string& file =
      tuning.record.empty() ? tuning.replay : tuning.record;
  if (!file.empty() && !flags.if_faster) {
    throw misuse("measurements are recorded and replayed with --if-faster only",
                 "", file, "add --if-faster");
  }
  if (!measures && (!tuning.runtime.empty() || tuning.seconds > 0)) {
    throw misuse("nothing is measured", "",
                 tuning.runtime.empty() ? "--time" : "--runtime",
                 "add --bench or --if-faster");
  }
  check(engine::check(flags.run));
}

void add_target(VerbLine& verb, RunFlags& flags, const std::string& what) {
  std::string names = "auto";
  for (const auto& each : engine::targets()) names.append("|") += each.name;
  verb.option("--target", flags.run.target, what).takes(names);
}

void add_run_options(VerbLine& run, RunFlags& flags) {
  run.flag("--verify", {"model", "lenient", "local"}, flags.verify,
           "compare model and result by running; --verify=lenient accepts a "
           "result that cannot be run, --verify=local runs what each rewrite "
           "changes and undoes those that fail");
  run.tolerance(flags.in.tolerance);
  run.tuning(flags.tuning);
  run.option("--report", flags.report, "write a report as JSON; - for stdout")
      .takes("FILE.json");
  run.flag("--dry-run", flags.dry_run, "do everything but write the result");
  run.rules(flags);
  run.flag("-q", flags.quiet, "only warnings and errors");
  run.flag("-v", flags.verbose,
           "a row for every rule, a line for every rejection, all parts of "
           "rules that were measured");
}

}  // namespace ruleengine::cli
