#include "core/text/words.h"

#include <array>
#include <cstddef>

namespace ruleengine::text {
namespace {

using ir::AttributeKind;

// Indexed by the number of the kind.
constexpr std::array<std::string_view, 15> kNames = {
    "undefined",      "float",      "int",        "string",
    "tensor",         "graph",      "floats",     "ints",
    "strings",        "tensors",    "graphs",     "sparse_tensor",
    "sparse_tensors", "type_proto", "type_protos"};

struct Pair {
  AttributeKind element, list;
};
constexpr std::array kPairs = {
    Pair{AttributeKind::kFloat, AttributeKind::kFloats},
    Pair{AttributeKind::kInt, AttributeKind::kInts},
    Pair{AttributeKind::kString, AttributeKind::kStrings},
    Pair{AttributeKind::kTensor, AttributeKind::kTensors},
    Pair{AttributeKind::kGraph, AttributeKind::kGraphs},
    Pair{AttributeKind::kSparseTensor, AttributeKind::kSparseTensors},
    Pair{AttributeKind::kTypeProto, AttributeKind::kTypeProtos}};

}  // namespace

std::string_view kind_name(AttributeKind kind) {
  const auto at = static_cast<std::size_t>(kind);
  return kNames[at < kNames.size() ? at : 0];
}

AttributeKind kind_from_name(std::string_view name) {
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<AttributeKind>(i);
  }
  return AttributeKind::kUndefined;
}

std::span<const std::string_view> kind_names() {
  return std::span(kNames).subspan(1);
}

bool is_list(AttributeKind kind) {
  return element_kind(kind) != AttributeKind::kUndefined;
}

AttributeKind list_of(AttributeKind kind) {
  for (const Pair& p : kPairs) {
    if (p.element == kind) return p.list;
  }
  return AttributeKind::kUndefined;
}

AttributeKind element_kind(AttributeKind list) {
  for (const Pair& p : kPairs) {
    if (p.list == list) return p.element;
  }
  return AttributeKind::kUndefined;
}

bool has_words(const ir::Attribute& a) {
  return !a.ref.empty() || (a.kind != AttributeKind::kSparseTensor &&
                            a.kind != AttributeKind::kSparseTensors &&
                            a.kind != AttributeKind::kUndefined);
}

}  // namespace ruleengine::text
