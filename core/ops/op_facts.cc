#include "core/ops/op_facts.h"

#include <algorithm>
#include <array>
#include <climits>
#include <tuple>
#include <utility>

#include "core/base/suggest.h"
#include "core/ops/dialect.h"

namespace ruleengine::ir {
namespace {

struct DomainFacts {
  std::string_view name;
  int newest = 0;
};

#include "core/ops/op_facts_table.inc"

constexpr DomainFacts kDialectDomains[] = {
    {dialect::kAten, 1}, {dialect::kOwn, 1}, {dialect::kCast, 1}};

template <class T, std::size_t N, std::size_t M>
constexpr std::array<T, N + M> joined(const T (&a)[N], const T (&b)[M]) {
  std::array<T, N + M> out;
  std::copy(a, a + N, out.begin());
  std::copy(b, b + M, out.begin() + N);
  return out;
}

constexpr auto kOps = joined(kStandardOps, dialect::kOps);
constexpr auto kDomains = joined(kStandardDomains, kDialectDomains);

constexpr bool before(const OpFacts& a, const OpFacts& b) {
  return std::tie(a.domain, a.type, a.since_version) <
         std::tie(b.domain, b.type, b.since_version);
}
static_assert(std::is_sorted(kOps.begin(), kOps.end(), before));

// --- Finding the versions of an op -----------------------------------------
// A hash table computed at compile time: slot -> row of the op's first version.
// At most half full, so that a search ends after a probe or two.

constexpr std::size_t kSlots = 1024;
constexpr std::uint16_t kNone = 0xffff;

constexpr std::uint32_t hash(std::string_view domain, std::string_view type) {
  std::uint32_t h = 2166136261u;
  for (char c : domain) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  h = (h ^ 0xffu) * 16777619u;
  for (char c : type) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return h ^ (h >> 15);
}

constexpr bool same_op(const OpFacts& op, std::string_view domain,
                       std::string_view type) {
  return op.type == type && op.domain == domain;
}

constexpr std::array<std::uint16_t, kSlots> make_slots() {
  std::array<std::uint16_t, kSlots> slots;
  slots.fill(kNone);
  std::size_t used = 0;
  for (std::size_t i = 0; i < kOps.size(); ++i) {
    const OpFacts& op = kOps[i];
    if (i > 0 && same_op(kOps[i - 1], op.domain, op.type)) continue;
    std::size_t slot = hash(op.domain, op.type) % kSlots;
    while (slots[slot] != kNone) slot = (slot + 1) % kSlots;
    slots[slot] = static_cast<std::uint16_t>(i);
    if (++used > kSlots / 2) throw "kSlots is too small";
  }
  return slots;
}
constexpr auto kTable = make_slots();

constexpr std::string_view normalized(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

// All versions of the op, oldest first.
std::span<const OpFacts> versions(std::string_view domain,
                                  std::string_view type) {
  domain = normalized(domain);
  std::size_t slot = hash(domain, type) % kSlots;
  for (; kTable[slot] != kNone; slot = (slot + 1) % kSlots) {
    std::size_t first = kTable[slot];
    if (!same_op(kOps[first], domain, type)) continue;
    std::size_t end = first + 1;
    while (end < kOps.size() && same_op(kOps[end], domain, type)) ++end;
    return std::span(kOps).subspan(first, end - first);
  }
  return {};
}

const FormalValue* formal_at(std::span<const FormalValue> formals,
                             std::size_t place) {
  if (place < formals.size()) return &formals[place];
  if (formals.empty() || formals.back().arity != Arity::kVariadic) {
    return nullptr;
  }
  return &formals.back();
}

// --- Did you mean ----------------------------------------------------------

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

std::int64_t int_of(const Attribute* written, const FormalAttribute* formal) {
  if (written != nullptr && written->kind == AttributeKind::kInt) {
    return written->i;
  }
  return formal == nullptr ? 0 : formal->default_int;
}

std::string_view string_of(const Attribute* written,
                           const FormalAttribute* formal) {
  if (written != nullptr && written->kind == AttributeKind::kString) {
    return written->s;
  }
  return formal == nullptr ? std::string_view() : formal->default_string;
}

std::span<const OpFacts> all_ops() { return kOps; }

bool known_domain(std::string_view domain) { return newest_opset(domain) > 0; }

int newest_opset(std::string_view domain) {
  domain = normalized(domain);
  for (const DomainFacts& facts : kDomains) {
    if (facts.name == domain) return facts.newest;
  }
  return 0;
}

std::vector<std::string_view> similar_ops(std::string_view domain,
                                          std::string_view type) {
  domain = normalized(domain);
  // A name further away is no useful suggestion; long names are not compared.
  const std::size_t most = std::max<std::size_t>(1, type.size() / 3);
  std::vector<std::pair<std::size_t, std::string_view>> found;
  if (type.size() > 64) return {};
  for (const OpFacts& op : kOps) {
    if (op.domain != domain) continue;
    if (!found.empty() && found.back().second == op.type) continue;
    std::size_t d = edit_distance(type, op.type);
    if (begins_with(op.type, type)) d = std::min<std::size_t>(d, most);
    if (d <= most) found.emplace_back(d, op.type);
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

bool is_commutative(std::string_view domain, std::string_view type) {
  static constexpr std::string_view kTypes[] = {
      "Add",  "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Max",
      "Mean", "Min", "Mul",        "Or",        "Sum",        "Xor"};
  return normalized(domain).empty() && std::ranges::binary_search(kTypes, type);
}

}  // namespace ruleengine::ir
