// The answers other than types: origins, constants, elements.
#include <algorithm>
#include <utility>

#include "core/analysis/solver/solver.h"
#include "core/ir/evaluator.h"
#include "core/ir/small_tensor.h"

namespace ruleengine::analysis {

using ir::Dim;
using ir::Literal;
using ir::NodeId;
using ir::Value;
using ir::ValueId;
using ir::ValueKind;

bool Solver::compute(const Query& q) {
  switch (q.ask) {
    case Ask::kType:
      return compute_type(q.value);
    case Ask::kOrigin:
      return compute_origin(q.value);
    case Ask::kConstant:
      return compute_constant(q.value);
    case Ask::kElements:
      return compute_elements(q.value);
    case Ask::kLayout:
      return compute_layout(q.value);
  }
  return false;
}

// --- rules and evaluators ----------------------------------------------------

const Solver::OpRules& Solver::rules_of(ir::OpId op) {
  static constexpr ops::OpRow kNothing{};
  OpRules& rules = op_rules_[op];
  if (rules.row != nullptr) return rules;
  const ops::OpRow* const row = ops::find_row(model().ops[op]);
  rules.row = row != nullptr ? row : &kNothing;
  if (row == nullptr) return rules;
  if (row->types.infer != nullptr) rules.type = &row->types;
  if (row->elements.follow != nullptr) rules.elements = &row->elements;
  rules.folds = row->roles.folds && model().ops[op].overload.empty() &&
                model().evaluator != nullptr &&
                model().evaluator->knows(model().ops[op]);
  return rules;
}

bool Solver::can_evaluate(NodeId node) {
  // What a call of the function passes is not known here.
  if (std::ranges::any_of(
          graph_.node(node).attributes,
          [](const ir::Attribute& a) { return !a.ref.empty(); })) {
    return false;
  }
  const OpRules& rules = rules_of(graph_.node(node).op);
  return rules.folds || rules.row->views != nullptr || rules.roles().measures;
}

bool Solver::followable(ValueId value) const {
  const ir::Type* t = known(value).type;
  if (!ir::is_ranked(t) || t->rank() > 8) return false;
  const bool counts = t->elem == ir::DataType::kInt64 ||
                      t->elem == ir::DataType::kInt32 ||
                      t->elem == ir::DataType::kBool;
  const auto count = counts ? known_count(t->dims) : std::nullopt;
  return count && *count <= kMaxElements;
}

// --- origins and constants ---------------------------------------------------

bool Solver::compute_origin(ValueId value) {
  const Value& v = graph_.value(value);
  Origin origin = Origin::kRuntime;
  const CallContext::Given* const bound = given(value);
  if (v.kind == ValueKind::kInitializer ||
      (bound != nullptr && bound->constant != nullptr)) {
    origin = Origin::kConstant;
  } else if (v.kind == ValueKind::kNodeOutput && v.producer) {
    origin = origin_of_node(v.producer);
    if (origin == Origin::kConstant && is_beyond(v.producer)) {
      origin = Origin::kBeyond;
      say_beyond(value);
    }
  }
  return std::exchange(memos_[value.index()].origin, origin) != origin;
}

Origin Solver::origin_of_node(NodeId node) {
  if (!can_evaluate(node)) return Origin::kRuntime;
  if (rules_of(graph_.node(node).op).roles().measures) return Origin::kShape;
  Origin origin = Origin::kConstant;
  bool beyond = false;
  for (const ir::Operand& o : graph_.inputs(node)) {
    if (!o.value) continue;
    const Origin in =
        done(o.value, Ask::kOrigin) ? known(o.value).origin : Origin::kRuntime;
    if (in == Origin::kRuntime) return in;
    if (in == Origin::kShape) origin = in;
    beyond |= in == Origin::kBeyond;
  }
  return beyond ? Origin::kBeyond : origin;
}

// Whether folding the node would compute more elements than the limit, and
// cannot be left to who reads them.
bool Solver::is_beyond(NodeId node) {
  const OpRules& rules = rules_of(graph_.node(node).op);
  if (rules.roles().folds_whole || can_defer(node, rules)) return false;
  const std::int64_t most = fold_limit(rules);
  return std::ranges::any_of(graph_.outputs(node),
                             [&](ValueId v) { return has_more(v, most); }) ||
         (!rules.roles().picks &&
          std::ranges::any_of(graph_.inputs(node), [&](const ir::Operand& o) {
            return has_more(o.value, most);
          }));
}

// How many elements the op may have where it is computed. What it makes out of
// nothing (a range, a mask of one number) is no weight: as a node it costs
// nothing, as a constant it would swell the file.
std::int64_t Solver::fold_limit(const OpRules& rules) const {
  constexpr std::int64_t kMade = 1 << 16;
  if (out_of_budget()) return kMaxElements;
  return rules.roles().makes ? std::min(options_.fold_limit, kMade)
                             : options_.fold_limit;
}

// Warns once: a model with one such weight has many. A constant that an op
// makes without inputs is not a weight.
void Solver::say_beyond(ValueId value) {
  if (rules_of(graph_.node(graph_.producer(value)).op).roles().makes) return;
  if (std::exchange(said_beyond_, true)) return;
  std::string what = "value " + quoted_name(graph_.name(value));
  if (graph_.name(value).empty()) {  // that of an edit
    const NodeId node = graph_.producer(value);
    what = "the " + graph_.op(node).text() + " of " +
           quoted_name(graph_.name(graph_.input(node, 0)));
  }
  warnings.push_back(what +
                     " is computed from constants, but is too large to be "
                     "computed here; such values count as computed at run "
                     "time");
}

bool Solver::compute_constant(ValueId value) {
  const Literal* const now = fold(value);
  const Literal* const before =
      std::exchange(memos_[value.index()].constant, now);
  if (now == nullptr || before == nullptr) return now != before;
  const bool is_same = now->storage == ir::Storage::kRaw &&
                       before->storage == ir::Storage::kRaw &&
                       ir::equal_bits(*now, *before, model().external.get());
  if (is_same) memos_[value.index()].constant = before;
  return now != before && !is_same;
}

const Literal* Solver::fold(ValueId value) {
  const Value& v = graph_.value(value);
  if (v.kind == ValueKind::kInitializer) return v.tensor;
  if (const auto* bound = given(value)) return bound->constant;
  if (v.kind != ValueKind::kNodeOutput || !v.producer) return nullptr;
  const Origin origin = known(value).origin;
  if (origin == Origin::kRuntime || origin == Origin::kBeyond) return nullptr;
  if (origin == Origin::kShape) {
    if (const Literal* t = from_elements(value)) return t;
  }
  const ops::Literals results = evaluate(v.producer);
  return v.output_index < results.size() ? results[v.output_index] : nullptr;
}

namespace {

std::span<const std::int64_t> sizes_of(Arena& arena, const ir::Type& type) {
  const auto out = arena.array<std::int64_t>(type.rank());
  std::ranges::transform(type.dims, out.begin(), &Dim::size);
  return out;
}

template <typename T>
std::span<const T> as(Arena& arena, std::span<const std::int64_t> values) {
  const auto out = arena.array<T>(values.size());
  std::ranges::transform(values, out.begin(),
                         [](std::int64_t v) { return static_cast<T>(v); });
  return out;
}

}  // namespace

const Literal* Solver::from_elements(ValueId value) {
  const Memo& memo = known(value);
  if (memo.elements == nullptr || !done(value, Ask::kElements)) return nullptr;
  std::vector<std::int64_t> ints;
  for (Dim d : memo.element_span()) {
    if (!d.known()) return nullptr;
    ints.push_back(d.size());
  }
  Arena& arena = model().arena;
  const ir::DataType elem = memo.type->elem;
  Literal t =
      elem == ir::DataType::kInt64 ? ir::int64_vector(arena, ints)
      : elem == ir::DataType::kInt32
          ? ir::vector_tensor(arena, elem, as<std::int32_t>(arena, ints))
          : ir::vector_tensor(arena, elem, as<std::uint8_t>(arena, ints));
  t.dims = sizes_of(arena, *memo.type);
  return arena.make<Literal>(t);
}

// The folded bytes that a model may have. They stay until it dies, so a model
// with many nodes that make large constants must not be folded without limit,
// whichever of its graphs asks, and how often.
constexpr std::int64_t kBudget = std::int64_t{256} << 20;

bool Solver::out_of_budget() const { return model().folded > kBudget; }

namespace {

// Nodes that are computed where the tensor is read.
std::int64_t nodes_of(const Literal& t) {
  if (t.storage == ir::Storage::kComputed) return t.computed->nodes;
  if (t.storage != ir::Storage::kLazy) return 0;
  std::int64_t nodes = 0;
  for (const ir::LazyPart& part : t.lazy->parts) {
    nodes += nodes_of(*part.tensor);
  }
  return nodes;
}

// One element in place of all, broadcast as these are.
const Literal* sample_of(Arena& arena, const Literal& t) {
  const auto dims = arena.array<std::int64_t>(t.dims.size());
  std::ranges::fill(dims, 1);
  const auto bytes =
      static_cast<std::size_t>(std::max(1, ir::bit_width(t.dtype) / 8));
  return arena.make<Literal>(Literal{
      .dtype = t.dtype, .dims = dims, .bytes = arena.array<std::byte>(bytes)});
}

// Whether putting the tensors together at once is cheaper than doing so where
// they are read: few elements of what lies in another file, so that files are
// left alone.
bool is_at_hand(std::span<const Literal* const> tensors) {
  constexpr std::int64_t kMost = 1 << 16, kMostOfFile = 1 << 10;
  std::int64_t most = kMost, elements = 0;
  for (const Literal* t : tensors) {
    if (t == nullptr) continue;
    if (t->storage == ir::Storage::kLazy ||
        t->storage == ir::Storage::kComputed) {
      return false;
    }
    if (t->element_count() > most) return false;
    elements += t->element_count();
    if (t->storage == ir::Storage::kExternal) most = kMostOfFile;
  }
  return elements <= most;
}

}  // namespace

ops::Literals Solver::evaluate(NodeId node) {
  ops::Literals inputs;
  for (const ir::Operand& o : graph_.inputs(node)) {
    const Literal* t = nullptr;
    if (o.value) {
      t = done(o.value, Ask::kConstant) ? known(o.value).constant : nullptr;
      if (t == nullptr) return {};
    }
    inputs.push_back(t);
  }
  const OpRules& rules = rules_of(graph_.node(node).op);
  const bool has_first = inputs.empty() ? graph_.op(node).standard("Constant")
                                        : inputs[0] != nullptr;
  ops::Literals views;
  const ops::Views views_of = rules.row->views;
  if (views_of != nullptr && has_first) views = views_of(view(node));
  const bool is_new = std::ranges::any_of(views, [&](const Literal* each) {
    return each->storage == ir::Storage::kLazy &&
           std::ranges::find(inputs, each) == inputs.end();
  });
  if (!views.empty() && !(is_new && is_at_hand(inputs))) return views;
  ops::Literals computed;
  if (rules.folds && !is_large(node, rules, inputs)) {
    computed = compute(node, inputs, fold_limit(rules));
  } else if (views.empty() && can_defer(node, rules)) {
    if (const Literal* later = deferred(node, inputs)) computed = {later};
  }
  return computed.empty() ? views : computed;
}

// Whether the node reads or gives a tensor of more elements than the limit.
bool Solver::is_large(NodeId node, const OpRules& rules,
                      std::span<const Literal* const> inputs) {
  const std::int64_t most = fold_limit(rules);
  for (const Literal* t : inputs) {
    if (t == nullptr || t->element_count() <= most) continue;
    // Stored bytes are read where they lie; others are put together first.
    const bool is_stored =
        t->storage == ir::Storage::kRaw || t->storage == ir::Storage::kExternal;
    if (!rules.roles().picks || !is_stored) return true;
  }
  return std::ranges::any_of(graph_.outputs(node),
                             [&](ValueId v) { return has_more(v, most); });
}

// Whether the node may be computed where it is read, since it cannot fail then.
bool Solver::can_defer(NodeId node, const OpRules& rules) {
  if (!rules.folds || !rules.roles().total ||
      graph_.outputs(node).size() != 1) {
    return false;
  }
  const ValueId v = graph_.output(node);
  return count_of(v) && ir::is_float(known(v).type->elem) &&
         ir::bit_width(known(v).type->elem) >= 8;
}

const Literal* Solver::deferred(NodeId node, const ops::Literals& inputs) {
  constexpr std::int64_t kMostNodes = 256, kMostOfSample = 1 << 16;
  std::int64_t nodes = 1;
  for (const Literal* t : inputs) nodes += t != nullptr ? nodes_of(*t) : 0;
  if (nodes > kMostNodes) return nullptr;
  // Whether the kernel takes these types is known from one element of each.
  ops::Literals samples;
  for (const Literal* t : inputs) {
    const bool is_large = t != nullptr && t->element_count() > kMaxElements;
    samples.push_back(is_large ? sample_of(model().arena, *t) : t);
  }
  if (compute(node, samples, kMostOfSample).empty()) return nullptr;
  Arena& arena = model().arena;
  const ir::Type& type = *known(graph_.output(node)).type;
  const auto* what = arena.make<ir::Computation>(ir::Computation{
      .op = graph_.op(node),
      .opset = opset(""),
      .attributes = graph_.node(node).attributes,
      .inputs = arena.copy(std::span<const Literal* const>(inputs))});
  return arena.make<Literal>(
      Literal{.dtype = type.elem,
              .storage = ir::Storage::kComputed,
              .dims = sizes_of(arena, type),
              .computed = arena.make<ir::Computed>(
                  ir::Computed{model().evaluator, what, nodes})});
}

// With results of at most this many elements.
ops::Literals Solver::compute(NodeId node,
                              std::span<const Literal* const> inputs,
                              std::int64_t most) {
  // For the inputs and results in a wider type.
  constexpr std::size_t kBytesOfElement = 32, kAtLeast = 1 << 16;
  const std::size_t limit =
      kAtLeast + kBytesOfElement * static_cast<std::size_t>(most);
  const ir::Computation what{.op = graph_.op(node),
                             .opset = opset(""),
                             .attributes = graph_.node(node).attributes,
                             .inputs = inputs,
                             .outputs = graph_.outputs(node).size()};
  ops::Literals out(what.outputs);
  bool fits = true;
  const Status done = model().evaluator->evaluate(
      what, model().external.get(), limit,
      [&](std::size_t output, const Literal& t,
          const std::shared_ptr<const void>& owner) {
        fits = fits && t.element_count() <= most;
        if (fits) out[output] = kept(t, owner);
      });
  return done && fits ? out : ops::Literals();
}

const Literal* Solver::kept(const Literal& computed,
                            const std::shared_ptr<const void>& owner) {
  Arena& arena = model().arena;
  Literal t = computed;
  t.dims = arena.copy(t.dims);
  constexpr std::size_t kFew = 1 << 12;
  if (t.bytes.size() > kFew) {
    arena.keep(owner, t.bytes.size());
  } else {
    t.bytes = arena.copy(t.bytes);
  }
  if (t.element_count() > kMaxElements) model().folded += t.byte_size();
  return arena.make<Literal>(t);
}

// --- elements ----------------------------------------------------------------

MaybeElements Solver::elements_of(const Literal& tensor) const {
  const auto ints = ir::to_ints(tensor, model().external.get(), kMaxElements);
  if (!ints) return std::nullopt;
  std::vector<Dim> out;
  for (std::int64_t i : *ints) {
    out.push_back(Dim::holds(i) ? Dim(i) : kUnknown);
  }
  return out;
}

bool Solver::compute_elements(ValueId value) {
  MaybeElements found;
  const Value& v = graph_.value(value);
  if (followable(value)) {
    if (known(value).origin == Origin::kConstant) {
      const Literal* t = known(value).constant;
      if (t == nullptr) t = v.tensor;
      if (t != nullptr) found = elements_of(*t);
    } else if (v.kind == ValueKind::kNodeOutput && v.producer) {
      const ops::ElementRule* rule =
          rules_of(graph_.node(v.producer).op).elements;
      const NodeView view = this->view(v.producer);
      if (rule != nullptr && !view.blocked()) {
        found = rule->follow(view, v.output_index);
      }
      if (known(value).origin == Origin::kShape &&
          (!found || std::ranges::count(*found, kUnknown) > 0)) {
        const auto results = evaluate(v.producer);
        if (v.output_index < results.size() &&
            results[v.output_index] != nullptr) {
          found = elements_of(*results[v.output_index]);
        }
      }
    } else {
      if (const auto* bound = given(value)) found = bound->elements;
    }
  }
  if (found && static_cast<std::int64_t>(found->size()) != count_of(value)) {
    found.reset();
  }
  Memo& memo = memos_[value.index()];
  const bool same = found ? memo.elements != nullptr &&
                                std::ranges::equal(*found, memo.element_span())
                          : memo.elements == nullptr;
  if (same) return false;
  memo.elements = nullptr;
  memo.element_count = 0;
  if (found) {
    std::span<Dim> kept = model().arena.array<Dim>(found->size() + 1);
    std::ranges::copy(*found, kept.begin());
    memo.elements = kept.data();
    memo.element_count = static_cast<std::uint8_t>(found->size());
  }
  return true;
}

}  // namespace ruleengine::analysis
