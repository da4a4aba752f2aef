// Weights of a graph that are stored twice.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {
namespace {

using ir::Literal;
using ir::ValueId;

constexpr std::int64_t kSmall = 256;  // bytes; of little use
constexpr std::size_t kSample = 64;

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class EqualWeights {
 public:
  explicit EqualWeights(const EditState& state)
      : graph_(state.graph), external_(state.graph.model().external.get()) {}

  std::vector<EqualValues> find() {
    // Nearly all weights differ in a few bytes at known places, so that the
    // others are not read.
    std::map<Looks, std::vector<ValueId>> alike;
    for (std::size_t i = 0; i < graph_.value_count(); ++i) {
      const ValueId v(i);
      if (!is_weight(v)) continue;
      if (const auto looks = looks_of(*graph_.value(v).tensor)) {
        alike[*looks].push_back(v);
      }
    }
    for (const auto& [looks, values] : alike) {
      if (values.size() > 1) pair_up(values);
    }
    std::ranges::sort(pairs_, {}, &EqualValues::second);
    return std::move(pairs_);
  }

 private:
  struct Looks {
    ir::DataType dtype;
    std::vector<std::int64_t> dims;
    std::array<std::size_t, 3> samples;
    auto operator<=>(const Looks&) const = default;
  };

  // What a caller may override is an input, and no initializer.
  bool is_weight(ValueId v) const {
    const ir::Value& value = graph_.value(v);
    return value.kind == ir::ValueKind::kInitializer && !value.removed &&
           value.block == ir::Graph::main_block() && value.use_count > 0 &&
           value.block_output_count == 0 && value.tensor != nullptr &&
           value.tensor->storage != ir::Storage::kLazy &&
           value.tensor->storage != ir::Storage::kComputed &&
           value.tensor->byte_size() > kSmall;
  }

  std::optional<std::span<const std::byte>> bytes(const Literal& tensor) {
    const auto read = ir::raw_bytes(tensor, external_, scratch_);
    if (!read || read->size() < kSample) return std::nullopt;
    return *read;
  }

  std::optional<Looks> looks_of(const Literal& tensor) {
    const auto all = bytes(tensor);
    if (!all) return std::nullopt;
    Looks looks{.dtype = tensor.dtype,
                .dims = {tensor.dims.begin(), tensor.dims.end()}};
    const std::size_t last = all->size() - kSample;
    for (std::size_t i = 0; i < looks.samples.size(); ++i) {
      const std::size_t at = last * i / (looks.samples.size() - 1);
      looks.samples[i] =
          std::hash<std::string_view>()(text(all->subspan(at, kSample)));
    }
    return looks;
  }

  void pair_up(const std::vector<ValueId>& values) {
    std::unordered_map<std::size_t, std::vector<ValueId>> of_hash;
    for (const ValueId v : values) {
      const auto all = bytes(*graph_.value(v).tensor);
      if (!all) continue;
      auto& firsts = of_hash[std::hash<std::string_view>()(text(*all))];
      const auto first = std::ranges::find_if(firsts, [&](ValueId other) {
        return ir::equal_bits(*graph_.value(other).tensor,
                              *graph_.value(v).tensor, external_);
      });
      if (first == firsts.end()) {
        firsts.push_back(v);
      } else {
        pairs_.push_back({*first, v});
      }
    }
  }

  const ir::Graph& graph_;
  ir::ExternalData* external_;
  std::vector<std::byte> scratch_;
  std::vector<EqualValues> pairs_;
};

}  // namespace

std::vector<EqualValues> Edit::equal_weights() const {
  return EqualWeights(*journal_).find();
}

}  // namespace ruleengine::rewrite
