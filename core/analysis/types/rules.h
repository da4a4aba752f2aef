// The tables of rules: how an op's output types, and the elements of its small
// integer outputs, follow from its inputs. A rule is a pure function of a
// NodeView. Internal to core/analysis; the tables are constant.
#ifndef RULEENGINE_CORE_ANALYSIS_TYPES_RULES_H_
#define RULEENGINE_CORE_ANALYSIS_TYPES_RULES_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/analysis/solver/node_view.h"

namespace ruleengine::analysis {

using Outputs = std::span<Inferred>;

// Fills what it knows; false when the op's form is beyond it (then the schema
// is asked).
using TypeFunction = bool (*)(const NodeView&, Outputs);

struct TypeRule {
  std::string_view domain;
  std::string_view type;
  TypeFunction infer = nullptr;
  std::uint32_t values = 0;  // bits of the inputs whose elements it reads
};

// nullptr when there is none.
const TypeRule* find_type_rule(const ir::Op& op);

// The elements of output `output`; an empty optional when they are not known
// one by one.
using MaybeElements = std::optional<std::vector<ir::Dim>>;
using ElementFunction = MaybeElements (*)(const NodeView&, std::size_t output);

struct ElementRule {
  std::string_view type;  // of the standard domain
  ElementFunction follow = nullptr;
  std::uint32_t values = 0;  // inputs whose elements it reads
  std::uint32_t types = 0;   // inputs whose types it reads
};

const ElementRule* find_element_rule(const ir::Op& op);

// The parts of the first table, one a file.
std::span<const TypeRule> elementwise_rules();
std::span<const TypeRule> linear_rules();
std::span<const TypeRule> layout_rules();
std::span<const TypeRule> indexing_rules();
std::span<const TypeRule> reduction_rules();
std::span<const TypeRule> generator_rules();
std::span<const TypeRule> dialect_rules();

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_TYPES_RULES_H_
