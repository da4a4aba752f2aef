// Cut: the nodes that compute the results of a region, before and after its
// edit, from values that both read. What is small or says a shape is known, or
// computed within the cut, since rules see through it: a Reshape to a computed
// shape means nothing if that shape is any numbers. With `steps` the cut
// reaches further up, to what a rule may know about its inputs.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/model.h"
#include "core/rewrite/region.h"

namespace ruleengine::rewrite {

struct Cut {
  std::vector<ir::NodeId> before, after;  // in computation order
  std::vector<ir::ValueId> inputs;        // what either reads from outside
  // The same, where all elements follow from types. As the types of inputs,
  // they are taken as given.
  std::vector<std::pair<ir::ValueId, std::vector<std::int64_t>>> known;
  // Unknown sizes of inputs, and the sizes that they are found to be equal to.
  std::map<ir::Dim, ir::Dim> sizes;
  bool is_whole = false;    // no node of the graph computes an input
  bool is_general = false;  // large weights are inputs, or made of such
  // If it is general: the weights that are inputs, by what they are.
  std::map<const ir::Literal*, ir::ValueId> weights;
  std::int64_t weight_bytes = 0;  // else, of large ones
  bool is_same = false;  // both sides are the same ops on the same inputs
  // Equal for cuts of one model that compute the same from inputs of the same
  // types, whatever their names.
  std::string key;
};

struct CutOptions {
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  std::size_t steps = 0;
  // Makes large weights inputs, so that layers with other weights are cut
  // alike; not where the edit has computed new large ones.
  bool generalizes = true;
  // Looks through small values, as rules do. If not, small floats are inputs
  // like others, unless they are computed from constants alone.
  bool looks_through = true;
};
Cut cut(const Region& region, const CutOptions& options);

// Whether a weight is an input of a general cut, or put together from such.
bool is_made_of_inputs(const ir::Literal& weight, const Cut& cut);

// One side of the cut as a model with the same inputs and as many outputs as
// the other side. It borrows texts, attributes and data of the graph's model.
// An error says why there is none: an input has no known type, say.
Result<std::shared_ptr<ir::Model>> model_of(const Region& region,
                                            const Cut& cut, Region::Side side);

}  // namespace ruleengine::rewrite
