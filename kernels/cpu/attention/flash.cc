#include "kernels/cpu/attention/attending.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/cpu/norms/softmax.h"
#include "kernels/cpu/products/gemm.h"
#include "kernels/cpu/products/tile.h"

namespace ruleengine::kernels {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();
// Keys that a tile of queries meets at once, in panels of kTileColumns.
constexpr std::int64_t kKeyBlock = kTileTerms;
constexpr std::int64_t kPanel = kTileColumns<float>;
using Panels = PanelLayout<float>;
// With so few rows for each head of keys it does not pay to pack these.
constexpr std::int64_t kFewRows = 4;
// Elements of keys and values that are packed at once, if it is more than one
// head.
constexpr std::int64_t kPackedElements = 1 << 22;

// Keys and values that some heads of queries share. Packed keys are panels of
// kPanel keys, each [k_size, keys]; packed values panels of kPanel columns,
// each [keys, columns].
struct SharedHead {
  const float *keys, *values;  // as they are given
  const float *packed_keys = nullptr, *packed_values = nullptr;
  std::int64_t count = 0;  // of keys that any query sees
};

// One tile of queries while it meets the keys. Rows of a tile are queries
// [query, query + queries) of heads [head, head + heads), which share a head.
struct Tile {
  const Attending& a;
  runtime::Threads& threads;
  const SharedHead& shared;
  std::int64_t batch, head, heads, query, queries;
  // Scratch: scaled queries, products, weights, sums of values, and for each
  // row the largest score, the sum of weights and what earlier sums shrink by.
  float *q, *products, *weights, *sums, *largest, *total, *shrink;

  std::int64_t rows() const { return heads * queries; }
  std::int64_t head_of(std::int64_t row) const { return head + row / queries; }
  std::int64_t query_of(std::int64_t row) const {
    return query + row % queries;
  }
  bool is_packed() const { return shared.packed_keys != nullptr; }
  // Elements of a row of `q`. These are in blocks of kTileTerms, which have all
  // rows each.
  std::int64_t terms() const {
    return is_packed() ? tile_rounded(a.k_size) : a.k_size;
  }
};

// Adds the mask to a row of scores of keys [at, at + n), and hides those out of
// range.
inline void mask_row(const Tile& t, std::int64_t row, std::int64_t at,
                     std::int64_t n, float* scores) {
  const Attending& a = t.a;
  const KeyRange seen = a.seen(t.batch, t.query_of(row));
  const std::int64_t begin = std::clamp<std::int64_t>(seen.begin - at, 0, n);
  const std::int64_t end = std::clamp<std::int64_t>(seen.end - at, begin, n);
  std::fill(scores, scores + begin, kHidden);
  std::fill(scores + end, scores + n, kHidden);
  if (!a.mask.is_there()) return;
  const auto& s = a.mask.strides;
  const std::int64_t from =
      a.mask.place(t.batch, t.head_of(row), t.query_of(row), at);
  const std::int64_t known =
      std::clamp<std::int64_t>(a.mask.keys - at, begin, end);
  std::fill(scores + known, scores + end, kHidden);
  if (a.mask.values.dtype() == DataType::kBool) {
    const auto* mask = a.mask.values.data<std::uint8_t>() + from;
    for (std::int64_t j = begin; j < known; ++j) {
      scores[j] = mask[j * s[3]] != 0 ? scores[j] : kHidden;
    }
  } else {
    const float* mask = a.mask.values.data<float>() + from;
    for (std::int64_t j = begin; j < known; ++j) scores[j] += mask[j * s[3]];
  }
}

// Scores of keys [at, at + n), where `at` begins a panel, as rows of `stride`.
void score(const Tile& t, std::int64_t at, std::int64_t n,
           std::int64_t stride) {
  const Attending& a = t.a;
  if (a.k_size == 0) return void(std::fill_n(t.weights, t.rows() * stride, 0));
  if (!t.is_packed()) {
    for (std::int64_t e = 0; e < a.k_size; e += kTileTerms) {
      const std::int64_t depth = std::min(kTileTerms, a.k_size - e);
      gemm<float>(t.threads,
                  {.m = t.rows(),
                   .n = n,
                   .k = depth,
                   .a = {t.q + e * t.rows(), depth},
                   .b = {t.shared.keys + at * a.k_at.row + e, a.k_at.row, true},
                   .beta = e == 0 ? 0.0F : 1.0F,
                   .c = t.weights,
                   .ldc = stride});
    }
    return;
  }
  for (std::int64_t j = 0; j < n; j += kPanel) {
    const std::int64_t count = std::min(kPanel, n - j);
    const std::int64_t width =
        std::min(kPanel, tile_rounded(t.shared.count - at - j));
    const float* panel = t.shared.packed_keys + (at + j) * t.terms();
    for (std::int64_t e = 0; e < t.terms(); e += kTileTerms) {
      const std::int64_t depth = std::min(kTileTerms, t.terms() - e);
      multiply_tile<float>({t.rows(), width, depth}, t.q + e * t.rows(),
                           panel + e * width, t.products);
      for (std::int64_t r = 0; r < t.rows(); ++r) {
        const float* from = t.products + r * width;
        float* to = t.weights + r * stride + j;
        if (e == 0) {
          std::copy_n(from, count, to);
        } else {
          for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
        }
      }
    }
  }
}

// Turns scores of keys [at, at + n) into weights, which are 0 up to `stride`.
void weigh(const Tile& t, std::int64_t at, std::int64_t n,
           std::int64_t stride) {
  const auto cap = static_cast<float>(t.a.softcap);
  for (std::int64_t r = 0; r < t.rows(); ++r) {
    float* row = t.weights + r * stride;
    runtime::for_vectors([&]() RULEENGINE_INLINE {
      if (cap > 0) {
        runtime::map_line(row, row, n,
                          [=](float v) { return std::tanh(v / cap) * cap; });
      }
      mask_row(t, r, at, n, row);
      const float before = t.largest[r];
      const float largest = std::max(before, largest_of(row, n));
      const float base = largest == kHidden ? 0 : largest;
      t.largest[r] = largest;
      t.shrink[r] = before == kHidden ? 0 : std::exp(before - base);
      t.total[r] = t.total[r] * t.shrink[r] +
                   static_cast<float>(exponentials(row, n, base, row));
      std::fill(row + n, row + stride, 0.0F);
    });
  }
}

// Adds values of keys [at, at + n) by their weights.
void gather(const Tile& t, std::int64_t at, std::int64_t n,
            std::int64_t stride) {
  const Attending& a = t.a;
  if (!t.is_packed()) {
    for (std::int64_t r = 0; r < t.rows(); ++r) {
      float* to = t.sums + r * a.v_size;
      for (std::int64_t e = 0; e < a.v_size; ++e) to[e] *= t.shrink[r];
    }
    return gemm<float>(t.threads,
                       {.m = t.rows(),
                        .n = a.v_size,
                        .k = n,
                        .a = {t.weights, stride},
                        .b = {t.shared.values + at * a.v_at.row, a.v_at.row},
                        .beta = 1,
                        .c = t.sums,
                        .ldc = a.v_size});
  }
  const std::int64_t keys = tile_rounded(t.shared.count);
  for (std::int64_t j = 0; j < a.v_size; j += kPanel) {
    const std::int64_t count = std::min(kPanel, a.v_size - j);
    const std::int64_t width = tile_rounded(count);
    multiply_tile<float>({t.rows(), width, stride}, t.weights,
                         t.shared.packed_values + j * keys + at * width,
                         t.products);
    runtime::for_vectors([&]() RULEENGINE_INLINE {
      for (std::int64_t r = 0; r < t.rows(); ++r) {
        const float by = t.shrink[r];
        const float* from = t.products + r * width;
        float* to = t.sums + r * a.v_size + j;
        for (std::int64_t e = 0; e < count; ++e) to[e] = to[e] * by + from[e];
      }
    });
  }
}

// The keys that any row of the tile sees.
KeyRange seen_by(const Tile& t) {
  KeyRange all = t.a.seen(t.batch, t.query);
  for (std::int64_t i = 1; i < t.queries; ++i) {
    const KeyRange one = t.a.seen(t.batch, t.query + i);
    if (one.begin >= one.end) continue;
    if (all.begin >= all.end) {
      all = one;
    } else {
      all = {std::min(all.begin, one.begin), std::max(all.end, one.end)};
    }
  }
  return all;
}

void attend(const Tile& t) {
  KeyRange seen = seen_by(t);
  seen.end = std::min(seen.end, t.shared.count);
  // Panels begin at multiples of their size.
  for (std::int64_t at = seen.begin / kPanel * kPanel; at < seen.end;
       at += kKeyBlock) {
    const std::int64_t n = std::min(kKeyBlock, seen.end - at);
    const std::int64_t stride = tile_rounded(n);
    score(t, at, n, stride);
    weigh(t, at, n, stride);
    gather(t, at, n, stride);
  }
}

void load_queries(const Tile& t) {
  const Attending& a = t.a;
  const auto scale = static_cast<float>(a.scale);
  for (std::int64_t r = 0; r < t.rows(); ++r) {
    const float* from =
        a.q.data<float>() + a.q_at.place(t.batch, t.head_of(r), t.query_of(r));
    for (std::int64_t e = 0; e < t.terms(); e += kTileTerms) {
      const std::int64_t depth = std::min(kTileTerms, t.terms() - e);
      const std::int64_t count = std::min(depth, a.k_size - e);
      float* to = t.q + e * t.rows() + r * depth;
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[e + i] * scale;
      std::fill(to + count, to + depth, 0.0F);
    }
    const bool sinks = !a.sinks.empty();
    t.largest[r] = sinks ? a.sinks[index_of(t.head_of(r))] : kHidden;
    t.total[r] = sinks ? 1.0f : 0.0f;
  }
  std::fill_n(t.sums, t.rows() * a.v_size, 0.0f);
}

void store_rows(const Tile& t, float* out) {
  const Attending& a = t.a;
  for (std::int64_t r = 0; r < t.rows(); ++r) {
    float* to = out + a.out_at.place(t.batch, t.head_of(r), t.query_of(r));
    const float* from = t.sums + r * a.v_size;
    // A row that sees nothing is zero.
    const bool is_zero =
        t.total[r] == 0 || (a.guarded && std::isnan(t.total[r]));
    const float by = is_zero ? 0 : 1 / t.total[r];
    for (std::int64_t e = 0; e < a.v_size; ++e) {
      to[e] = is_zero ? 0 : from[e] * by;
    }
  }
}

// How the work is cut: into units, the heads that share keys and values, and
// these into tiles of queries and heads.
struct Cut {
  explicit Cut(const Attending& a)
      : group(a.sharing()),
        units(a.batch * a.heads / group),
        queries(std::min(a.queries, kTileRows)),
        heads(std::clamp<std::int64_t>(kTileRows / queries, 1, group)),
        tiles(ceil_div(a.queries, queries)),
        chunks(ceil_div(group, heads)),
        is_packed(group * a.queries > kFewRows),
        key_count(is_packed ? Panels{a.k_size, a.keys}.count() : 0),
        value_count(is_packed ? Panels{a.keys, a.v_size}.count() : 0) {}

  std::int64_t per_unit() const { return chunks * tiles; }

  std::int64_t group, units;
  std::int64_t queries, heads;  // of a tile
  std::int64_t tiles, chunks;   // of a unit
  bool is_packed;
  std::int64_t key_count, value_count;  // elements of a unit that is packed
};

SharedHead shared_head(const RunContext& c, const Attending& a, const Cut& cut,
                       std::int64_t unit, float* packed) {
  const std::int64_t batch = unit / (a.heads / cut.group);
  const std::int64_t head = unit % (a.heads / cut.group) * cut.group;
  SharedHead out{
      .keys = a.k.data<float>() + a.k_at.place(batch, a.k_head(head), 0),
      .values = a.v.data<float>() + a.v_at.place(batch, a.v_head(head), 0),
      .count = a.lengths.empty()
                   ? a.keys
                   : std::min(a.keys, a.lengths[index_of(batch)])};
  if (!cut.is_packed) return out;
  pack_matrix<float>(c.threads(), {a.k_size, out.count},
                     {out.keys, a.k_at.row, true}, packed);
  pack_matrix<float>(c.threads(), {out.count, a.v_size},
                     {out.values, a.v_at.row}, packed + cut.key_count);
  out.packed_keys = packed;
  out.packed_values = packed + cut.key_count;
  return out;
}

// Tile `at` of a unit.
void run_tile(const RunContext& c, const Attending& a, const Cut& cut,
              const SharedHead& shared, std::int64_t unit, std::int64_t at,
              float* out) {
  // The last tiles have most keys where attention is causal.
  const std::int64_t tile = cut.tiles - 1 - at % cut.tiles;
  const std::int64_t in_group = at / cut.tiles * cut.heads;
  const std::int64_t per_batch = a.heads / cut.group;
  const std::int64_t rows = cut.heads * cut.queries;
  const std::int64_t count =
      rows * (tile_rounded(a.k_size) + kPanel + kKeyBlock + a.v_size + 3);
  Tensor scratch = c.allocate(DataType::kFloat, {&count, 1});
  float* place = scratch.mutable_data<float>();
  const auto take = [&](std::int64_t n) {
    return std::exchange(place, place + n);
  };
  const Tile t{.a = a,
               .threads = c.threads(),
               .shared = shared,
               .batch = unit / per_batch,
               .head = unit % per_batch * cut.group + in_group,
               .heads = std::min(cut.heads, cut.group - in_group),
               .query = tile * cut.queries,
               .queries = std::min(cut.queries, a.queries - tile * cut.queries),
               .q = take(rows * tile_rounded(a.k_size)),
               .products = take(rows * kPanel),
               .weights = take(rows * kKeyBlock),
               .sums = take(rows * a.v_size),
               .largest = take(rows),
               .total = take(rows),
               .shrink = take(rows)};
  load_queries(t);
  attend(t);
  store_rows(t, out);
}

}  // namespace

HeadStrides split_strides(std::int64_t heads, std::int64_t rows,
                          std::int64_t size) {
  return {heads * rows * size, rows * size, size};
}

HeadStrides merged_strides(std::int64_t heads, std::int64_t rows,
                           std::int64_t size) {
  return {heads * rows * size, size, heads * size};
}

KeyRange Attending::seen(std::int64_t b, std::int64_t query) const {
  const auto at = index_of(b);
  KeyRange range{0, lengths.empty() ? keys : std::min(keys, lengths[at])};
  const std::int64_t place =
      query + (offsets.size() == 1 ? offsets[0] : offsets[at]);
  if (is_causal) {
    range.end = std::min(range.end, place + 1);
  }
  if (right >= 0 && right < range.end - place) range.end = place + right + 1;
  if (left >= 0 && left < place) range.begin = place - left;
  return range;
}

void check_attending(const Attending& a) {
  for (const std::int64_t own : {a.k_heads, a.v_heads}) {
    if (own > 0 && a.heads % own == 0) continue;
    fail("wrong number of heads of the queries",
         "a multiple of " + std::to_string(own) +
             ", the heads of the keys or values",
         std::to_string(a.heads));
  }
  if (a.q.dtype() != a.k.dtype() || a.q.dtype() != a.v.dtype()) {
    fail("wrong type of keys or values",
         std::string(ir::data_type_name(a.q.dtype())) + ", as the queries have",
         a.k.text() + " and " + a.v.text());
  }
  if (a.q.dtype() != DataType::kFloat && a.q.dtype() != DataType::kDouble) {
    not_computed(a.q.dtype(), {DataType::kFloat, DataType::kDouble});
  }
}

void flash_attention(const RunContext& c, const Attending& a, Tensor& out) {
  if (out.count() == 0) return;
  const Cut cut(a);
  const std::int64_t each =
      std::max<std::int64_t>(cut.key_count + cut.value_count, 1);
  const std::int64_t most =
      cut.is_packed ? std::max<std::int64_t>(kPackedElements / each, 1)
                    : cut.units;
  const std::int64_t count = std::min(most, cut.units) * each;
  Tensor packed = c.allocate(DataType::kFloat, {&count, 1});
  float* to = out.mutable_data<float>();
  for (std::int64_t first = 0; first < cut.units; first += most) {
    const std::int64_t units = std::min(most, cut.units - first);
    std::vector<SharedHead> shared(index_of(units));
    c.threads().for_each_index(units, 1, [&](std::int64_t i) {
      shared[index_of(i)] = shared_head(
          c, a, cut, first + i, packed.mutable_data<float>() + i * each);
    });
    // Tiles of a unit are next to each other, so that its keys stay near.
    c.threads().for_each_index(units * cut.per_unit(), 1, [&](std::int64_t i) {
      const std::int64_t unit = i / cut.per_unit();
      run_tile(c, a, cut, shared[index_of(unit)], first + unit,
               i % cut.per_unit(), to);
    });
  }
}

}  // namespace ruleengine::kernels
