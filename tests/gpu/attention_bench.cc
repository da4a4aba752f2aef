// Times one attention on the GPU of this machine: each plan that cuDNN has for
// it, the one that is chosen here, and the kernel of ours. Prints JSON.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/text/parse.h"
#include "kernels/cuda/attention/check.h"
#include "kernels/cuda/attention/plan_cache.h"
#include "kernels/cuda/attending_steps.h"
#include "kernels/cuda/device/trial.h"

namespace ruleengine::kernels::cuda {
namespace {

using nlohmann::json;

constexpr int kInGraph = 8;  // of the work that is timed
constexpr std::size_t kMostPlans = 4;

struct Shape {
  std::int64_t batch = 1, q_heads = 1, kv_heads = 1;
  std::int64_t q_length = 1, kv_length = 1, size = 64;
  std::int64_t bias_rows = 0;  // 0: no bias; 1, or one for each query
  DataType type = DataType::kFloat16;
  bool is_causal = false;
};

template <typename T>
T value_of(Result<T> x) {
  if (!x) throw runtime::Failure{x.error()};
  return *std::move(x);
}

// Seconds on the device, by its own clock.
class DeviceClock {
 public:
  DeviceClock(Session& session, int rounds)
      : stream_(session.stream()), rounds_(rounds) {
    for (CUevent* each : {&begin_, &end_}) {
      stream_.check(driver().cuEventCreate(each, CU_EVENT_DEFAULT),
                    "to make an event");
    }
  }
  ~DeviceClock() {
    for (const CUevent each : {begin_, end_}) driver().cuEventDestroy(each);
  }
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  // The median of what `work` takes, which is recorded several times in a
  // graph, as PyTorch's is (rivals.py).
  double seconds(const std::function<void()>& work) {
    work();  // what is loaded once is loaded
    stream_.wait();
    stream_.begin_capture();
    try {
      for (int i = 0; i < kInGraph; ++i) work();
    } catch (...) {
      end_broken_capture();
      throw;
    }
    const CUgraph graph = stream_.end_capture();
    CUgraphExec ready = nullptr;
    const CUresult status = driver().cuGraphInstantiate(&ready, graph, 0);
    driver().cuGraphDestroy(graph);
    stream_.check(status, "to prepare recorded work");
    const std::shared_ptr<void> owner(ready, [this](void* its) {
      driver().cuGraphExecDestroy(static_cast<CUgraphExec>(its));
    });
    std::vector<double> all;
    for (int i = 0; i <= rounds_; ++i) all.push_back(replay(ready) / kInGraph);
    all.erase(all.begin());
    std::ranges::sort(all);
    return all[all.size() / 2];
  }

 private:
  const runtime::cuda::Driver& driver() const { return stream_.driver(); }

  void end_broken_capture() {
    try {
      driver().cuGraphDestroy(stream_.end_capture());
    } catch (const runtime::Failure&) {  // the first one is told
    }
  }

  double replay(CUgraphExec graph) {
    const auto record = [&](CUevent event) {
      stream_.check(driver().cuEventRecord(event, stream_.add()),
                    "to record an event");
    };
    record(begin_);
    stream_.check(driver().cuGraphLaunch(graph, stream_.add()),
                  "to launch recorded work");
    record(end_);
    stream_.wait();
    float ms = 0;
    stream_.check(driver().cuEventElapsedTime(&ms, begin_, end_),
                  "to tell the time");
    return double{ms} / 1e3;
  }

  runtime::cuda::Stream& stream_;
  int rounds_;
  CUevent begin_ = nullptr, end_ = nullptr;
};

// The tensors of an attention, and the ways to compute it.
class Bench {
 public:
  Bench(Session& session, const Shape& shape, Call& call, int rounds)
      : session_(session),
        shape_(shape),
        call_(call),
        clock_(session, rounds),
        handle_(value_of(open_handle(session.stream().add()))) {
    const Dims q{shape.batch, shape.q_heads, shape.q_length, shape.size};
    const Dims k{shape.batch, shape.kv_heads, shape.kv_length, shape.size};
    attending_.q = head_view(filled(q), 0);
    attending_.k = head_view(filled(k), 0);
    attending_.v = head_view(filled(k), 0);
    out_ = call.allocate(shape.type, q);
    attending_.out = head_view(out_, 0);
    attending_.scale = 1 / std::sqrt(static_cast<double>(shape.size));
    attending_.is_causal = shape.is_causal;
    if (shape.bias_rows > 0) {
      attending_.mask =
          filled(Dims{shape.batch, 1, shape.bias_rows, shape.kv_length});
    }
  }

  json measure() {
    const Chip chip = value_of(chip_of_device(0));
    const std::int64_t version = value_of(cudnn_version());
    const auto description = description_of(attending_, shape_.type, false);
    if (!description) throw runtime::Failure{{.what = "no plan says this"}};
    // The kernel of ours is not to meet what does not fit together.
    const AttentionDescription wanted = canonical(*description);
    if (auto reason = check(wanted, chip, version)) {
      throw runtime::Failure{{.what = *std::move(reason)}};
    }
    AttentionPlans plans(chip, version, kMostPlans);
    json out = {{"chip", chip.name}, {"cudnn", version}};
    out["ours"] = {{"seconds", clock_.seconds([&] { run_ours(); })}};
    if (const auto chosen = plans.get(wanted)) {
      out["chosen"] = measured(*chosen);
    } else {
      out["chosen"] = {{"why", chosen.error().text()}};
    }
    out["candidates"] = json::array();
    const auto all = AttentionPlan::candidates(wanted, chip);
    if (!all) {
      out["why"] = all.error().text();
      return out;
    }
    for (const AttentionPlan& each : *all) {
      out["candidates"].push_back(measured(each));
    }
    return out;
  }

 private:
  Tensor filled(const Dims& dims) {
    Tensor out = call_.allocate(shape_.type, dims);
    session_.launch(
        kernel_of(session_, "trial", "random", shape_.type, kFloats),
        spread(out.count(), device::kTrialThreads),
        device::RandomArgs{.out = out.mutable_data<std::byte>(),
                           .count = out.count(),
                           .seed = ++seed_});
    tensors_.push_back(out);
    return out;
  }

  void run_ours() {
    run_flash(call_, session_, shape_.type,
              attention_args(attending_, out_.mutable_data<std::byte>()));
  }

  json measured(const AttentionPlan& plan) {
    json out = {{"plan", plan.name()},
                {"workspace_bytes", plan.workspace_bytes()}};
    AttentionPointers at{.q = attending_.q.data,
                         .k = attending_.k.data,
                         .v = attending_.v.data,
                         .o = out_.mutable_data<std::byte>(),
                         .scale = static_cast<float>(attending_.scale)};
    if (attending_.has_mask()) at.bias = attending_.mask.data<std::byte>();
    // A plan that takes no room gets some, too.
    const std::int64_t bytes =
        std::max<std::int64_t>(plan.workspace_bytes(), 1);
    Tensor room = call_.allocate(DataType::kUint8, {&bytes, 1});
    try {
      out["seconds"] = clock_.seconds([&] {
        const Status ran =
            plan.execute(handle_.get(), at, room.mutable_data<std::byte>());
        session_.stream().add();
        if (!ran) throw runtime::Failure{ran.error()};
      });
    } catch (const runtime::Failure& failure) {
      out["why"] = failure.error.text();
    }
    return out;
  }

  Session& session_;
  const Shape& shape_;
  Call& call_;
  DeviceClock clock_;
  HandlePointer handle_;
  std::vector<Tensor> tensors_;  // that the views are of
  std::uint32_t seed_ = 0;
  Tensor out_;
  GpuAttending attending_;
};

json measure(const Shape& shape, int rounds) {
  const auto* driver = value_of(runtime::cuda::Driver::load());
  Session session(runtime::cuda::Device::open(*driver), {});
  // A call of some op: what it makes is on the device.
  const auto model = value_of(
      text::parse_model("(float[1] x) => (float[1] y) { y = Identity(x) }"));
  const ir::Graph& graph = model->graph;
  const ops::NodeView node(graph,
                           graph.block(ir::Graph::main_block()).nodes.at(0), 1);
  runtime::Threads threads(1);
  runtime::KernelRun run{.memory = runtime::HostMemory::create(),
                         .threads = &threads};
  Call call(node, {}, {}, run, nullptr, session.memory());
  session.begin();
  json out = Bench(session, shape, call, rounds).measure();
  session.finish();
  return out;
}

int main_of(int argc, char** argv) {
  Shape shape;
  int rounds = 12;
  CLI::App app("Times an attention on a GPU: the plans of cuDNN, and ours.");
  const auto number = [&](const char* name, std::int64_t& to) {
    app.add_option(name, to)->required()->check(CLI::Range(1, 1 << 20));
  };
  number("--batch", shape.batch);
  number("--q-heads", shape.q_heads);
  number("--kv-heads", shape.kv_heads);
  number("--q-length", shape.q_length);
  number("--kv-length", shape.kv_length);
  number("--size", shape.size);
  app.add_option("--type", shape.type)
      ->transform(CLI::Transformer(std::map<std::string, DataType>{
          {"float16", DataType::kFloat16}, {"bfloat16", DataType::kBfloat16}}));
  app.add_option("--bias-rows", shape.bias_rows)->check(CLI::Range(0, 1 << 20));
  app.add_flag("--causal", shape.is_causal);
  app.add_option("--rounds", rounds)->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  try {
    std::cout << measure(shape, rounds).dump(1) << "\n";
    return 0;
  } catch (const runtime::Failure& failure) {
    std::cerr << failure.error.text() << "\n";
    return 2;
  }
}

}  // namespace
}  // namespace ruleengine::kernels::cuda

int main(int argc, char** argv) {
  return ruleengine::kernels::cuda::main_of(argc, argv);
}
