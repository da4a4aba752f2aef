#include "core/ir/data_type_hint.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/suggest.h"
#include "core/ir/data_type.h"

namespace ruleengine::ir {

std::string data_type_hint(std::string_view name) {
  using Other = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Other, 12> kOthers = {{{"float32", "float"},
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
                                              {"boolean", "bool"}}};
  const auto* other = std::ranges::find(kOthers, name, &Other::first);
  if (other != kOthers.end()) return did_you_mean({&other->second, 1});
  std::vector<std::string_view> known;
  for (std::int32_t i = 1; is_known(static_cast<DataType>(i)); ++i) {
    known.push_back(data_type_name(static_cast<DataType>(i)));
  }
  const std::string_view near = nearest(name, known);
  if (!near.empty()) return did_you_mean({&near, 1});
  std::string all;
  for (const std::string_view each : known) {
    all += (all.empty() ? "known: " : ", ") + std::string(each);
  }
  return all;
}

}  // namespace ruleengine::ir
