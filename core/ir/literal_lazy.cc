#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/ir/literal_decode.h"

namespace ruleengine::ir::tensor_internal {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 46;

using Dims = std::span<const std::int64_t>;

std::size_t product(Dims dims) {
  std::size_t n = 1;
  for (std::int64_t d : dims) n *= static_cast<std::size_t>(d);
  return n;
}

std::string dims_text(Dims dims) {
  return fmt::format("[{}]", fmt::join(dims, ","));
}

// The size of axis `i` of a part, after its transposition.
std::int64_t part_dim(const LazyPart& part, std::size_t i) {
  return part.tensor->dims[part.transpose ? 1 - i : i];
}

Status misfit(const Literal& whole, const Literal& part) {
  return bad_tensor(
      "the parts of a concatenated constant do not fit together",
      std::string(data_type_name(whole.dtype)) + dims_text(whole.dims),
      std::string(data_type_name(part.dtype)) + dims_text(part.dims));
}

Status check_parts(const Literal& tensor) {
  const Lazy& lazy = *tensor.lazy;
  const auto axis = static_cast<std::size_t>(lazy.axis);
  const std::size_t rank = tensor.dims.size();
  std::int64_t along = 0;
  for (const LazyPart& part : lazy.parts) {
    const Literal& p = *part.tensor;
    if (p.dtype != tensor.dtype || (part.transpose && p.dims.size() != 2) ||
        axis >= std::max<std::size_t>(rank, 1)) {
      return misfit(tensor, p);
    }
    if (lazy.is_view()) {  // of any rank
      return std::ranges::equal(p.dims, tensor.dims) ? Status()
                                                     : misfit(tensor, p);
    }
    if (p.dims.size() != rank || rank == 0) return misfit(tensor, p);
    for (std::size_t i = 0; i < rank; ++i) {
      std::int64_t d = part_dim(part, i);
      if (i == axis && part.is_cut()) {
        if (part.begin < 0 || part.begin > d - part.count) {
          return misfit(tensor, p);
        }
        d = part.count;
      }
      if (i != axis && d != tensor.dims[i]) return misfit(tensor, p);
      if (i == axis && __builtin_add_overflow(along, d, &along)) {
        return misfit(tensor, p);
      }
    }
  }
  if (!lazy.parts.empty() && along == tensor.dims[axis]) return {};
  return bad_tensor(
      "the parts of a concatenated constant do not add up to its shape",
      dims_text(tensor.dims),
      std::to_string(along) + " along axis " + std::to_string(axis));
}

// The number of runs that each part contributes: 1 when the parts simply follow
// each other.
std::size_t runs(const Literal& tensor, bool transposed) {
  const auto axis = static_cast<std::size_t>(tensor.lazy->axis);
  if (!transposed) return product(tensor.dims.first(axis));
  return axis == 0 ? static_cast<std::size_t>(tensor.dims[1]) : 1;
}

// A run of a part in bytes: how far apart runs begin in the part's tensor, and
// which of these bytes belong to the part.
struct Stretch {
  std::size_t stride, begin, length;
};

Stretch stretch_of(const Literal& tensor, const LazyPart& part,
                   std::size_t size, std::size_t outer) {
  const std::size_t stride = product(part.tensor->dims) * size / outer;
  if (!part.is_cut() || stride == 0) return {stride, 0, stride};
  const auto axis = static_cast<std::size_t>(tensor.lazy->axis);
  const std::size_t unit =
      stride / static_cast<std::size_t>(part_dim(part, axis));
  return {stride, static_cast<std::size_t>(part.begin) * unit,
          static_cast<std::size_t>(part.count) * unit};
}

Diagnostic too_large(std::string what, std::int64_t limit) {
  Diagnostic d =
      bad_tensor(std::move(what), "at most " + std::to_string(limit));
  d.kind = ErrorKind::kLimit;
  return d;
}

// A [rows, columns] matrix of elements of `size` bytes.
struct Matrix {
  Bytes bytes;
  std::size_t rows, columns, size;

  const std::byte* at(std::size_t row, std::size_t column) const {
    return bytes.data() + (row * columns + column) * size;
  }
};

// Reads bytes [skip, skip + to.size()) of one row of the transpose.
void read_part(const Matrix& m, std::size_t row, std::size_t skip,
               std::span<std::byte> to) {
  for (std::size_t done = 0; done < to.size();) {
    const std::size_t within = (skip + done) % m.size;
    const std::size_t n = std::min(m.size - within, to.size() - done);
    std::memcpy(to.data() + done, m.at((skip + done) / m.size, row) + within,
                n);
    done += n;
  }
}

// Reads `count` rows of the transpose. The element size is a compile-time
// constant, since a memcpy call for each element would cost more than the
// copying.
template <std::size_t kSize>
void read_rows(const Matrix& m, std::size_t row, std::size_t count,
               std::byte* to) {
  for (std::size_t c = 0; c < m.rows; ++c) {
    const std::byte* from = m.at(c, row);
    std::byte* out = to + c * kSize;
    for (std::size_t r = 0; r < count; ++r) {
      std::memcpy(out + r * m.rows * kSize, from + r * kSize, kSize);
    }
  }
}

void read_rows(const Matrix& m, std::size_t row, std::size_t count,
               std::byte* to) {
  switch (m.size) {
    case 1:
      return read_rows<1>(m, row, count, to);
    case 2:
      return read_rows<2>(m, row, count, to);
    case 4:
      return read_rows<4>(m, row, count, to);
    case 8:
      return read_rows<8>(m, row, count, to);
    default:
      return read_rows<16>(m, row, count, to);  // complex128
  }
}

// Reads bytes [offset, ...) of the transpose. Several whole rows are made at a
// time, since a cache line read for one row also holds elements of the next
// rows.
void read_transposed(const Matrix& m, std::size_t offset,
                     std::span<std::byte> to) {
  constexpr std::size_t kTogether = 16;
  const std::size_t row_bytes = m.rows * m.size;  // of the result
  for (std::size_t done = 0; done < to.size();) {
    const std::size_t row = (offset + done) / row_bytes;
    const std::size_t skip = (offset + done) % row_bytes;
    const std::size_t left = to.size() - done;
    if (skip != 0 || left < row_bytes) {
      const std::size_t n = std::min(left, row_bytes - skip);
      read_part(m, row, skip, to.subspan(done, n));
      done += n;
      continue;
    }
    const std::size_t together = std::min(kTogether, left / row_bytes);
    read_rows(m, row, together, to.data() + done);
    done += together * row_bytes;
  }
}

}  // namespace

std::size_t element_size(DataType type) {
  return static_cast<std::size_t>(std::max(1, bit_width(type) / 8));
}

Status LazyReader::open_leaf(const Literal& tensor) {
  if (leaves_.contains(&tensor)) return {};
  Leaf& leaf = leaves_[&tensor];
  auto bytes = stored_bytes(tensor, external_, leaf.scratch);
  if (!bytes) return bytes.error();
  leaf.bytes = *bytes;
  const int bits = bit_width(tensor.dtype);
  if (bits >= 8) return {};
  leaf.scratch = unpacked_bits(bits, leaf.bytes, tensor.element_count());
  leaf.bytes = leaf.scratch;
  return {};
}

Status LazyReader::open(const Literal& tensor, int depth) {
  if (tensor.storage != Storage::kLazy) return open_leaf(tensor);
  if (depth > kMaxDepth) {
    return too_large("a concatenated constant is nested too deep", kMaxDepth);
  }
  // A shared part is checked again only if it occurs at a greater depth.
  const auto [at, fresh] = opened_.try_emplace(&tensor, depth);
  if (!fresh && at->second >= depth) return {};
  at->second = depth;
  // Parts may be shared, so the whole can be larger than the memory.
  if (tensor.byte_size() > kMaxBytes) {
    return too_large("a concatenated constant is too large", kMaxBytes);
  }
  if (const Status fits = check_parts(tensor); !fits) return fits;
  for (const LazyPart& part : tensor.lazy->parts) {
    if (const Status s = open(*part.tensor, depth + 1); !s) return s;
  }
  return {};
}

// The transpose of a concatenation is the concatenation of the transposes along
// the other axis, so the recursion only passes a flag.
void LazyReader::read(const Literal& tensor, bool transposed,
                      std::size_t offset, std::span<std::byte> to) const {
  const std::size_t size = element_size(tensor.dtype);
  if (tensor.storage != Storage::kLazy) {
    const Bytes bytes = leaves_.at(&tensor).bytes;
    if (transposed) {
      const Matrix m{bytes, static_cast<std::size_t>(tensor.dims[0]),
                     static_cast<std::size_t>(tensor.dims[1]), size};
      return read_transposed(m, offset, to);
    }
    std::memcpy(to.data(), bytes.data() + offset, to.size());
    return;
  }
  // For every index before the axis, each part contributes one run.
  const std::size_t outer = runs(tensor, transposed);
  const std::size_t stride = product(tensor.dims) * size / outer;
  std::size_t index = offset / stride;
  std::size_t within = offset % stride;
  for (std::size_t done = 0; done < to.size(); ++index, within = 0) {
    for (const LazyPart& part : tensor.lazy->parts) {
      const Stretch run = stretch_of(tensor, part, size, outer);
      const std::size_t n = within >= run.length ? 0
                                                 : std::min(run.length - within,
                                                            to.size() - done);
      if (n != 0) {
        read(*part.tensor, part.transpose != transposed,
             index * run.stride + run.begin + within, to.subspan(done, n));
      }
      done += n;
      within -= std::min(within, run.length);
    }
  }
}

}  // namespace ruleengine::ir::tensor_internal
