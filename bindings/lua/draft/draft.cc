#include "bindings/lua/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "bindings/lua/code/code_literal.h"
#include "bindings/lua/draft/region.h"

namespace ruleengine::lua {
namespace {

std::string name_of(const ir::Model& model) {
  constexpr std::size_t kLongest = 60;
  const auto file = std::filesystem::path(model.path).filename().string();
  return file.empty() || file == "-" ? "the model" : printable(file, kLongest);
}

// What the op reads: "x, w", or with a prefix "m.x, m.w".
std::string operands(const Region& region, bool literals,
                     std::string_view prefix) {
  std::string out;
  for (const Source& each : region.sources) {
    if (!each.is_literal(literals)) {
      append(out, std::string(prefix) + each.name);
    }
  }
  return out;
}

// "Div, Erf, Add": each type once.
std::string op_types(const Region& region) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string_view> types;
  for (const ir::NodeId id : region.selection.nodes) {
    const std::string_view type = region.graph.op(id).type;
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(types.size(), kMost); ++i) {
    append(out, types[i]);
  }
  if (types.size() > kMost) append(out, "...");
  return printable(out);
}

// What `match` states of the inputs of the example.
std::string shape_facts(const Region& region,
                        std::span<const std::string> names) {
  std::string out;
  std::size_t at = 0;
  for (const Source& each : region.sources) {
    if (!each.is_input() || each.type->dims.empty()) continue;
    std::string dims;
    for (std::size_t i = 0; i < each.type->dims.size(); ++i, ++at) {
      if (i > 0) dims += ' ';
      dims += names[at].empty() ? "_" : names[at];
    }
    out += fmt::format("    {}:shape \"{}\"\n", each.name, dims);
  }
  return out;
}

}  // namespace

Draft::Draft(std::unique_ptr<Region> region) : region_(std::move(region)) {}
Draft::Draft(Draft&& from) noexcept = default;
Draft& Draft::operator=(Draft&& from) noexcept = default;
Draft::~Draft() = default;

Result<Draft> Draft::create(ir::Model& model,
                            std::span<const ir::NodeId> nodes) {
  auto region = std::make_unique<Region>(model);
  auto selection = select_nodes(model.graph, nodes);
  if (!selection) return selection.error();
  region->selection = *std::move(selection);
  for (const ir::NodeId id : region->selection.nodes) {
    if (auto status = check_node(*region, id); !status) return status.error();
  }
  for (const ir::ValueId value : region->selection.results) {
    const ir::Type* type = region->facts.type(value);
    if (type == nullptr || type->is_tensor()) continue;
    return misuse("a result of the nodes is no tensor",
                  "value '" + printable(model.graph.name(value)) + "'",
                  "an example has tensors only: name its readers too");
  }
  FreshNames fresh;
  auto sources = sources_of(model, region->newest, region->selection, fresh);
  if (!sources) return sources.error();
  region->sources = *std::move(sources);
  for (const Source& each : region->sources) {
    region->names[each.value] = each.name;
    if (!each.is_input()) continue;
    for (const ir::Dim dim : each.type->dims) {
      region->sizes.push_back({dim, !dim.known()});
    }
  }
  for (const ir::NodeId id : region->selection.nodes) {
    for (const ir::ValueId value : model.graph.outputs(id)) {
      if (!value) continue;
      region->names[value] =
          fresh.take(in_small_letters(model.graph.op(id).type));
    }
  }
  return Draft(std::move(region));
}

const std::vector<ir::NodeId>& Draft::nodes() const {
  return region_->selection.nodes;
}
const std::vector<Draft::Size>& Draft::sizes() const { return region_->sizes; }

std::string Draft::text(std::string_view op, std::span<const std::string> names,
                        bool literals) const {
  Region& region = *region_;
  std::vector<std::string> sizes(names.begin(), names.end());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].empty()) {
      sizes[i] = std::to_string(region.sizes[i].dim.size());
    }
  }
  const std::string model = name_of(region.model);
  const std::size_t count = region.selection.nodes.size();
  const std::size_t results = region.selection.results.size();
  const std::string read = operands(region, literals, "");
  const std::string given = read.empty() ? "op" : "op, " + read;
  std::string made = operands(region, literals, "m.");
  if (results > 1) append(made, fmt::format("outputs = {}", results));
  return fmt::format(
      "-- What {} of {} compute{}: the pattern, and what the new op means.\n"
      "local function nodes{}end\n"
      "\n"
      "return rule {{\n"
      "  doc   = {},\n"
      "  match = function({})\n"
      "{}"
      "    return nodes({})\n"
      "  end,\n"
      "  rewrite = function(op, m) return op[\"com.example\"].{}{}{}{} end,\n"
      "  body = {{\n"
      "    [\"com.example.{}\"] = function({}, attrs)\n"
      "      return nodes({})\n"
      "    end,\n"
      "  }},\n"
      "  examples = {{\n"
      "    {{ {}, {},\n"
      "      \"{} = com.example.{}({})\" }},\n"
      "  }},\n"
      "}}\n",
      count == 1 ? "a node" : fmt::format("{} nodes", count), model,
      count == 1 ? "s" : "", function_text(region, literals),
      code_long_text(
          fmt::format(" {}   =>   {}({}) ", op_types(region), op, read)),
      given, shape_facts(region, names), given, op, results > 1 ? '{' : '(',
      made, results > 1 ? '}' : ')', op, given, given,
      code_text("as in " + model),
      code_long_text("\n" + example_text(region, sizes)),
      region.names_of(region.selection.results), op, read);
}

}  // namespace ruleengine::lua
