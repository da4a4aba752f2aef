#include "core/ir/data_type.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/suggest.h"

namespace ruleengine::ir {
namespace {

struct Row {
  std::string_view name;
  int bits;
  char kind;  // f: float, i: integer, o: other
};

// Indexed by the number of the type.
constexpr std::array<Row, 27> kRows = {{
    {"undefined", 0, 'o'},      {"float", 32, 'f'},
    {"uint8", 8, 'i'},          {"int8", 8, 'i'},
    {"uint16", 16, 'i'},        {"int16", 16, 'i'},
    {"int32", 32, 'i'},         {"int64", 64, 'i'},
    {"string", 0, 'o'},         {"bool", 8, 'o'},
    {"float16", 16, 'f'},       {"double", 64, 'f'},
    {"uint32", 32, 'i'},        {"uint64", 64, 'i'},
    {"complex64", 64, 'o'},     {"complex128", 128, 'o'},
    {"bfloat16", 16, 'f'},      {"float8e4m3fn", 8, 'f'},
    {"float8e4m3fnuz", 8, 'f'}, {"float8e5m2", 8, 'f'},
    {"float8e5m2fnuz", 8, 'f'}, {"uint4", 4, 'i'},
    {"int4", 4, 'i'},           {"float4e2m1", 4, 'f'},
    {"float8e8m0", 8, 'f'},     {"uint2", 2, 'i'},
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
  const auto at = std::ranges::find(kRows, name, &Row::name);
  return static_cast<DataType>(at == kRows.end() ? 0 : at - kRows.begin());
}

std::string data_type_hint(std::string_view name) {
  using Other = std::pair<std::string_view, std::string_view>;
  constexpr auto kOthers = std::to_array<Other>({{"float32", "float"},
                                                 {"fp32", "float"},
                                                 {"f32", "float"},
                                                 {"float64", "double"},
                                                 {"fp64", "double"},
                                                 {"f64", "double"},
                                                 {"fp16", "float16"},
                                                 {"f16", "float16"},
                                                 {"half", "float16"},
                                                 {"bf16", "bfloat16"},
                                                 {"int", "int64"},
                                                 {"boolean", "bool"}});
  const auto* other = std::ranges::find(kOthers, name, &Other::first);
  if (other != kOthers.end()) return did_you_mean({&other->second, 1});
  std::vector<std::string_view> known;
  for (const Row& each : std::span(kRows).subspan(1)) {
    known.push_back(each.name);
  }
  const std::string_view near = nearest(name, known);
  if (!near.empty()) return did_you_mean({&near, 1});
  return fmt::format("known: {}", fmt::join(known, ", "));
}

}  // namespace ruleengine::ir
