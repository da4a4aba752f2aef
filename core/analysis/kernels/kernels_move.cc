// Kernels that pick elements, whatever their type: each is a list of places in
// the input, one for each element of the output.
#include <algorithm>
#include <cstring>

#include "core/analysis/kernels/kernels.h"
#include "core/analysis/types/slice_math.h"
#include "core/ir/shapes.h"

namespace ruleengine::analysis {
namespace {

// Reads any element of stored bytes without touching the others.
class Source {
 public:
  Source(const Call& call, const ir::Tensor* t) : tensor_(t) {
    if (t == nullptr || ir::bit_width(t->dtype) < 8) return;
    const auto count = count_of(t->dims);
    // Decoding or joining costs what the whole of it does.
    const bool is_view =
        t->storage == ir::Storage::kRaw || t->storage == ir::Storage::kExternal;
    if (!count || (!is_view && *count > call.limit)) return;
    const auto bytes = ir::raw_bytes(*t, call.model().external.get(), scratch_);
    if (!bytes.ok() ||
        static_cast<std::int64_t>(bytes->size()) < t->byte_size()) {
      return;
    }
    bytes_ = *bytes;
    ok_ = true;
  }

  bool ok() const { return ok_; }
  std::size_t width() const {
    return static_cast<std::size_t>(ir::bit_width(tensor_->dtype) / 8);
  }
  const std::byte* at(std::int64_t i) const {
    return bytes_.data() + static_cast<std::size_t>(i) * width();
  }

 private:
  const ir::Tensor* tensor_;
  std::vector<std::byte> scratch_;
  std::span<const std::byte> bytes_;
  bool ok_ = false;
};

const ir::Tensor* pick(const Call& call, const ir::Tensor* t, const Ints& dims,
                       const Ints& places) {
  const Source source(call, t);
  if (!source.ok()) return nullptr;
  const std::size_t width = source.width();
  const auto out = call.model().arena.array<std::byte>(places.size() * width);
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::memcpy(out.data() + i * width, source.at(places[i]), width);
  }
  return make_tensor(call.model(), t->dtype, dims, out);
}

Folded one(const ir::Tensor* t) {
  if (t == nullptr) return std::nullopt;
  return std::vector<const ir::Tensor*>{t};
}

Folded gather(const Call& call) {
  const ir::Tensor* t = call.input(0);
  const ir::Tensor* where = call.input(1);
  const auto indices = call.ints(1);
  if (t == nullptr || !indices || !count_of(t->dims)) return std::nullopt;
  const auto axis =
      ir::place_of_axis(call.attribute_int("axis"), t->dims.size());
  if (!axis) return std::nullopt;
  const auto before = t->dims.first(*axis), after = t->dims.subspan(*axis + 1);
  Ints dims(before.begin(), before.end());
  dims.insert(dims.end(), where->dims.begin(), where->dims.end());
  dims.insert(dims.end(), after.begin(), after.end());
  if (!count_of(dims, call.limit)) return std::nullopt;
  const auto places = gathered_places(t->dims, *axis, *indices);
  if (!places) return std::nullopt;
  return one(pick(call, t, dims, *places));
}

Folded slice(const Call& call) {
  const ir::Tensor* t = call.input(0);
  if (t == nullptr || !count_of(t->dims)) return std::nullopt;
  const auto starts = call.ints_of("starts", 1);
  const auto ends = call.ints_of("ends", 2);
  const auto axes = call.ints_of("axes", 3);
  const auto steps = call.ints_of("steps", 4);
  if (!starts || !ends || !axes || !steps || !*starts || !*ends) {
    return std::nullopt;
  }
  const std::size_t rank = t->dims.size(), n = (*starts)->size();
  if ((*ends)->size() != n || n > rank || (*axes && (*axes)->size() != n) ||
      (*steps && (*steps)->size() != n)) {
    return std::nullopt;
  }
  Ints first(rank, 0), stride(rank, 1);
  Ints dims(t->dims.begin(), t->dims.end());
  for (std::size_t i = 0; i < n; ++i) {
    const auto place = ir::place_of_axis(
        *axes ? (**axes)[i] : static_cast<std::int64_t>(i), rank);
    const std::int64_t step = *steps ? (**steps)[i] : 1;
    if (!place) return std::nullopt;
    const auto r =
        slice_range(t->dims[*place], (**starts)[i], (**ends)[i], step);
    if (!r) return std::nullopt;
    first[*place] = r->start;
    stride[*place] = r->count > 1 ? step : 1;
    dims[*place] = r->count;
  }
  if (!count_of(dims, call.limit)) return std::nullopt;
  return one(pick(call, t, dims, box_places(t->dims, first, stride, dims)));
}

std::optional<Ints> split_sizes(const Call& call, std::int64_t size) {
  const auto given = call.ints_of("split", 1);
  if (!given) return std::nullopt;
  if (*given) return **given;
  const auto n =
      static_cast<std::int64_t>(call.graph.outputs(call.node).size());
  const std::int64_t each = (size + n - 1) / n;
  Ints out(static_cast<std::size_t>(n), each);
  out.back() = size - each * (n - 1);
  return out;
}

Folded split(const Call& call) {
  const ir::Tensor* t = call.input(0);
  if (t == nullptr || !count_of(t->dims, call.limit)) return std::nullopt;
  const auto axis =
      ir::place_of_axis(call.attribute_int("axis"), t->dims.size());
  if (!axis) return std::nullopt;
  const auto sizes = split_sizes(call, t->dims[*axis]);
  if (!sizes || sizes->size() != call.graph.outputs(call.node).size()) {
    return std::nullopt;
  }
  std::vector<const ir::Tensor*> out;
  Ints first(t->dims.size(), 0);
  const Ints steps(t->dims.size(), 1);
  std::int64_t left = t->dims[*axis];
  for (std::int64_t size : *sizes) {
    if (size < 0 || size > left) return std::nullopt;
    left -= size;
    Ints dims(t->dims.begin(), t->dims.end());
    dims[*axis] = size;
    out.push_back(pick(call, t, dims, box_places(t->dims, first, steps, dims)));
    if (out.back() == nullptr) return std::nullopt;
    first[*axis] += size;
  }
  return left == 0 ? Folded(out) : std::nullopt;
}

Folded broadcast_to(const Call& call, const ir::Tensor* t, const Ints& dims) {
  if (!count_of(dims, call.limit)) return std::nullopt;
  Ints places(static_cast<std::size_t>(*count_of(dims)));
  for_each_broadcast(t->dims, dims, [&](std::size_t to, std::size_t from) {
    places[to] = static_cast<std::int64_t>(from);
  });
  return one(pick(call, t, dims, places));
}

Folded expand(const Call& call) {
  const ir::Tensor* t = call.input(0);
  const auto target = call.ints(1);
  if (t == nullptr || !target || !count_of(t->dims)) return std::nullopt;
  const auto dims = broadcast_dims(t->dims, *target);
  if (!dims) return std::nullopt;
  return broadcast_to(call, t, *dims);
}

Folded tile(const Call& call) {
  const ir::Tensor* t = call.input(0);
  const auto repeats = call.ints(1);
  if (t == nullptr || !repeats || repeats->size() != t->dims.size() ||
      !count_of(t->dims)) {
    return std::nullopt;
  }
  // As a broadcast of [1, d] to [repeat, d] an axis.
  Ints thin, wide, dims;
  for (std::size_t i = 0; i < repeats->size(); ++i) {
    thin.insert(thin.end(), {1, t->dims[i]});
    wide.insert(wide.end(), {(*repeats)[i], t->dims[i]});
    std::int64_t d = 0;
    if (__builtin_mul_overflow((*repeats)[i], t->dims[i], &d)) {
      return std::nullopt;
    }
    dims.push_back(d);
  }
  if (!count_of(wide, call.limit)) return std::nullopt;
  Ints places(static_cast<std::size_t>(*count_of(wide)));
  for_each_broadcast(thin, wide, [&](std::size_t to, std::size_t from) {
    places[to] = static_cast<std::int64_t>(from);
  });
  return one(pick(call, t, dims, places));
}

Folded where(const Call& call) {
  const auto condition = read_numbers(call, call.input(0));
  const ir::Tensor *x = call.input(1), *y = call.input(2);
  if (!condition || x == nullptr || y == nullptr || x->dtype != y->dtype ||
      !count_of(x->dims) || !count_of(y->dims)) {
    return std::nullopt;
  }
  const auto values = broadcast_dims(x->dims, y->dims);
  if (!values) return std::nullopt;
  const auto dims = broadcast_dims(*values, condition->dims);
  if (!dims || !count_of(*dims, call.limit) || condition->real) {
    return std::nullopt;
  }
  const Source yes(call, x), no(call, y);
  if (!yes.ok() || !no.ok()) return std::nullopt;
  const std::size_t width = yes.width();
  const auto out = call.model().arena.array<std::byte>(
      static_cast<std::size_t>(*count_of(*dims)) * width);
  std::vector<bool> chosen(static_cast<std::size_t>(*count_of(*dims)));
  for_each_broadcast(condition->dims, *dims,
                     [&](std::size_t to, std::size_t i) {
                       chosen[to] = condition->ints[i] != 0;
                     });
  const auto copy = [&](const Source& from, const ir::Tensor* t, bool which) {
    for_each_broadcast(t->dims, *dims, [&](std::size_t to, std::size_t i) {
      if (chosen[to] != which) return;
      std::memcpy(out.data() + to * width,
                  from.at(static_cast<std::int64_t>(i)), width);
    });
  };
  copy(yes, x, true);
  copy(no, y, false);
  return one(make_tensor(call.model(), x->dtype, *dims, out));
}

constexpr KernelRow kKernels[] = {
    {"Expand", expand}, {"Gather", gather}, {"Slice", slice},
    {"Split", split},   {"Tile", tile},     {"Where", where},
};

}  // namespace

std::span<const KernelRow> move_kernels() { return kKernels; }

}  // namespace ruleengine::analysis
