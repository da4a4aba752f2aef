#include "bindings/api/batch.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <thread>

#include "bindings/api/failure.h"
#include "bindings/api/files.h"

namespace ruleengine::api {
namespace {

void warn(const BatchOptions& options, const std::string& model,
          const std::string& message) {
  if (options.warn) options.warn(model, message);
}

// The data of a model must not be replaced.
Status check_beside(const std::vector<SideFile>& files, const ir::Model& model,
                    Outcome& outcome) {
  for (const SideFile& file : files) {
    if (!holds_data(model, file.path)) continue;
    outcome.spoils_beside = true;
    return misuse(file.what + " would replace the data of a model", "",
                  file.path, "give it another name")
        .error;
  }
  return {};
}

Status rewrite(const BatchOptions& options, Rewriter& rewriter,
               const std::string& result, Outcome& outcome) {
  const RunFiles& files = options.files;
  const std::string& model = outcome.report.model;
  try {
    return rewriter.rewrite(
        {.model = model,
         .output = files.dry_run ? "" : result,
         .progress = options.progress ? options.progress(model) : Progress(),
         .warn = [&](const std::string& text) { warn(options, model, text); },
         .accepts =
             [&](const ir::Model& its) {
               return check_beside(files.beside, its, outcome);
             }},
        outcome);
  } catch (const std::bad_alloc&) {
    // A thread has no caller that would catch it.
    return Diagnostic{.kind = ErrorKind::kLimit, .what = "out of memory"};
  }
}

void run_one(const BatchOptions& options, Rewriter& rewriter,
             const std::string& result, Outcome& outcome) {
  outcome.status = rewrite(options, rewriter, result, outcome);
  if (outcome.status && !options.waits) {
    outcome.status = outcome.result.commit();
    if (outcome.status) outcome.result.release();
  }
  if (!outcome.status) {
    outcome.report.output.clear();
    outcome.report.error = outcome.status.error();
  }
  if (!outcome.status || !options.waits) outcome.result = {};
  if (options.done) options.done(outcome);
}

}  // namespace

Result<std::vector<Outcome>> rewrite_all(const BatchOptions& options) {
  const RewriteOptions& how = options.how;
  if (options.jobs > 1 && (how.measures || how.tunes)) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "several jobs disturb what is measured",
                      .found = std::to_string(options.jobs) + " jobs"};
  }
  const auto results = prepare_files(options.files, options.how.limits);
  if (!results) return results.error();
  auto first = Rewriter::create(options.how);
  if (!first) return first.error();
  for (const auto& message : (*first)->warnings()) warn(options, "", message);
  std::vector<Outcome> out(options.files.models.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&](Rewriter& rewriter) {
    for (std::size_t i; (i = next++) < out.size();) {
      out[i].report.model = options.files.models[i];
      run_one(options, rewriter, (*results)[i], out[i]);
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min(options.jobs, out.size()); ++i) {
    threads.emplace_back([&] {
      // If loading fails here, the other threads do this one's work.
      try {
        if (const auto own = Rewriter::create(options.how)) work(**own);
      } catch (const std::bad_alloc&) {
      }
    });
  }
  work(**first);
  threads.clear();
  return out;
}

}  // namespace ruleengine::api
