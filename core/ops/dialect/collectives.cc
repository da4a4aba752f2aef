// What the ranks of a model send each other, and markers between.
#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/meaning_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::Dim;

// Some models leave rank_group out: then the number of ranks is unknown.
constexpr FormalAttribute kReduce[] = {attr("rank", kInt),
                                       attr("rank_group", kInts)};

constexpr FormalAttribute kScatter[] = {need("dim", kInt), attr("rank", kInt),
                                        attr("rank_group", kInts)};

constexpr FormalAttribute kRegion[] = {attr("region_id", kInt)};

bool all_reduce(const NodeView& v, Outputs out) {
  all_like_first(v, out);
  loosely(v, out);
  return true;
}

std::optional<std::size_t> sharded_axis(const NodeView& v) {
  return v.ranked(0) ? ir::place_of_axis(v.attribute_int("dim"), v.rank(0))
                     : std::nullopt;
}

Dim world(const NodeView& v) {
  const auto group = v.attribute_ints("rank_group");
  if (!group || group->empty()) return kUnknown;
  return Dim(static_cast<std::int64_t>(group->size()));
}

bool reduce_scatter(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  if (const auto axis = sharded_axis(v)) {
    Dim& d = out[0].dims[*axis];
    const Dim ranks = world(v);
    // Divisible, so the floor is the quotient.
    d = ranks == kUnknown ? kUnknown : v.dims().floor_div(d, ranks);
  }
  return true;
}

bool all_gather(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  if (const auto axis = sharded_axis(v)) {
    out[0].dims[*axis] = product(v, out[0].dims[*axis], world(v));
  }
  return true;
}

Body::Values marker(const CallSite& call) {
  return {call.body().node("Identity", {call["X"]}, "Y")};
}

constexpr OpRow marker_row(std::string_view type,
                           std::span<const FormalAttribute> attributes) {
  return ours(dialect::kCast, type, kX, kY, attributes,
              {.roles = {.linear = true},
               .types = {all_like_first},
               .axes = flow_elementwise,
               .formula = "x",
               .meaning = marker});
}

constexpr OpRow kDialectCollectives[] = {
    marker_row("_internal_copy_region", {}),
    marker_row("_internal_mark_region_begin", kRegion),
    marker_row("_internal_mark_region_end", kRegion),
    ours(dialect::kCast, "all_gather", kX, kY, kScatter,
         {.roles = {.collective = true},
          .types = {all_gather},
          .formula = "the x of all ranks, joined along dim"}),
    ours(dialect::kCast, "all_reduce", kX, kY, kReduce,
         {.roles = {.collective = true},
          .types = {all_reduce},
          .formula = "the sum of the x of all ranks"}),
    ours(dialect::kCast, "reduce_scatter", kX, kY, kScatter,
         {.roles = {.collective = true},
          .types = {reduce_scatter},
          .formula = "this rank's equal part along dim of the sum of all"}),
};

}  // namespace

std::span<const OpRow> dialect::collectives() { return kDialectCollectives; }

}  // namespace ruleengine::ops
