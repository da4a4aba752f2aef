#include "runtime/drawing/size_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

namespace ruleengine::runtime {

using ir::Dim;

bool SizeLines::add(Dim difference) {
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

SizeOf SizeLines::complete(const SizeOf& free) const {
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

void SizeLines::free_of(Dim d, std::set<Dim>& out) const {
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

std::optional<SizeLines::Line> SizeLines::line_of(Dim d) const {
  Line out;
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

void SizeLines::reduce(Line& line) const {
  for (const auto& [leaf, own] : solved_) replace(line, leaf, own);
  std::erase_if(line, [](const auto& each) { return each.second == 0; });
}

void SizeLines::replace(Line& line, Dim leaf, const Line& by) {
  const auto it = line.find(leaf);
  if (it == line.end()) return;
  const double factor = it->second;
  line.erase(it);
  for (const auto& [other, f] : by) line[other] += factor * f;
}

namespace {

// Changes free sizes, one at a time, until as many demands as can be hold.
class SizeSearch {
 public:
  SizeSearch(const ir::DimTable& dims, const SizeOf& fixed,
             const SizeLines& lines, const std::vector<SizeDemand>& rest)
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
    double worst = score(free);
    constexpr int kSteps = 24;
    for (int i = 0; i < kSteps && faults(free) > 0; ++i) {
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
    constexpr double kMost = 1e15;
    const double value = value_at(dims_, d, sizes).value_or(0);
    return static_cast<std::int64_t>(std::clamp(value, -kMost, kMost));
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

  double score(const SizeOf& free) const {
    return faults(free) + distance(all(free)) + blemish(free);
  }

  // Less than a fault: how far expressions are from the 0 that they must be, so
  // that several steps may lead there.
  double distance(const SizeOf& sizes) const {
    double out = 0;
    for (const SizeDemand& each : rest_) {
      if (each.kind != SizeDemand::Kind::kZero) continue;
      const auto far = std::abs(static_cast<double>(at(each.what, sizes)));
      out += far / (far + 10);
    }
    return 0.4 * out / (static_cast<double>(rest_.size()) + 1);
  }

  // Less than that: sizes of 1, those that two leaves have, and large ones.
  static double blemish(const SizeOf& free) {
    std::set<std::int64_t> seen;
    double out = 0;
    for (const auto& [leaf, size] : free) {
      if (size == 1) out += 1e-4;
      out += 1e-8 * static_cast<double>(size);
      if (!seen.insert(size).second) out += 1e-5;
    }
    return std::min(out, 1e-3);
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
      if (left_ == 0) return;
      --left_;
      const double now = score(next);
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
    free = best;
  }

  const ir::DimTable& dims_;
  const SizeOf& fixed_;
  const SizeLines& lines_;
  const std::vector<SizeDemand>& rest_;
  std::set<std::int64_t> numbers_;
  mutable std::size_t left_ = 20000;  // sizes to try
};

}  // namespace

SizeOf search_sizes(const ir::DimTable& dims, const SizeOf& fixed,
                    const SizeLines& lines, const std::vector<SizeDemand>& rest,
                    const SizeOf& start) {
  return SizeSearch(dims, fixed, lines, rest).from(start);
}

}  // namespace ruleengine::runtime
