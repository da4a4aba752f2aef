// What folds share. Internal to core/ops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/ops/op_row.h"
#include "core/ops/rules/index_math.h"

namespace ruleengine::ops {

// Numbers in a form to compute with: floats as doubles, everything else as
// 64-bit integers (bool 0 or 1).
struct Numbers {
  ir::DataType dtype = ir::DataType::kUndefined;
  Ints dims;
  bool real = false;
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  std::size_t size() const { return real ? reals.size() : ints.size(); }
};

// None: not numeric, over the limit, unreadable, or uint64 beyond int64.
std::optional<Numbers> read_numbers(const Call& call, const ir::Literal* t);
// Rounded to, or wrapped at, the dtype's width.
const ir::Literal* write_numbers(ir::Model& model, const Numbers& numbers);
// What a value of this type becomes by being stored in it.
double round_to(ir::DataType type, double value);
std::int64_t wrap_to(ir::DataType type, std::int64_t value);

const ir::Literal* make_tensor(ir::Model& model, ir::DataType dtype,
                               std::span<const std::int64_t> dims,
                               std::span<const std::byte> arena_bytes);

// One tensor as the answer of a fold; refused where there is none.
Folded one(const ir::Literal* t);
Folded one(const Call& call, const Numbers& n);

// `axes` as flags of `rank` places.
std::optional<std::vector<bool>> flags(const Ints& axes, std::size_t rank);

}  // namespace ruleengine::ops
