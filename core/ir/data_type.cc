#include "core/ir/data_type.h"

#include <array>

namespace ruleengine::ir {
namespace {

struct Row {
  std::string_view name;
  int bits;
  char kind;  // f: float, i: integer, o: other
};

// Indexed by the number of the type.
constexpr std::array<Row, 27> kRows = {{
    {"undefined", 0, 'o'},     {"float", 32, 'f'},
    {"uint8", 8, 'i'},         {"int8", 8, 'i'},
    {"uint16", 16, 'i'},       {"int16", 16, 'i'},
    {"int32", 32, 'i'},        {"int64", 64, 'i'},
    {"string", 0, 'o'},        {"bool", 8, 'o'},
    {"float16", 16, 'f'},      {"double", 64, 'f'},
    {"uint32", 32, 'i'},       {"uint64", 64, 'i'},
    {"complex64", 64, 'o'},    {"complex128", 128, 'o'},
    {"bfloat16", 16, 'f'},     {"float8e4m3fn", 8, 'f'},
    {"float8e4m3fnuz", 8, 'f'}, {"float8e5m2", 8, 'f'},
    {"float8e5m2fnuz", 8, 'f'}, {"uint4", 4, 'i'},
    {"int4", 4, 'i'},          {"float4e2m1", 4, 'f'},
    {"float8e8m0", 8, 'f'},    {"uint2", 2, 'i'},
    {"int2", 2, 'i'},
}};

const Row& row(DataType type) {
  const auto at = static_cast<std::size_t>(type);
  return kRows[at < kRows.size() ? at : 0];
}

}  // namespace

int bit_width(DataType type) { return row(type).bits; }

bool is_known(DataType type) {
  const auto at = static_cast<std::size_t>(type);
  return at > 0 && at < kRows.size();
}

bool is_float(DataType type) { return row(type).kind == 'f'; }

bool is_integer(DataType type) { return row(type).kind == 'i'; }

std::string_view data_type_name(DataType type) { return row(type).name; }

DataType data_type_from_name(std::string_view name) {
  for (std::size_t i = 1; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DataType>(i);
  }
  return DataType::kUndefined;
}

}  // namespace ruleengine::ir
