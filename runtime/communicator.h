// Communicator: how the ranks of a run exchange tensors. Each rank has one. All
// ranks of a group call the same operations in the same order. Sums are made in
// the order of the group, piece by piece, so they have the same bits in every
// run and on every rank, however ranks are connected.
//
// Bytes are counted as they are sent: 2 (N-1)/N of the tensor for all_reduce,
// (N-1)/N for reduce_scatter, and (N-1)/N of the result for all_gather.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor.h"

namespace ruleengine::runtime {

struct KernelRun;

// What a rank sent, by op.
struct SentBytes {
  std::uint64_t count = 0, bytes = 0;
};
using Sent = std::map<std::string, SentBytes, std::less<>>;

class Communicator {
 public:
  using Group = std::span<const std::int64_t>;
  using Bytes = std::span<const std::byte>;

  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // The operations. `x` is of the same type on all ranks of the group, which
  // the rank is one of. They throw Failure: an invalid group, other members
  // that call something else, have ended, failed, or wait for this rank
  // elsewhere; and what run.threads->check throws while they wait.
  Tensor all_reduce(Group group, const Tensor& x, KernelRun& run);
  Tensor reduce_scatter(Group group, const Tensor& x, std::size_t axis,
                        KernelRun& run);
  Tensor all_gather(Group group, const Tensor& x, std::size_t axis,
                    KernelRun& run);

  // What was sent so far.
  const Sent& sent() const { return sent_; }

 protected:
  // What a rank calls. The text has the op, the type of its tensor and the
  // axis, and is the same on all members.
  struct Call {
    std::string text;
    SentBytes& sent;
    KernelRun& run;
  };

  // Sends out[i] to member i, and fills in[i] with what that member sent; the
  // rank's own entries are left alone.
  virtual void exchange(Group group, const Call& call,
                        std::span<const Bytes> out,
                        std::span<const std::span<std::byte>> in) = 0;

 private:
  std::size_t place_in(Group group) const;
  Call begin(std::string_view op, const Tensor& x,
             std::optional<std::size_t> axis, KernelRun& run);
  // This rank's piece of the sum of all tensors, whose elements are cut into
  // pieces as `ends` says.
  Tensor sum_of_piece(Group group, const Call& call, const Tensor& x,
                      std::span<const std::int64_t> ends);
  // The pieces of all members, one after the other.
  Tensor joined(Group group, const Call& call, const Tensor& piece,
                std::span<const std::int64_t> ends);

  Sent sent_;
};

}  // namespace ruleengine::runtime
