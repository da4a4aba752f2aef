// Memo: what the Solver has cached for each value, and the states of its
// answers. Internal to core/analysis.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ir/graph.h"
#include "core/ops/node_view.h"
#include "core/ranks/layout.h"

namespace ruleengine::analysis {

using ops::kMaxElements;
using ops::kUnknown;

// The questions about one value. A question depends on others about the inputs
// of its node; also kConstant depends on kOrigin, kElements on both and on
// kType, and kLayout on kType and kOrigin, and on which collectives read the
// value.
enum class Ask : std::uint8_t { kType, kOrigin, kConstant, kElements, kLayout };
inline constexpr std::size_t kAsks = 5;

enum class State : std::uint8_t {
  kNever,
  kOpen,  // on the stack
  kDone,
  kStale,      // the answer is from before an edit
  kStaleOpen,  // the same, and on the stack
};

// What a value depends on, by structure and sizes only.
enum class Origin : std::uint8_t {
  kRuntime,
  kBeyond,    // on constants only, but it is too large to compute
  kConstant,  // on constants only: it folds
  kShape,     // on shapes and constants: it folds if those shapes are known
};

struct Memo {
  const ir::Type* type = nullptr;
  const ir::Literal* constant = nullptr;
  const ir::Dim* elements = nullptr;  // nullptr: not tracked
  std::uint8_t element_count = 0;
  const ranks::Layout* layout = nullptr;  // nullptr: unknown
  Origin origin = Origin::kRuntime;
  // The declared type of this value, or of one that it is computed from,
  // contradicts the inferred one.
  bool clashes = false;
  std::array<State, kAsks> state = {};

  std::span<const ir::Dim> element_span() const {
    return {elements, element_count};
  }
};

struct Query {
  ir::ValueId value;
  Ask ask = Ask::kType;
};

}  // namespace ruleengine::analysis
