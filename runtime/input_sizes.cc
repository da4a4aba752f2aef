#include "runtime/input_sizes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include "core/base/suggest.h"

namespace ruleengine::runtime {
namespace {

using ir::Dim;

// A sum of leaves and 1 (under the key Dim()), each with a factor.
using SizeLine = std::map<Dim, double>;

// Sizes for what the equations leave free, for each round others. Small ones,
// since models grow with their products.
constexpr std::int64_t kFirst[] = {2, 3, 5, 7, 4, 6, 9, 8};
constexpr std::int64_t kThen[] = {3, 4, 6, 5, 8, 7, 2, 10};

// Linear equations, solved one after the other: some leaves as lines of others.
class Lines {
 public:
  Lines(const ir::DimTable& dims, const SizeOf& fixed,
        const std::vector<Dim>& leaves)
      : dims_(dims), fixed_(fixed), leaves_(leaves) {}

  // False where it is not linear, or has no leaf that can be solved for.
  bool add(Dim difference) {
    auto line = line_of(difference);
    if (!line) return false;
    reduce(*line);
    std::optional<Dim> pivot;
    for (const auto& [leaf, factor] : *line) {
      if (leaf == Dim() || std::abs(factor) != 1) continue;
      // total = past + new rather than past = total - new, which may be < 0.
      const bool is_sum = std::ranges::all_of(*line, [&](const auto& each) {
        return each.first == leaf || each.second * factor <= 0;
      });
      if (!pivot || is_sum) pivot = leaf;
      if (is_sum) break;
    }
    if (!pivot) return false;
    const double factor = line->at(*pivot);
    line->erase(*pivot);
    for (auto& [leaf, f] : *line) f /= -factor;
    for (auto& [leaf, other] : solved_) replace(other, *pivot, *line);
    solved_.emplace(*pivot, *line);
    return true;
  }

  bool is_solved(Dim leaf) const { return solved_.contains(leaf); }

  // The sizes of all leaves from those that are free; none where one is < 0.
  SizeOf complete(const SizeOf& free) const {
    SizeOf out = free;
    for (const auto& [leaf, line] : solved_) {
      double sum = 0;
      for (const auto& [other, factor] : line) {
        sum +=
            factor * (other == Dim() ? 1 : static_cast<double>(free.at(other)));
      }
      out[leaf] = static_cast<std::int64_t>(std::clamp(sum, -1.0, 1e15));
    }
    return out;
  }

  // The free leaves that `d` depends on.
  void free_of(Dim d, std::set<Dim>& out) const {
    for (const Dim leaf : dims_.leaves(d)) {
      if (fixed_.contains(leaf)) continue;
      const auto it = solved_.find(leaf);
      if (it == solved_.end()) {
        if (std::ranges::find(leaves_, leaf) != leaves_.end()) out.insert(leaf);
        continue;
      }
      for (const auto& [other, factor] : it->second) {
        if (other != Dim() && factor != 0) out.insert(other);
      }
    }
  }

 private:
  std::optional<SizeLine> line_of(Dim d) const {
    SizeLine out;
    for (const auto& product : dims_.products(d)) {
      double factor = static_cast<double>(product.coefficient);
      Dim leaf;
      for (const Dim atom : product.atoms) {
        const auto fixed = fixed_.find(atom);
        if (fixed != fixed_.end()) {
          factor *= static_cast<double>(fixed->second);
        } else if (leaf != Dim() ||
                   std::ranges::find(leaves_, atom) == leaves_.end()) {
          return std::nullopt;
        } else {
          leaf = atom;
        }
      }
      out[leaf] += factor;
    }
    return out;
  }

  void reduce(SizeLine& line) const {
    for (const auto& [leaf, own] : solved_) replace(line, leaf, own);
    std::erase_if(line, [](const auto& each) { return each.second == 0; });
  }

  static void replace(SizeLine& line, Dim leaf, const SizeLine& by) {
    const auto it = line.find(leaf);
    if (it == line.end()) return;
    const double factor = it->second;
    line.erase(it);
    for (const auto& [other, f] : by) line[other] += factor * f;
  }

  const ir::DimTable& dims_;
  const SizeOf& fixed_;
  const std::vector<Dim>& leaves_;
  std::map<Dim, SizeLine> solved_;
};

// Changes free sizes, one at a time, until as many demands as can be hold.
class SizeSearch {
 public:
  SizeSearch(const ir::DimTable& dims, const SizeOf& fixed, const Lines& lines,
             const std::vector<SizeDemand>& rest)
      : dims_(dims), fixed_(fixed), lines_(lines), rest_(rest) {
    for (const SizeDemand& each : rest) {
      std::vector<Dim> parts = {each.by};
      for (const auto& product : dims.products(each.what)) {
        parts.push_back(Dim(std::abs(product.coefficient)));
      }
      for (const Dim part : parts) note_number(part);
    }
  }

  SizeOf from(SizeOf free) const {
    double worst = faults(free);
    constexpr int kSteps = 24;
    for (int i = 0; i < kSteps && worst > 0; ++i) {
      const double before = worst;
      for (const auto& [leaf, size] : all(free)) {
        if (size < 0) improve({.what = leaf}, free, worst);
      }
      for (const SizeDemand& each : rest_) {
        if (is_broken(each, all(free))) improve(each, free, worst);
      }
      if (worst >= before) break;
    }
    return all(free);
  }

 private:
  void note_number(Dim d) {
    if (!d.known() || d.size() < 2) return;
    constexpr std::int64_t kMostSize = 4096;
    std::size_t found = 0;
    for (std::int64_t by = 1; by <= 64 && found < 12; ++by) {
      if (d.size() % by != 0) continue;
      for (const std::int64_t each : {d.size() / by, by, 2 * d.size() / by}) {
        if (each > 1 && each <= kMostSize) numbers_.insert(each);
      }
      ++found;
    }
  }

  SizeOf all(const SizeOf& free) const {
    SizeOf out = lines_.complete(free);
    out.insert(fixed_.begin(), fixed_.end());
    return out;
  }

  std::int64_t at(Dim d, const SizeOf& sizes) const {
    // A difference may be negative.
    if (d.known()) return d.size();
    bool is_known = true;
    const double out = dims_.value(d, [&](Dim leaf) {
      const auto it = sizes.find(leaf);
      is_known = is_known && it != sizes.end();
      return it == sizes.end() ? 0.0 : static_cast<double>(it->second);
    });
    constexpr double kMost = 1e15;
    return is_known ? static_cast<std::int64_t>(std::clamp(out, -kMost, kMost))
                    : 0;
  }

  bool is_broken(const SizeDemand& demand, const SizeOf& sizes) const {
    const std::int64_t what = at(demand.what, sizes);
    const std::int64_t by = at(demand.by, sizes);
    switch (demand.kind) {
      case SizeDemand::Kind::kZero:
        return what != 0;
      case SizeDemand::Kind::kDivided:
        return by != 0 && what % by != 0;
      case SizeDemand::Kind::kOneOf:
        return what != by && what != 1;
    }
    return false;
  }

  double faults(const SizeOf& free) const {
    const SizeOf sizes = all(free);
    double out = 0;
    for (const auto& [leaf, size] : sizes) out += size < 0 ? 10 : 0;
    for (const SizeDemand& each : rest_) out += is_broken(each, sizes);
    return out;
  }

  // Less than a fault: sizes of 1, and those that two leaves have.
  static double blemish(const SizeOf& free) {
    std::set<std::int64_t> seen;
    double out = 0;
    for (const auto& [leaf, size] : free) {
      if (size == 1) out += 0.01;
      if (!seen.insert(size).second) out += 0.001;
    }
    return std::min(out, 0.5);
  }

  // The values of a free leaf of the demand, or of two, that break the fewest
  // demands.
  void improve(const SizeDemand& demand, SizeOf& free, double& worst) const {
    std::set<Dim> own;
    lines_.free_of(demand.what, own);
    lines_.free_of(demand.by, own);
    std::vector<std::int64_t> values = {2, 3, 5, 7, 4, 6, 8, 9, 10, 12, 16};
    // Of a size or 1, the size first.
    if (demand.kind == SizeDemand::Kind::kOneOf && demand.by.known()) {
      values.insert(values.begin(), demand.by.size());
    }
    values.insert(values.end(), numbers_.begin(), numbers_.end());
    values.push_back(1);
    SizeOf best = free;
    const auto try_one = [&](const SizeOf& next) {
      const double now = faults(next) + blemish(next);
      if (now >= worst) return;
      worst = now;
      best = next;
    };
    const double before = worst;
    for (const Dim leaf : own) {
      for (const std::int64_t value : values) {
        SizeOf next = free;
        next[leaf] = value;
        try_one(next);
      }
    }
    // A product of two may need both.
    for (auto a = own.begin(); worst >= before && a != own.end(); ++a) {
      for (auto b = std::next(a); b != own.end(); ++b) {
        for (const std::int64_t value : values) {
          for (const std::int64_t other : values) {
            SizeOf next = free;
            next[*a] = value;
            next[*b] = other;
            try_one(next);
          }
        }
      }
    }
    worst = std::floor(worst);
    free = best;
  }

  const ir::DimTable& dims_;
  const SizeOf& fixed_;
  const Lines& lines_;
  const std::vector<SizeDemand>& rest_;
  std::set<std::int64_t> numbers_;
};

}  // namespace

InputSizes::InputSizes(ir::Model& model,
                       const std::map<std::string, std::int64_t>& given)
    : model_(model), given_(given) {
  const ir::Graph& graph = model.graph;
  for (const ir::ValueId v : graph.block(ir::Graph::main_block()).inputs) {
    note_names(v);
  }
}

void InputSizes::note_names(ir::ValueId v) {
  const ir::Type* type = model_.graph.value(v).declared;
  if (type == nullptr || !type->is_tensor()) return;
  if (type->has_shape) note_places(*type);
  for (const Dim d : type->dims) {
    if (d.known()) continue;
    for (const Dim leaf : model_.dims.leaves(d)) {
      if (std::ranges::find(leaves_, leaf) == leaves_.end()) {
        leaves_.push_back(leaf);
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

void InputSizes::collect(ir::Facts& facts) {
  demands_ = size_demands(model_, facts);
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
  Lines lines(model_.dims, known, leaves_);
  if (zero != Dim()) lines.add(zero);
  std::vector<SizeDemand> rest;
  for (const SizeDemand& each : demands_) {
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
    start[leaf] = round == 0 ? kFirst[at % std::size(kFirst)]
                             : kThen[(at + round - 1) % std::size(kThen)];
  }
  return SizeSearch(model_.dims, known, lines, rest).from(start);
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
