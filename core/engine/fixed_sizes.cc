#include "core/engine/fixed_sizes.h"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "core/analysis/inference.h"
#include "core/base/suggest.h"

namespace ruleengine::engine {
namespace {

Diagnostic wrong_size(std::string what, std::string expected,
                      std::string found) {
  return {.kind = ErrorKind::kUsage,
          .what = std::move(what),
          .expected = std::move(expected),
          .found = std::move(found)};
}

// The names of the dimensions that types declare.
std::set<std::string> named_dimensions(const ir::Model& model) {
  std::set<std::string> out;
  const ir::Graph& graph = model.graph;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ir::Type* type = graph.value(ir::ValueId(i)).declared;
    if (type == nullptr) continue;
    for (const ir::Dim dim : type->dims) {
      for (const ir::Dim leaf : model.dims.leaves(dim)) {
        if (!model.dims.is_fresh(leaf)) out.insert(model.dims.text(leaf));
      }
    }
  }
  return out;
}

// Follows names that are equal to other names to the last of them.
Result<ir::Dim> resolve(ir::DimTable& dims, const FixedSizes& sizes,
                        const std::string& name) {
  std::set<std::string> seen;
  for (std::string at = name;;) {
    if (!seen.insert(at).second) {
      return wrong_size("dimensions are equal to each other in a circle",
                        "a size, or the name of another dimension", at);
    }
    const auto found = sizes.find(at);
    if (found == sizes.end()) return dims.symbol(at);
    if (const auto* size = std::get_if<std::int64_t>(&found->second)) {
      return ir::Dim(*size);
    }
    at = std::get<std::string>(found->second);
  }
}

// Rewrites the declared types.
Status fix_types(ir::Model& model) {
  ir::Graph& graph = model.graph;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    ir::Value& value = graph.mutable_value(ir::ValueId(i));
    const ir::Type* old = value.declared;
    if (old == nullptr || !old->is_tensor()) continue;
    std::vector<ir::Dim> dims;
    for (const ir::Dim dim : old->dims) {
      const ir::Dim fixed = model.dims.bound(dim);
      if (fixed != dim && fixed.known() && fixed.size() < 0) {
        return wrong_size(
            fmt::format("the dimension '{}' of '{}' is too small",
                        model.dims.text(dim), model.names.text(value.name)),
            "a size of 0 or more", model.dims.text(fixed));
      }
      dims.push_back(fixed);
    }
    ir::Type* fixed = model.arena.make<ir::Type>(*old);
    fixed->dims = model.arena.copy(std::span<const ir::Dim>(dims));
    value.declared = fixed;
  }
  for (std::size_t i = 0; i < graph.block_count(); ++i) {
    graph.mutable_block(ir::BlockId(i)).changed = true;
  }
  return {};
}

struct Conflict {
  std::string where, why;
};

// What no runtime accepts: nodes whose inputs contradict their op, then values
// whose declared type contradicts what is computed. By their numbers.
std::map<std::pair<bool, std::size_t>, Conflict> conflicts(ir::Model& model) {
  std::map<std::pair<bool, std::size_t>, Conflict> out;
  const ir::Graph& graph = model.graph;
  analysis::Inference facts(model.graph);
  for (const ir::NodeId node : graph.live_nodes()) {
    if (auto why = facts.refusal(node)) {
      out[{false, node.index()}] = {graph.describe(node), std::move(*why)};
    }
  }
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId value(i);
    facts.type(value);  // finds the contradiction
    if (auto why = facts.contradiction(value)) {
      const std::string_view name = model.names.text(graph.value(value).name);
      out[{true, i}] = {printable(name), std::move(*why)};
    }
  }
  return out;
}

}  // namespace

Status fix_sizes(ir::Model& model, const FixedSizes& sizes) {
  if (sizes.empty()) return {};
  const std::set<std::string> known = named_dimensions(model);
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [name, size] : sizes) {
    const auto* other = std::get_if<std::string>(&size);
    for (const std::string& each : {name, other == nullptr ? name : *other}) {
      if (known.contains(each)) continue;
      return Diagnostic{.kind = ErrorKind::kUsage,
                        .what = fmt::format("the model has no dimension {}",
                                            quoted_name(each, 100)),
                        .hint = suggestion(each, names)};
    }
  }
  std::vector<std::pair<std::string, ir::Dim>> resolved;
  for (const auto& [name, size] : sizes) {
    const auto dim = resolve(model.dims, sizes, name);
    if (!dim) return dim.error();
    resolved.emplace_back(name, *dim);
  }
  const auto before = conflicts(model);
  for (const auto& [name, dim] : resolved) model.dims.bind(name, dim);
  model.changed = true;
  if (Status s = fix_types(model); !s) return s;
  for (const auto& [place, conflict] : conflicts(model)) {
    if (before.contains(place)) continue;
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "the sizes contradict the model",
                      .where = conflict.where,
                      .found = conflict.why};
  }
  return {};
}

}  // namespace ruleengine::engine
