#include "core/ir/attribute.h"

#include <algorithm>
#include <bit>

namespace ruleengine::ir {
namespace {

bool same_float(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

}  // namespace

std::string_view kind_text(AttributeKind kind) {
  static constexpr std::string_view kTexts[] = {"an attribute",
                                                "a number",
                                                "an integer",
                                                "a string",
                                                "a tensor",
                                                "a graph",
                                                "a list of numbers",
                                                "a list of integers",
                                                "a list of strings",
                                                "a list of tensors",
                                                "a list of graphs",
                                                "a sparse tensor",
                                                "a list of sparse tensors",
                                                "a type",
                                                "a list of types"};
  const auto i = static_cast<std::size_t>(kind);
  return kTexts[i < std::size(kTexts) ? i : 0];
}

bool same_value(const Attribute& a, const Attribute& b,
                ExternalData* external) {
  if (a.kind != b.kind || a.ref != b.ref) return false;
  if (!a.ref.empty()) return true;
  switch (a.kind) {
    case AttributeKind::kUndefined:
      return true;
    case AttributeKind::kFloat:
      return same_float(a.f, b.f);
    case AttributeKind::kInt:
      return a.i == b.i;
    case AttributeKind::kString:
      return a.s == b.s;
    case AttributeKind::kFloats:
      return std::ranges::equal(a.floats, b.floats, same_float);
    case AttributeKind::kInts:
      return std::ranges::equal(a.ints, b.ints);
    case AttributeKind::kStrings:
      return std::ranges::equal(a.strings, b.strings);
    case AttributeKind::kTensor:
    case AttributeKind::kTensors:
      return std::ranges::equal(a.tensors, b.tensors,
                                [&](const Literal* x, const Literal* y) {
                                  return equal_bits(*x, *y, external);
                                });
    case AttributeKind::kGraph:
    case AttributeKind::kGraphs:
      return std::ranges::equal(a.blocks, b.blocks);
    // Kept and compared as their encoding.
    case AttributeKind::kSparseTensor:
    case AttributeKind::kSparseTensors:
    case AttributeKind::kTypeProto:
    case AttributeKind::kTypeProtos:
      return std::ranges::equal(a.proto, b.proto);
  }
  return false;
}

std::vector<Attribute> bound_attributes(std::span<const Attribute> written,
                                        std::span<const Attribute> given,
                                        std::span<const Attribute> defaults) {
  std::vector<Attribute> out;
  for (const Attribute& a : written) {
    if (a.ref.empty()) {
      out.push_back(a);
      continue;
    }
    for (const auto& list : {given, defaults}) {
      const auto value = std::ranges::find(list, a.ref, &Attribute::name);
      if (value == list.end()) continue;
      out.push_back(*value);
      out.back().name = a.name;
      if (value->name != a.name) out.back().proto = {};  // it has the name
      break;
    }
  }
  return out;
}

std::string key_of(std::span<const Attribute> attributes) {
  std::string key;
  const auto put = [&](const void* data, std::size_t size) {
    key.append(reinterpret_cast<const char*>(&size), sizeof size);
    key.append(static_cast<const char*>(data), size);
  };
  for (const Attribute& a : attributes) {
    put(a.name.data(), a.name.size());
    put(&a.kind, sizeof a.kind);
    put(&a.f, sizeof a.f);
    put(&a.i, sizeof a.i);
    put(a.s.data(), a.s.size());
    put(a.floats.data(), a.floats.size_bytes());
    put(a.ints.data(), a.ints.size_bytes());
    put(a.tensors.data(), a.tensors.size_bytes());
    put(a.proto.data(), a.proto.size_bytes());
    for (const std::string_view s : a.strings) put(s.data(), s.size());
  }
  return key;
}

}  // namespace ruleengine::ir
