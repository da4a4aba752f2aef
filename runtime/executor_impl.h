// What the files of the Executor share: its state, and the values of a running
// graph. Internal to runtime.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/conversions.h"
#include "runtime/executor.h"
#include "runtime/lowering.h"
#include "runtime/plan.h"
#include "runtime/tensor_arena.h"

namespace ruleengine::runtime {

using Clock = std::chrono::steady_clock;
using ir::ValueId;

// A value in a memory.
using Placed = std::pair<ValueId, const DeviceMemory*>;

// The values of one call of a graph.
struct Frame {
  const Plan& plan;
  std::vector<Datum> values;  // by ValueId
  // Where nodes of other backends read them, too.
  std::map<Placed, Datum> copies;
  // Of a wide run: what is known, in the types of the model.
  std::unordered_map<ValueId, Datum> known;

  explicit Frame(const Plan& p) : plan(p), values(p.graph->value_count()) {}

  bool is_constant(ValueId v) const {
    return values[v.index()].is_absent() && plan.constant_of[v.index()] >= 0;
  }

  void clear(ValueId v) {
    values[v.index()].clear();
    if (copies.empty()) return;
    copies.erase(copies.lower_bound({v, nullptr}),
                 copies.lower_bound({ValueId(v.index() + 1), nullptr}));
  }

  const Datum* slot(ValueId v) const {
    if (!v) return nullptr;
    const Datum& own = values[v.index()];
    if (!own.is_absent()) return &own;
    const std::int32_t constant = plan.constant_of[v.index()];
    return constant < 0
               ? &own
               : &plan.constants[static_cast<std::size_t>(constant)].value;
  }
};

// runtime/inputs.cc. The values of the graph inputs, in their order; absent
// where the default of the model is to be used. Throws Failure: a name that no
// input has, an input that is missing, another element type, rank or size than
// declared, or two sizes for one named dimension.
std::vector<Datum> bind_inputs(const ir::Model& model,
                               const Executor::Named& given);

// A step that is ready to run.
struct ReadyStep {
  // Where the node reads an input: a released one nowhere.
  enum class Where : std::uint8_t { kHost, kPlace, kAnywhere };

  BackendSession* backend = nullptr;
  std::unique_ptr<const PreparedNode> node;
  DeviceMemory* place = nullptr;  // of what it computes; nullptr: the host's
  std::vector<Where> inputs;      // where backends have memory of their own
};

struct Executor::Impl {
  Impl(const ir::Model& m, ExecutorOptions o, std::unique_ptr<Plans> p)
      : model(m),
        options(std::move(o)),
        plans(std::move(p)),
        threads(options.threads),
        memory(options.memory ? options.memory : HostMemory::create()),
        arena(memory),
        ready(plans->step_count()),
        is_known(plans->step_count()) {
    for (const Backend* each : options.backends) {
      auto session = each->open();
      if (session->memory() != nullptr && options.wide) continue;
      DeviceMemory* memory_of = session->memory();
      is_mixed = is_mixed || memory_of != nullptr;
      // The session outlives it.
      const std::shared_ptr<Memory> lent(std::shared_ptr<void>(), memory_of);
      backends.push_back(
          {each, std::move(session),
           memory_of ? std::make_unique<TensorArena>(lent) : nullptr});
    }
    state.wide = options.wide;
    state.arranges_weights = options.runs_often;
    if (options.wide) find_known();
    state.memory = memory;
    state.threads = &threads;
    state.communicator = options.communicator;
    threads.check = [this] { check(); };
  }

  // Throws where the run is to end.
  void check() {
    if (options.deadline.is_over()) {
      was_ended = true;
      throw Failure{options.deadline.passed()};
    }
    if (options.is_cancelled && options.is_cancelled()) {
      was_ended = true;
      throw Failure{{.kind = ErrorKind::kLimit, .what = "the run was ended"}};
    }
  }

  // The subgraphs of a frame.
  struct Blocks final : BlockRunner {
    Blocks(Impl& i, Frame& f) : impl(i), frame(f) {}
    std::vector<Datum> run_block(ir::BlockId block,
                                 std::vector<Datum> inputs) override {
      auto outputs = impl.run_block(frame, block, std::move(inputs));
      impl.to_host(outputs);
      return outputs;
    }
    Impl& impl;
    Frame& frame;
  };

  // A run that was recorded.
  struct Recorded;

  // One run, of which the arenas and the backends know.
  struct Run {
    explicit Run(Impl& i) : impl(i) {}
    ~Run();
    void start(const std::vector<Datum>& given);
    // Brings the results to the host.
    void complete(std::span<Datum> results);
    void give_up_recording();
    void set_arenas(bool are_set);
    Impl& impl;
    BackendSession* recording = nullptr;  // the session that records
    std::vector<Datum> inputs;            // where it does
    std::string why_it_failed;
    bool is_complete = false;
  };

  // The one session with a memory of its own, if all that the model computes on
  // the host is the same for all inputs of the same shapes.
  BackendSession* find_recordable();
  void keep_recording(std::unique_ptr<Recording> recording,
                      const std::vector<Datum>& inputs,
                      std::span<Datum> results);
  // What the last runs on inputs of these types and shapes did, if it was
  // recorded.
  std::optional<std::vector<Datum>> replay(const std::vector<Datum>& inputs);
  bool is_refused(const std::vector<Datum>& inputs) const;
  // Whether a run does what other runs do: one that is traced, or draws other
  // numbers, does not.
  bool is_like_others() const {
    return !options.trace && state.alike == nullptr;
  }

  void find_known();
  void prepare();
  void prepare(Plan& plan, const Step& step, bool on_host, ValueTypes& types);
  ReadyStep prepared(const ops::NodeView& view, const KnownInputs& known,
                     bool on_host);
  static Constant* constant_at(Plan& plan, ValueId v);
  static void drop_reader(Constant& constant);
  bool settle(Plan& plan, const Step& step);
  static void remove(Plan& plan, const std::set<std::size_t>& settled);
  void read(Constant& constant);
  void bring(Frame& frame, const Step& step, std::span<const Datum*> inputs);
  // Values that are elsewhere become copies, all of a memory at once.
  void to_host(std::span<Datum> values);
  std::vector<Datum> run_block(Frame& frame, ir::BlockId id,
                               std::vector<Datum> inputs);
  Result<Named> run(const Named& inputs);
  Result<Named> run_once(const Named& inputs);
  std::vector<Datum> run_nodes(Run& now, std::vector<Datum> given);
  bool drop_kept();
  std::vector<Datum> given_inputs(const Named& inputs);
  Named named(std::vector<Datum> results) const;
  void run_step(Frame& frame, const Step& step);
  void read_inputs(const Frame& frame, const Step& step,
                   SmallVector<const Datum*, 8>& inputs,
                   std::vector<Datum>& widened);
  bool is_queue_full(const Step& step);
  // `dying`: which inputs nothing reads later.
  void run_kernel(Frame& frame, const Step& step,
                  std::span<const Datum* const> inputs,
                  std::span<Datum> outputs, std::span<const bool> dying = {});
  void run_wide(Frame& frame, const Step& step,
                std::span<const Datum* const> inputs, std::span<Datum> outputs);
  void run_in_float(Frame& frame, const Step& step,
                    std::span<const Datum* const> inputs,
                    std::span<Datum> outputs);
  Datum widened_constant(const Frame& frame, ValueId v, const Datum& own);
  void run_function(const Step& step, std::span<const Datum* const> inputs,
                    std::span<Datum> outputs);

  // The model as it was lowered, each out of the one before.
  std::vector<std::shared_ptr<const ir::Model>> lowered;
  const ir::Model& model;  // that runs
  ExecutorOptions options;
  std::unique_ptr<Plans> plans;
  Threads threads;
  std::shared_ptr<HostMemory> memory;
  TensorArena arena;
  struct OpenBackend {
    const Backend* backend;
    std::unique_ptr<BackendSession> session;
    std::unique_ptr<TensorArena> arena;  // of its memory, if it has one
  };
  std::vector<OpenBackend> backends;  // those that may be asked
  std::vector<ReadyStep> ready;  // by step; without a node where that failed
  // Nodes that no kernel of their op takes.
  std::vector<std::pair<const ir::Graph*, ir::NodeId>> declined;
  std::size_t queued = 0;  // nodes on a device since it was waited for
  bool is_mixed = false;   // whether backends have memory of their own
  // Never iterated: the order of pointers must not show.
  std::map<std::pair<const Datum*, const DeviceMemory*>, Datum> constant_copies;
  std::size_t bytes_read = 0;     // of constants, since memory was given back
  std::size_t settled_bytes = 0;  // of results that became constants
  // Of a wide run, by step: whether its inputs are known. What is known may
  // have been computed in the types of the model when it was rewritten, so it
  // is here, too.
  std::vector<bool> is_known;
  BackendSession* recordable = nullptr;
  std::string why_not_recorded;
  bool recording_failed = false;        // of the last run
  std::atomic<bool> was_ended = false;  // by its deadline or by the caller
  // The latest first.
  std::vector<std::shared_ptr<Recorded>> recorded;
  KernelRun state;
  std::unique_ptr<Frame> idle;  // for the next run; all values are absent
  Clock::time_point began;
};

}  // namespace ruleengine::runtime
