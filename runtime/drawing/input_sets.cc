#include "runtime/drawing/input_sets.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/compare.h"
#include "runtime/drawing/input_trials.h"
#include "runtime/drawing/shown_outputs.h"

namespace ruleengine::runtime {
namespace {

bool is_some_finite(const Executor::Named& outputs) {
  return std::ranges::any_of(finite_outputs(outputs),
                             [](const auto& each) { return each == true; });
}

using ir::Dim;

class InputSets {
 public:
  InputSets(const ir::Model& model, ExecutorOptions executor,
            const InputOptions& options, const InputTrials::Visit& visit)
      : options_(options),
        visit_([this, &visit](const InputSet& set) {
          note(set);
          return visit(set);
        }),
        trials_(model, std::move(executor), options, visit_) {}

  Result<DrawnSets> all() {
    if (auto status = sizes().check(); !status) return status.error();
    if (trials_.prepare()) {
      if (auto status = draw(); !status) return status.error();
    }
    DrawnSets out{.sets = trials_.sets(), .limit = trials_.limit()};
    if (out.sets == 0) {
      out.unverified = trials_.why();
      return out;
    }
    for (const auto& each : trials_.branches().missing()) {
      out.notes.push_back(each.text + " was never taken");
    }
    return out;
  }

 private:
  InputSizes& sizes() { return trials_.source().sizes(); }

  // What a set showed.
  void note(const InputSet& set) {
    shown_.note(set.outputs);
    for (const auto& [name, size] : set.sizes) ran_with_[name].insert(size);
  }

  // Each with a seed of its own; the first has the one that was given.
  Drawn next() {
    constexpr std::uint64_t kStep = 1000003;
    return {.seed = options_.seed + kStep * drawn_++,
            .integers = Integers::kAnywhere,
            .shows_first = !options_.extremes};
  }

  Status draw() {
    if (auto status = first(); !status || !fit_) return status;
    using Step = Status (InputSets::*)();
    for (const Step step :
         {&InputSets::second, &InputSets::exact, &InputSets::other_sizes,
          &InputSets::met, &InputSets::reveal, &InputSets::branches,
          &InputSets::branches_again, &InputSets::numbers,
          &InputSets::small_sizes, &InputSets::large_sizes}) {
      if (trials_.is_over()) break;
      if (auto status = (this->*step)(); !status) return status;
    }
    return {};
  }

  // --- ordinary ones ---------------------------------------------------------

  Status first() {
    const Drawn how = next();
    for (int i = 0; i < 6 && !fit_ && !trials_.is_over(); ++i) {
      if (i > 0 && !sizes().has_names()) break;
      SizeOf at = candidate(i);
      // The first try is made whatever it takes.
      if (i == 0 &&
          bytes_of_inputs(trials_.source().model(), at) > kMostInputBytes) {
        at = sizes().guess(Sizes::kOne);
      }
      const auto ran = trials_.run(at, how, "");
      if (!ran) return ran.error();
      if (*ran) fit_ = at;
    }
    return {};
  }

  SizeOf candidate(int i) {
    constexpr Sizes kGuesses[] = {Sizes::kCache, Sizes::kEqual, Sizes::kOne,
                                  Sizes::kLong};
    if (i < 2) return sizes().solve(static_cast<std::size_t>(i));
    return sizes().guess(kGuesses[i - 2]);
  }

  Status try_set(const SizeOf& at, const Drawn& how, std::string_view kind,
                 const InputTrials::Accept& accept = nullptr) {
    if (trials_.is_over()) return {};
    const std::size_t before = trials_.branches().taken();
    const auto ran = trials_.run(at, how, kind, accept);
    if (!ran) return ran.error();
    if (trials_.branches().taken() > before) {
      took_branches_.emplace_back(at, how);
    }
    return {};
  }

  Drawn varied() {
    Drawn how = next();
    how.far = how.ends = true;
    if (options_.extremes) how.integers = Integers::kHuge;
    how.numbers_for_masks = options_.extremes;
    how.turn = 1;
    return how;
  }

  Status second() { return try_set(*fit_, varied(), ""); }

  Status exact() {
    if (!has_floats()) return {};
    Drawn how = varied();
    how.numbers_for_masks = false;
    how.exact = true;
    how.specials = options_.extremes && trials_.source().knows_specials();
    return try_set(*fit_, how, "exact floats", is_some_finite);
  }

  bool lacks_sizes(Dim leaf) {
    const auto name = sizes().named({{leaf, 0}});
    if (name.empty() || options_.dims.contains(name.begin()->first)) {
      return false;
    }
    // Another size than none, one or the first.
    const auto& ran = ran_with_[name.begin()->first];
    return std::ranges::count_if(ran, [](auto s) { return s > 0; }) < 2;
  }

  // A second size for each name, all at once or one by one.
  Status other_sizes() {
    Drawn how = varied();
    how.numbers_for_masks = false;
    std::vector<SizeOf> all;
    for (std::size_t i = 1; i <= 3; ++i) all.push_back(sizes().solve(i));
    all.push_back(sizes().guess(Sizes::kEqual));
    all.push_back(sizes().guess(Sizes::kCache));
    for (const SizeOf& at : all) {
      const bool helps = std::ranges::any_of(at, [&](const auto& each) {
        const auto it = fit_->find(each.first);
        return lacks_sizes(each.first) &&
               (it == fit_->end() || it->second != each.second);
      });
      if (!helps) continue;
      if (auto status = try_set(at, how, ""); !status) return status;
    }
    if (auto status = other_sums(how); !status) return status;
    constexpr std::size_t kMostNames = 8;
    const auto& leaves = sizes().leaves();
    for (std::size_t i = 0; i < std::min(leaves.size(), kMostNames); ++i) {
      const std::int64_t now = fit_->at(leaves[i]);
      for (const std::int64_t size : {now + 1, 2 * now, std::int64_t{1}}) {
        if (!lacks_sizes(leaves[i])) break;
        for (const SizeOf& at : with_size(leaves[i], size)) {
          if (!lacks_sizes(leaves[i])) break;
          if (auto status = try_set(at, how, ""); !status) return status;
        }
      }
    }
    return {};
  }

  // The sizes that fit but for one, and such as the demands allow.
  std::vector<SizeOf> with_size(Dim leaf, std::int64_t size) {
    SizeOf near = *fit_;
    near[leaf] = size;
    return {near, sizes().solve(0, {{leaf, size}})};
  }

  // A size that the first ones have as a sum may have to be that sum, where no
  // op says it: a mask that is as long as past and new tokens.
  Status other_sums(const Drawn& how) {
    constexpr std::size_t kMostSums = 6;
    const std::vector<Dim> sums = sizes().sums(*fit_);
    for (std::size_t i = 0; i < std::min(sums.size(), kMostSums); ++i) {
      const auto& leaves = sizes().leaves();
      if (std::ranges::none_of(leaves, [&](Dim d) { return lacks_sizes(d); })) {
        break;
      }
      const SizeOf at = sizes().solve(1, {}, sums[i]);
      if (auto status = try_set(at, how, ""); !status) return status;
    }
    return {};
  }

  // What is right for few elements alone.
  Status large_sizes() {
    if (!sizes().has_names()) return {};
    const SizeOf at = sizes().solve(InputSizes::kLarge);
    if (bytes_of_inputs(trials_.source().model(), at) > kMostInputBytes) {
      return {};
    }
    return try_set(at, next(), "");
  }

  Status small_sizes() {
    if (!sizes().has_names()) return {};
    Drawn how = next();
    if (auto status = try_set(sizes().guess(Sizes::kOne), how, ""); !status) {
      return status;
    }
    if (!options_.extremes) return {};
    const SizeOf none = sizes().guess(Sizes::kZero);
    const auto ran = trials_.run(none, how, "");
    if (!ran) return ran.error();
    constexpr std::size_t kMostNames = 4;
    const auto& leaves = sizes().leaves();
    if (*ran || leaves.size() == 1) return {};
    for (std::size_t i = 0; i < std::min(leaves.size(), kMostNames); ++i) {
      if (none.at(leaves[i]) != 0) continue;
      for (const SizeOf& at : with_size(leaves[i], 0)) {
        const auto one = trials_.run(at, how, "");
        if (!one) return one.error();
        if (*one) break;
      }
    }
    return {};
  }

  // --- other numbers ---------------------------------------------------------

  bool has_floats() {
    const ir::Graph& graph = trials_.source().model().graph;
    return std::ranges::any_of(graph.block(ir::Graph::main_block()).inputs,
                               [&](ir::ValueId v) {
                                 const ir::Type* type = graph.value(v).declared;
                                 return type != nullptr && type->is_tensor() &&
                                        (ir::is_float(type->elem) ||
                                         type->elem == DataType::kComplex64 ||
                                         type->elem == DataType::kComplex128);
                               });
  }

  struct Magnitude {
    double scale;
    std::string_view kind;
    bool is_extreme;
  };

  Status numbers() {
    if (auto status = masks(); !status || !has_floats()) return status;
    for (const Magnitude& each : {Magnitude{1e-2, "small floats", false},
                                  Magnitude{4, "floats of some units", false},
                                  Magnitude{1e3, "large floats", true},
                                  Magnitude{1e6, "huge floats", true},
                                  Magnitude{1e-40, "tiny floats", true}}) {
      if (each.is_extreme && !options_.extremes) continue;
      Drawn how = next();
      how.scale = each.scale;
      how.numbers_for_masks = options_.extremes && !each.is_extreme;
      const auto status = try_set(*fit_, how, each.kind, is_some_finite);
      if (!status) return status;
    }
    return {};
  }

  // Both sides of each number that is met.
  Status met() {
    constexpr std::size_t kMostTurns = 9;
    const std::size_t turns = trials_.source().turns(*fit_);
    for (std::size_t turn = 1; turn <= std::min(turns, kMostTurns); ++turn) {
      Drawn how = varied();
      how.meets = true;
      how.turn = turn;
      const std::string_view kind =
          has_floats() ? "numbers that are compared" : "";
      if (auto status = try_set(*fit_, how, kind); !status) return status;
    }
    return {};
  }

  // Floats for which no output is mostly NaN: ones of one sign or near 0,
  // around what they meet, and larger ones.
  Status reveal() {
    struct Place {
      double center, scale;
    };
    std::vector<Place> places = {{0, 1}};
    constexpr std::size_t kMostPlaces = 6;
    for (const InputUse& use : trials_.source().uses()) {
      for (const double each : use.met) places.push_back({each, 1});
    }
    places.resize(std::min(places.size(), kMostPlaces));
    places.insert(places.end(), {{0, 1e3}, {0, 1e6}});
    for (const auto& [center, scale] : places) {
      for (const auto& [signs, kind] :
           {std::pair(Signs::kPositive, "positive floats"),
            std::pair(Signs::kUnit, "floats from -1 to 1")}) {
        if (!shown_.hides() || !has_floats()) return {};
        Drawn how = varied();
        how.signs = signs;
        how.center = center;
        how.scale = scale;
        const auto status =
            try_set(*fit_, how, kind, [&](const Executor::Named& outputs) {
              return shown_.reveals(outputs);
            });
        if (!status) return status;
      }
    }
    return {};
  }

  bool has_masks() {
    const ir::Graph& graph = trials_.source().model().graph;
    const auto& inputs = graph.block(ir::Graph::main_block()).inputs;
    const auto domains = trials_.source().domains(*fit_);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ir::Type* type = graph.value(inputs[i]).declared;
      if (type == nullptr) continue;
      if (type->elem == DataType::kBool) return true;
      if (domains[i].is_mask && !domains[i].has_table()) return true;
    }
    return false;
  }

  Status masks() {
    if (!options_.extremes || !has_masks()) return {};
    Drawn how = next();
    how.hides_rows = true;
    if (auto status = try_set(*fit_, how, "hidden rows"); !status) {
      return status;
    }
    how = next();
    how.numbers_for_all = true;
    how.integers = Integers::kSmall;
    return try_set(*fit_, how, "numbers for masks", is_some_finite);
  }

  // --- branches --------------------------------------------------------------

  Status branches() {
    const auto& log = trials_.branches();
    if (log.missing().empty()) return {};
    if (auto status = turn_sizes(); !status) return status;
    constexpr int kMostDraws = 48;
    std::vector<SizeOf> others = {sizes().solve(1), sizes().guess(Sizes::kOne),
                                  sizes().guess(Sizes::kLong)};
    if (options_.extremes) others.push_back(sizes().guess(Sizes::kZero));
    for (int i = 0; i < kMostDraws && !log.missing().empty(); ++i) {
      const auto turn = static_cast<std::size_t>(i / 4);
      const bool is_other = i % 4 == 3 && sizes().has_names();
      const SizeOf& at = is_other ? others[turn % others.size()] : *fit_;
      if (auto status = try_branch(at, restart(i)); !status) return status;
    }
    return {};
  }

  // What a branch computes takes more than one set to see.
  Status branches_again() {
    constexpr int kTimes = 4;
    constexpr std::size_t kMost = 8;
    auto found = std::move(took_branches_);
    found.resize(std::min(found.size(), kMost));
    for (auto& [at, how] : found) {
      for (int i = 0; i < kTimes; ++i) {
        how.seed = next().seed;
        if (auto status = try_set(at, how, ""); !status) return status;
      }
    }
    return {};
  }

  Drawn restart(int i) {
    constexpr double kScales[] = {1, 4, 1e-2, 1e3};
    constexpr Signs kSigns[] = {Signs::kAny, Signs::kPositive, Signs::kUnit};
    Drawn how = varied();
    how.same = i % 2 == 0;
    how.meets = i % 3 != 2;
    how.turn = 0;
    how.scale = kScales[i / 3 % (options_.extremes ? 4 : 3)];
    how.signs = kSigns[i % 3];
    how.hides_rows = i % 4 == 3;
    // Numbers of two inputs that are to be the same.
    if (i % 4 >= 2) how.integers = Integers::kSmall;
    return how;
  }

  // Only inputs that take a branch that none took before.
  Status try_branch(const SizeOf& at, const Drawn& how) {
    const std::size_t before = trials_.branches().taken();
    return try_set(at, how, "", [&](const Executor::Named&) {
      return trials_.branches().taken() > before;
    });
  }

  Status turn_sizes() {
    InputSource& source = trials_.source();
    constexpr std::size_t kMostSizes = 12;
    std::size_t tried = 0;
    for (const auto& missing : trials_.branches().missing()) {
      const ir::Graph& graph = source.model().graph;
      if (!missing.is_main || missing.block.index() >= graph.block_count()) {
        continue;
      }
      const ir::NodeId node = graph.block(missing.block).owner;
      if (!node || !graph.op(node).standard("If")) continue;
      const auto turned =
          sizes_that_turn(source.model(), source.facts(), node, *fit_);
      for (const SizeOf& fixed : turned) {
        if (!options_.extremes && fixed.begin()->second == 0) continue;
        if (tried++ >= kMostSizes) return {};
        const SizeOf at = sizes().solve(0, fixed);
        if (auto status = try_branch(at, varied()); !status) return status;
      }
    }
    return {};
  }

  const InputOptions& options_;
  InputTrials::Visit visit_;
  InputTrials trials_;
  std::uint64_t drawn_ = 0;
  std::optional<SizeOf> fit_;  // sizes that the model runs with
  ShownOutputs shown_;
  std::map<std::string, std::set<std::int64_t>> ran_with_;
  // That took a branch which none took before.
  std::vector<std::pair<SizeOf, Drawn>> took_branches_;
};

}  // namespace

Result<DrawnSets> for_each_input_set(
    const ir::Model& model, ExecutorOptions executor,
    const InputOptions& options,
    const std::function<Result<bool>(const InputSet&)>& visit) {
  return InputSets(model, std::move(executor), options, visit).all();
}

}  // namespace ruleengine::runtime
