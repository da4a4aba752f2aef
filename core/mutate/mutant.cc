#include "core/mutate/mutant.h"

#include <algorithm>
#include <utility>

#include "core/mutate/draft.h"
#include "core/ops/node_spec.h"
#include "core/text/parse.h"
#include "core/text/print.h"
#include "core/verify/verify.h"

namespace ruleengine::mutate {
namespace {

using ir::ValueId;

constexpr std::size_t kMostChanges = 4;
constexpr double kOneMore = 0.45;

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> out;
    for (const auto each : {size_kinds(), type_kinds(), constant_kinds(),
                            attribute_kinds(), reader_kinds(), op_kinds()}) {
      out.insert(out.end(), each.begin(), each.end());
    }
    return out;
  }();
  return all;
}

// By the weights.
std::uint32_t draw_kind(Dice& dice) {
  std::size_t sum = 0;
  for (const Kind& kind : kinds()) sum += kind.weight;
  std::size_t left = dice.below(sum);
  std::uint32_t at = 0;
  while (left >= kinds()[at].weight) left -= kinds()[at++].weight;
  return at;
}

// Whether all that its op requires is there.
bool is_complete(const ir::Graph& graph, ir::NodeId node) {
  const ops::OpFacts* const known = ops::facts_of(graph, node);
  if (known == nullptr) return true;
  const auto inputs = graph.inputs(node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].value) continue;
    const ops::FormalValue* const formal = known->input(i);
    if (formal != nullptr && formal->arity == ops::Arity::kSingle) return false;
  }
  return std::ranges::all_of(
      known->attributes, [&](const ops::FormalAttribute& formal) {
        return !formal.required ||
               graph.attribute(node, formal.name) != nullptr;
      });
}

bool is_valid(ir::Graph& graph, ir::Facts& facts) {
  for (const ir::NodeId node : graph.live_nodes()) {
    if (!is_complete(graph, node) || facts.refusal(node)) return false;
  }
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ValueId value(i);
    if (graph.value(value).removed) continue;
    facts.type(value);  // finds the contradiction
    if (facts.contradiction(value)) return false;
  }
  return true;
}

// Inner values and outputs have the types that follow from the inputs; where
// none follows, that which was declared. False: types contradict each other.
bool declare(Draft& draft, FactsOf facts_of) {
  ir::Graph& graph = draft.graph();
  std::vector<const ir::Type*> declared(graph.value_count());
  for (const ValueId v : draft.inner_values()) {
    std::swap(declared[v.index()], graph.mutable_value(v).declared);
  }
  auto facts = facts_of(graph);
  bool is_known = true;
  for (const ValueId v : draft.inner_values()) {
    if (facts->type(v) != nullptr || declared[v.index()] == nullptr) continue;
    graph.mutable_value(v).declared = declared[v.index()];
    is_known = false;
  }
  if (!is_known) facts = facts_of(graph);
  if (!is_valid(graph, *facts)) return false;
  for (const ValueId v : draft.outputs()) {
    const ir::Type* const type = facts->type(v);
    if (type != nullptr) graph.mutable_value(v).declared = type;
  }
  return true;
}

}  // namespace

std::string_view name_of(const Change& change) {
  return kinds()[change.kind].name;
}

std::vector<Change> draw_changes(std::uint64_t seed) {
  Dice dice(seed);
  std::vector<Change> out;
  do {
    const std::uint32_t kind = draw_kind(dice);
    out.push_back({kind, dice.bits()});
  } while (out.size() < kMostChanges && dice.chance(kOneMore));
  return out;
}

std::optional<Mutant> make_mutant(const ir::Model& original,
                                  std::span<const Change> changes,
                                  FactsOf facts_of) {
  Draft draft(original, facts_of);
  for (const Change& change : changes) {
    Dice dice(change.seed);
    if (!kinds()[change.kind].apply(draft, dice)) return std::nullopt;
  }
  if (!declare(draft, facts_of)) return std::nullopt;
  // The text has no trace of the draft, and is what a user is shown.
  auto text = text::print_whole(draft.model());
  if (!text) return std::nullopt;
  auto model = text::parse_model(*text, original.path, {.check_ops = true});
  if (!model || !verify::check_model(**model)) return std::nullopt;
  return Mutant{std::move(*model), std::move(*text)};
}

}  // namespace ruleengine::mutate
