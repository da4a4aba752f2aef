#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/data_type.h"
#include "core/ir/model.h"
#include "core/match/machine.h"
#include "core/match/naive/naive.h"
#include "core/ops/attribute_meaning.h"
#include "core/pattern/check.h"

// How the oracle describes the tests that failed, in terms of rule and model.
namespace ruleengine::match {

namespace {

// Longer lists of permutations are not sorted by likeness.
constexpr std::size_t kMostSorted = 24;

std::string number_text(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// An INT attribute's value; element types by their names.
std::string integer_text(std::string_view attribute, std::int64_t number) {
  const bool in_range = number > 0 && number < 1000;
  const auto type = static_cast<ir::DataType>(in_range ? number : 0);
  return ops::names_element_type(attribute) && ir::is_known(type)
             ? std::string(ir::data_type_name(type))
             : std::to_string(number);
}

}  // namespace

void Recorder::offer(Miss miss, std::size_t goals_left) {
  const auto is_further = [&] {
    if (miss.how_far() != best_->how_far()) {
      return miss.how_far() > best_->how_far();
    }
    return goals_left < goals_left_;
  };
  if (!best_ || is_further()) {
    best_ = std::move(miss);
    goals_left_ = goals_left;
    return;
  }
  const bool same = miss.how_far() == best_->how_far() &&
                    goals_left == goals_left_ && miss.test == best_->test &&
                    miss.found == best_->found;
  // The same test with another expectation, of another alternative: names both.
  if (same &&
      (" or " + best_->expected + " or ")
              .find(" or " + miss.expected + " or ") == std::string::npos) {
    best_->expected += " or " + miss.expected;
  }
}

// Counts only goals that require something of the graph.
std::size_t Naive::goals_left() const {
  std::size_t left = 0;
  for (const Goal* g = at_; g != nullptr; g = g->next) {
    left += g->aim == Aim::kTerm || g->aim == Aim::kInputs ||
            g->aim == Aim::kResult || g->aim == Aim::kFind;
  }
  return left;
}

bool Naive::fail(const std::function<Failure()>& failure) {
  if (recorder_ == nullptr) return false;
  Failure what = failure();
  Miss miss;
  miss.root = root_;
  miss.depth = static_cast<std::uint32_t>(matched_.size());
  miss.nearness = what.nearness;
  miss.node = what.node;
  miss.value = what.value;
  miss.line = what.line;
  miss.test = std::move(what.test);
  miss.expected = std::move(what.expected);
  miss.found = std::move(what.found);
  recorder_->offer(std::move(miss), goals_left());
  return false;
}

bool Naive::fail_at(const Goal& goal, const std::string& expected) {
  return fail([&] {
    return Failure{goal.node,   goal.value, line_of(goal),
                   place(goal), expected,   value_text(goal.value)};
  });
}

int Naive::line_of(const Goal& goal) {
  if (const int line = pattern()[goal.term].line) return line;
  for (Frame* frame = goal.frame; frame != nullptr; frame = frame->parent) {
    for (const auto& [slot, bound] : frame->slots) {
      if (slot.first != kNodeSlot || bound.node != goal.node) continue;
      return pattern().nodes()[slot.second].line;
    }
  }
  return 0;
}

int Naive::likeness(TermId term, ir::ValueId value, Frame* frame) {
  int best = 0;
  std::set<TermId> seen;
  std::vector<TermId> todo{term};
  while (!todo.empty()) {
    const TermId id = todo.back();
    todo.pop_back();
    if (!id || !seen.insert(id).second) continue;
    const Term& t = pattern()[id];
    switch (t.kind) {
      case TermKind::kEither:
        for (const auto& a : t.alternatives) todo.push_back(a.term);
        break;
      case TermKind::kMany:
        todo.insert(todo.end(), {t.base, t.step});
        break;
      case TermKind::kContext:
        todo.push_back(t.base);
        break;
      default:
        best = std::max(best, likeness_of_leaf(t, value, frame));
    }
  }
  return best;
}

int Naive::likeness_of_leaf(const Term& t, ir::ValueId value, Frame* frame) {
  const ir::Graph& graph = view_.graph();
  if (!value) return t.kind == TermKind::kAbsent ? 2 : 0;
  switch (t.kind) {
    case TermKind::kVariable: {
      const Bound* bound = get(variable_frame(t.variable, frame), kVariableSlot,
                               t.variable.index());
      if (bound == nullptr) return 2;
      return checker_.same(bound->value, bound->transposed, value, false) ? 2
                                                                          : 0;
    }
    case TermKind::kOutput: {
      const ir::NodeId node = graph.producer(value);
      if (!node || checker_.number(value)) return 0;
      const NodePattern& p = pattern()[t.node];
      return p.fits(graph.op(node).domain, graph.op(node).type) ? 2 : 1;
    }
    case TermKind::kNumbers:
      if (checker_.numbers(value, t.numbers, t.scalar)) return 2;
      return checker_.number(value) ? 1 : 0;
    case TermKind::kTranspose:
      return checker_.is_matrix_constant(value) ? 2 : 0;
    case TermKind::kAny:
    case TermKind::kNever:
      return 2;
    default:
      return 0;
  }
}

const std::vector<std::uint32_t>& Naive::slots_at(const Goal& goal,
                                                  std::size_t option) {
  const auto& all = prepared_.permutations[goal.index];
  if (recorder_ == nullptr || orders_at(goal) == 1 ||
      all.size() > kMostSorted) {
    return all[option];
  }
  const NodePattern& p = pattern().nodes()[goal.index];
  std::vector<std::pair<int, std::size_t>> order;  // likeliest first
  for (std::size_t i = 0; i < all.size(); ++i) {
    int sum = 0;
    for (std::size_t at = 0; at < all[i].size(); ++at) {
      sum += likeness(p.inputs[at], view_.input(goal.node, all[i][at]),
                      goal.frame);
    }
    order.emplace_back(-sum, i);
  }
  std::ranges::sort(order);
  return all[order[option].second];
}

std::string Naive::numbers_text(const std::vector<double>& numbers) {
  std::string out;
  for (double number : numbers) {
    out += (out.empty() ? "" : ", ") + number_text(number);
  }
  return "the constant " + (numbers.size() == 1 ? out : "[" + out + "]");
}

std::string Naive::place(const Goal& goal) {
  if (!goal.node) return "op of " + view_.graph().describe(root_);
  return "input " + std::to_string(goal.index) + " of " +
         view_.graph().describe(goal.node);
}

std::string Naive::value_text(ir::ValueId value) {
  if (!value) return "nothing";
  const ir::Graph& graph = view_.graph();
  const std::string name = "'" + std::string(graph.name(value)) + "'";
  std::string out;
  if (const ir::NodeId node = graph.producer(value)) {
    out = name + " of " + graph.describe(node);
    const std::uint32_t index = graph.value(value).output_index;
    if (index > 0) out += " (its output " + std::to_string(index) + ")";
  } else if (graph.value(value).kind == ir::ValueKind::kInput) {
    out = "input " + name;
  } else if (graph.name(value).empty()) {
    out = "a constant read from an attribute";  // see ir/upgrade.h
  } else {
    out = "initializer " + name;
  }
  if (const auto number = checker_.number(value)) {
    return out + " = " + number_text(number->value);
  }
  const ir::Type* type = view_.facts().type(value);
  if (type == nullptr || !type->is_tensor()) return out;
  out += " " + std::string(ir::data_type_name(type->elem));
  if (!type->has_shape) return out;
  out += "[";
  for (std::size_t i = 0; i < type->dims.size(); ++i) {
    if (i > 0) out += ",";
    out += shortened(graph.model().dims.text(type->dims[i]), 200);
  }
  return out + "]";
}

std::string Naive::fact_text(const Fact& fact) {
  std::string out;
  switch (fact.kind) {
    case Fact::Kind::kShape:
      out = "shape";
      break;
    case Fact::Kind::kFits:
      out = "fits";
      break;
    case Fact::Kind::kRank:
      return "rank " + std::to_string(fact.number);
    case Fact::Kind::kDim:
      out = "axis " + std::to_string(fact.number);
      break;
    case Fact::Kind::kType:
      out = "type";
      for (ir::DataType type : fact.types) {
        out += " " + std::string(ir::data_type_name(type));
      }
      return out;
    case Fact::Kind::kConst:
      out = "a constant";
      break;
  }
  if (fact.ellipsis) out += " ...";
  for (const Fact::DimPattern& dim : fact.dims) {
    switch (dim.kind) {
      case Fact::DimPattern::Kind::kAny:
        out += " _";
        break;
      case Fact::DimPattern::Kind::kNumber:
        out += " " + std::to_string(dim.number);
        break;
      case Fact::DimPattern::Kind::kLetter:
        out += " " + letter_text(dim.letter, frames_[0].get());
        break;
    }
  }
  return out;
}

std::string Naive::letter_text(VariableId letter, Frame* frame) {
  std::string out = pattern()[letter].name;
  const Bound* bound =
      get(variable_frame(letter, frame), kVariableSlot, letter.index());
  if (bound == nullptr) return out;
  return out + "=" +
         (bound->kind == Bound::Kind::kDim
              ? view_.graph().model().dims.text(bound->dim)
              : attribute_text(bound->attribute));
}

std::string Naive::literal_text(const AttributePattern& wanted) {
  return wanted.kind == AttributePattern::Kind::kInt
             ? integer_text(wanted.name, wanted.i)
             : pattern::literal_text(wanted);
}

std::string Naive::attribute_text(const ir::Attribute* attribute) {
  if (attribute == nullptr) return "nothing";
  const auto list = [](const auto& items, auto&& text) {
    std::string out = "[";
    for (const auto& item : items) {
      if (out.size() > 1) out += ", ";
      out += text(item);
    }
    return out + "]";
  };
  switch (attribute->kind) {
    case ir::AttributeKind::kInt:
      return integer_text(attribute->name, attribute->i);
    case ir::AttributeKind::kFloat:
      return std::to_string(attribute->f);
    case ir::AttributeKind::kString:
      return "\"" + printable(attribute->s) + "\"";
    case ir::AttributeKind::kInts:
      return list(attribute->ints,
                  [](std::int64_t i) { return std::to_string(i); });
    case ir::AttributeKind::kFloats:
      return list(attribute->floats, [](float f) { return std::to_string(f); });
    case ir::AttributeKind::kStrings:
      return list(attribute->strings,
                  [](std::string_view s) { return printable(s); });
    default:
      return "a value";
  }
}

Attempt explain(const Pattern& pattern, ir::Graph& graph, ir::Facts& facts,
                ir::NodeId root) {
  const Prepared prepared = prepare(pattern);
  ops::NewestNodes view(graph, facts);
  Recorder recorder;
  Attempt attempt;
  attempt.match = Naive(prepared, view, &recorder).run(root);
  if (!attempt.match) attempt.miss = recorder.take();
  return attempt;
}

}  // namespace ruleengine::match
