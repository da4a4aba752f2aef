#include "bindings/api/ops.h"

#include "core/ops/row_text.h"

namespace ruleengine::api {

std::vector<OpText> described_ops() {
  std::vector<OpText> out;
  for (const ops::OpRow* row : ops::all_rows()) {
    if (!ops::has_text(*row)) continue;
    out.push_back({std::string(row->domain), std::string(row->type),
                   ops::signature(*row), std::string(row->formula)});
  }
  return out;
}

std::vector<OpClassText> op_classes() {
  std::vector<OpClassText> out;
  for (const ops::OpClass& each : ops::op_classes()) {
    OpClassText& added = out.emplace_back();
    added.name = each.name;
    for (const ops::OpName& op : each.ops) {
      added.ops.push_back(
          (op.domain.empty() ? "" : std::string(op.domain) + ".") +
          std::string(op.type));
    }
  }
  return out;
}

}  // namespace ruleengine::api
