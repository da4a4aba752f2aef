// Shape texts as questions at run time: "B H S D", "... S 8", "_ 4". A letter
// that the match bound means that dimension; any other letter means the same
// dimension wherever it stands again in the same text. Internal to
// bindings/lua; no ownership.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

// The dimensions of a value; those of a transposed constant read backwards.
struct Dims {
  std::span<const ir::Dim> dims;
  bool reversed = false;

  std::size_t size() const { return dims.size(); }
  ir::Dim operator[](std::size_t i) const {
    return reversed ? dims[dims.size() - 1 - i] : dims[i];
  }
};

// None when the rank is not known.
std::optional<Dims> dims_of(Host& host, const Handle& value);

enum class ShapeTest { kShape, kFits };

// Whether the text holds. None after fail(): the text is not a valid shape
// text.
std::optional<bool> holds(Host& host, lua_State* state, const Dims& dims,
                          std::string_view text, ShapeTest test);

}  // namespace ruleengine::lua
