// Holds our rules for types against the ONNX library's schema functions, node
// by node, on the same knowledge of the inputs. For tests.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/solver/solver.h"
#include "core/ir/shapes.h"

namespace ruleengine::analysis {

struct Agreement {
  std::size_t compared = 0;  // outputs
  // "Reshape node 'r': ours float[2], the schema's float[3]": a contradiction,
  // or less than the schema knows.
  std::vector<std::string> wrong, weaker;
};

inline std::string inferred_text(const ir::DimTable& dims, const Inferred& t) {
  std::string out(ir::data_type_name(t.elem));
  if (!t.ranked) return out + "[?]";
  out += "[";
  for (ir::Dim d : t.dims) {
    out += (d == kUnknown ? "?" : dims.text(d)) + ",";
  }
  return out + "]";
}

inline void compare(const ir::DimTable& dims, const Inferred& ours,
                    const Inferred& theirs, bool& wrong, bool& weaker) {
  constexpr auto kNone = ir::DataType::kUndefined;
  if (theirs.elem != kNone) {
    weaker = weaker || ours.elem == kNone;
    wrong = wrong || (ours.elem != kNone && ours.elem != theirs.elem);
  }
  if (!theirs.ranked) return;
  weaker = weaker || !ours.ranked;
  if (!ours.ranked) return;
  if (ours.dims.size() != theirs.dims.size()) {
    wrong = true;
    return;
  }
  for (std::size_t i = 0; i < ours.dims.size(); ++i) {
    const ir::Dim a = ours.dims[i], b = theirs.dims[i];
    if (b == kUnknown) continue;
    weaker = weaker || a == kUnknown || (b.known() && !a.known());
    // Symbols may have more than one name for one size.
    if (a != kUnknown && dims.provably_different(a, b)) wrong = true;
  }
}

inline void agree(Solver& solver, Agreement& out) {
  ir::Graph& g = solver.graph();
  for (std::size_t n = 0; n < g.node_count(); ++n) {
    const ir::NodeId id(n);
    const ir::Op& op = g.op(id);
    const ops::OpRow* row = ops::find_row(op);
    // Bodies are inferred in our own graph alone.
    if (g.node(id).removed || row == nullptr || row->types.infer == nullptr ||
        !op.domain.empty() || op.type == "If" || op.type == "Loop" ||
        op.type == "Scan") {
      continue;
    }
    for (ir::ValueId v : g.outputs(id)) {
      if (v) solver.answer(v, Ask::kType);
    }
    const NodeView view = solver.view(id);
    std::vector<Inferred> ours(view.output_count()), theirs(ours.size());
    if (ours.empty() || !row->types.infer(view, ours)) continue;
    if (!infer_by_schema(view, theirs)) continue;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      bool wrong = false, weaker = false;
      compare(view.dims(), ours[i], theirs[i], wrong, weaker);
      ++out.compared;
      if (!wrong && !weaker) continue;
      (wrong ? out.wrong : out.weaker)
          .push_back(g.describe(id) + ": ours " +
                     inferred_text(view.dims(), ours[i]) + ", the schema's " +
                     inferred_text(view.dims(), theirs[i]));
    }
  }
}

}  // namespace ruleengine::analysis
