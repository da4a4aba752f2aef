// Two models and whether they agree on inputs. They run twice. In doubles,
// where results that are the same in theory differ by almost nothing: an
// element may be off by what noise of 2^-40 in each step, and the rounding of
// constants that one model alone has, move it by. And in the types of
// the models, where it may be off by some times what rounding in each step
// moves it by. An element's bound is never that of another element. Not
// thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ir/model.h"
#include "runtime/compare.h"
#include "runtime/executor.h"
#include "runtime/widening.h"

namespace ruleengine::runtime {

class ModelPair {
 public:
  struct Agreement {
    Comparison found;  // its differences are those in the models' own types
    // By output: it was left out, since both models draw random numbers for it
    // and not the same ones. Empty: none was.
    std::vector<bool> random;
    // Why the models did not run in doubles, if they did not: then bounds are
    // fixed ones.
    std::string only_own_types;
  };

  // The models must outlive this. With a `tolerance` the models are compared in
  // their own types alone, by it.
  ModelPair(const ir::Model& before, const ir::Model& after,
            ExecutorOptions options, std::optional<Tolerance> tolerance);

  // Why a model cannot be run at all; "" where both can.
  const std::string& why_not() const { return why_not_; }

  // `outputs`: of the first model, in its own types. Errors: only limits.
  Result<Agreement> compare_on(const Executor::Named& inputs,
                               const Executor::Named& outputs);

 private:
  using Named = Executor::Named;
  // Results of both.
  struct Results {
    Named before, after;
  };

  // False where the models do not run in doubles; `why` says so.
  Result<bool> run_wide(const Named& inputs, Results& out, std::string& why);
  Result<Comparison> compare_own(const Named& inputs, const Results& own,
                                 const Results& wide,
                                 const std::vector<bool>& random);
  Result<Comparison> compare_wide(const Named& inputs, const Results& wide,
                                  const std::vector<bool>& random);
  Result<std::vector<bool>> random_outputs(const Named& inputs,
                                           const Named& outputs);
  std::unique_ptr<Executor> make_wide(const ir::Model& model);

  const ir::Model& before_model_;
  const ExecutorOptions options_;
  const std::optional<Tolerance> tolerance_;
  std::string why_not_, only_own_types_;
  std::unique_ptr<Executor> after_;
  std::unique_ptr<Executor> before_;  // made when it is needed
  std::unique_ptr<Executor> wide_before_, wide_after_;  // nullptr: cannot be
  std::optional<SharedNumbers> shared_;
};

// Whether an error ends a verification.
bool ends_all(const Diagnostic& error);
std::string one_line(const Diagnostic& error);

}  // namespace ruleengine::runtime
