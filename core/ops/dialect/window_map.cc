#include "core/ops/dialect/window_map.h"

#include <algorithm>
#include <utility>

#include "core/ops/dialect.h"
#include "core/ops/rules/meaning_helpers.h"

namespace ruleengine::ops {

using ir::ValueId;

Windows::Windows(const CallSite& call)
    : call_(call), body_(call.body()), side_(pair("window_size", 1)) {}

Pair Windows::pair(std::string_view attribute, std::int64_t least) const {
  const auto ints = call_.ints_of(attribute);
  const auto good = [&](std::int64_t n) {
    return n >= least && n <= kMostSize;
  };
  if (ints.size() == 2 && good(ints[0]) && good(ints[1])) {
    return {ints[0], ints[1]};
  }
  body_.refuse(std::string(attribute) + " is not two " +
               (least > 0 ? "positive numbers" : "numbers of 0 or more"));
  return {1, 1};
}

ValueId Windows::side_list() const {
  return body_.integers({side_[0], side_[1]}, "window");
}

ValueId Windows::part(ValueId list, std::int64_t from, std::int64_t to,
                      std::string_view name) const {
  return body_.node(
      "Slice",
      {list, body_.integers({from}, "from"), body_.integers({to}, "to")}, name);
}

ValueId Windows::join(Body::Values lists, std::string_view name) const {
  return body_.node("Concat", std::move(lists), name,
                    {Body::integer("axis", 0)});
}

ValueId Windows::reshape(ValueId x, Body::Values sizes,
                         std::string_view name) const {
  return body_.node("Reshape", {x, join(std::move(sizes), "sizes")}, name);
}

ValueId Windows::transpose(ValueId x, const std::vector<std::int64_t>& perm,
                           std::string_view name) const {
  return body_.node("Transpose", {x}, name, {body_.ints("perm", perm)});
}

ValueId Windows::places(ValueId sizes, std::int64_t axis) const {
  const ValueId size = body_.node(
      "Gather", {sizes, body_.integers({axis}, "axis", true)}, "size");
  return body_.places_below(size);
}

namespace {

// Refuses what is known to be no map of such windows.
void check_map(Body& body, const Windows& w, ValueId spatial) {
  const auto known = body.elements(spatial);
  if (!known) return;
  const auto tiles = [&](std::size_t i) {
    const std::int64_t size = (*known)[3 + i];
    return size > 0 && size <= kMostSize && size % w.side()[i] == 0;
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
  return {.batch = w.part(spatial, 0, 1, "batch"),
          .size = w.part(spatial, 1, 3, "size"),
          .padded = w.part(spatial, 3, 5, "padded_size"),
          .shift = w.part(spatial, 5, 7, "shift")};
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
