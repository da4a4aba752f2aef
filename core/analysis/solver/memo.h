// Memo: what the Solver remembers of each value, and how far it got. Internal
// to core/analysis.
#ifndef RULEENGINE_CORE_ANALYSIS_SOLVER_MEMO_H_
#define RULEENGINE_CORE_ANALYSIS_SOLVER_MEMO_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ir/graph.h"
#include "core/ranks/layout.h"

namespace ruleengine::analysis {

// An element of an integer tensor that is not known.
inline constexpr ir::Dim kUnknown = ir::Dim::expression(0xffffffffu);

// Tensors with more elements are not followed element by element.
inline constexpr std::int64_t kMaxElements = 64;

// The questions about one value. A question rests on others about the value's
// inputs, and: kConstant on kOrigin, kElements on both and on kType, kLayout on
// kType and kOrigin, and on which collectives read the value.
enum class Ask : std::uint8_t { kType, kOrigin, kConstant, kElements, kLayout };
inline constexpr std::size_t kAsks = 5;

enum class State : std::uint8_t {
  kNever,
  kOpen,  // on the stack
  kDone,
  kStale,      // the answer is that of before an edit
  kStaleOpen,  // the same, on the stack
};

// Where a value's content comes from, by structure and sizes alone.
enum class Origin : std::uint8_t {
  kRuntime,
  kBeyond,    // from constants alone, but too large to be computed
  kConstant,  // folds from constants
  kShape,     // from shapes and constants: constant where those shapes are
};

struct Memo {
  const ir::Type* type = nullptr;
  const ir::Tensor* constant = nullptr;
  const ir::Dim* elements = nullptr;  // nullptr: not followed
  std::uint8_t element_count = 0;
  const ranks::Layout* layout = nullptr;  // nullptr: unknown
  Origin origin = Origin::kRuntime;
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

#endif  // RULEENGINE_CORE_ANALYSIS_SOLVER_MEMO_H_
