#include "core/match/run/climber.h"

#include <array>
#include <unordered_set>
#include <utility>

namespace ruleengine::match {
namespace {

class Climber {
 public:
  using Values = std::vector<ir::ValueId>;

  Climber(const Climb& climb, const ir::Graph& graph, ops::NewestNodes& view,
          Readers& readers, std::function<std::uint32_t(Reg)> get)
      : climb_(climb),
        graph_(graph),
        view_(view),
        readers_(readers),
        get_(std::move(get)),
        values_(climb.rows.size()),
        known_(climb.rows.size()) {}

  Values run() {
    return values(static_cast<std::uint32_t>(climb_.rows.size() - 1));
  }

 private:
  const Values& values(std::uint32_t row) {
    if (!known_[row]) {
      Values found = work_out(climb_.rows[row]);
      values_[row] = std::move(found);
      known_[row] = true;
    }
    return values_[row];
  }

  Values work_out(const Climb::Row& row) {
    switch (row.kind) {
      case Climb::Kind::kRegister: {
        const std::uint32_t held = get_(row.a);
        if (held >= kNoValue) return {};
        return {ir::ValueId(held & ~kTransposed)};
      }
      case Climb::Kind::kOutput: {
        const std::uint32_t held = get_(row.a);
        if (held == kNone) return {};
        const ir::ValueId out = graph_.output(ir::NodeId(held), row.b);
        return out ? Values{out} : Values{};
      }
      case Climb::Kind::kHole:
        return holes_[row.c] ? Values{holes_[row.c]} : Values{};
      case Climb::Kind::kUp:
        return up(row);
      case Climb::Kind::kUnion: {
        Values all;
        for (std::uint32_t i = row.a; i < row.b; ++i) {
          const Values& some = values(climb_.list[i]);
          all.insert(all.end(), some.begin(), some.end());
        }
        return all;
      }
      case Climb::Kind::kChain:
        return chain(row);
    }
    return {};
  }

  Values up(const Climb::Row& row) {
    Values found;
    std::unordered_set<ir::ValueId> seen;
    for (ir::ValueId below : values(row.a)) {
      if (!seen.insert(below).second) continue;
      for (const Reader& reader : readers_.of(below, row.b)) {
        const ir::OpId op = graph_.node(reader.node).op;
        if (!climbs(row, reader, view_.upgraded(op))) continue;
        const ir::ValueId out = graph_.output(reader.node, row.c);
        if (out) found.push_back(out);
      }
    }
    return found;
  }

  Values chain(const Climb::Row& row) {
    Values all = values(row.a);
    std::unordered_set<ir::ValueId> seen(all.begin(), all.end());
    const ir::ValueId outer = std::exchange(holes_[row.c], ir::ValueId());
    const auto forget = [&] {
      for (std::size_t i = 0; i < climb_.rows.size(); ++i) {
        if ((climb_.rows[i].holes >> row.c & 1) != 0) known_[i] = false;
      }
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
      holes_[row.c] = all[i];
      forget();
      for (ir::ValueId next : values(row.b)) {
        if (seen.insert(next).second) all.push_back(next);
      }
    }
    holes_[row.c] = outer;
    forget();
    return all;
  }

  const Climb& climb_;
  const ir::Graph& graph_;
  ops::NewestNodes& view_;
  Readers& readers_;
  std::function<std::uint32_t(Reg)> get_;
  std::vector<Values> values_;  // by row
  std::vector<bool> known_;
  std::array<ir::ValueId, pattern::kMaxChainNesting> holes_;
};

}  // namespace

bool climbs(const Climb::Row& row, const Reader& reader, bool upgraded) {
  return upgraded || (row.slots & reader.slots) != 0;
}

std::vector<ir::ValueId> climb(const Climb& climb, const ir::Graph& graph,
                               ops::NewestNodes& view, Readers& readers,
                               std::function<std::uint32_t(Reg)> get) {
  return Climber(climb, graph, view, readers, std::move(get)).run();
}

}  // namespace ruleengine::match
