// The kernels of the GPU: a row for each op that has one, and what their files
// share. Internal to kernels/cuda.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/cuda/session.h"
#include "kernels/keeping.h"

namespace ruleengine::kernels::cuda {

struct Kernel {
  std::string_view domain, type;  // domain: "" for the standard one
  // The session outlives the op.
  Op (*prepare)(const Preparation& node, Session& session);
  ops::Inputs host_inputs = 0;  // beside those that tell the type of the result
  ops::Inputs views = 0;        // the inputs that may be views
  bool makes_views = false;     // of its input; the node moves no element then
};
using KernelRows = std::span<const Kernel>;

using runtime::decline;

// The element type of input `i`; declines the node where it is not known.
DataType input_type(const Preparation& p, std::size_t i);

// The type of an input whose elements have a width that kernels copy; declines
// the node for others.
DataType moved_type(const Preparation& p, std::size_t i = 0);
// int32 or int64; declines the node for other indices.
DataType indices_type(const Preparation& p, std::size_t i);
// What a kernel sets to 1 where it meets what the node cannot compute.
std::int32_t* node_flag(const Preparation& p, Session& session,
                        std::string what, std::string expected = {});
// The same for an index beyond its axis.
std::int32_t* beyond_flag(const Preparation& p, Session& session);

// The bytes of what a kernel moves at once: 16 where rows of `inner` elements
// of `width` bytes are whole vectors, which `inner` then counts; else `width`.
std::int64_t unit_of(const void* from, const void* to, std::int64_t& inner,
                     std::int64_t width);

// Declines a node with an input of more axes than kernels go through, where the
// type tells it. Axes that go on in each other would be one, but that is for a
// run to see.
void need_few_axes(const Preparation& p);

// Fails beyond the axes that kernels go through.
void check_axes(std::size_t count);
// "f32", as the names of kernels end; "" for a type that none computes in.
std::string_view suffix(DataType dtype);

// The kernel NAME_f32, or of another of these types; declines the node for
// others.
CUfunction kernel_of(Session& session, std::string_view family,
                     std::string_view name, DataType dtype,
                     std::span<const DataType> known);
inline constexpr DataType kFloats[] = {DataType::kFloat, DataType::kFloat16,
                                       DataType::kBfloat16};
inline constexpr DataType kNumbers[] = {DataType::kFloat, DataType::kFloat16,
                                        DataType::kBfloat16, DataType::kInt32,
                                        DataType::kInt64};
inline constexpr DataType kBools[] = {DataType::kBool};

inline constexpr ops::Inputs kFirstInput = 1U << 0, kSecondInput = 1U << 1;

// The preparation of an op that is an object of this class.
template <typename T>
Op made(const Preparation& p, Session& session) {
  return T(p, session);
}

// Bytes of an element.
inline int width_of(DataType type) {
  return static_cast<int>(runtime::bytes_of(type, 1));
}
// The kernel NAME_4, or for another width of elements.
CUfunction kernel_of_width(Session& session, std::string_view family,
                           std::string_view name, std::int64_t width);

// The kernels of a name for what unit_of() gives: NAME_16 and the one of the
// elements' width.
class MovingKernels {
 public:
  MovingKernels(Session& session, std::string_view family,
                std::string_view name, std::int64_t width)
      : width_(width),
        own_(kernel_of_width(session, family, name, width)),
        vector_(kernel_of_width(session, family, name, 16)) {}
  CUfunction of(std::int64_t bytes) const {
    return bytes == width_ ? own_ : vector_;
  }

 private:
  std::int64_t width_;
  CUfunction own_, vector_;
};

// A thread for each of so many pieces of work, in blocks; fewer where there are
// more than a grid takes.
Launch spread(std::int64_t pieces, unsigned threads);
// Exactly so many blocks. Throws Failure where a GPU has no room for them.
Launch blocks(std::int64_t count, unsigned threads,
              std::size_t shared_bytes = 0);

}  // namespace ruleengine::kernels::cuda
