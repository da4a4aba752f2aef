#include "runtime/drawing/input_source.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/ir/element_types.h"
#include "core/ir/shapes.h"

namespace ruleengine::runtime {
namespace {

using ir::ValueId;

constexpr std::int64_t kGuessedTable = 64;
constexpr std::size_t kMostLearned = 8;  // numbers of a value that is met

std::vector<double> first_numbers(const Tensor& t) {
  std::vector<double> out;
  ir::visit_type(ir::Types<float, double, std::int32_t, std::int64_t>(),
                 t.dtype(), [&]<typename T>() {
                   for (const T x : t.values<T>().first(
                            std::min(t.values<T>().size(), kMostLearned))) {
                     out.push_back(static_cast<double>(x));
                   }
                 });
  return out;
}

// The strings of the model's constants and attributes, which those of inputs
// may be compared with; the first few.
std::vector<std::string> words_of(const ir::Model& model) {
  constexpr std::size_t kMost = 64, kLongest = 100;
  std::vector<std::string> out;
  const auto note = [&](std::span<const std::string_view> all) {
    for (const std::string_view each : all) {
      if (out.size() == kMost) return;
      if (each.size() <= kLongest) out.emplace_back(each);
    }
  };
  const auto look = [&](const ir::Graph& graph) {
    for (std::size_t i = 0; i < graph.value_count(); ++i) {
      const ir::Literal* tensor = graph.value(ir::ValueId(i)).tensor;
      if (tensor != nullptr) note(tensor->strings);
    }
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      for (const ir::Attribute& a : graph.node(ir::NodeId(i)).attributes) {
        note(a.strings);
        for (const ir::Literal* tensor : a.tensors) note(tensor->strings);
        if (a.name == "value_string") note({&a.s, 1});
      }
    }
  };
  look(model.graph);
  for (const auto& function : model.functions) look(function->body);
  return out;
}

// The smallest of the axes that the indices count.
template <typename Size>
std::optional<std::int64_t> smallest(const TableUse& table, std::size_t rank,
                                     Size size) {
  const auto first = ir::place_of_axis(table.axis, rank);
  if (!first) return std::nullopt;
  const std::size_t end =
      table.axes == 0
          ? rank
          : std::min(rank, *first + static_cast<std::size_t>(table.axes));
  std::optional<std::int64_t> out;
  for (std::size_t i = *first; i < end; ++i) {
    const std::int64_t own = size(i);
    if (own < 0) return std::nullopt;
    out = std::min(own, out.value_or(own));
  }
  return out;
}

}  // namespace

InputSource::InputSource(const ir::Model& model,
                         const std::map<std::string, std::int64_t>& dims)
    : copy_(model.copy()),
      facts_(copy_->graph),
      sizes_(*copy_, facts_, dims),
      words_(words_of(*copy_)) {}

bool InputSource::knows_specials() const {
  for (std::size_t i = 0; i < copy_->ops.size(); ++i) {
    const ir::Op& op = copy_->ops[ir::OpId(i)];
    if (op.standard("IsNaN") || op.standard("IsInf")) return true;
  }
  return false;
}

const std::vector<InputUse>& InputSource::uses() {
  if (uses_) return *uses_;
  uses_.emplace();
  const ir::Graph& graph = copy_->graph;
  for (const ValueId v : graph.block(ir::Graph::main_block()).inputs) {
    uses_->push_back(graph.value(v).tensor == nullptr
                         ? use_of(*copy_, facts_, v)
                         : InputUse());
  }
  return *uses_;
}

std::optional<std::int64_t> InputSource::size_of(const TableUse& table,
                                                 const SizeOf& sizes) {
  if (table.size) return table.size;
  if (!table.data) return std::nullopt;
  const auto learned = learned_.find(table.data);
  if (learned != learned_.end()) {
    const Tensor& t = learned->second;
    return smallest(table, t.rank(), [&](std::size_t i) { return t.dim(i); });
  }
  const ir::Type* type = facts_.type(table.data);
  if (!ir::is_ranked(type)) return std::nullopt;
  return smallest(table, type->rank(), [&](std::size_t i) {
    return size_at(copy_->dims, type->dims[i], sizes);
  });
}

std::vector<ValueId> InputSource::open(const SizeOf& sizes) {
  const ir::Graph& graph = copy_->graph;
  std::vector<ValueId> out;
  const auto note = [&](ValueId v) {
    const bool is_main = graph.value(v).block == ir::Graph::main_block() &&
                         graph.value(v).kind == ir::ValueKind::kNodeOutput;
    if (is_main && std::ranges::find(out, v) == out.end()) out.push_back(v);
  };
  for (const InputUse& use : uses()) {
    for (const TableUse& table : use.tables) {
      if (table.data && !size_of(table, sizes)) note(table.data);
    }
    for (const Meeting& each : use.meetings) note(each.other);
  }
  return out;
}

Domain InputSource::domain(const InputUse& use, const SizeOf& sizes) {
  Domain out{.met = use.met,
             .is_mask = use.is_mask,
             .hides = use.hides,
             .is_number = use.is_number,
             .is_size = use.is_size};
  if (use.is_pooled) {
    out.is_mask = out.is_mask || !use.is_number;
    out.is_number = true;
  }
  for (const Meeting& each : use.meetings) {
    const auto it = learned_.find(each.other);
    if (it == learned_.end()) continue;
    for (const double y : first_numbers(it->second)) {
      const double x = each.line.inverse(y);
      if (std::isfinite(x)) out.met.push_back(x);
    }
  }
  const bool only_bits = std::ranges::all_of(
      out.met, [](double each) { return each == 0 || each == 1; });
  if (!out.met.empty() && only_bits) out.is_mask = out.is_number = true;
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  std::int64_t first = -kMost, last = kMost;
  for (const TableUse& table : use.tables) {
    const auto known = size_of(table, sizes);
    out.is_guess = out.is_guess || !known;
    const std::int64_t size =
        std::max<std::int64_t>(known.value_or(kGuessedTable), 1);
    double low = table.line.inverse(
        static_cast<double>(table.takes_negative ? -size : 0));
    double high = table.line.inverse(static_cast<double>(size - 1));
    if (low > high) std::swap(low, high);
    first = std::max(first, static_cast<std::int64_t>(std::ceil(low)));
    last = std::min(last, static_cast<std::int64_t>(std::floor(high)));
  }
  if (use.tables.empty()) return out;
  out.last = std::max<std::int64_t>(last, 0);
  out.first = std::min(first, out.last);
  return out;
}

std::vector<Domain> InputSource::domains(const SizeOf& sizes) {
  std::vector<Domain> out;
  const auto& inputs = copy_->graph.block(ir::Graph::main_block()).inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    out.push_back(domain(uses()[i], sizes));
    // Floats are numbers, whatever else they may be.
    const ir::Type* type = copy_->graph.value(inputs[i]).declared;
    if (type == nullptr || !ir::is_float(type->elem)) continue;
    Domain& own = out.back();
    own.is_mask = uses()[i].is_mask;
    own.is_number = true;
  }
  return out;
}

std::size_t InputSource::turns(const SizeOf& sizes) {
  std::size_t out = 0;
  const auto all = domains(sizes);
  const auto& inputs = copy_->graph.block(ir::Graph::main_block()).inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Type* type = copy_->graph.value(inputs[i]).declared;
    if (type == nullptr || !type->is_tensor()) continue;
    const double met = 3 * static_cast<double>(all[i].met.size());
    const double count = elements_at(copy_->dims, *type, sizes);
    if (met == 0 || count < 1) continue;
    const double turns = std::ceil(met / std::min(count, met));
    out = std::max(out, static_cast<std::size_t>(turns));
  }
  return out;
}

Result<Executor::Named> InputSource::draw(
    const SizeOf& sizes, const Drawn& how,
    const std::shared_ptr<HostMemory>& memory) {
  return draw_inputs({*copy_, sizes, domains(sizes), words_}, how, memory);
}

}  // namespace ruleengine::runtime
