#include <cstring>

#include "core/io/read/parts.h"

namespace ruleengine::io {
namespace {

struct Sparse {
  Pieces values, indices;
  bool has_values = false, has_indices = false;
  std::vector<std::int64_t> dims;
};

bool scan(Context& context, Bytes proto, const Place& place, Sparse& out) {
  Cursor cursor(proto, schema::kSparseTensor);
  while (cursor.next()) {
    if (cursor.field() == sparse_field::kValues) {
      out.values.add(cursor.bytes());
      out.has_values = true;
    } else if (cursor.field() == sparse_field::kIndices) {
      out.indices.add(cursor.bytes());
      out.has_indices = true;
    } else if (cursor.field() == sparse_field::kDims) {
      if (!cursor.append_integers(out.dims)) {
        return context.fail(place, "packed dims end inside a number");
      }
    }
  }
  return context.finished(place, cursor);
}

// Returns the int64 elements of a tensor that is stored in the model, one by
// one.
class Elements {
 public:
  explicit Elements(const ir::Literal& tensor)
      : raw_(tensor.storage == ir::Storage::kRaw),
        at_(tensor.bytes.data()),
        end_(at_ + tensor.bytes.size()) {}
  std::int64_t next() {
    std::uint64_t value = 0;
    if (raw_) {
      std::memcpy(&value, at_, 8);
      at_ += 8;
    } else {
      read_varint(at_, end_, value);  // cannot fail: counted before
    }
    return static_cast<std::int64_t>(value);
  }

 private:
  bool raw_;
  const std::byte* at_;
  const std::byte* end_;
};

// Checks that rows of `width` coordinates, or linear indices, are in range and
// in rising order.
bool check_indices(Context& context, const Place& place, const Sparse& sparse,
                   const ir::Literal& indices) {
  const bool linear = indices.dims.size() == 1;
  std::vector<std::int64_t> limits = sparse.dims;
  if (linear) limits = {*element_count(sparse.dims)};
  std::vector<std::int64_t> row(limits.size()), before(limits.size(), -1);
  Elements elements(indices);
  for (std::int64_t i = 0; i < indices.dims[0]; ++i) {
    for (std::size_t axis = 0; axis < row.size(); ++axis) {
      row[axis] = elements.next();
      if (row[axis] < 0 || row[axis] >= limits[axis]) {
        return context.fail(place,
                            "an index of a sparse tensor is out of range",
                            "0 to " + std::to_string(limits[axis] - 1),
                            std::to_string(row[axis]));
      }
    }
    if (row <= before) {
      context.warn(place, "indices of a sparse tensor are not in rising order",
                   "sorted indices, each once", "entry " + std::to_string(i));
    }
    before = row;
  }
  return true;
}

bool check_shapes(Context& context, const Place& place, const Sparse& sparse,
                  const ir::Literal& values, const ir::Literal& indices) {
  const auto& at = indices.dims;
  const std::size_t rank = sparse.dims.size();
  const bool fits =
      indices.dtype == ir::DataType::kInt64 && values.dims.size() == 1 &&
      (at.size() == 1 ||
       (at.size() == 2 && static_cast<std::size_t>(at[1]) == rank)) &&
      at[0] == values.dims[0];
  if (fits) return true;
  return context.fail(place,
                      "the indices of a sparse tensor do not fit its values",
                      "int64 indices [NNZ] or [NNZ, rank] for values [NNZ]",
                      "other shapes or another type");
}

}  // namespace

bool check_sparse(Context& context, Bytes proto, const Place& place,
                  std::string_view& name) {
  Arena& arena = context.model.arena;
  Sparse sparse;
  if (!scan(context, proto, place, sparse)) return false;
  const ir::Literal* values = nullptr;
  const ir::Literal* indices = nullptr;
  std::string_view unused;
  if (!sparse.has_values) {
    return context.fail(place, "a sparse tensor has no values");
  }
  if (!read_tensor(context, sparse.values.whole(arena), place, values, name))
    return false;
  const Place here{&place, "sparse tensor", name};
  bool possible = !sparse.dims.empty() && element_count(sparse.dims);
  for (std::int64_t dim : sparse.dims) possible &= dim > 0;
  if (!possible) {
    return context.fail(here, "the shape of a sparse tensor is not possible",
                        "one or more sizes above 0",
                        sparse.dims.empty() ? "no sizes" : "other sizes");
  }
  if (!sparse.has_indices) {
    if (values->dims.size() == 1 && values->dims[0] == 0) return true;
    return context.fail(here, "a sparse tensor has no indices");
  }
  if (!read_tensor(context, sparse.indices.whole(arena), here, indices,
                   unused) ||
      !check_shapes(context, here, sparse, *values, *indices)) {
    return false;
  }
  return indices->storage == ir::Storage::kExternal ||
         check_indices(context, here, sparse, *indices);
}

}  // namespace ruleengine::io
