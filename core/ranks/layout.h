// Layouts: how a value lies on the ranks that run one program together. A model
// with collectives is the program of one rank; all ranks run the same program
// on values of their own.
//
// A layout is proven where it follows from collectives. It is assumed where it
// rests on more: inputs and constants of the model are the same on all ranks,
// except those that a collective sends, and an op without axis flow gives the
// same results for the same inputs. No layout: each rank may have a different
// value. This is the only definition of "the same on all ranks".
//
// Pure functions, which own nothing; groups are attributes of the Model.
// ir::Facts answers for the values of a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/ir/graph.h"

namespace ruleengine::ranks {

using Group = std::span<const std::int64_t>;

enum class Placement : std::uint8_t {
  kReplicated,  // all ranks of the group have the same value
  kPartial,     // each rank has a term: the sum over the group is missing
  kSharded,     // each rank has an equal part along `axis`, in group order
};

struct Layout {
  Placement placement = Placement::kReplicated;
  int axis = 0;  // of kSharded, from the front
  Group group;   // empty: all ranks there are, of kReplicated alone
  bool assumed = false;

  bool everywhere() const {
    return placement == Placement::kReplicated && group.empty();
  }
  bool operator==(const Layout& other) const;
};

// That of inputs and constants.
inline constexpr Layout kAssumed{.assumed = true};

// Whether a value of this layout (nullptr: none) is the same on all ranks of
// the group.
bool is_replicated(const Layout* layout, Group group);

// What both say: none where they differ in more than how many ranks have the
// same value, or whether that is assumed.
std::optional<Layout> meet(const Layout& a, const Layout& b);

// What is known of an operand.
struct OperandFacts {
  const Layout* layout = nullptr;
  const ir::Type* type = nullptr;
  bool fixed = false;  // computed from constants and shapes alone
};

// How this output of the node lies, by its operands (one for each input). Types
// are needed where an operand is partial or sharded, and those of results of a
// reduce_scatter; nullptr: not known.
std::optional<Layout> result_layout(const ir::Graph& graph, ir::NodeId node,
                                    std::span<const OperandFacts> inputs,
                                    std::span<const ir::Type* const> outputs,
                                    std::size_t output);

// How the value that this collective sends lies, if nothing is proven of it:
// as a term, or as a share. Assumed, since it is what such collectives are for.
std::optional<Layout> sent_layout(const ir::Graph& graph, ir::NodeId collective,
                                  const ir::Type* type);

}  // namespace ruleengine::ranks
