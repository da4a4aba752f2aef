// Compares our rules for types with the ONNX library's schema functions, node
// by node, with the same types of inputs. For tests.
#ifndef RULEENGINE_CORE_ANALYSIS_AGREEMENT_TEST_H_
#define RULEENGINE_CORE_ANALYSIS_AGREEMENT_TEST_H_

#include <string>
#include <vector>

#include "core/analysis/solver/solver.h"
#include "core/analysis/types/onnx_inference.h"
#include "core/ir/shapes.h"

namespace ruleengine::analysis {

struct Agreement {
  std::size_t compared = 0;  // outputs
  // "Reshape node 'r': ours float[2], the schema's float[3]": contradictions,
  // and nodes where ours has less information.
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
    // One size may have several names.
    if (a != kUnknown && dims.provably_different(a, b)) wrong = true;
  }
}

inline void agree(Solver& solver, Agreement& out) {
  ir::Graph& g = solver.graph();
  for (std::size_t n = 0; n < g.node_count(); ++n) {
    const ir::NodeId id(n);
    const ir::Op& op = g.op(id);
    // The library does not infer bodies of nodes from our graph.
    if (g.node(id).removed || find_type_rule(op) == nullptr ||
        !op.domain.empty() || op.type == "If" || op.type == "Loop" ||
        op.type == "Scan") {
      continue;
    }
    for (ir::ValueId v : g.outputs(id)) {
      if (v) solver.answer(v, Ask::kType);
    }
    const NodeView view(solver, id);
    std::vector<Inferred> ours(view.output_count()), theirs(ours.size());
    if (!find_type_rule(op)->infer(view, ours)) continue;
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

#endif  // RULEENGINE_CORE_ANALYSIS_AGREEMENT_TEST_H_
