#include "core/ops/op_row.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace ruleengine::ops {
namespace {

TEST_CASE("each op has one row, and is found by its name") {
  std::set<std::string> names;
  for (const OpRow* row : all_rows()) {
    const std::string name = ir::Op{row->domain, row->type, {}}.text();
    CAPTURE(name);
    CHECK(names.insert(name).second);
    CHECK(find_row(row->domain, row->type) == row);
  }
  CHECK(find_row("ai.onnx", "Add") == find_row("", "Add"));
  CHECK(find_row("", "Frobnicate") == nullptr);
  CHECK(find_row("com.example", "Add") == nullptr);
}

TEST_CASE("rows of the standard's domain are ops of the standard") {
  for (const OpRow* row : all_rows()) {
    // ONNX Runtime defines it in the standard's domain.
    if (!row->domain.empty() || row->type == "SimplifiedLayerNormalization") {
      continue;
    }
    CAPTURE(std::string(row->type));
    CHECK(newest_op(row->domain, row->type) != nullptr);
    CHECK(row->facts.type.empty());
  }
}

TEST_CASE("rows of the dialect's ops are complete") {
  for (const OpRow* row : all_rows()) {
    if (!is_own_domain(row->domain)) continue;
    CAPTURE(std::string(row->type));
    CHECK(row->facts.min_outputs > 0);
    CHECK((row->types.infer != nullptr));
    CHECK_FALSE(row->formula.empty());
  }
}

TEST_CASE("roles") {
  CHECK(roles_of("tensor_cast", "all_reduce").collective);
  CHECK_FALSE(roles_of("tensor_cast", "rms_norm").collective);
  CHECK(roles_of("", "Attention").attention);
  CHECK(roles_of("com.microsoft", "PackedAttention").attention);
  CHECK_FALSE(roles_of("ruleengine", "Linear").attention);
  CHECK(roles_of("com.microsoft", "DequantizeLinear").dequantizes);
  CHECK_FALSE(roles_of("tensor_cast", "quantize").quantizes);
  CHECK_FALSE(roles_of("", "Frobnicate").commutative);
}

}  // namespace
}  // namespace ruleengine::ops
