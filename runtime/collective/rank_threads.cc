#include "runtime/rank_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <vector>

#include "runtime/failure.h"
#include "runtime/preparation.h"
#include "runtime/threads.h"

namespace ruleengine::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// How often a rank that waits looks at its deadline.
constexpr std::chrono::milliseconds kLook{20};
// How long the others may compute on after a rank has failed.
constexpr std::chrono::seconds kGrace{2};

constexpr const char* kSameOps =
    "all members of a group call the same ops in the same order";

std::size_t at(std::int64_t rank) { return static_cast<std::size_t>(rank); }

std::string name_of(std::int64_t rank) {
  return "rank " + std::to_string(rank);
}

// The rendezvous of one group: all members come, read what the others brought,
// and leave; then the next one begins.
struct Rendezvous {
  struct Offer {
    bool is_here = false;
    std::string call;
    std::vector<Communicator::Bytes> out;
  };

  explicit Rendezvous(const std::vector<std::int64_t>& g)
      : group(g), offers(g.size()) {}

  bool is_full() const { return came == group.size(); }
  std::string text() const {
    return fmt::format("the group [{}]", fmt::join(group, ","));
  }

  std::vector<std::int64_t> group;
  std::vector<Offer> offers;
  std::size_t came = 0, left = 0;
  std::uint64_t number = 0;
};

struct Rank {
  // Where it waits for members that have not come.
  const Rendezvous* waits = nullptr;
  bool has_ended = false;
  // Why it cannot go on: it fails with this as soon as it looks.
  std::optional<Diagnostic> reason;

  bool is_running() const { return !has_ended && (waits == nullptr || reason); }
};

// What the ranks share. All is guarded by `mutex`, but is_over().
class World {
 public:
  explicit World(int count) : ranks(at(count)) {}

  Rendezvous& rendezvous(Communicator::Group group) {
    const std::vector<std::int64_t> key(group.begin(), group.end());
    return rendezvous_.try_emplace(key, key).first->second;
  }

  // Of a rendezvous whose last member came: all members must call the same.
  void begin(const Rendezvous& rendezvous) {
    for (const std::int64_t each : rendezvous.group) {
      ranks[at(each)].waits = nullptr;
    }
    for (std::size_t i = 1; i < rendezvous.group.size(); ++i) {
      const Rendezvous::Offer &first = rendezvous.offers[0],
                              &other = rendezvous.offers[i];
      if (first.call == other.call) continue;
      stop(rendezvous.group,
           "ranks called different ops, or with different sizes",
           first.call + " on " + name_of(rendezvous.group[0]),
           other.call + " on " + name_of(rendezvous.group[i]));
      break;
    }
    changed.notify_all();
  }

  void wait(std::int64_t rank, const Rendezvous& rendezvous) {
    ranks[at(rank)].waits = &rendezvous;
    stop_waiting();
  }

  void end(std::int64_t rank) {
    ranks[at(rank)].has_ended = true;
    stop_waiting();
  }

  // Whether a failure has ended all ranks.
  bool is_over() const {
    return Clock::now().time_since_epoch().count() >= over_at_;
  }
  void end_all(Clock::duration grace = {}) {
    const auto when = (Clock::now() + grace).time_since_epoch().count();
    over_at_ = std::min<Clock::rep>(over_at_, when);
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Rank> ranks;
  // Whether a rank failed by itself.
  bool has_failure = false;

 private:
  // Stops ranks that can never go on. It stops the same ones in every run,
  // since it looks when no rank runs.
  void stop_waiting() {
    if (std::ranges::any_of(ranks, &Rank::is_running)) return;
    if (has_failure) return end_all();
    std::optional<std::int64_t> waiting;
    bool is_ended = false;
    for (std::size_t i = ranks.size(); i-- > 0;) {
      if (ranks[i].waits == nullptr) continue;
      waiting = static_cast<std::int64_t>(i);
      is_ended |= stop_by_ended(*waiting);
    }
    if (waiting && !is_ended) stop_cycle(*waiting);
  }

  // Whether `rank` waits for one that has ended.
  bool stop_by_ended(std::int64_t rank) {
    const Rendezvous& rendezvous = *ranks[at(rank)].waits;
    for (std::size_t i = 0; i < rendezvous.group.size(); ++i) {
      const std::int64_t other = rendezvous.group[i];
      if (rendezvous.offers[i].is_here || !ranks[at(other)].has_ended) continue;
      stop({rank}, name_of(other) + " ended before the op");
      return true;
    }
    return false;
  }

  // The first of those that `rank` waits for.
  std::int64_t awaited_by(std::int64_t rank) const {
    const Rendezvous& rendezvous = *ranks[at(rank)].waits;
    const auto missing = std::ranges::find(rendezvous.offers, false,
                                           &Rendezvous::Offer::is_here);
    return rendezvous.group[at(missing - rendezvous.offers.begin())];
  }

  // Whoever waits for ranks that all wait comes to a cycle: who waits for whom
  // in it is the reason.
  void stop_cycle(std::int64_t rank) {
    std::vector<std::int64_t> path;
    auto first = path.end();
    while (first == path.end()) {
      path.push_back(rank);
      rank = awaited_by(rank);
      first = std::ranges::find(path, rank);
    }
    path.erase(path.begin(), first);
    std::ranges::rotate(path, std::ranges::min_element(path));
    std::string found;
    for (std::size_t i = 0; i < path.size(); ++i) {
      found += (i == 0 ? "" : ", ") + name_of(path[i]) + " for " +
               name_of(path[(i + 1) % path.size()]) + " in " +
               ranks[at(path[i])].waits->text();
    }
    stop(path, "ranks wait for each other", {}, found);
  }

  void stop(const std::vector<std::int64_t>& whom, const std::string& what,
            const std::string& expected = {}, const std::string& found = {}) {
    for (const std::int64_t each : whom) {
      ranks[at(each)].reason = Diagnostic{.kind = ErrorKind::kModel,
                                          .what = what,
                                          .expected = expected,
                                          .found = found,
                                          .hint = kSameOps};
    }
    changed.notify_all();
  }

  std::map<std::vector<std::int64_t>, Rendezvous> rendezvous_;
  std::atomic<Clock::rep> over_at_ = std::numeric_limits<Clock::rep>::max();
};

class RankCommunicator final : public Communicator {
 public:
  RankCommunicator(World& world, int rank) : world_(world), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_.ranks.size()); }

  // Whether another rank has failed.
  bool is_cancelled() {
    if (!has_failed_ && world_.is_over()) was_ended_ = true;
    return was_ended_;
  }
  // Whether it ended because another rank failed: its error is not its own.
  bool was_ended() const { return was_ended_; }

 protected:
  void exchange(Group group, const Call& call, std::span<const Bytes> out,
                std::span<const std::span<std::byte>> in) override {
    const auto own = at(std::ranges::find(group, rank_) - group.begin());
    std::unique_lock lock(world_.mutex);
    try {
      meet(lock, world_.rendezvous(group), own, call, out, in);
    } catch (...) {
      has_failed_ = true;
      // Its buffers go as it throws. The lock is held, so no rank is reading
      // them; no rank reads those of a rank that was stopped.
      if (!world_.ranks[at(rank_)].reason) world_.end_all();
      throw;
    }
  }

 private:
  void meet(std::unique_lock<std::mutex>& lock, Rendezvous& rendezvous,
            std::size_t own, const Call& call, std::span<const Bytes> out,
            std::span<const std::span<std::byte>> in) {
    // Others may still be leaving the last rendezvous.
    wait(lock, call, [&] { return rendezvous.left == 0; });
    const std::uint64_t number = rendezvous.number;
    rendezvous.offers[own] = {true, call.text, {out.begin(), out.end()}};
    ++rendezvous.came;
    if (rendezvous.is_full()) {
      world_.begin(rendezvous);
    } else {
      world_.wait(rank_, rendezvous);
    }
    wait(lock, call, [&] { return rendezvous.is_full(); });
    // Copied under the lock: simple, and ranks are as many as cores at most.
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (i == own) continue;
      std::ranges::copy(rendezvous.offers[i].out[own], in[i].begin());
    }
    if (++rendezvous.left == rendezvous.group.size()) {
      rendezvous.came = rendezvous.left = 0;
      rendezvous.offers.assign(rendezvous.group.size(), {});
      ++rendezvous.number;
      world_.changed.notify_all();
    }
    // The others read what this rank owns.
    wait(lock, call, [&] { return rendezvous.number != number; });
  }

  template <typename F>
  void wait(std::unique_lock<std::mutex>& lock, const Call& call, F is_done) {
    const Rank& self = world_.ranks[at(rank_)];
    while (true) {
      if (self.reason) throw Failure{*self.reason};
      if (is_cancelled()) fail("another rank failed");
      if (is_done()) return;
      call.run.threads->look();
      world_.changed.wait_for(lock, kLook);
    }
  }

  World& world_;
  int rank_;
  std::atomic<bool> was_ended_ = false, has_failed_ = false;
};

// What the code of a rank throws is its error.
Status run_one(RankCommunicator& rank,
               const std::function<Status(RankPlace&)>& run) {
  RankPlace place{rank, [&] { return rank.is_cancelled(); }};
  try {
    return run(place);
  } catch (const Failure& failure) {
    return failure.error;
  } catch (const std::bad_alloc&) {
    return Diagnostic{.kind = ErrorKind::kLimit,
                      .what = "the machine has too little memory for the run"};
  } catch (const std::exception& error) {
    return Diagnostic{.kind = ErrorKind::kInternal, .what = error.what()};
  }
}

}  // namespace

Status run_ranks(int count, const std::function<Status(RankPlace&)>& run) {
  World world(count);
  std::vector<std::optional<Diagnostic>> errors(at(count));
  const auto end = [&](int rank, const Status& status, bool is_own) {
    const std::lock_guard lock(world.mutex);
    if (!status && is_own) {
      errors[at(rank)] = status.error();
      world.has_failure = true;
      world.end_all(kGrace);
    }
    world.end(rank);
  };
  {
    std::vector<std::jthread> threads;
    const SignalsHeld held;
    for (int i = 0; i < count; ++i) {
      try {
        threads.emplace_back([&, i] {
          RankCommunicator rank(world, i);
          const Status status = run_one(rank, run);
          end(i, status, !rank.was_ended());
        });
      } catch (const std::system_error& error) {
        end(i,
            Diagnostic{.kind = ErrorKind::kLimit,
                       .what = "no thread can be started for the rank",
                       .found = error.what()},
            true);
        const std::lock_guard lock(world.mutex);
        world.end_all();
        break;
      }
    }
  }
  for (int i = 0; i < count; ++i) {
    std::optional<Diagnostic>& error = errors[at(i)];
    if (!error) continue;
    error->where =
        name_of(i) + (error->where.empty() ? "" : ", " + error->where);
    return *std::move(error);
  }
  return {};
}

}  // namespace ruleengine::runtime
