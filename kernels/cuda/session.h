// The GPU as it is open for one executor: its stream, its memory, the code of
// its kernels. Belongs to the thread that uses it. Internal to kernels/cuda.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cuda.h"
#include "runtime/backend.h"
#include "runtime/cuda/recording.h"

namespace ruleengine::kernels::cuda {

class Products;

// How many threads run a kernel, and the bytes of shared memory whose size the
// kernel does not tell itself.
struct Launch {
  unsigned x = 1;        // blocks
  unsigned threads = 1;  // of a block
  unsigned shared_bytes = 0;
};

class AttentionEngine;

class Session final : public runtime::BackendSession {
 public:
  // Throws Failure.
  Session(std::shared_ptr<const runtime::cuda::Device> device,
          const CudaOptions& options);
  ~Session() override;

  runtime::DeviceMemory* memory() override { return memory_.get(); }
  std::unique_ptr<const runtime::PreparedNode> prepare(
      const ops::NodeView& node, const runtime::KnownInputs& known,
      runtime::KernelRun& run) override;
  void begin() override;
  void finish() override;
  void wait() override;
  void settle(const std::function<void()>& check) override;
  bool start_recording() override;
  std::unique_ptr<runtime::Recording> stop_recording() override;

  runtime::cuda::Stream& stream() { return *stream_; }
  Products& products() { return *products_; }
  // What a kernel sets to 1 where it meets what it cannot compute, which ends
  // the run with this error.
  std::int32_t* flag(Diagnostic error);
  // The plans of cuDNN, opened when they are asked for; nullptr where there is
  // no cuDNN.
  AttentionEngine* attention();
  // Keeps what work needs until it is done, and with a recording.
  void keep(std::shared_ptr<const void> what) {
    kept_.push_back(std::move(what));
  }
  bool is_recording() const { return is_recording_; }
  std::int64_t multiprocessors() const { return multiprocessors_; }
  // A kernel of a family (kernels/cuda/device). Throws Failure.
  CUfunction kernel(std::string_view family, const std::string& name);
  // Adds a kernel to the work. `args`: what it takes. Throws Failure.
  template <typename Args>
  void launch(CUfunction kernel, const Launch& how, Args args) {
    __builtin_clear_padding(&args);  // the same bytes in each launch
    launch_with(kernel, how, &args);
  }

 private:
  std::int32_t* flag_at(std::size_t i) const;
  void check_flags();
  void launch_with(CUfunction kernel, const Launch& how, void* args);

  std::shared_ptr<runtime::cuda::Stream> stream_;
  std::shared_ptr<runtime::cuda::CudaMemory> memory_;
  std::unique_ptr<Products> products_;
  std::map<std::string, CUfunction, std::less<>> kernels_;  // by full name
  std::map<std::string, CUmodule, std::less<>> modules_;    // by family
  // Pages of flags, which kernels can write.
  std::vector<std::unique_ptr<runtime::cuda::Pinned>> flags_;
  std::vector<Diagnostic> flagged_;  // by flag
  std::optional<std::unique_ptr<AttentionEngine>> attention_;
  std::int64_t multiprocessors_;
  bool is_recording_ = false;
  std::vector<std::shared_ptr<const void>> kept_;
  // The shared memory that a kernel may ask for, where that is more than each
  // may.
  std::map<CUfunction, unsigned> shared_limits_;
  std::unique_ptr<runtime::cuda::Current> current_;  // during a run
};

}  // namespace ruleengine::kernels::cuda
