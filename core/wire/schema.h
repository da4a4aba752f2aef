// The part of onnx.proto that the engine depends on: message names, field
// numbers, the wire types that a field may have, and which fields hold
// messages. Constant data, thread-safe. Other fields are unknown to the reader
// and pass through.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace ruleengine {

// protobuf's numbers.
enum class WireType : std::uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kLength = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

namespace schema {

// The wire types that a field may have, as a set.
enum Shape : std::uint8_t {
  kAny = 0,  // not a known field of this message
  kVarint = 1 << 0,
  kFloat = 1 << 5,
  kLength = 1 << 2,
  kVarints = kVarint | kLength,  // packed or not
  kFloats = kFloat | kLength,
  kDoubles = (1 << 1) | kLength,
};

struct Message;

struct Field {
  std::uint32_t number;
  Shape shape;
  std::string_view name;
  const Message* child = nullptr;  // of fields that hold messages
};

// A message of at most 31 fields.
struct Message {
  std::string_view name;
  std::array<Field, 32> fields{};

  constexpr Message(std::string_view message,
                    std::initializer_list<Field> known)
      : name(message) {
    for (const Field& f : known) fields[f.number] = f;
  }
  constexpr Shape shape(std::uint32_t number) const {
    return number < fields.size() ? fields[number].shape : kAny;
  }
  constexpr bool takes(std::uint32_t number, WireType type) const {
    const Shape known = shape(number);
    return known == kAny || (known >> static_cast<int>(type) & 1) != 0;
  }
};

extern const Message kModel, kGraph, kNode, kAttribute, kTensor, kSparseTensor,
    kSegment, kValueInfo, kType, kTypeTensor, kTypeElement, kTypeMap,
    kTypeOpaque, kShape, kDimension, kFunction, kTrainingInfo, kEntry, kOpset,
    kAnnotation, kDevice, kNodeDevice, kSharding, kShardedDim, kSimpleSharding,
    kIntList;

}  // namespace schema

// Field numbers by message.
namespace model_field {
enum : std::uint32_t {
  kIrVersion = 1,
  kProducerName = 2,
  kProducerVersion = 3,
  kDomain = 4,
  kModelVersion = 5,
  kDocString = 6,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadata = 14,
  kTrainingInfo = 20,
  kFunctions = 25,
};
}
namespace graph_field {
enum : std::uint32_t {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kInput = 11,
  kOutput = 12,
  kValueInfo = 13,
  kAnnotation = 14,
  kSparse = 15,
  kMetadata = 16,
};
}
namespace node_field {
enum : std::uint32_t {
  kInput = 1,
  kOutput = 2,
  kName = 3,
  kOpType = 4,
  kAttribute = 5,
  kDomain = 7,
  kOverload = 8,
  kMetadata = 9,
};
}
namespace attribute_field {
enum : std::uint32_t {
  kName = 1,
  kF = 2,
  kI = 3,
  kS = 4,
  kT = 5,
  kG = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kTensors = 10,
  kGraphs = 11,
  kTp = 14,
  kTypeProtos = 15,
  kType = 20,
  kRef = 21,
  kSparse = 22,
  kSparses = 23,
};
}
namespace tensor_field {
enum : std::uint32_t {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14,
};
}
namespace sparse_field {
enum : std::uint32_t { kValues = 1, kIndices = 2, kDims = 3 };
}
namespace value_info_field {
enum : std::uint32_t { kName = 1, kType = 2 };
}
namespace type_field {
enum : std::uint32_t {
  kTensor = 1,
  kSequence = 4,
  kMap = 5,
  kDenotation = 6,
  kOpaque = 7,
  kSparse = 8,
  kOptional = 9,
};
}
namespace function_field {
enum : std::uint32_t {
  kName = 1,
  kInput = 4,
  kOutput = 5,
  kAttribute = 6,
  kNode = 7,
  kOpsetImport = 9,
  kDomain = 10,
  kAttributeProto = 11,
  kValueInfo = 12,
  kOverload = 13,
};
}
// StringStringEntryProto, OperatorSetIdProto and the small ones.
namespace entry_field {
enum : std::uint32_t { kKey = 1, kValue = 2 };
}
namespace opset_field {
enum : std::uint32_t { kDomain = 1, kVersion = 2 };
}
namespace dimension_field {
enum : std::uint32_t { kValue = 1, kParam = 2 };
}
namespace annotation_field {
enum : std::uint32_t { kTensorName = 1, kParameters = 2 };
}

}  // namespace ruleengine
