// Element types of tensors, with ONNX's numbers (TensorProto.DataType), and
// their sizes. Unknown numbers from newer files are kept as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ruleengine::ir {

enum class DataType : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

// Bits of one element; 0 for strings, undefined and unknown types.
int bit_width(DataType type);
bool is_known(DataType type);
bool is_float(DataType type);    // float, double, float16, bfloat16, float8/4
bool is_integer(DataType type);  // signed and unsigned, without bool

// ONNX text spelling: "float", "int64", "bfloat16"; "undefined" if unknown.
std::string_view data_type_name(DataType type);
// kUndefined when there is no such name.
DataType data_type_from_name(std::string_view name);
// For a name that does not exist: "did you mean 'float16'?", also for names
// that other tools use ("fp16"); else the list of all types.
std::string data_type_hint(std::string_view name);

}  // namespace ruleengine::ir
