#include "core/ops/op_facts.h"

#include <algorithm>
#include <climits>
#include <tuple>
#include <utility>

#include "core/base/suggest.h"
#include "core/ops/dialect.h"
#include "core/ops/op_row.h"
#include "core/ops/rules/name_table.h"

namespace ruleengine::ops {
namespace {

using ir::AttributeKind;  // in the table

struct DomainFacts {
  std::string_view name;
  int newest = 0;
};

#include "core/ops/op_facts_table.inc"

constexpr bool before(const OpFacts& a, const OpFacts& b) {
  return std::tie(a.domain, a.type, a.since_version) <
         std::tie(b.domain, b.type, b.since_version);
}
static_assert(std::is_sorted(std::begin(kStandardOps), std::end(kStandardOps),
                             before));

constexpr bool same_op(const OpFacts& a, const OpFacts& b) {
  return a.domain == b.domain && a.type == b.type;
}

// The first version of each op of the standard.
constexpr auto kFirstVersions = [] {
  NameTable<OpFacts> table;
  std::size_t used = 0;
  for (const OpFacts& op : kStandardOps) {
    if (&op != kStandardOps && same_op(*(&op - 1), op)) continue;
    table.set(op);
    if (++used > table.kMost) throw "the table is too small";
  }
  return table;
}();

// Whose ops come from the library's schemas.
bool is_standard(std::string_view domain) {
  return std::ranges::find(kStandardDomains, domain, &DomainFacts::name) !=
         std::end(kStandardDomains);
}

std::span<const OpFacts> standard_versions(std::string_view domain,
                                           std::string_view type) {
  const OpFacts* first = kFirstVersions.find(domain, type);
  const OpFacts* end = first;
  while (end != nullptr && end != std::end(kStandardOps) &&
         same_op(*first, *end)) {
    ++end;
  }
  return {first, end};
}

// All versions of the op, oldest first.
std::span<const OpFacts> versions(std::string_view domain,
                                  std::string_view type) {
  domain = ir::normalized(domain);
  if (is_standard(domain)) {
    const auto found = standard_versions(domain, type);
    if (!found.empty()) return found;
  }
  const OpRow* row = find_row(domain, type);
  if (row == nullptr || row->facts.type.empty()) return {};
  return {&row->facts, 1};
}

const FormalValue* formal_at(std::span<const FormalValue> formals,
                             std::size_t place) {
  if (place < formals.size()) return &formals[place];
  if (formals.empty() || formals.back().arity != Arity::kVariadic) {
    return nullptr;
  }
  return &formals.back();
}

bool begins_with(std::string_view text, std::string_view head) {
  return head.size() >= 3 && text.size() > head.size() &&
         edit_distance(text.substr(0, head.size()), head) == 0;
}

}  // namespace

const FormalAttribute* OpFacts::attribute(std::string_view name) const {
  auto it =
      std::ranges::lower_bound(attributes, name, {}, &FormalAttribute::name);
  return it != attributes.end() && it->name == name ? &*it : nullptr;
}

bool OpFacts::permits(std::string_view name) const {
  const FormalAttribute* formal = attribute(name);
  return formal != nullptr && formal->permits;
}

const FormalValue* OpFacts::input(std::size_t place) const {
  return formal_at(inputs, place);
}

const FormalValue* OpFacts::output(std::size_t place) const {
  return formal_at(outputs, place);
}

const OpFacts* find_op(std::string_view domain, std::string_view type,
                       int opset) {
  const OpFacts* found = nullptr;
  for (const OpFacts& op : versions(domain, type)) {
    if (op.since_version <= opset) found = &op;
  }
  return found;
}

const OpFacts* oldest_op(std::string_view domain, std::string_view type) {
  std::span<const OpFacts> all = versions(domain, type);
  return all.empty() ? nullptr : &all.front();
}

const OpFacts* newest_op(std::string_view domain, std::string_view type) {
  std::span<const OpFacts> all = versions(domain, type);
  return all.empty() ? nullptr : &all.back();
}

std::vector<const OpFacts*> newest_ops() {
  std::vector<const OpFacts*> out;
  for (const OpFacts* op : all_ops()) {
    if (!out.empty() && same_op(*out.back(), *op)) out.pop_back();
    out.push_back(op);
  }
  return out;
}

const FormalAttribute* find_attribute(std::string_view domain,
                                      std::string_view type, int opset,
                                      std::string_view name) {
  for (const OpFacts* op :
       {find_op(domain, type, opset), newest_op(domain, type)}) {
    const FormalAttribute* found =
        op == nullptr ? nullptr : op->attribute(name);
    if (found != nullptr) return found;
  }
  return nullptr;
}

std::int64_t int_of(const ir::Attribute* written,
                    const FormalAttribute* formal) {
  if (written != nullptr && written->kind == ir::AttributeKind::kInt) {
    return written->i;
  }
  return formal == nullptr ? 0 : formal->default_int;
}

std::string_view string_of(const ir::Attribute* written,
                           const FormalAttribute* formal) {
  if (written != nullptr && written->kind == ir::AttributeKind::kString) {
    return written->s;
  }
  return formal == nullptr ? std::string_view() : formal->default_string;
}

std::span<const OpFacts* const> all_ops() {
  static const std::vector<const OpFacts*> kEvery = [] {
    std::vector<const OpFacts*> all;
    for (const OpFacts& op : kStandardOps) all.push_back(&op);
    for (const OpRow* row : all_rows()) {
      if (!row->facts.type.empty()) all.push_back(&row->facts);
    }
    std::ranges::sort(
        all, [](const OpFacts* a, const OpFacts* b) { return before(*a, *b); });
    return all;
  }();
  return kEvery;
}

bool is_own_domain(std::string_view domain) {
  return std::ranges::find(dialect::kClosed, domain) !=
         std::end(dialect::kClosed);
}

bool known_domain(std::string_view domain) { return newest_opset(domain) > 0; }

int newest_opset(std::string_view domain) {
  domain = ir::normalized(domain);
  for (const DomainFacts& facts : kStandardDomains) {
    if (facts.name == domain) return facts.newest;
  }
  return is_own_domain(domain) ? 1 : 0;
}

std::vector<std::string_view> similar_ops(std::string_view domain,
                                          std::string_view type) {
  domain = ir::normalized(domain);
  // A name further away is no useful suggestion; long names are not compared.
  const std::size_t most = std::max<std::size_t>(1, type.size() / 3);
  std::vector<std::pair<std::size_t, std::string_view>> found;
  if (type.size() > 64) return {};
  for (const OpFacts* op : all_ops()) {
    if (op->domain != domain) continue;
    if (!found.empty() && found.back().second == op->type) continue;
    std::size_t d = edit_distance(type, op->type);
    if (begins_with(op->type, type)) d = std::min<std::size_t>(d, most);
    if (d <= most) found.emplace_back(d, op->type);
  }
  std::ranges::stable_sort(found, {}, [](const auto& f) { return f.first; });
  std::vector<std::string_view> out;
  for (const auto& [d, name] : found) {
    if (out.size() < 3) out.push_back(name);
  }
  return out;
}

std::string attribute_hint(const OpFacts& op, std::string_view name,
                           std::span<const std::string_view> more) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].name != name) continue;
    return "'" + std::string(name) + "' is input " + std::to_string(i + 1) +
           " of " + std::string(op.type) + ", which is given by its place";
  }
  std::vector<std::string_view> known(more.begin(), more.end());
  for (const FormalAttribute& a : op.attributes) known.push_back(a.name);
  if (op.attributes.empty() && nearest(name, known).empty()) {
    return "it has no attributes";
  }
  return suggestion(name, known);
}

std::string input_hint(const OpFacts& op, std::string_view name) {
  if (op.attribute(name) != nullptr) {
    return "'" + std::string(name) + "' is an attribute of " +
           std::string(op.type);
  }
  std::vector<std::string_view> known;
  for (const FormalValue& formal : op.inputs) known.push_back(formal.name);
  return suggestion(name, known);
}

ir::Attribute default_attribute(const FormalAttribute& formal) {
  return {.name = formal.name,
          .kind = formal.kind,
          .f = formal.default_float,
          .i = formal.default_int,
          .s = formal.default_string,
          .floats = formal.default_floats,
          .ints = formal.default_ints,
          .strings = formal.default_strings};
}

std::vector<ir::Attribute> default_attributes(const OpFacts& op) {
  std::vector<ir::Attribute> out;
  for (const FormalAttribute& formal : op.attributes) {
    if (formal.has_default) out.push_back(default_attribute(formal));
  }
  return out;
}

bool is_commutative(std::string_view domain, std::string_view type) {
  return roles_of(domain, type).commutative;
}

}  // namespace ruleengine::ops
