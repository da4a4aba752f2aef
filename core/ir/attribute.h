// Attributes of nodes. An Attribute is a small immutable view: names and data
// lie in the mapped file or in the Model's arena. Kinds that the engine never
// looks into (sparse tensors, type protos) are kept as their encoded
// AttributeProto in `proto`, which is also what an unchanged attribute is saved
// from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/id.h"
#include "core/ir/literal.h"

namespace ruleengine::ir {

using BlockId = Id<struct BlockTag>;

// ONNX's numbers (AttributeProto.AttributeType).
enum class AttributeKind : std::uint8_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};

// "an integer", "a list of tensors": for messages.
std::string_view kind_text(AttributeKind kind);

struct Attribute {
  std::string_view name;
  AttributeKind kind = AttributeKind::kUndefined;
  float f = 0;
  std::int64_t i = 0;
  std::string_view s;
  std::span<const float> floats;
  std::span<const std::int64_t> ints;
  std::span<const std::string_view> strings;
  std::span<const Literal* const> tensors;  // one for kTensor
  std::span<const BlockId> blocks;          // one for kGraph
  // In a function body: the name of the function's attribute that is used here
  // (ref_attr_name); "" if none.
  std::string_view ref;
  std::span<const std::byte> proto;
};

// Same kind and value. Names and `proto` are ignored; floats are compared by
// their bits, graphs by identity.
bool same_value(const Attribute& a, const Attribute& b, ExternalData* external);

// Equal for attributes that say the same. Only to be compared.
std::string key_of(std::span<const Attribute> attributes);

// The attributes of a node of a function's body for a call: those that refer to
// an attribute of the function have the value that the call gives it, or its
// default; without either they are left out.
std::vector<Attribute> bound_attributes(std::span<const Attribute> written,
                                        std::span<const Attribute> given,
                                        std::span<const Attribute> defaults);

}  // namespace ruleengine::ir
