#include "runtime/random_inputs.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <random>
#include <set>

#include "core/base/suggest.h"
#include "core/ir/narrow_float.h"
#include "core/ir/shapes.h"
#include "core/ops/op_row.h"
#include "runtime/adapt.h"
#include "runtime/failure.h"

namespace ruleengine::runtime {
namespace {

using ir::ValueId;

// How whole numbers of an input are used, as far as the graph shows.
struct Use {
  std::optional<std::int64_t> table;  // the smallest table that they index
  bool is_mask = false;
};

// Follows a value through ops that keep its elements, to the ops that use them.
class Uses {
 public:
  explicit Uses(const ir::Graph& graph) : graph_(graph) {}

  Use of(ValueId value) {
    use_ = {};
    seen_.clear();
    follow(value);
    return use_;
  }

 private:
  void follow(ValueId value) {
    if (!seen_.insert(value.index()).second) return;
    for (ir::OperandId u = graph_.first_use(value); u; u = graph_.next_use(u)) {
      const ir::NodeId node = graph_.operand(u).user;
      if (node) look(node, value);
    }
  }

  void look(ir::NodeId node, ValueId value) {
    const ir::Op& op = graph_.op(node);
    const auto inputs = graph_.inputs(node);
    const bool is_first = !inputs.empty() && inputs[0].value == value;
    const ops::Roles roles = ops::roles_of(op);
    if (roles.indexes && !is_first) return bound(node);
    if (op.standard("Cast") && is_to_floats(node)) {
      use_.is_mask = true;
      return;
    }
    if (op.standard("Sub") && is_turned(node, value)) use_.is_mask = true;
    if (op.standard("Where") && is_first) use_.is_mask = true;
    if (op.standard("Equal") || op.standard("Not") || op.standard("And")) {
      use_.is_mask = true;
    }
    if (!roles.moves && !roles.joins && !op.standard("Cast")) return;
    for (const ValueId out : graph_.outputs(node)) {
      if (out) follow(out);
    }
  }

  // 1 - x, as masks are turned.
  bool is_turned(ir::NodeId node, ValueId value) const {
    const auto inputs = graph_.inputs(node);
    if (inputs.size() != 2 || inputs[1].value != value) return false;
    const ir::Value& from = graph_.value(inputs[0].value);
    return from.tensor != nullptr && from.tensor->dims.empty();
  }

  bool is_to_floats(ir::NodeId node) const {
    const ir::Attribute* to = graph_.attribute(node, "to");
    if (to == nullptr) return false;
    const auto type = static_cast<DataType>(to->i);
    return type == DataType::kBool || type == DataType::kFloat ||
           type == DataType::kDouble || ir::is_narrow_float(type);
  }

  void bound(ir::NodeId node) {
    const ir::Value& data = graph_.value(graph_.inputs(node)[0].value);
    std::int64_t size = 1;
    const ir::Attribute* a = graph_.attribute(node, "axis");
    const std::int64_t axis = a == nullptr ? 0 : a->i;
    const auto take = [&](std::size_t rank, auto dim) {
      const auto at = ir::place_of_axis(axis, rank);
      if (at) size = std::max<std::int64_t>(1, dim(*at));
    };
    if (data.tensor != nullptr) {
      take(data.tensor->dims.size(),
           [&](std::size_t i) { return data.tensor->dims[i]; });
    } else if (data.declared != nullptr && data.declared->has_shape) {
      take(data.declared->rank(), [&](std::size_t i) {
        const ir::Dim d = data.declared->dims[i];
        return d.known() ? d.size() : 1;
      });
    }
    use_.table = std::min(size, use_.table.value_or(size));
  }

  const ir::Graph& graph_;
  Use use_;
  std::set<std::size_t> seen_;
};

class Drawing {
 public:
  Drawing(const ir::Model& model, const InputOptions& options,
          const std::shared_ptr<Memory>& memory)
      : model_(model), options_(options), threads_(1), uses_(model.graph) {
    run_.memory = memory;
    run_.threads = &threads_;
    threads_.check = [this] {
      if (options_.deadline.is_over()) {
        throw Failure{options_.deadline.passed("while inputs are drawn")};
      }
    };
  }

  Executor::Named draw() {
    const ir::Graph& graph = model_.graph;
    Executor::Named out;
    const auto& inputs = graph.block(ir::Graph::main_block()).inputs;
    for (const ValueId v : inputs) note_names(v);
    check_names();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (graph.value(inputs[i]).tensor != nullptr) continue;
      // Each input has numbers of its own, whatever the others are.
      random_.seed(options_.seed * 0x9E3779B97F4A7C15u + i + 1);
      out.emplace_back(graph.name(inputs[i]), value(inputs[i]));
    }
    return out;
  }

 private:
  void note_names(ValueId v) {
    const ir::Type* type = model_.graph.value(v).declared;
    if (type == nullptr || !type->is_tensor()) return;
    if (type->has_shape) note_places(*type);
    for (const ir::Dim d : type->dims) {
      if (d.known()) continue;
      for (const ir::Dim leaf : model_.dims.leaves(d)) {
        if (std::ranges::find(leaves_, leaf) == leaves_.end()) {
          leaves_.push_back(leaf);
        }
      }
    }
  }

  // Sizes of dimensions by where they stand; the first place counts.
  void note_places(const ir::Type& type) {
    const bool is_cache = options_.sizes == Sizes::kCache;
    const bool is_tokens = type.rank() == 2 && type.elem == DataType::kInt64;
    for (std::size_t axis = 0; axis < type.rank(); ++axis) {
      std::int64_t size = is_cache ? 4 : 512;
      if (axis == 0) {
        size = is_cache ? 2 : 1;
      } else if (is_cache && type.rank() == 4 && axis == 2) {
        size = 5;
      } else if (is_cache && is_tokens) {
        size = has_tokens_ ? 8 : 3;
      }
      by_place_.emplace(type.dims[axis], size);
    }
    has_tokens_ = has_tokens_ || is_tokens;
  }

  void check_names() const {
    std::vector<std::string> all;
    for (const ir::Dim leaf : leaves_) all.push_back(model_.dims.text(leaf));
    for (const auto& [name, size] : options_.dims) {
      if (std::ranges::find(all, name) != all.end()) continue;
      const std::vector<std::string_view> views(all.begin(), all.end());
      const std::string_view meant = nearest(name, views);
      std::string known;
      for (const auto& each : all) known += (known.empty() ? "" : ", ") + each;
      throw Failure{
          {.kind = ErrorKind::kUsage,
           .what = "no input has the dimension '" + printable(name) + "'",
           .expected = shortened(known),
           .hint = meant.empty() ? "" : did_you_mean({&meant, 1})}};
    }
  }

  std::int64_t size_of_leaf(ir::Dim leaf) const {
    const auto given = options_.dims.find(model_.dims.text(leaf));
    if (given != options_.dims.end()) return given->second;
    constexpr std::int64_t kSizes[] = {2, 3, 5, 7, 4, 6, 9, 8};
    switch (options_.sizes) {
      case Sizes::kEqual:
        return 4;
      case Sizes::kOne:
        return 1;
      case Sizes::kZero:
        return 0;
      case Sizes::kCache:
      case Sizes::kLong: {
        const auto it = by_place_.find(leaf);
        return it == by_place_.end() ? 4 : it->second;
      }
      default:
        break;
    }
    const auto at = std::ranges::find(leaves_, leaf) - leaves_.begin();
    return kSizes[static_cast<std::size_t>(at) % std::size(kSizes)];
  }

  // Of a dimension that may be an expression, such as past + 1.
  std::int64_t size_of(ir::Dim d) const {
    const double size = model_.dims.value(d, [&](ir::Dim leaf) {
      return static_cast<double>(size_of_leaf(leaf));
    });
    constexpr double kMost = 1e18;  // more than any memory holds
    return static_cast<std::int64_t>(std::clamp(size, 0.0, kMost));
  }

  Datum value(ValueId v) {
    const ir::Type* type = model_.graph.value(v).declared;
    const std::string name(model_.graph.name(v));
    if (type == nullptr || !type->is_tensor() || !type->has_shape ||
        type->elem == DataType::kUndefined) {
      fail("no random values can be drawn for input '" + printable(name) + "'",
           "a tensor of known type and rank",
           type == nullptr ? "" : ir::type_text(model_.dims, *type));
    }
    Dims dims;
    for (const ir::Dim d : type->dims) dims.push_back(size_of(d));
    if (type->elem == DataType::kString) return strings(dims);
    if (ir::is_narrow_float(type->elem)) {
      return narrowed(floats<float>(v, DataType::kFloat, dims), type->elem,
                      run_);
    }
    if (is_packed(type->elem)) {
      return packed(integers<std::uint8_t>(DataType::kUint8, dims,
                                           {.table = 2, .is_mask = false}),
                    type->elem, run_);
    }
    return numbers(v, type->elem, dims);
  }

  Datum numbers(ValueId v, DataType type, Shape shape) {
    switch (type) {
      case DataType::kFloat:
        return floats<float>(v, type, shape);
      case DataType::kDouble:
        return floats<double>(v, type, shape);
      case DataType::kBool:
        return integers<std::uint8_t>(type, shape, {.is_mask = true});
      case DataType::kInt64:
        return integers<std::int64_t>(type, shape, uses_.of(v));
      case DataType::kInt32:
        return integers<std::int32_t>(type, shape, uses_.of(v));
      case DataType::kInt16:
        return bytes<std::int16_t>(type, shape);
      case DataType::kInt8:
        return bytes<std::int8_t>(type, shape);
      case DataType::kUint8:
        return bytes<std::uint8_t>(type, shape);
      case DataType::kUint16:
        return bytes<std::uint16_t>(type, shape);
      case DataType::kUint32:
        return integers<std::uint32_t>(type, shape, uses_.of(v));
      case DataType::kUint64:
        return integers<std::uint64_t>(type, shape, uses_.of(v));
      default:
        fail("no random values can be drawn", "numbers", text_of(type, shape));
    }
  }

  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  // Of mean 0 and deviation 1 (Box and Muller).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

  template <typename T>
  Tensor floats(ValueId v, DataType type, Shape shape) {
    Tensor out = allocate(run_, type, shape);
    if (uses_.of(v).is_mask) {
      T* to = out.mutable_data<T>();
      return masked(std::move(out), to);
    }
    double scale = 1;
    if (options_.floats == Floats::kLarge) scale = 100;
    if (options_.floats == Floats::kTiny) scale = 1e-40;
    for (std::int64_t i = 0; i < out.count(); ++i) {
      tick_();
      out.mutable_data<T>()[i] = static_cast<T>(normal() * scale);
    }
    return out;
  }

  // All values of the type.
  template <typename T>
  Tensor bytes(DataType type, Shape shape) {
    Tensor out = allocate(run_, type, shape);
    for (std::int64_t i = 0; i < out.count(); ++i) {
      tick_();
      out.mutable_data<T>()[i] = static_cast<T>(random_());
    }
    return out;
  }

  template <typename T>
  Tensor integers(DataType type, Shape shape, const Use& use) {
    Tensor out = allocate(run_, type, shape);
    T* to = out.mutable_data<T>();
    if (use.is_mask && !use.table) return masked(std::move(out), to);
    std::int64_t low = 0, count = 4;
    if (use.table) {
      count = *use.table;
    } else if (options_.integers == Integers::kWide) {
      low = std::is_signed_v<T> ? -3 : 0;
      count = 10;
    } else if (options_.integers != Integers::kSmall) {
      count = 2;
    }
    if (options_.integers == Integers::kOnes && !use.table) {
      low = count = 1;
    }
    for (std::int64_t i = 0; i < out.count(); ++i) {
      tick_();
      const auto r = random_() % static_cast<std::uint64_t>(count);
      to[i] = static_cast<T>(low + static_cast<std::int64_t>(r));
    }
    return out;
  }

  // Rows of the last axis that begin with ones and end with zeros; where whole
  // rows are hidden, every other one is zeros alone. A vector, or a mask over
  // queries and keys, is random.
  template <typename T>
  Tensor masked(Tensor out, T* to) {
    const std::int64_t length = out.rank() == 0 ? 1 : out.dim(out.rank() - 1);
    const bool padded = out.rank() == 2 && out.dim(0) != length;
    const std::int64_t rows = length == 0 ? 0 : out.count() / length;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto shown =
          1 + static_cast<std::int64_t>(random_() %
                                        static_cast<std::uint64_t>(length));
      const bool hidden = options_.floats == Floats::kHidden && row % 2 == 0;
      tick_(length);
      for (std::int64_t i = 0; i < length; ++i) {
        const bool one = padded ? i < shown : random_() % 4 != 0;
        to[row * length + i] = static_cast<T>(one && !hidden);
      }
    }
    return out;
  }

  Datum strings(Shape shape) {
    auto all = run_.memory->strings(static_cast<std::size_t>(count_of(shape)));
    for (String& each : *all) {
      tick_();
      each = static_cast<char>('a' + random_() % 4);
    }
    return Tensor(shape, std::move(all));
  }

  const ir::Model& model_;
  const InputOptions& options_;
  Threads threads_;
  Ticker tick_{threads_};
  KernelRun run_;
  Uses uses_;
  std::mt19937_64 random_;
  std::map<ir::Dim, std::int64_t> by_place_;
  bool has_tokens_ = false;
  std::vector<ir::Dim> leaves_;  // in the order in which they occur
};

}  // namespace

Result<Executor::Named> random_inputs(const ir::Model& model,
                                      const InputOptions& options,
                                      const std::shared_ptr<Memory>& memory) {
  try {
    return Drawing(model, options, memory).draw();
  } catch (const Failure& failure) {
    return failure.error;
  }
}

Status try_inputs(InputOptions options,
                  const std::function<Status(const InputOptions&)>& trial) {
  std::optional<Diagnostic> first;
  for (const Sizes sizes : kSizesToTry) {
    for (const Integers integers : kIntegersToTry) {
      options.sizes = sizes;
      options.integers = integers;
      Status status = trial(options);
      if (status || status.error().kind == ErrorKind::kLimit ||
          status.error().kind == ErrorKind::kUsage ||
          status.error().remedy != Remedy::kNone) {
        return status;
      }
      if (!first) first = status.error();
    }
  }
  if (first->hint.empty()) {
    first->hint = options.dims.empty()
                      ? "no random inputs that were tried fit"
                      : "no random inputs of the given sizes fit";
    first->remedy = Remedy::kInputs;
  }
  return *std::move(first);
}

Result<Executor::Named> inputs_to_run(Executor& executor,
                                      const ir::Model& model,
                                      const InputOptions& options,
                                      const std::shared_ptr<Memory>& memory) {
  Executor::Named found;
  const auto status =
      try_inputs(options, [&](const InputOptions& how) -> Status {
        auto inputs = random_inputs(model, how, memory);
        if (!inputs) return inputs.error();
        const auto ran = executor.run(*inputs);
        if (!ran) return ran.error();
        found = *std::move(inputs);
        return {};
      });
  if (!status) return status.error();
  return found;
}

}  // namespace ruleengine::runtime
