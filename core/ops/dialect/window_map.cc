#include "core/ops/dialect/window_map.h"

#include <algorithm>
#include <utility>

#include "core/ops/dialect.h"
#include "core/ops/rules/meaning_helpers.h"

namespace ruleengine::ops {

using ir::ValueId;

Pair pair_of(const CallSite& call, std::string_view attribute,
             std::int64_t least) {
  const auto ints = call.ints_of(attribute);
  const auto good = [&](std::int64_t n) {
    return n >= least && n <= kMostSize;
  };
  if (ints.size() == 2 && good(ints[0]) && good(ints[1])) {
    return {ints[0], ints[1]};
  }
  call.body().refuse(std::string(attribute) + " is not two " +
                     (least > 0 ? "positive numbers" : "numbers of 0 or more"));
  return {1, 1};
}

Windows::Windows(const CallSite& call)
    : side(pair_of(call, "window_size", 1)), positions(side[0] * side[1]) {}

ValueId list_of(Body& body, const Pair& pair, std::string_view name) {
  return body.integers({pair[0], pair[1]}, name);
}

ValueId reshaped_to(Body& body, ValueId x, Body::Values lists,
                    std::string_view name) {
  return body.node("Reshape", {x, body.joined(std::move(lists), "sizes")},
                   name);
}

ValueId places_below(Body& body, ValueId sizes, std::int64_t axis) {
  const ValueId size =
      body.node("Gather", {sizes, body.integers({axis}, "axis", true)}, "size");
  return body.places_below(size);
}

namespace {

// Refuses what is known to be no map of such windows.
void check_map(Body& body, const Windows& w, ValueId spatial) {
  const auto known = body.elements(spatial);
  if (!known) return;
  const auto tiles = [&](std::size_t i) {
    const std::int64_t size = (*known)[3 + i];
    return size > 0 && size <= kMostSize && size % w.side[i] == 0;
  };
  if (known->size() != 7 || !tiles(0) || !tiles(1)) {
    body.refuse("it is not a map of such windows", spatial);
  } else if ((*known)[5] < 0 || (*known)[6] < 0) {
    body.refuse("the shift is negative", spatial);
  }
}

}  // namespace

Spatial read_spatial(Body& body, const Windows& w, ValueId spatial) {
  check_map(body, w, spatial);
  return {.batch = body.entries(spatial, 0, 1, "batch"),
          .size = body.entries(spatial, 1, 3, "size"),
          .padded = body.entries(spatial, 3, 5, "padded_size"),
          .shift = body.entries(spatial, 5, 7, "shift")};
}

// False where the map is known not to be rolled: `spatial` is known, or the
// partition that computes it has no shift.
bool is_rolled(const CallSite& call, ValueId spatial) {
  Body& body = call.body();
  bool rolled = true;
  if (const auto known = body.elements(spatial)) {
    rolled = known->size() != 7 || (*known)[5] != 0 || (*known)[6] != 0;
  } else if (const ir::NodeId node = body.producer(spatial);
             node &&
             body.host().op(node).is("ruleengine", "SwinWindowPartition")) {
    const ir::Attribute* shift = body.host().attribute(node, "shift_size");
    rolled = shift != nullptr &&
             (!shift->ref.empty() ||  // the caller of the function gives it
              std::ranges::any_of(shift->ints, [](auto n) { return n != 0; }));
  }
  if (!rolled) body.note("not_rolled");
  return rolled;
}

}  // namespace ruleengine::ops
