#include "core/rewrite/history/closure.h"

#include <algorithm>
#include <limits>

namespace ruleengine::rewrite {
namespace {

// A flow from a source to items of positive weight, along needs, and from items
// of negative weight to a sink. What the source still reaches beside a maximum
// flow is the closure.
class Flow {
 public:
  Flow(std::span<const std::int64_t> weights, std::span<const ItemNeed> needs)
      : source_(static_cast<std::uint32_t>(weights.size())),
        sink_(source_ + 1),
        first_(weights.size() + 3, 0) {
    constexpr auto kUnbounded = std::numeric_limits<std::int64_t>::max() / 2;
    std::vector<Edge> edges;
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      const std::int64_t w = weights[i];
      if (w > 0) edges.push_back({source_, i, w});
      if (w < 0) edges.push_back({i, sink_, -w});
    }
    for (const auto& [item, needed] : needs) {
      edges.push_back({item, needed, kUnbounded});
    }
    for (const Edge& e : edges) {
      ++first_[e.from + 1];
      ++first_[e.to + 1];
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    arcs_.resize(edges.size() * 2);
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (const Edge& e : edges) {
      const std::uint32_t there = next[e.from]++, back = next[e.to]++;
      arcs_[there] = {e.to, back, e.room};
      arcs_[back] = {e.from, there, 0};
    }
  }

  // False if the deadline passed first.
  bool fill(const Deadline& deadline) {
    while (find_levels()) {
      next_.assign(first_.begin(), first_.end() - 1);
      while (push_once()) {
        if (deadline.is_over()) return false;
      }
    }
    return true;
  }

  // After fill().
  std::vector<bool> reached() const {
    std::vector<bool> out(source_);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = level_[i] != kFar;
    return out;
  }

 private:
  struct Edge {
    std::uint32_t from, to;
    std::int64_t room;
  };
  struct Arc {
    std::uint32_t to = 0, back = 0;
    std::int64_t room = 0;
  };
  static constexpr std::uint32_t kFar = ~std::uint32_t{0};

  // The distance of each vertex from the source, over arcs with room. False if
  // the sink is out of reach.
  bool find_levels() {
    level_.assign(first_.size() - 1, kFar);
    level_[source_] = 0;
    std::vector<std::uint32_t> queue = {source_};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const std::uint32_t at = queue[i];
      for (std::uint32_t a = first_[at]; a < first_[at + 1]; ++a) {
        const Arc& arc = arcs_[a];
        if (arc.room == 0 || level_[arc.to] != kFar) continue;
        level_[arc.to] = level_[at] + 1;
        queue.push_back(arc.to);
      }
    }
    return level_[sink_] != kFar;
  }

  // Fills one shortest path. False if there is none.
  bool push_once() {
    path_.clear();
    for (std::uint32_t at = source_; at != sink_;) {
      std::uint32_t& a = next_[at];
      while (a < first_[at + 1] && !leads_on(at, arcs_[a])) ++a;
      if (a < first_[at + 1]) {
        path_.push_back(a);
        at = arcs_[a].to;
        continue;
      }
      if (path_.empty()) return false;
      at = arcs_[arcs_[path_.back()].back].to;
      path_.pop_back();
      ++next_[at];
    }
    std::int64_t room = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t a : path_) room = std::min(room, arcs_[a].room);
    for (std::uint32_t a : path_) {
      arcs_[a].room -= room;
      arcs_[arcs_[a].back].room += room;
    }
    return true;
  }

  bool leads_on(std::uint32_t at, const Arc& arc) const {
    return arc.room > 0 && level_[arc.to] == level_[at] + 1;
  }

  std::uint32_t source_, sink_;
  std::vector<std::uint32_t> first_;  // by vertex: its first arc
  std::vector<Arc> arcs_;
  std::vector<std::uint32_t> level_, next_, path_;
};

}  // namespace

Result<std::vector<bool>> heaviest_closure(
    std::span<const std::int64_t> weights, std::span<const ItemNeed> needs,
    const Deadline& deadline) {
  Flow flow(weights, needs);
  if (!flow.fill(deadline)) return deadline.check().error();
  return flow.reached();
}

}  // namespace ruleengine::rewrite
