// The ops in which ranks send each other data. A group of one rank needs no
// other; a larger one needs a run of several ranks.
#include <algorithm>
#include <numeric>

#include "kernels/cpu/families.h"
#include "kernels/shapes.h"
#include "runtime/communicator.h"

namespace ruleengine::kernels {
namespace {

using runtime::Communicator;

// A model may be the program of rank 0 and run on every rank: then neighbours
// that begin at a multiple of their number stand for all such neighbours, and
// [0, 1] is [2, 3] to rank 2.
void move_to(std::int64_t rank, Ints& group) {
  const auto size = std::ssize(group);
  if (std::ranges::find(group, rank) != group.end()) return;
  Ints neighbours(group.size());
  std::iota(neighbours.begin(), neighbours.end(), group[0]);
  if (group[0] % size != 0 || group != neighbours) return;
  std::iota(group.begin(), group.end(), rank / size * size);
}

// The group that attribute rank_group says. Without it: all ranks, or an empty
// group if the rank runs alone.
Ints group_of(const Call& c, Ints group) {
  const Communicator* communicator = c.run().communicator;
  if (communicator == nullptr) {
    if (group.size() <= 1) return {};
    throw runtime::Failure{{.what = "the op needs several ranks",
                            .expected = std::to_string(group.size()),
                            .found = "one",
                            .remedy = Remedy::kRanks}};
  }
  if (group.empty()) {
    group.resize(index_of(communicator->size()));
    std::iota(group.begin(), group.end(), 0);
  }
  if (group.size() > 1) move_to(communicator->rank(), group);
  if (group.size() == 1 && group[0] == communicator->rank()) return {};
  return group;
}

// A sum may be declared with a leading axis of 1 more or less than its input.
Tensor as_declared(const ir::Type* type, const Tensor& x) {
  if (!ir::is_ranked(type)) return x;
  const auto dims = x.dims();
  if (type->rank() == x.rank() + 1 && type->dims[0] == ir::Dim(1)) {
    Dims more{1};
    more.append(dims);
    return x.reshaped(more);
  }
  if (type->rank() + 1 == x.rank() && dims[0] == 1) {
    return x.reshaped(dims.subspan(1));
  }
  return x;
}

Op all_reduce(const Preparation& p) {
  const ir::Graph& graph = p.node().graph();
  const ir::ValueId y = graph.output(p.node().id());
  const ir::Type* type = y ? graph.value(y).declared : nullptr;
  return [said = p.attribute_ints("rank_group"), type](Call& c) {
    const Tensor x = c.input(0);
    const Ints group = group_of(c, said);
    const Tensor sum =
        group.empty() ? x : c.run().communicator->all_reduce(group, x, c.run());
    c.set_output(0, as_declared(type, sum));
  };
}

// `compute`: what a group of several ranks does.
template <auto compute>
Op along_axis(const Preparation& p) {
  return [said = p.attribute_ints("rank_group"),
          axis = needed<"dim", axis_attribute<"dim">>(p)](Call& c) {
    const Tensor x = c.input(0);
    const std::size_t at = axis.of(c, x.rank());
    const Ints group = group_of(c, said);
    c.set_output(0, group.empty() ? x
                                  : (c.run().communicator->*compute)(
                                        group, x, at, c.run()));
  };
}

}  // namespace

const KernelRows kCollectiveRows = {
    {"tensor_cast", "all_gather", along_axis<&Communicator::all_gather>},
    {"tensor_cast", "all_reduce", all_reduce},
    {"tensor_cast", "reduce_scatter",
     along_axis<&Communicator::reduce_scatter>},
};

}  // namespace ruleengine::kernels
