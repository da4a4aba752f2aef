// A model that is prepared once and runs many times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "bindings/api/execution.h"
#include "core/base/result.h"
#include "core/engine/op_bodies.h"
#include "core/ir/model.h"
#include "runtime/executor.h"

namespace ruleengine::api {

// One thread at a time. Several sessions may share a model.
class Session {
 public:
  // The model must outlive the session. `options.limits.deadline` holds for all
  // of its calls. Ops with a body of `bodies` run as that.
  static Result<std::unique_ptr<Session>> create(
      const ir::Model& model, const engine::OpBodies& bodies,
      const ExecutionOptions& options);

  // The outputs of the model, in its order; they may refer to its weights, but
  // not to the inputs. Where the CPU takes over from a GPU that failed, it runs
  // all that follows, too.
  Result<runtime::NamedData> run(const runtime::NamedData& inputs,
                                 const Progress& progress);

  // Runs until runs on inputs of these shapes are as fast as they get.
  Status warm_up(const runtime::NamedData& inputs, const Progress& progress);

 private:
  explicit Session(const ExecutionOptions& how) : how_(how) {}
  Status prepare();
  // `work` with the executor, of the device that works.
  template <typename Work>
  auto with_executor(const Progress& progress, const Work& work);

  ExecutionOptions how_;
  std::shared_ptr<ir::Model> model_;  // a copy that nobody edits
  std::unique_ptr<runtime::Executor> executor_;
  std::string device_;  // that the executor is for
  Progress progress_;   // of the call that runs
};

// As compare_by_kernels(), where ops with a body of `bodies` run as that.
Result<engine::Finding> compare(const ir::Model& before, const ir::Model& after,
                                const engine::OpBodies& bodies,
                                const ExecutionOptions& options);

// kVerify where the models differ, or could not be compared.
Status verdict_of(const engine::Finding& found);

// A tensor of the caller's bytes, which stay where they are if they are aligned
// as malloc() does it, and are copied if not. `type` as in
// TensorProto.DataType. kUsage for a type that has no such bytes, and for
// another number of bytes than the dims say.
Result<runtime::Datum> tensor_of(std::int32_t type,
                                 std::span<const std::int64_t> dims,
                                 std::span<const std::byte> bytes);
Result<runtime::Datum> strings_of(std::span<const std::int64_t> dims,
                                  std::span<const std::string_view> strings);

}  // namespace ruleengine::api
