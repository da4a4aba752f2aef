// The part of Builder that gives attributes their types and checks ops.
#include <algorithm>
#include <climits>
#include <utility>

#include "core/base/suggest.h"
#include "core/text/read/builder.h"
#include "core/text/words.h"

namespace ruleengine::text {

using ir::AttributeKind;
using ir::BlockId;

namespace {

// "2", "1 to 3", "1 or more".
std::string range(int least, int most) {
  const std::string from = std::to_string(least);
  if (least == most) return from;
  return most == INT_MAX ? from + " or more"
                         : from + " to " + std::to_string(most);
}

}  // namespace

std::int64_t Builder::version(std::string_view domain) const {
  const auto at = versions_.find(domain);
  return at == versions_.end() ? 0 : at->second;
}

bool Builder::attributes(const NodeAst& ast, BlockId id,
                         std::vector<Child>& children,
                         std::span<const ir::Attribute>& out) {
  const ops::OpFacts* op = ops::find_op(
      ast.domain, ast.type,
      static_cast<int>(std::min<std::int64_t>(version(ast.domain), 1 << 20)));
  if (options_.warnings != nullptr) {
    warn_of_op(ast, op);
  } else if (options_.check_ops && !check_op(ast, op)) {
    return false;
  }
  std::vector<ir::Attribute> list;
  for (const AttributeAst& a : ast.attributes) {
    ir::Attribute& made = list.emplace_back(a.value);
    if (!fit(a, op, made)) return false;
    std::vector<BlockId> blocks;
    for (const auto& inner : a.graphs) {
      // The node is added next, so its id is known.
      const BlockId block =
          graph_->add_block(ir::NodeId(graph_->node_count()), id, inner->name);
      blocks.push_back(block);
      children.push_back({block, inner.get()});
    }
    made.blocks = model_.arena.copy(std::span<const BlockId>(blocks));
  }
  out = model_.arena.copy(std::span<const ir::Attribute>(list));
  return true;
}

// Numbers without a point may be floats, and an empty list may have any type:
// the op determines what is meant.
bool Builder::fit(const AttributeAst& ast, const ops::OpFacts* op,
                  ir::Attribute& out) {
  const ops::FormalAttribute* formal =
      op == nullptr ? nullptr : op->attribute(out.name);
  if (ast.empty_list) {
    if (formal != nullptr && is_list(formal->kind)) out.kind = formal->kind;
    if (out.kind != AttributeKind::kUndefined) return true;
    return fail(ast.at, "the type of an empty list is not known",
                "a type, such as axes: ints = []");
  }
  if (formal == nullptr || ast.has_type) return true;
  if (!out.ref.empty()) {
    out.kind = formal->kind;
  } else if (formal->kind == AttributeKind::kFloat &&
             out.kind == AttributeKind::kInt) {
    out.kind = AttributeKind::kFloat;
    out.f = static_cast<float>(out.i);
  } else if (formal->kind == AttributeKind::kFloats &&
             out.kind == AttributeKind::kInts) {
    std::vector<float> floats;
    for (std::int64_t i : out.ints) floats.push_back(static_cast<float>(i));
    out.kind = AttributeKind::kFloats;
    out.floats = model_.arena.copy(std::span<const float>(floats));
    out.ints = {};
  }
  return true;
}

void Builder::warn_of_op(const NodeAst& ast, const ops::OpFacts* op) {
  const auto id = model_.ops.intern(ast.domain, ast.type, ast.overload).index();
  if (warned_.contains(id) || check_op(ast, op)) return;
  warned_.insert(id);
  options_.warnings->push_back(std::exchange(error_, {}));
}

bool Builder::check_op(const NodeAst& ast, const ops::OpFacts* op) {
  const std::string text = ir::Op{ast.domain, ast.type, ast.overload}.text();
  if (op == nullptr) {
    const ir::OpId id = model_.ops.find(ast.domain, ast.type, ast.overload);
    const bool call = id && functions_.contains(id.index());
    if (call || !ops::known_domain(ast.domain)) return true;
    const ops::OpFacts* later = ops::oldest_op(ast.domain, ast.type);
    return fail(
        ast.at,
        "there is no such op at opset " + std::to_string(version(ast.domain)),
        later == nullptr ? "an op of the domain" : "a newer opset",
        quoted_name(text),
        later == nullptr
            ? did_you_mean(ops::similar_ops(ast.domain, ast.type))
            : text + " exists from opset " +
                  std::to_string(later->since_version) +
                  " on; an op of your own has a domain: com.example." +
                  std::string(ast.type));
  }
  for (const AttributeAst& a : ast.attributes) {
    // A newer release of another runtime may have more attributes.
    const bool is_open = !ops::known_domain(ast.domain);
    if (is_open || op->attribute(a.value.name) != nullptr) continue;
    return fail(a.at, text + " has no such attribute", "",
                quoted_name(a.value.name),
                ops::attribute_hint(*op, a.value.name));
  }
  auto inputs = ast.inputs.size();
  while (inputs > 0 && ast.inputs[inputs - 1].text.empty()) --inputs;
  const auto count = static_cast<int>(inputs);
  if (count >= op->min_inputs && count <= op->max_inputs) return true;
  return fail(ast.at, text + " does not take that many inputs",
              range(op->min_inputs, op->max_inputs), std::to_string(count));
}

}  // namespace ruleengine::text
