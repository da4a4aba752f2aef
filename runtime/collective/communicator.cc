#include "runtime/communicator.h"
#include "core/ir/element_types.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/ir/narrow_float.h"
#include "runtime/conversions.h"
#include "runtime/preparation.h"

namespace ruleengine::runtime {
namespace {

template <typename T>
void add(Tensor& sum, const Tensor& x) {
  T* to = sum.mutable_data<T>();
  const T* from = x.data<T>();
  for (std::int64_t i = 0; i < x.count(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      using Wrapping = std::make_unsigned_t<T>;
      to[i] = static_cast<T>(static_cast<Wrapping>(
          static_cast<Wrapping>(to[i]) + static_cast<Wrapping>(from[i])));
    } else {
      to[i] += from[i];
    }
  }
}

void need_sum(const Tensor& x) {
  if (!ir::is_float(x.dtype()) && !ir::is_integer(x.dtype())) {
    fail("ranks cannot add up " + x.text());
  }
}

// In float for narrow floats, rounded once.
Tensor sum_of(const std::vector<Tensor>& all, KernelRun& run) {
  const DataType type = all[0].dtype();
  const bool is_narrow = ir::is_narrow_float(type);
  Tensor sum =
      allocate(run, is_narrow ? DataType::kFloat : type, all[0].dims());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Tensor each = is_narrow ? widened(all[i], run) : all[i];
    if (i == 0) {
      std::memcpy(sum.mutable_data<std::byte>(), each.data<std::byte>(),
                  each.byte_size());
    } else {
      ir::visit_type(ir::NumberTypes(), each.dtype(),
                     [&]<typename T>() { add<T>(sum, each); });
    }
  }
  return is_narrow ? narrowed(sum, type, run) : sum;
}

// Where each of `n` pieces of `count` elements ends; the first ones have one
// more where they cannot be equal.
std::vector<std::int64_t> even_ends(std::int64_t count, std::size_t n) {
  std::vector<std::int64_t> ends;
  const auto pieces = static_cast<std::int64_t>(n);
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < pieces; ++i) {
    end += count / pieces + (i < count % pieces ? 1 : 0);
    ends.push_back(end);
  }
  return ends;
}

std::int64_t begin_of(std::span<const std::int64_t> ends, std::size_t i) {
  return i == 0 ? 0 : ends[i - 1];
}

// [outer, axis, inner] with the axis cut into `n` parts, as [n, outer, part,
// inner]; or back.
void turn(const Tensor& from, Tensor& to, Shape dims, std::size_t axis,
          std::size_t n, bool back) {
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= dims[i];
  for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  const auto parts = static_cast<std::int64_t>(n);
  const std::size_t bytes = bytes_of(from.dtype(), dims[axis] / parts * inner);
  const std::byte* source = from.data<std::byte>();
  auto* target = to.mutable_data<std::byte>();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t p = 0; p < parts; ++p) {
      const auto whole = static_cast<std::size_t>(o * parts + p) * bytes;
      const auto cut = static_cast<std::size_t>(p * outer + o) * bytes;
      if (bytes == 0) continue;
      std::memcpy(target + (back ? whole : cut), source + (back ? cut : whole),
                  bytes);
    }
  }
}

}  // namespace

std::size_t Communicator::place_in(Group group) const {
  const auto it = std::ranges::find(group, rank());
  if (it == group.end()) {
    fail("rank " + std::to_string(rank()) + " is not in the group of the op");
  }
  for (const std::int64_t each : group) {
    if (each < 0 || each >= size()) {
      fail("the group of the op has a rank that does not run",
           "ranks below " + std::to_string(size()), std::to_string(each));
    }
    if (std::ranges::count(group, each) > 1) {
      fail("the group of the op has a rank twice", "each rank once",
           std::to_string(each));
    }
  }
  return static_cast<std::size_t>(it - group.begin());
}

Communicator::Call Communicator::begin(std::string_view op, const Tensor& x,
                                       std::optional<std::size_t> axis,
                                       KernelRun& run) {
  if (x.is_string() || is_packed(x.dtype())) {
    fail("ranks cannot exchange " + x.text());
  }
  SentBytes& sent = sent_[std::string(op)];
  ++sent.count;
  return {.text = std::string(op) + " of " + x.text() +
                  (axis ? " along axis " + std::to_string(*axis) : ""),
          .sent = sent,
          .run = run};
}

Tensor Communicator::sum_of_piece(Group group, const Call& call,
                                  const Tensor& x,
                                  std::span<const std::int64_t> ends) {
  const std::size_t own = place_in(group), n = group.size();
  const std::int64_t size = ends[own] - begin_of(ends, own);
  const auto at = [&](std::int64_t i) { return bytes_of(x.dtype(), i); };
  std::vector<Bytes> out(n);
  std::vector<Tensor> all;
  std::vector<std::span<std::byte>> in(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t begin = at(begin_of(ends, i));
    out[i] = x.bytes().subspan(begin, at(ends[i]) - begin);
    all.push_back(allocate(call.run, x.dtype(), {&size, 1}));
    in[i] = {all[i].mutable_data<std::byte>(), at(size)};
    if (i != own) call.sent.bytes += out[i].size();
  }
  std::ranges::copy(out[own], in[own].begin());
  exchange(group, call, out, in);
  return sum_of(all, call.run);
}

Tensor Communicator::joined(Group group, const Call& call, const Tensor& piece,
                            std::span<const std::int64_t> ends) {
  const std::size_t own = place_in(group), n = group.size();
  Tensor all = allocate(call.run, piece.dtype(), {&ends.back(), 1});
  const auto at = [&](std::int64_t i) { return bytes_of(piece.dtype(), i); };
  std::vector<Bytes> out(n, piece.bytes());
  std::vector<std::span<std::byte>> in(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t begin = at(begin_of(ends, i));
    in[i] = {all.mutable_data<std::byte>() + begin, at(ends[i]) - begin};
    if (i != own) call.sent.bytes += piece.byte_size();
  }
  std::ranges::copy(piece.bytes(), in[own].begin());
  exchange(group, call, out, in);
  return all;
}

Tensor Communicator::all_reduce(Group group, const Tensor& x, KernelRun& run) {
  place_in(group);
  need_sum(x);
  const Call call = begin("all_reduce", x, std::nullopt, run);
  const auto ends = even_ends(x.count(), group.size());
  const Tensor own = sum_of_piece(group, call, x, ends);
  return joined(group, call, own, ends).reshaped(x.dims());
}

Tensor Communicator::reduce_scatter(Group group, const Tensor& x,
                                    std::size_t axis, KernelRun& run) {
  place_in(group);
  need_sum(x);
  const auto n = static_cast<std::int64_t>(group.size());
  if (x.dim(axis) % n != 0) {
    fail("the ranks do not divide the axis that is scattered",
         "a multiple of " + std::to_string(n), std::to_string(x.dim(axis)));
  }
  const Call call = begin("reduce_scatter", x, axis, run);
  Tensor cut = allocate(run, x.dtype(), x.dims());
  turn(x, cut, x.dims(), axis, group.size(), false);
  Dims dims(x.dims());
  dims[axis] /= n;
  const auto ends = even_ends(x.count(), group.size());
  return sum_of_piece(group, call, cut, ends).reshaped(dims);
}

Tensor Communicator::all_gather(Group group, const Tensor& x, std::size_t axis,
                                KernelRun& run) {
  place_in(group);
  const Call call = begin("all_gather", x, axis, run);
  const auto n = static_cast<std::int64_t>(group.size());
  Dims dims(x.dims());
  dims[axis] *= n;
  const Shape shape(dims.data(), dims.size());
  const auto ends = even_ends(x.count() * n, group.size());
  const Tensor all = joined(group, call, x, ends);
  Tensor out = allocate(run, x.dtype(), shape);
  turn(all, out, shape, axis, group.size(), true);
  return out;
}

}  // namespace ruleengine::runtime
