// Kernels that change the shape alone, and Transpose and Concat, which for
// large constants are left to be done when somebody reads them.
#include <algorithm>

#include "core/analysis/kernels/kernels.h"
#include "core/ir/shapes.h"

namespace ruleengine::analysis {

// The same bytes; only a lazy tensor is bound to the dims of its parts.
const ir::Tensor* make_view(ir::Model& model, const ir::Tensor& t,
                            std::span<const std::int64_t> dims) {
  if (std::ranges::equal(t.dims, dims)) return &t;
  if (t.storage == ir::Storage::kLazy) return nullptr;
  ir::Tensor view = t;
  view.dims = model.arena.copy(dims);
  view.proto = {};
  return model.arena.make<ir::Tensor>(view);
}

namespace {

using Bytes = std::span<const std::byte>;

Folded one(const ir::Tensor* t) {
  if (t == nullptr) return std::nullopt;
  return std::vector<const ir::Tensor*>{t};
}

Folded view(const Call& call, const Ints& dims) {
  const ir::Tensor* t = call.input(0);
  if (count_of(dims) != count_of(t->dims)) return std::nullopt;
  return one(make_view(call.model(), *t, dims));
}

Folded identity(const Call& call) { return one(call.input(0)); }

Folded reshape(const Call& call) {
  const ir::Tensor* t = call.input(0);
  auto target = call.ints(1);
  if (t == nullptr || !target) return std::nullopt;
  const bool allow_zero = call.attribute_int("allowzero") != 0;
  std::optional<std::size_t> open;
  Ints others;
  for (std::size_t i = 0; i < target->size(); ++i) {
    std::int64_t& d = (*target)[i];
    if (d == 0 && !allow_zero) {
      if (i >= t->dims.size()) return std::nullopt;
      d = t->dims[i];
    }
    if (d != -1) {
      others.push_back(d);
    } else if (std::exchange(open, i)) {
      return std::nullopt;
    }
  }
  if (open) {
    const auto total = count_of(t->dims), rest = count_of(others);
    if (!total || !rest || *rest == 0 || *total % *rest != 0) {
      return std::nullopt;
    }
    (*target)[*open] = *total / *rest;
  }
  return view(call, *target);
}

Folded flatten(const Call& call) {
  const ir::Tensor* t = call.input(0);
  if (t == nullptr) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(t->dims.size());
  std::int64_t axis = call.attribute_int("axis");
  if (axis < -rank || axis > rank) return std::nullopt;
  if (axis < 0) axis += rank;
  const auto at = static_cast<std::size_t>(axis);
  const auto rows = count_of(t->dims.first(at));
  const auto columns = count_of(t->dims.subspan(at));
  if (!rows || !columns) return std::nullopt;
  return view(call, {*rows, *columns});
}

// `axes` as flags of `rank` places.
std::optional<std::vector<bool>> flags(const Ints& axes, std::size_t rank) {
  std::vector<bool> out(rank);
  for (std::int64_t axis : axes) {
    const auto place = ir::place_of_axis(axis, rank);
    if (!place) return std::nullopt;
    out[*place] = true;
  }
  return out;
}

Folded squeeze(const Call& call) {
  const ir::Tensor* t = call.input(0);
  const auto axes = call.ints_of("axes", 1);
  if (t == nullptr || !axes) return std::nullopt;
  const auto drop = flags(axes->value_or(Ints()), t->dims.size());
  if (!drop) return std::nullopt;
  Ints dims;
  for (std::size_t i = 0; i < t->dims.size(); ++i) {
    const bool gone = *axes ? (*drop)[i] : t->dims[i] == 1;
    if (!gone) dims.push_back(t->dims[i]);
  }
  return view(call, dims);
}

Folded unsqueeze(const Call& call) {
  const ir::Tensor* t = call.input(0);
  const auto axes = call.ints_of("axes", 1);
  if (t == nullptr || !axes || !*axes || (*axes)->size() > 64) {
    return std::nullopt;
  }
  const auto added = flags(**axes, t->dims.size() + (*axes)->size());
  if (!added) return std::nullopt;
  Ints dims;
  auto next = t->dims.begin();
  for (const bool is_new : *added) {
    if (!is_new && next == t->dims.end()) return std::nullopt;  // axis twice
    dims.push_back(is_new ? 1 : *next++);
  }
  return view(call, dims);
}

constexpr std::int64_t kMaxLeaves = 65'536;
// What has more elements is joined and turned where it is read.
constexpr std::int64_t kMostEager = 1 << 16;

std::int64_t leaves_of(std::span<const ir::LazyPart> parts) {
  std::int64_t leaves = 0;
  for (const ir::LazyPart& part : parts) {
    const ir::Lazy* inner = part.tensor->lazy;
    leaves += inner == nullptr ? 1 : inner->leaves;
  }
  return leaves;
}

const ir::Tensor* lazy(const Call& call, const Ints& dims,
                       std::span<const ir::LazyPart> parts, std::int64_t axis) {
  ir::Model& model = call.model();
  ir::Tensor t;
  t.dtype = parts[0].tensor->dtype;
  t.storage = ir::Storage::kLazy;
  t.dims = model.arena.copy(std::span<const std::int64_t>(dims));
  t.lazy = model.arena.make<ir::Lazy>(
      ir::Lazy{model.arena.copy(parts), axis, leaves_of(parts)});
  return model.arena.make<ir::Tensor>(t);
}

// A transpose of a transpose is what was there before.
const ir::Tensor* lazy_transpose(const Call& call, const ir::Tensor& t) {
  if (t.storage == ir::Storage::kLazy && t.lazy->parts.size() == 1 &&
      t.lazy->parts[0].transpose) {
    return t.lazy->parts[0].tensor;
  }
  const ir::LazyPart part{&t, true};
  return lazy(call, {t.dims[1], t.dims[0]}, {&part, 1}, 0);
}

std::optional<Bytes> read(const Call& call, const ir::Tensor& t,
                          std::vector<std::byte>& scratch) {
  if (ir::bit_width(t.dtype) < 8) return std::nullopt;
  const auto bytes = ir::raw_bytes(t, call.model().external.get(), scratch);
  if (!bytes.ok() || static_cast<std::int64_t>(bytes->size()) < t.byte_size()) {
    return std::nullopt;
  }
  return *bytes;
}

Folded transpose(const Call& call) {
  const ir::Tensor* t = call.input(0);
  if (t == nullptr) return std::nullopt;
  const std::size_t rank = t->dims.size();
  Ints perm;
  if (const auto* a = call.graph.attribute(call.node, "perm")) {
    perm.assign(a->ints.begin(), a->ints.end());
  } else {
    for (std::size_t i = rank; i-- > 0;) {
      perm.push_back(static_cast<std::int64_t>(i));
    }
  }
  const auto all = flags(perm, rank);
  if (!all || perm.size() != rank || std::ranges::count(*all, false) > 0) {
    return std::nullopt;
  }
  if (std::ranges::is_sorted(perm)) return identity(call);
  const auto count = count_of(
      t->dims, rank == 2 ? std::min(call.limit, kMostEager) : call.limit);
  if (!count) {
    return rank == 2 && ir::bit_width(t->dtype) >= 8 && count_of(t->dims)
               ? one(lazy_transpose(call, *t))
               : std::nullopt;
  }
  std::vector<std::byte> scratch;
  const auto bytes = read(call, *t, scratch);
  const auto places = transposed_places(t->dims, perm);
  if (!bytes || !places) return std::nullopt;
  Ints dims;
  for (std::int64_t axis : perm) {
    dims.push_back(t->dims[*ir::place_of_axis(axis, rank)]);
  }
  const auto width = static_cast<std::size_t>(ir::bit_width(t->dtype) / 8);
  const auto out = call.model().arena.array<std::byte>(places->size() * width);
  for (std::size_t to = 0; to < places->size(); ++to) {
    const auto from = static_cast<std::size_t>((*places)[to]);
    std::copy_n(bytes->data() + from * width, width, out.data() + to * width);
  }
  return one(make_tensor(call.model(), t->dtype, dims, out));
}

// The shape of the concatenation, none when the parts do not fit.
std::optional<Ints> joined(const Call& call, std::size_t& axis) {
  std::optional<Ints> dims;
  for (const ir::Tensor* t : call.inputs) {
    if (t == nullptr || !count_of(t->dims) ||
        t->dtype != call.inputs[0]->dtype) {
      return std::nullopt;
    }
    if (!dims) {
      const auto place =
          ir::place_of_axis(call.attribute_int("axis"), t->dims.size());
      if (!place) return std::nullopt;
      axis = *place;
      dims.emplace(t->dims.begin(), t->dims.end());
      continue;
    }
    if (t->dims.size() != dims->size()) return std::nullopt;
    for (std::size_t i = 0; i < dims->size(); ++i) {
      if (i == axis
              ? __builtin_add_overflow((*dims)[i], t->dims[i], &(*dims)[i])
              : t->dims[i] != (*dims)[i]) {
        return std::nullopt;
      }
    }
  }
  return dims;
}

Folded concat(const Call& call) {
  std::size_t axis = 0;
  const auto dims = joined(call, axis);
  if (!dims || !count_of(*dims)) return std::nullopt;
  if (call.inputs.size() == 1) return identity(call);
  const ir::DataType type = call.inputs[0]->dtype;
  if (ir::bit_width(type) < 8) return std::nullopt;
  const auto count = count_of(*dims, std::min(call.limit, kMostEager));
  if (!count) {
    std::vector<ir::LazyPart> parts;
    for (const ir::Tensor* t : call.inputs) {
      if (t->element_count() > 0) parts.push_back({t, false});
    }
    if (leaves_of(parts) > kMaxLeaves) return std::nullopt;
    return one(lazy(call, *dims, parts, static_cast<std::int64_t>(axis)));
  }
  const auto width = static_cast<std::int64_t>(ir::bit_width(type) / 8);
  const auto out = call.model().arena.array<std::byte>(
      static_cast<std::size_t>(*count * width));
  if (*count == 0) return one(make_tensor(call.model(), type, *dims, out));
  const std::int64_t outer = *count_of(std::span(*dims).first(axis));
  std::int64_t at = 0;
  const std::int64_t row = *count * width / outer;
  for (const ir::Tensor* t : call.inputs) {
    std::vector<std::byte> scratch;
    const auto bytes = read(call, *t, scratch);
    if (!bytes) return std::nullopt;
    const std::int64_t run = *count_of(t->dims.subspan(axis)) * width;
    for (std::int64_t o = 0; o < outer; ++o) {
      std::copy_n(bytes->begin() + o * run, run, out.begin() + o * row + at);
    }
    at += run;
  }
  return one(make_tensor(call.model(), type, *dims, out));
}

constexpr KernelRow kKernels[] = {
    {"Concat", concat},       {"Flatten", flatten}, {"Identity", identity},
    {"Reshape", reshape},     {"Squeeze", squeeze}, {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
};

}  // namespace

std::span<const KernelRow> view_kernels() { return kKernels; }

}  // namespace ruleengine::analysis
