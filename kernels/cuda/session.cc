#include "kernels/cuda/session.h"

#include <algorithm>

#include "kernels/cuda/attention_engine.h"
#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/images.h"
#include "kernels/kernel_table.h"
#include "runtime/failure.h"

namespace ruleengine::kernels::cuda {

using runtime::cuda::Current;
using runtime::cuda::Device;
using runtime::cuda::Driver;

namespace {

constexpr std::size_t kPageFlags = 1024;

const KernelTable<Kernel>& table() {
  static const KernelTable<Kernel> kTable(kFamilies);
  return kTable;
}

bool takes_view(const Kernel& kernel, std::size_t i) {
  return i < 32 && (kernel.views >> i & 1) != 0;
}

// Whether no copy is saved by copying the value for all that read it: they take
// views. Of those that make views of it and have it copied behind them there
// is one at most, which looks so many nodes ahead.
bool is_read_as_view(const ir::Graph& graph, ir::ValueId v, int depth) {
  if (!v || depth == 0 || graph.value(v).block_output_count > 0) return false;
  int copies = 0, readers = 0;
  for (ir::OperandId use = graph.first_use(v); use;
       use = graph.next_use(use), ++readers) {
    const ir::NodeId user = graph.operand(use).user;
    const ir::Op& op = graph.op(user);
    const auto& kernels = table().find(op.domain, op.type);
    if (kernels.empty()) return false;
    for (const Kernel* each : kernels) {
      if (!takes_view(*each, graph.operand_index(use))) return false;
    }
    if (!kernels.front()->makes_views) continue;
    for (const ir::ValueId out : graph.outputs(user)) {
      if (out && !is_read_as_view(graph, out, depth - 1)) ++copies;
    }
  }
  return readers > 0 && copies <= 1;
}

// The outputs that all readers take as views.
std::uint64_t views_of(const ops::NodeView& node) {
  constexpr int kDepth = 6;
  std::uint64_t out = 0;
  const auto outputs = node.graph().outputs(node.id());
  for (std::size_t i = 0; i < std::min<std::size_t>(outputs.size(), 64); ++i) {
    const bool is_view = is_read_as_view(node.graph(), outputs[i], kDepth);
    out |= std::uint64_t{is_view} << i;
  }
  return out;
}

class Node final : public runtime::PreparedNode {
 public:
  Node(const Kernel& kernel, const Preparation& node, Session& session)
      : kernel_(kernel),
        op_(kernel.prepare(node, session)),
        views_(views_of(node.node())) {
    for (std::size_t i = 0; i < node.node().input_count(); ++i) {
      if (node.is_released(i)) released_.push_back(i);
    }
  }

  void run(Call& call) const override {
    call.set_views(views_);
    op_.run(call);
  }
  bool takes_views(std::size_t i) const override {
    return takes_view(kernel_, i);
  }
  bool is_released(std::size_t i) const override {
    return std::ranges::find(released_, i) != released_.end();
  }

 private:
  const Kernel& kernel_;
  Op op_;
  std::uint64_t views_;  // the outputs that may be views
  std::vector<std::size_t> released_;
};

class SessionMemory final : public runtime::cuda::CudaMemory {
 public:
  SessionMemory(std::shared_ptr<runtime::cuda::Stream> stream, Session& session)
      : CudaMemory(std::move(stream)), session_(session) {}
  void copy(const runtime::StridedCopy& block) override {
    copy_strided(session_, block);
  }

 private:
  Session& session_;
};

class Gpu final : public runtime::Backend {
 public:
  Gpu(const Driver& driver, const CudaOptions& options)
      : driver_(driver), options_(options) {}

  std::string_view name() const override { return "cuda"; }
  bool has_kernel(std::string_view domain,
                  std::string_view type) const override {
    return !table().find(domain, type).empty();
  }
  ops::Inputs host_inputs(const ir::Op& op) const override {
    ops::Inputs out = Backend::host_inputs(op);
    for (const Kernel* each : table().find(op.domain, op.type)) {
      out |= each->host_inputs;
    }
    return out;
  }
  std::unique_ptr<runtime::BackendSession> open() const override {
    return std::make_unique<Session>(Device::open(driver_), options_);
  }

 private:
  const Driver& driver_;
  const CudaOptions options_;
};

// The driver of a machine on which the backend works.
Result<const Driver*> find_driver() {
  const auto driver = Driver::load();
  if (!driver) return driver.error();
  if (const auto blocked = blocked_versions(); !blocked) {
    return blocked.error();
  }
  return *driver;
}

}  // namespace

Session::Session(std::shared_ptr<const Device> device,
                 const CudaOptions& options)
    : stream_(std::make_shared<runtime::cuda::Stream>(std::move(device))),
      memory_(std::make_shared<SessionMemory>(stream_, *this)),
      products_(std::make_unique<Products>(*this, options.tf32)),
      multiprocessors_(stream_->device().attribute(
          CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)) {}

Session::~Session() {
  current_ = nullptr;
  const Driver& driver = stream_->driver();
  const runtime::cuda::CurrentAtEnd current(stream_->device());
  driver.cuStreamSynchronize(stream_->add());
  // All that needs the context and does not bring it.
  kept_.clear();
  attention_ = std::nullopt;
  products_ = nullptr;
  for (const auto& [family, module] : modules_) driver.cuModuleUnload(module);
}

std::unique_ptr<const runtime::PreparedNode> Session::prepare(
    const ops::NodeView& node, const runtime::KnownInputs& known,
    runtime::KernelRun& run) {
  const Current current(stream_->device());
  std::vector<const Tensor*> constants;
  for (const runtime::Datum* each : known.constants) {
    const bool is_tensor = each != nullptr && each->is_tensor();
    constants.push_back(is_tensor ? &each->tensor() : nullptr);
  }
  const Preparation preparation(node, constants, run, known.types,
                                memory_.get());
  const ir::Op& op = node.op();
  return first_taking(
      table().find(op.domain, op.type), [&](const Kernel& each) {
        return std::make_unique<const Node>(each, preparation, *this);
      });
}

void Session::begin() {
  if (current_ == nullptr) {
    current_ = std::make_unique<Current>(stream_->device());
  }
}

void Session::finish() {
  // Whatever fails, the run is over.
  const auto current = std::exchange(current_, nullptr);
  const auto kept = std::exchange(kept_, {});
  wait();
}

void Session::wait() {
  if (is_recording_) return;
  stream_->wait();
  check_flags();
}

void Session::settle(const std::function<void()>& check) {
  if (attention_ && *attention_) (*attention_)->settle(check);
}

AttentionEngine* Session::attention() {
  if (!attention_) attention_ = AttentionEngine::open(*this);
  return attention_->get();
}

bool Session::start_recording() {
  memory_->start_tape();
  try {
    stream_->begin_capture();
  } catch (...) {
    memory_->stop_tape();
    throw;
  }
  is_recording_ = true;
  return true;
}

std::unique_ptr<runtime::Recording> Session::stop_recording() {
  is_recording_ = false;
  auto tape = memory_->stop_tape();
  if (tape == nullptr) return nullptr;
  tape->kept = std::exchange(kept_, {});
  const CUgraph graph = stream_->end_capture();
  if (tape->is_broken) {
    stream_->driver().cuGraphDestroy(graph);
    return nullptr;
  }
  return std::make_unique<runtime::cuda::GraphRecording>(
      stream_, graph, std::move(tape), [this] { check_flags(); });
}

std::int32_t* Session::flag_at(std::size_t i) const {
  std::byte* const page = flags_[i / kPageFlags]->data();
  return reinterpret_cast<std::int32_t*>(page) + i % kPageFlags;
}

std::int32_t* Session::flag(Diagnostic error) {
  const std::size_t i = flagged_.size();
  if (i == flags_.size() * kPageFlags) {
    auto page = std::make_unique<runtime::cuda::Pinned>(
        stream_->shared_device(), kPageFlags * sizeof(std::int32_t));
    std::ranges::fill_n(page->data(), page->size(), std::byte{0});
    flags_.push_back(std::move(page));
  }
  flagged_.push_back(std::move(error));
  return flag_at(i);
}

void Session::check_flags() {
  std::size_t i = 0;
  while (i < flagged_.size() && *flag_at(i) == 0) ++i;
  if (i == flagged_.size()) return;
  for (const auto& page : flags_) {
    std::ranges::fill_n(page->data(), page->size(), std::byte{0});
  }
  throw runtime::Failure{flagged_[i]};
}

CUfunction Session::kernel(std::string_view family, const std::string& name) {
  CUfunction& out = kernels_[name];
  if (out != nullptr) return out;
  const Driver& driver = stream_->driver();
  CUmodule& module = modules_[std::string(family)];
  if (module == nullptr) {
    const auto image = std::ranges::find(images(), family, &Image::family);
    stream_->check(driver.cuModuleLoadData(&module, image->bytes.data()),
                   "to load kernels");
  }
  stream_->check(driver.cuModuleGetFunction(&out, module, name.c_str()),
                 "to find a kernel");
  return out;
}

void Session::launch_with(CUfunction kernel, const Launch& how, void* args) {
  constexpr unsigned kEach = 48 << 10;
  if (how.shared_bytes > kEach) {
    unsigned& limit = shared_limits_[kernel];
    if (limit < how.shared_bytes) {
      stream_->check(
          stream_->driver().cuFuncSetAttribute(
              kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
              static_cast<int>(how.shared_bytes)),
          "to get shared memory");
      limit = how.shared_bytes;
    }
  }
  void* all[] = {args};
  stream_->check(stream_->driver().cuLaunchKernel(
                     kernel, how.x, 1, 1, how.threads, 1, 1, how.shared_bytes,
                     stream_->add(), all, nullptr),
                 "to start a kernel");
}

}  // namespace ruleengine::kernels::cuda

namespace ruleengine::kernels {

Result<const runtime::Backend*> find_cuda(const CudaOptions& options) {
  static const auto kDriver = cuda::find_driver();
  if (!kDriver) return kDriver.error();
  static const cuda::Gpu kExact(**kDriver, {});
  static const cuda::Gpu kRounded(**kDriver, {.tf32 = true});
  return options.tf32 ? &kRounded : &kExact;
}

}  // namespace ruleengine::kernels
