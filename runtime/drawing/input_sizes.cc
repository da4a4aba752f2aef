#include "runtime/drawing/input_sizes.h"

#include <algorithm>
#include <set>

#include "core/base/suggest.h"
#include "runtime/drawing/size_search.h"

namespace ruleengine::runtime {
namespace {

using ir::Dim;

// Sizes for what the equations leave free, for each round others. Small ones,
// since models grow with their products.
constexpr std::int64_t kFirst[] = {2, 3, 5, 7, 4, 6, 9, 8};
constexpr std::int64_t kThen[] = {3, 4, 6, 5, 8, 7, 2, 10};

}  // namespace

InputSizes::InputSizes(ir::Model& model, ir::Facts& facts,
                       const std::map<std::string, std::int64_t>& given)
    : model_(model), facts_(facts), given_(given) {
  const ir::Graph& graph = model.graph;
  for (const ir::ValueId v : graph.block(ir::Graph::main_block()).inputs) {
    const ir::Type* type = graph.value(v).declared;
    if (type == nullptr || !type->is_tensor()) continue;
    if (type->has_shape) note_places(*type);
    for (const Dim d : type->dims) {
      if (d.known()) continue;
      for (const Dim leaf : model.dims.leaves(d)) {
        if (std::ranges::find(leaves_, leaf) == leaves_.end()) {
          leaves_.push_back(leaf);
        }
      }
    }
  }
}

// Sizes of dimensions by where they stand; the first place counts.
void InputSizes::note_places(const ir::Type& type) {
  const bool is_tokens = type.rank() == 2 && type.elem == ir::DataType::kInt64;
  for (std::size_t axis = 0; axis < type.rank(); ++axis) {
    std::int64_t size = axis == 0 ? 2 : 4;
    if (type.rank() == 4 && axis == 2) {
      size = 5;
    } else if (axis > 0 && is_tokens) {
      size = has_tokens_ ? 8 : 3;
    }
    cache_places_.emplace(type.dims[axis], size);
    long_places_.emplace(type.dims[axis], axis == 0 ? 1 : 512);
  }
  has_tokens_ = has_tokens_ || is_tokens;
}

Status InputSizes::check() const {
  std::vector<std::string> all;
  for (const Dim leaf : leaves_) all.push_back(model_.dims.text(leaf));
  for (const auto& [name, size] : given_) {
    if (std::ranges::find(all, name) != all.end()) continue;
    const std::vector<std::string_view> views(all.begin(), all.end());
    const std::string_view meant = nearest(name, views);
    std::string known;
    for (const auto& each : all) known += (known.empty() ? "" : ", ") + each;
    return Diagnostic{
        .kind = ErrorKind::kUsage,
        .what = "no input has the dimension '" + printable(name) + "'",
        .expected = shortened(known),
        .hint = meant.empty() ? "" : did_you_mean({&meant, 1})};
  }
  return {};
}

SizeOf InputSizes::fixed_sizes(const SizeOf& fixed) const {
  SizeOf out;
  for (const Dim leaf : leaves_) {
    const auto given = given_.find(model_.dims.text(leaf));
    if (given != given_.end()) out[leaf] = given->second;
  }
  out.insert(fixed.begin(), fixed.end());
  return out;
}

SizeOf InputSizes::guess(Sizes sizes) const {
  SizeOf out = fixed_sizes({});
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    const Dim leaf = leaves_[i];
    std::int64_t size = kFirst[i % std::size(kFirst)];
    if (sizes == Sizes::kEqual) size = 4;
    if (sizes == Sizes::kOne) size = 1;
    if (sizes == Sizes::kZero) size = 0;
    if (sizes == Sizes::kCache || sizes == Sizes::kLong) {
      const auto& places =
          sizes == Sizes::kCache ? cache_places_ : long_places_;
      const auto it = places.find(leaf);
      size = it == places.end() ? 4 : it->second;
    }
    out.emplace(leaf, size);
  }
  return out;
}

std::vector<Dim> InputSizes::sums(const SizeOf& at) {
  std::vector<Dim> out;
  const auto is_sum = [&](Dim a, Dim b, Dim c) {
    return a != b && a != c && at.at(a) == at.at(b) + at.at(c);
  };
  for (const Dim a : leaves_) {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      for (std::size_t k = i + 1; k < leaves_.size(); ++k) {
        if (!is_sum(a, leaves_[i], leaves_[k])) continue;
        out.push_back(
            model_.dims.sub(a, model_.dims.add(leaves_[i], leaves_[k])));
      }
    }
  }
  return out;
}

SizeOf InputSizes::solve(std::size_t round, const SizeOf& fixed, Dim zero) {
  const SizeOf known = fixed_sizes(fixed);
  SizeLines lines(model_.dims, known, leaves_);
  if (zero != Dim()) lines.add(zero);
  std::vector<SizeDemand> rest;
  if (!demands_) {
    demands_.emplace();
    if (has_names()) *demands_ = size_demands(model_, facts_);
  }
  for (const SizeDemand& each : *demands_) {
    const bool is_line =
        each.kind == SizeDemand::Kind::kZero && lines.add(each.what);
    // Of sizes that the inputs do not have, nothing can be demanded.
    std::set<Dim> free;
    lines.free_of(each.what, free);
    if (!is_line && !free.empty()) rest.push_back(each);
  }
  SizeOf start;
  std::size_t next = 0;
  for (const Dim leaf : leaves_) {
    if (known.contains(leaf) || lines.is_solved(leaf)) continue;
    const std::size_t at = next++;
    if (round == kLarge) {
      start[leaf] = at == 0 && leaves_.size() > 1 ? 2 : 33 + 8 * (at % 4);
      continue;
    }
    start[leaf] = round == 0 ? kFirst[at % std::size(kFirst)]
                             : kThen[(at + round - 1) % std::size(kThen)];
  }
  return search_sizes(model_.dims, known, lines, rest, start);
}

std::map<std::string, std::int64_t> InputSizes::named(
    const SizeOf& sizes) const {
  std::map<std::string, std::int64_t> out;
  for (const Dim leaf : leaves_) {
    const auto it = sizes.find(leaf);
    if (it == sizes.end() || model_.dims.is_fresh(leaf)) continue;
    out[model_.dims.text(leaf)] = it->second;
  }
  return out;
}

}  // namespace ruleengine::runtime
