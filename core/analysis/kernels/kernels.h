// The kernels behind SmallEvaluator. A kernel gets a Call and returns one
// tensor an output, or none where it refuses. Internal to core/analysis.
#ifndef RULEENGINE_CORE_ANALYSIS_KERNELS_KERNELS_H_
#define RULEENGINE_CORE_ANALYSIS_KERNELS_KERNELS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/analysis/kernels/index_math.h"
#include "core/ir/model.h"

namespace ruleengine::analysis {

using Folded = std::optional<std::vector<const ir::Tensor*>>;

// A node with the constants it is given.
struct Call {
  ir::Graph& graph;
  ir::NodeId node;
  std::span<const ir::Tensor* const> inputs;
  std::int64_t limit;
  std::int64_t opset;

  ir::Model& model() const { return graph.model(); }
  // nullptr when absent.
  const ir::Tensor* input(std::size_t i) const {
    return i < inputs.size() ? inputs[i] : nullptr;
  }
  // As written, or the schema's default; 0 where it has none.
  std::int64_t attribute_int(std::string_view name) const;
  // Attribute `name`, else input `i`: none when it cannot be read, an inner
  // none when there is neither.
  std::optional<std::optional<Ints>> ints_of(std::string_view name,
                                             std::size_t i) const;
  std::optional<Ints> ints(std::size_t i) const;
};

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
std::optional<Numbers> read_numbers(const Call& call, const ir::Tensor* t);
// Rounded to, or wrapped at, the dtype's width.
const ir::Tensor* write_numbers(ir::Model& model, const Numbers& numbers);
// What a value of this type becomes by being stored in it.
double round_to(ir::DataType type, double value);
std::int64_t wrap_to(ir::DataType type, std::int64_t value);

const ir::Tensor* make_tensor(ir::Model& model, ir::DataType dtype,
                              std::span<const std::int64_t> dims,
                              std::span<const std::byte> arena_bytes);
// `t` under other dims, sharing its bytes.
const ir::Tensor* make_view(ir::Model& model, const ir::Tensor& t,
                            std::span<const std::int64_t> dims);

using Kernel = Folded (*)(const Call&);
struct KernelRow {
  std::string_view type;
  Kernel kernel = nullptr;
};
std::span<const KernelRow> view_kernels();
std::span<const KernelRow> move_kernels();
std::span<const KernelRow> math_kernels();
std::span<const KernelRow> generator_kernels();

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_KERNELS_KERNELS_H_
