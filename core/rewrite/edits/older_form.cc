#include <fmt/format.h>

#include "core/ops/node_spec.h"
#include "core/ops/op_facts.h"
#include "core/ops/upgrade.h"
#include "core/rewrite/edits/state.h"
#include "core/rewrite/portable.h"

namespace ruleengine::rewrite {
namespace {

// Drops attributes at their default that the older op does not have.
void drop_news(const ops::OpFacts& newest, const ops::OpFacts& own,
               std::vector<ir::Attribute>& all) {
  std::erase_if(all, [&](const ir::Attribute& a) {
    const ops::FormalAttribute* formal = newest.attribute(a.name);
    return own.attribute(a.name) == nullptr && formal != nullptr &&
           !formal->required && ops::is_default(*formal, a);
  });
}

// What the node uses of the newest op that the older one does not have.
std::optional<Rejection> check_older(const ops::OpFacts& own,
                                     const NodeSpec& spec, std::int64_t opset) {
  std::string news;
  if (static_cast<int>(spec.inputs.size()) > own.max_inputs) {
    news = "that many inputs";
  } else if (static_cast<int>(spec.output_count) > own.max_outputs) {
    news = "that many outputs";
  }
  for (const ir::Attribute& a : spec.attributes) {
    if (own.attribute(a.name) == nullptr) {
      news = "attribute '" + std::string(a.name) + "'";
    }
  }
  if (news.empty()) return std::nullopt;
  return Rejection{
      std::string(spec.type) + " has no " + news + " in the model's opset",
      "opset " + std::to_string(opset)};
}

std::string way_to(std::int64_t opset) {
  return fmt::format("a model of opset {} can express it", opset);
}

// The first opset that can express the node; the newest one can.
int oldest_opset(EditState& state, const NodeSpec& spec, int from, int newest) {
  while (++from < newest) {
    const auto form =
        ops::to_opset(state.graph, spec.domain, spec.type, spec.inputs,
                      spec.attributes, from, state.facts);
    if (form) break;
  }
  return from;
}

}  // namespace

std::optional<Rejection> to_older_form(EditState& state, NodeSpec& spec) {
  const std::string& no_bodies = state.workspace->no_bodies();
  if (!no_bodies.empty() && has_body({spec.domain, spec.type, {}})) {
    state.workspace->bodies_missed = true;
    return Rejection{
        std::string(spec.type) + " cannot be expressed at the model's opset",
        no_bodies};
  }
  const ops::OpFacts* newest = ops::newest_op(spec.domain, spec.type);
  const std::int64_t opset = state.workspace->opset(spec.domain);
  if (newest == nullptr || opset == 0) return std::nullopt;
  const auto version = static_cast<int>(opset);
  const ops::OpFacts* own = ops::find_op(spec.domain, spec.type, version);
  if (own == nullptr) {
    const int since = ops::oldest_op(spec.domain, spec.type)->since_version;
    std::string value =
        fmt::format("opset {}; it was added in {}", opset, since);
    if (spec.domain.empty()) value += "; " + way_to(since);
    return Rejection{std::string(spec.type) + " is not in the model's opset",
                     std::move(value), spec.domain.empty() ? since : 0};
  }
  if (own != newest) {
    drop_news(*newest, *own, spec.attributes);
    auto older = ops::to_opset(state.graph, spec.domain, spec.type, spec.inputs,
                               spec.attributes, opset, state.facts);
    if (!older) {
      Rejection why{older.error().what, older.error().found};
      if (spec.domain.empty()) {
        why.opset = oldest_opset(state, spec, version, newest->since_version);
        why.value += (why.value.empty() ? "" : "; ") + way_to(why.opset);
      }
      return why;
    }
    spec.inputs = std::move(older->inputs);
    spec.attributes = std::move(older->attributes);
  }
  // Attributes of the dialect's ops are all written, so that each node shows
  // its complete configuration.
  if (spec.domain.empty()) ops::drop_defaults(*own, spec.attributes);
  return check_older(*own, spec, opset);
}

}  // namespace ruleengine::rewrite
