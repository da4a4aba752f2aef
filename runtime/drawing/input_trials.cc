#include "runtime/drawing/input_trials.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/base/random_bits.h"

namespace ruleengine::runtime {
namespace {

constexpr std::size_t kMostTries = 160;

constexpr Integers kLevels[] = {Integers::kHuge, Integers::kAnywhere,
                                Integers::kWide, Integers::kSmall,
                                Integers::kBits, Integers::kOnes};

// Of types, shapes and elements.
std::uint64_t digest(const Executor::Named& inputs) {
  const std::hash<std::string_view> hash;
  std::uint64_t out = 0;
  const auto add = [&](std::string_view bytes) {
    out = RandomBits::mixed(out + RandomBits::kStep + hash(bytes));
  };
  for (const auto& [name, value] : inputs) {
    const Tensor& t = value.tensor();
    add(t.text());
    add({t.data<char>(), t.byte_size()});
    if (!t.is_string()) continue;
    for (const String& each : t.strings()) add(each);
  }
  return out;
}

std::size_t bytes_of(const Executor::Named& inputs) {
  std::size_t out = 0;
  for (const auto& [name, value] : inputs) out += value.tensor().byte_size();
  return out;
}

std::string reason(const Diagnostic& error) {
  std::string out = error.what;
  if (!error.expected.empty()) out += ", not " + error.expected;
  if (!error.found.empty()) out += ": " + error.found;
  if (!error.where.empty()) out += " (" + error.where + ")";
  return out;
}

bool ends_all(const Diagnostic& error) {
  return error.kind == ErrorKind::kUsage ||
         error.kind == ErrorKind::kCancelled ||
         (error.kind == ErrorKind::kLimit && error.remedy == Remedy::kTime);
}

}  // namespace

InputTrials::InputTrials(const ir::Model& model, ExecutorOptions executor,
                         const InputOptions& options, const Visit& visit)
    : model_(model),
      executor_options_(std::move(executor)),
      memory_(executor_options_.memory ? executor_options_.memory
                                       : HostMemory::create()),
      options_(options),
      visit_(visit),
      source_(model, options.dims),
      end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(
                                  std::clamp(options.seconds, 0.0, 1e6)))) {}

bool InputTrials::prepare() {
  ExecutorOptions how = executor_options_;
  how.trace = [this](const ir::Graph& graph, ir::NodeId node, double, double) {
    log_.note(graph, node);
  };
  // The first try runs to its end.
  how.is_cancelled = [this] { return tries_ > 1 && Clock::now() >= end_; };
  auto made = Executor::create(model_, std::move(how));
  if (!made) {
    why_ = reason(made.error());
    return false;
  }
  executor_ = *std::move(made);
  return true;
}

bool InputTrials::is_over() const {
  if (is_enough_ || is_late_ || bytes_ >= options_.most_bytes) return true;
  return tries_ > 0 && (tries_ >= kMostTries || Clock::now() >= end_);
}

// Whether a size of 1 stands beside others.
bool InputTrials::broadcasts(const SizeOf& sizes) {
  bool has_one = false, has_more = false;
  for (const auto& [name, size] : source_.sizes().named(sizes)) {
    if (options_.dims.contains(name)) continue;
    (size == 1 ? has_one : has_more) = true;
  }
  return has_one && has_more;
}

Result<bool> InputTrials::run(const SizeOf& sizes, Drawn how,
                              std::string_view kind, const Accept& accept) {
  if (tries_ > 0 && bytes_of_inputs(source_.model(), sizes) > kMostInputBytes) {
    return false;
  }
  // A rewrite may assume that sizes are equal that the model broadcasts.
  if (!options_.extremes && sets_ > 0 && broadcasts(sizes)) return false;
  how.deadline = options_.deadline;
  learn(sizes);
  for (const Integers each : kLevels) {
    if (each < how.integers) continue;
    if (is_over()) {
      is_late_ = is_late_ || !is_enough_;
      return false;
    }
    Drawn level = how;
    level.integers = each;
    bool is_done = false;
    const auto ran = run_once(sizes, level, kind, accept, is_done);
    if (!ran || *ran || is_done) return ran;
  }
  return false;
}

// `is_done`: more careful numbers would not help.
Result<bool> InputTrials::run_once(const SizeOf& sizes, const Drawn& how,
                                   std::string_view kind, const Accept& accept,
                                   bool& is_done) {
  auto inputs = source_.draw(sizes, how, memory_);
  if (!inputs) {
    if (ends_all(inputs.error())) return inputs.error();
    if (why_.empty()) why_ = reason(inputs.error());
    is_done = true;
    return false;
  }
  const std::uint64_t drawn = digest(*inputs);
  if (failed_.contains(drawn)) return false;
  if (ran_.contains(drawn)) return true;
  ++tries_;
  const BranchLog before = log_;
  const auto began = Clock::now();
  auto outputs = executor_->run(*inputs);
  const auto took = Clock::now() - began;
  if (!outputs) {
    log_ = before;
    failed_.insert(drawn);
    const Diagnostic& error = outputs.error();
    if (ends_all(error)) return error;
    if (tries_ > 1 && Clock::now() >= end_) is_late_ = is_done = true;
    if (!limit_ && error.remedy == Remedy::kTensors) limit_ = error;
    if (why_.empty()) why_ = reason(error);
    return false;
  }
  is_done = accept && !accept(*outputs);
  if (!is_done) {
    ran_.insert(drawn);
    is_done = is_slow(took);
  }
  if (is_done) {
    log_ = before;
    return false;
  }
  const auto status = hand_on({.inputs = *std::move(inputs),
                               .outputs = *std::move(outputs),
                               .sizes = source_.sizes().named(sizes),
                               .kind = std::string(kind)});
  if (!status) return status.error();
  return true;
}

// A set on which the model takes far longer than on the first, a Loop that
// hardly ends, say: what runs on it next would take many times as long.
bool InputTrials::is_slow(Clock::duration took) {
  if (!first_took_) first_took_ = took;
  return std::isfinite(options_.seconds) && took > std::chrono::seconds(1) &&
         took > 10 * *first_took_;
}

Status InputTrials::hand_on(InputSet set) {
  const auto began = Clock::now();
  const auto more = visit_(set);
  end_ += Clock::now() - began;
  if (!more) return more.error();
  ++sets_;
  bytes_ += std::max(bytes_of(set.inputs), InputOptions::kSetBytes);
  is_enough_ = !*more;
  return {};
}

void InputTrials::learn(const SizeOf& sizes) {
  if (learned_at_ == sizes) return;
  learned_at_ = sizes;
  source_.learn({});
  const auto open = source_.open(sizes);
  if (open.empty()) return;
  const auto probe = source_.model().copy();
  ir::Graph& graph = probe->graph;
  const ir::BlockId main = ir::Graph::main_block();
  const std::size_t own = graph.block(main).outputs.size();
  for (const ir::ValueId v : open) graph.add_block_output(main, v);
  const auto executor = Executor::create(*probe, executor_options_);
  if (!executor) return;
  for (const Integers each : {Integers::kBits, Integers::kOnes}) {
    const Drawn drawn{
        .seed = options_.seed, .integers = each, .deadline = options_.deadline};
    const auto inputs = source_.draw(sizes, drawn, memory_);
    if (!inputs) return;
    const auto outputs = (*executor)->run(*inputs);
    if (!outputs) continue;
    std::map<ir::ValueId, Tensor> values;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const Datum& value = (*outputs)[own + i].second;
      if (value.is_tensor()) values.emplace(open[i], value.tensor());
    }
    return source_.learn(std::move(values));
  }
}

}  // namespace ruleengine::runtime
