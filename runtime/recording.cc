// Runs that are recorded. Where all that a model computes on the host depends
// on nothing but shapes, what it asks of a device is the same in each run on
// inputs of the same shapes. It is written down once, when all tensors have
// places of their own (runtime/tensor_arena.h), and then done again by one
// call.
#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "core/ops/axis_flow.h"
#include "runtime/executor_impl.h"

namespace ruleengine::runtime {
namespace {

// The type and the shape of each value; of one that is no tensor its kind.
using Form = std::vector<std::int64_t>;

Form form_of(const std::vector<Datum>& values) {
  Form out;
  for (const Datum& each : values) {
    out.push_back(std::int64_t(each.kind()));
    if (!each.is_tensor()) continue;
    const Shape dims = each.tensor().dims();
    out.push_back(std::int64_t(each.tensor().dtype()));
    out.push_back(std::ssize(dims));
    out.insert(out.end(), dims.begin(), dims.end());
  }
  return out;
}

// Which values of a graph change from run to run, or are not on the host. What
// a node draws does not: its numbers follow from the seed of the executor.
class Changing {
 public:
  Changing(const std::vector<ReadyStep>& ready, std::size_t depth = 0)
      : ready_(ready), depth_(depth) {}

  // By output; nullopt where the host computes what changes.
  std::optional<std::vector<bool>> outputs(const Plan& plan,
                                           const std::vector<bool>& inputs) {
    // Bodies are run as often as values say.
    const ir::Graph& graph = *plan.graph;
    if (plan.blocks.size() > 1 || depth_ > kMostCalls) {
      return refuse("it has branches or loops");
    }
    const ir::Block& block = graph.block(ir::Graph::main_block());
    changes_.assign(graph.value_count(), false);
    for (std::size_t i = 0; i < block.inputs.size(); ++i) {
      changes_[block.inputs[i].index()] = i < inputs.size() && inputs[i];
    }
    for (const Step& step : plan.blocks[0]) {
      if (!pass(graph, step)) return std::nullopt;  // it said why
    }
    std::vector<bool> out;
    for (const ValueId v : block.outputs) {
      out.push_back(v && changes_[v.index()]);
    }
    return out;
  }

  const std::string& why() const { return why_; }

 private:
  std::nullopt_t refuse(std::string why) {
    why_ = std::move(why);
    return std::nullopt;
  }

  bool pass(const ir::Graph& graph, const Step& step) {
    const auto operands = graph.inputs(step.node);
    std::vector<bool> given;
    for (const ir::Operand& o : operands) {
      given.push_back(o.value && changes_[o.value.index()]);
    }
    const auto made = graph.outputs(step.node);
    if (step.function != nullptr) {
      Changing inner(ready_, depth_ + 1);
      const auto of = inner.outputs(*step.function, given);
      if (!of) why_ = inner.why();
      for (std::size_t i = 0; of && i < std::min(made.size(), of->size());
           ++i) {
        if (made[i]) changes_[made[i].index()] = (*of)[i];
      }
      return of.has_value();
    }
    const ReadyStep& how = ready_[step.id];
    const auto fails = [&](const char* why) {
      why_ = graph.describe(step.node) + why;
      return false;
    };
    if (how.node == nullptr) return fails(" has no kernel");
    // What is on a device cannot be read before the work is done.
    bool changes = how.place != nullptr;
    for (std::size_t i = 0; i < given.size(); ++i) {
      using enum ReadyStep::Where;
      const auto where = i < how.inputs.size() ? how.inputs[i] : kHost;
      if (!given[i] || where == kAnywhere) continue;
      if (where == kHost) {
        return fails(" is read on the host, or computed there");
      }
      changes = true;
    }
    for (const ValueId v : made) {
      if (v) changes_[v.index()] = changes;
    }
    return true;
  }

  const std::vector<ReadyStep>& ready_;
  std::size_t depth_;
  std::vector<bool> changes_;  // by value
  std::string why_;
};

// At the end of a run that failed: the first failure is told.
template <typename Action>
void try_to(const Action& action) {
  try {
    action();
  } catch (const Failure&) {
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

struct Executor::Impl::Recorded {
  // Of a result: bytes that are read, one of the inputs, or always the same.
  struct Result {
    Datum fixed;  // without bytes where they are read
    std::ptrdiff_t input = -1;
    bool is_read = false;
  };

  Form form;
  std::unique_ptr<Recording> recording;  // nullptr: it cannot be recorded
  std::shared_ptr<std::byte> block;      // that its work uses
  // Of each input: main graph and bodies read copies of their own.
  std::vector<std::vector<std::byte*>> places;
  std::vector<Result> results;
  DrawnCounts drawn;  // on the host, which a replay does not ask
};

BackendSession* Executor::Impl::find_recordable() {
  if (!options.runs_often || options.wide || options.communicator != nullptr) {
    return nullptr;
  }
  BackendSession* out = nullptr;
  for (const OpenBackend& each : backends) {
    if (each.arena == nullptr) continue;
    if (out != nullptr) return nullptr;
    out = each.session.get();
  }
  if (out == nullptr) return nullptr;
  const Plan& main = plans->main();
  const ir::Block& block = main.graph->block(ir::Graph::main_block());
  const std::vector<bool> all(block.inputs.size(), true);
  Changing changing(ready);
  if (changing.outputs(main, all)) return out;
  why_not_recorded = changing.why();
  return nullptr;
}

bool Executor::Impl::is_refused(const std::vector<Datum>& inputs) const {
  std::vector<const std::byte*> data;
  for (const Datum& each : inputs) {
    if (each.is_absent()) continue;
    if (!each.is_tensor() || each.tensor().is_string()) return true;
    if (each.tensor().byte_size() == 0) continue;
    data.push_back(each.tensor().data<std::byte>());
  }
  // Bytes of two inputs could not be told apart.
  std::ranges::sort(data);
  if (std::ranges::adjacent_find(data) != data.end()) return true;
  return std::ranges::find(recorded, form_of(inputs), &Recorded::form) !=
         recorded.end();
}

// With `recording` nullptr: that there is none for such inputs.
void Executor::Impl::keep_recording(std::unique_ptr<Recording> recording,
                                    const std::vector<Datum>& inputs,
                                    std::span<Datum> results) {
  auto out = std::make_shared<Recorded>();
  out->form = form_of(inputs);
  out->drawn = state.drawn;
  for (std::size_t i = 0; recording != nullptr && i < inputs.size(); ++i) {
    auto& places = out->places.emplace_back();
    if (!inputs[i].is_tensor()) continue;
    places = recording->places_of(inputs[i].tensor().data<std::byte>());
  }
  for (const Datum& each : results) {
    Recorded::Result& result = out->results.emplace_back();
    result.is_read = each.is_tensor() && each.tensor().place() != nullptr;
    result.fixed = result.is_read ? Datum(each.tensor().without_bytes()) : each;
    for (std::size_t i = 0; !result.is_read && i < inputs.size(); ++i) {
      const bool is_same = each.is_tensor() && inputs[i].is_tensor() &&
                           each.tensor().byte_size() > 0 &&
                           each.tensor().data<std::byte>() ==
                               inputs[i].tensor().data<std::byte>();
      if (is_same) result.input = static_cast<std::ptrdiff_t>(i);
    }
  }
  for (const OpenBackend& each : backends) {
    const bool is_used = recording != nullptr && each.arena != nullptr;
    if (is_used) out->block = each.arena->block();
  }
  out->recording = std::move(recording);
  constexpr std::size_t kMost = 8;
  recorded.insert(recorded.begin(), std::move(out));
  if (recorded.size() > kMost) recorded.pop_back();
}

bool Executor::is_recorded() const {
  return std::ranges::any_of(impl_->recorded, [](const auto& each) {
    return each->recording != nullptr;
  });
}

const std::string& Executor::why_not_recorded() const {
  return impl_->why_not_recorded;
}

std::optional<std::vector<Datum>> Executor::Impl::replay(
    const std::vector<Datum>& inputs) {
  if (recorded.empty()) return std::nullopt;
  const auto found =
      std::ranges::find(recorded, form_of(inputs), &Recorded::form);
  if (found == recorded.end() || (*found)->recording == nullptr) {
    return std::nullopt;
  }
  std::rotate(recorded.begin(), found, found + 1);
  const Recorded& known = *recorded.front();
  check();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::byte* place : known.places[i]) {
      std::ranges::copy(inputs[i].tensor().bytes(), place);
    }
  }
  std::vector<Datum> out;
  std::vector<std::span<std::byte>> reads;
  for (const Recorded::Result& each : known.results) {
    out.push_back(each.input >= 0 ? inputs[static_cast<std::size_t>(each.input)]
                                  : each.fixed);
    if (!each.is_read) continue;
    const Tensor form_only = out.back().tensor();
    out.back() = Datum(allocate(state, form_only.dtype(), form_only.dims()));
    Tensor& made = out.back().tensor();
    reads.emplace_back(made.mutable_data<std::byte>(), made.byte_size());
  }
  known.recording->replay(reads);
  state.drawn = known.drawn;
  const std::size_t steps = plans->main().blocks[0].size();
  if (options.progress) options.progress(steps, steps);
  return out;
}

void Executor::Impl::Run::start(const std::vector<Datum>& given) {
  for (const OpenBackend& each : impl.backends) each.session->begin();
  if (!impl.options.runs_often) return;
  Form form = form_of(given);
  for (const OpenBackend& each : impl.backends) {
    if (each.arena != nullptr) each.arena->begin(form);
  }
  impl.arena.begin(std::move(form));
  set_arenas(true);
  BackendSession* session = impl.is_like_others() ? impl.recordable : nullptr;
  if (session == nullptr || impl.is_refused(given)) return;
  const bool has_places = session->memory()->arena->is_serving();
  if (!has_places || !session->start_recording()) return;
  recording = session;
  inputs = given;
}

void Executor::Impl::Run::set_arenas(bool are_set) {
  impl.state.arena = are_set ? &impl.arena : nullptr;
  for (const OpenBackend& each : impl.backends) {
    if (each.arena == nullptr) continue;
    each.session->memory()->arena = are_set ? each.arena.get() : nullptr;
  }
}

void Executor::Impl::Run::complete(std::span<Datum> results) {
  if (recording == nullptr) {
    impl.to_host(results);
  } else {
    std::vector<Datum> copies(results.begin(), results.end());
    impl.to_host(copies);
    auto made = recording->stop_recording();
    if (made == nullptr) fail("a run that cannot be recorded");
    recording = nullptr;
    impl.keep_recording(std::move(made), inputs, results);
    impl.why_not_recorded.clear();
    std::ranges::move(*impl.replay(inputs), results.begin());
  }
  for (const OpenBackend& each : impl.backends) each.session->finish();
  is_complete = true;
}

// A run that failed because it was recorded starts anew, and nothing like it is
// recorded again. Of one that was ended, nothing is known.
void Executor::Impl::Run::give_up_recording() {
  // First, as what is given back may not be while work is recorded.
  try_to([&] { recording->stop_recording(); });
  if (impl.was_ended || why_it_failed.empty()) return;
  impl.recording_failed = true;
  impl.why_not_recorded = std::move(why_it_failed);
  try_to([&] { impl.keep_recording(nullptr, inputs, {}); });
}

Executor::Impl::Run::~Run() {
  if (recording != nullptr) give_up_recording();
  for (const OpenBackend& each : impl.backends) {
    if (is_complete) break;
    // Work that was asked for reads tensors.
    try_to([&] { each.session->finish(); });
  }
  if (impl.state.arena == nullptr) return;
  set_arenas(false);
  impl.arena.end(is_complete);
  for (const OpenBackend& each : impl.backends) {
    if (each.arena != nullptr) each.arena->end(is_complete);
  }
}

}  // namespace ruleengine::runtime
