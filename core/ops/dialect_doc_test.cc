// docs/dialect.md has one entry for each op of ours, made from its row.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "core/ops/dialect.h"
#include "core/ops/op_row.h"

namespace ruleengine::ops {
namespace {

// "Q, K, V, attn_mask?"
std::string text_of(std::span<const ir::FormalValue> formals) {
  std::string out;
  for (const ir::FormalValue& formal : formals) {
    out += out.empty() ? "" : ", ";
    out += formal.name;
    if (formal.arity == ir::Arity::kOptional) out += "?";
    if (formal.arity == ir::Arity::kVariadic) out += "...";
  }
  return out;
}

std::string default_of(const ir::FormalAttribute& formal) {
  switch (formal.kind) {
    case ir::AttributeKind::kInt:
      return fmt::format("{}", formal.default_int);
    case ir::AttributeKind::kFloat:
      return fmt::format("{}", formal.default_float);
    case ir::AttributeKind::kInts:
      return fmt::format("[{}]", fmt::join(formal.default_ints, ","));
    default:
      return std::string(formal.default_string);
  }
}

// "num_heads, is_causal = 0, scale?"
std::string text_of(std::span<const ir::FormalAttribute> formals) {
  std::string out;
  for (const ir::FormalAttribute& formal : formals) {
    out += (out.empty() ? "" : ", ") + std::string(formal.name);
    if (formal.has_default) out += " = " + default_of(formal);
    if (!formal.has_default && !formal.required) out += "?";
  }
  return out;
}

// "Linear * <axis> (x, weight, bias?) -> Y = formula"
std::string entry_of(const OpRow& row) {
  const std::string attributes = text_of(row.facts.attributes);
  return fmt::format(
      "{}{}{} ({}) -> {} = {}", row.type, row.meaning != nullptr ? " *" : "",
      attributes.empty() ? "" : fmt::format(" <{}>", attributes),
      text_of(row.facts.inputs), text_of(row.facts.outputs), row.formula);
}

// The indented entries of a page below its first heading of a domain, each on
// one line; what is indented further goes on.
std::set<std::string> entries_of(std::istream& page) {
  std::set<std::string> entries;
  std::string entry;
  bool below = false;
  for (std::string line; std::getline(page, line);) {
    below = below || line.starts_with("## `");
    const std::size_t indent = line.find_first_not_of(' ');
    if (below && indent != std::string::npos && indent > 4 && !entry.empty()) {
      entry += " " + line.substr(indent);
      continue;
    }
    if (!entry.empty()) entries.insert(entry);
    entry = below && indent == 4 ? line.substr(indent) : "";
  }
  if (!entry.empty()) entries.insert(entry);
  return entries;
}

TEST_CASE("docs/dialect.md says of each op what its row says") {
  std::ifstream file(RULEENGINE_SOURCE_DIR "/docs/dialect.md");
  REQUIRE(file.good());
  std::set<std::string> entries = entries_of(file);
  for (const OpRow* row : all_rows()) {
    if (row->domain.empty() || row->facts.inputs.empty()) continue;
    const std::string entry = entry_of(*row);
    CAPTURE(entry);
    CHECK(entries.erase(entry) == 1);
    CHECK_FALSE(row->formula.empty());
  }
  for (const std::string& entry : entries) FAIL_CHECK("of no row: " << entry);
}

TEST_CASE("a collective has no meaning, every other op that rules make has") {
  const std::set<std::string_view> sources = {"MultiheadAttention",
                                              "ShiftedWindowAttention"};
  for (const OpRow* row : all_rows()) {
    const bool closed = std::ranges::find(ir::dialect::kClosed, row->domain) !=
                        std::end(ir::dialect::kClosed);
    if (!closed) continue;
    CAPTURE(row->type);
    CHECK((row->meaning != nullptr) ==
          (!row->roles.collective && !sources.contains(row->type)));
  }
}

}  // namespace
}  // namespace ruleengine::ops
