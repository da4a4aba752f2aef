#include "runtime/rank_threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "runtime/failure.h"

namespace ruleengine::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLook{20};

struct Rank {
  std::atomic<Clock::rep> last_beat{0};
  bool has_ended = false;
  std::optional<Diagnostic> error;
};

// The meeting of one group: all members come, read what the others brought, and
// leave; then the next one begins.
struct Meeting {
  struct Offer {
    std::string what;
    std::vector<Communicator::Bytes> out;
  };
  std::vector<Offer> offers;
  std::vector<bool> here;
  std::size_t came = 0, left = 0;
  std::uint64_t number = 0;
};

struct Room {
  Room(int count, std::chrono::milliseconds p)
      : ranks(static_cast<std::size_t>(count)), patience(p) {
    for (Rank& each : ranks) each.last_beat = now();
  }

  static Clock::rep now() { return Clock::now().time_since_epoch().count(); }

  // Throws if the rank `on` will not come any more.
  void check(std::int64_t on) const {
    if (is_over) fail("another rank failed");
    const Rank& other = ranks[static_cast<std::size_t>(on)];
    const std::string name = "rank " + std::to_string(on);
    if (other.has_ended) fail(name + " ended before the op");
    const Clock::duration since(now() - other.last_beat);
    if (since > patience) {
      fail(name + " does not answer",
           "progress within " + std::to_string(patience.count()) + " ms");
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::vector<std::int64_t>, Meeting> meetings;
  std::vector<Rank> ranks;
  std::chrono::milliseconds patience;
  std::atomic<bool> is_over = false;
};

class Seat final : public Communicator {
 public:
  Seat(Room& room, int rank) : room_(room), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(room_.ranks.size()); }

  bool beat() {
    room_.ranks[static_cast<std::size_t>(rank_)].last_beat = Room::now();
    return room_.is_over;
  }

 protected:
  void exchange(Group group, std::string_view what, std::span<const Bytes> out,
                std::span<const std::span<std::byte>> in) override {
    const auto own = static_cast<std::size_t>(std::ranges::find(group, rank_) -
                                              group.begin());
    std::unique_lock lock(room_.mutex);
    Meeting& meeting =
        room_.meetings[std::vector<std::int64_t>(group.begin(), group.end())];
    meeting.offers.resize(group.size());
    meeting.here.resize(group.size());
    // Others may still be leaving the last meeting.
    wait(lock, group, meeting, [&] { return meeting.left == 0; });
    const std::uint64_t number = meeting.number;
    meeting.offers[own] = {std::string(what), {out.begin(), out.end()}};
    meeting.here[own] = true;
    ++meeting.came;
    room_.changed.notify_all();
    wait(lock, group, meeting, [&] { return meeting.came == group.size(); });
    read(meeting, own, what, in);
    if (++meeting.left == group.size()) {
      meeting.came = meeting.left = 0;
      meeting.here.assign(group.size(), false);
      ++meeting.number;
      room_.changed.notify_all();
    }
    // The others read what this rank owns.
    wait(lock, group, meeting, [&] { return meeting.number != number; });
  }

 private:
  // Copies under the lock: simple, and ranks are as many as there are cores at
  // most.
  void read(const Meeting& meeting, std::size_t own, std::string_view what,
            std::span<const std::span<std::byte>> in) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (i == own) continue;
      const Meeting::Offer& offer = meeting.offers[i];
      const Bytes from = offer.out[own];
      if (offer.what != what || from.size() != in[i].size()) {
        fail("ranks called different ops, or with different sizes",
             std::string(what) + " of " + std::to_string(in[i].size()) +
                 " bytes",
             offer.what + " of " + std::to_string(from.size()) + " bytes");
      }
      std::ranges::copy(from, in[i].begin());
    }
  }

  template <typename F>
  void wait(std::unique_lock<std::mutex>& lock, Group group,
            const Meeting& meeting, F is_done) {
    while (!is_done()) {
      beat();
      for (std::size_t i = 0; i < group.size(); ++i) {
        if (group[i] != rank_ && !meeting.here[i]) room_.check(group[i]);
      }
      if (room_.is_over) fail("another rank failed");
      room_.changed.wait_for(lock, kLook);
    }
    beat();
  }

  Room& room_;
  int rank_;
};

Status run_one(Room& room, int rank,
               const std::function<Status(RankPlace&)>& run) {
  Seat seat(room, rank);
  RankPlace place{seat, [&] { return seat.beat(); }};
  try {
    return run(place);
  } catch (const Failure& failure) {
    return failure.error;
  }
}

}  // namespace

Status run_ranks(int count, const std::function<Status(RankPlace&)>& run,
                 std::chrono::milliseconds patience) {
  Room room(count, patience);
  std::optional<Diagnostic> first;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        Status status = run_one(room, i, run);
        const std::lock_guard lock(room.mutex);
        room.ranks[static_cast<std::size_t>(i)].has_ended = true;
        if (!status && !first) {
          first = status.error();
          const std::string name = "rank " + std::to_string(i);
          first->where =
              first->where.empty() ? name : name + ", " + first->where;
          room.is_over = true;
        }
        room.changed.notify_all();
      });
    }
  }
  return first ? Status(*first) : Status();
}

}  // namespace ruleengine::runtime
