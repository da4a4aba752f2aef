#include "kernels/cpu/attention/attending.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/cpu/attention/lanes.h"
#include "runtime/vectors.h"

namespace ruleengine::kernels {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();
// Rows of queries and of keys that a tile has at most.
constexpr std::int64_t kQueryTile = 64;
constexpr std::int64_t kKeyTile = 64;
// With fewer rows it does not pay to transpose keys.
constexpr std::int64_t kFewQueries = 4;

std::int64_t rounded_up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}

// One tile of queries while it meets the keys. Rows of a tile are queries
// [query, query + queries) of heads [head, head + heads), which share a key
// head.
struct Tile {
  const Attending& a;
  std::int64_t batch, head, heads, query, queries;
  // Scratch: scaled queries, a packed tile of keys, one of values, scores, sums
  // of values, and for each row the largest score and the sum of weights.
  float *q, *k, *v, *scores, *sums, *largest, *total;
  std::int64_t width;  // of a row of `sums`

  std::int64_t rows() const { return heads * queries; }
  std::int64_t head_of(std::int64_t row) const { return head + row / queries; }
  std::int64_t query_of(std::int64_t row) const {
    return query + row % queries;
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

// Scores of n keys for all rows of the tile.
template <typename L>
[[gnu::always_inline]] inline void score(const Tile& t, const float* keys,
                                         std::int64_t n) {
  const Attending& a = t.a;
  if (t.rows() <= kFewQueries) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t r = 0; r < t.rows(); ++r) {
        t.scores[r * kKeyTile + j] =
            L::dot(t.q + r * a.k_size, keys + j * a.k_at.row, a.k_size);
      }
    }
    return;
  }
  for (std::int64_t j = 0; j < n; ++j) {
    const float* key = keys + j * a.k_at.row;
    for (std::int64_t e = 0; e < a.k_size; ++e) t.k[e * kKeyTile + j] = key[e];
  }
  for (std::int64_t j = n; j < rounded_up(n, L::kBlock); ++j) {
    for (std::int64_t e = 0; e < a.k_size; ++e) t.k[e * kKeyTile + j] = 0;
  }
  L::template multiply<false>({.a = t.q,
                               .b = t.k,
                               .c = t.scores,
                               .rows = t.rows(),
                               .columns = rounded_up(n, L::kBlock),
                               .inner = a.k_size,
                               .a_row = a.k_size,
                               .b_row = kKeyTile,
                               .c_row = kKeyTile});
}

// Turns scores of n keys into weights, and rescales what came before.
template <typename L>
[[gnu::always_inline]] inline void weigh(const Tile& t, std::int64_t at,
                                         std::int64_t n) {
  const auto softcap = static_cast<float>(t.a.softcap);
  const std::int64_t padded = rounded_up(n, L::kWidth);
  for (std::int64_t r = 0; r < t.rows(); ++r) {
    float* scores = t.scores + r * kKeyTile;
    if (softcap > 0) L::soft_cap(scores, n, softcap);
    mask_row(t, r, at, n, scores);
    std::fill(scores + n, scores + padded, kHidden);
    const float before = t.largest[r];
    const float largest = std::max(before, L::largest(scores, padded));
    const float base = largest == kHidden ? 0 : largest;
    const float shrink = before == kHidden ? 0 : std::exp(before - base);
    const float sum = L::exp_and_sum(scores, padded, base);
    t.total[r] = t.total[r] * shrink + sum;
    t.largest[r] = largest;
    if (shrink != 1) L::scale(t.sums + r * t.width, t.width, shrink);
  }
}

// Adds values of n keys by their weights.
template <typename L>
[[gnu::always_inline]] inline void gather(const Tile& t, const float* values,
                                          std::int64_t n) {
  const Attending& a = t.a;
  std::int64_t row = a.v_at.row;
  if (t.width != a.v_size) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::copy_n(values + j * row, a.v_size, t.v + j * t.width);
    }
    values = t.v;
    row = t.width;
  }
  L::template multiply<true>({.a = t.scores,
                              .b = values,
                              .c = t.sums,
                              .rows = t.rows(),
                              .columns = t.width,
                              .inner = n,
                              .a_row = kKeyTile,
                              .b_row = row,
                              .c_row = t.width});
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

template <typename L>
[[gnu::always_inline]] inline void attend(const Tile& t) {
  const Attending& a = t.a;
  const float* keys =
      a.k.data<float>() + a.k_at.place(t.batch, a.k_head(t.head), 0);
  const float* values =
      a.v.data<float>() + a.v_at.place(t.batch, a.v_head(t.head), 0);
  const KeyRange seen = seen_by(t);
  for (std::int64_t at = seen.begin; at < seen.end; at += kKeyTile) {
    const std::int64_t n = std::min(kKeyTile, seen.end - at);
    score<L>(t, keys + at * a.k_at.row, n);
    weigh<L>(t, at, n);
    gather<L>(t, values + at * a.v_at.row, n);
  }
}

#if defined(__x86_64__)
[[gnu::target("arch=x86-64-v4,prefer-vector-width=512")]] void attend_512(
    const Tile& t) {
  attend<Lanes<16>>(t);
}
[[gnu::target("arch=x86-64-v3")]] void attend_256(const Tile& t) {
  attend<Lanes<8>>(t);
}
#endif
void attend_128(const Tile& t) { attend<Lanes<4>>(t); }

void (*best_attend())(const Tile&) {
#if defined(__x86_64__)
  if (runtime::vector_bits() >= 512) return attend_512;
  if (runtime::vector_bits() >= 256) return attend_256;
#endif
  return attend_128;
}

void load_queries(const Tile& t) {
  const Attending& a = t.a;
  const auto scale = static_cast<float>(a.scale);
  for (std::int64_t r = 0; r < t.rows(); ++r) {
    const float* from =
        a.q.data<float>() + a.q_at.place(t.batch, t.head_of(r), t.query_of(r));
    float* to = t.q + r * a.k_size;
    for (std::int64_t e = 0; e < a.k_size; ++e) to[e] = from[e] * scale;
    const bool sinks = !a.sinks.empty();
    t.largest[r] = sinks ? a.sinks[index_of(t.head_of(r))] : kHidden;
    t.total[r] = sinks ? 1.0f : 0.0f;
  }
  std::fill_n(t.sums, t.rows() * t.width, 0.0f);
}

void store_rows(const Tile& t, float* out) {
  const Attending& a = t.a;
  for (std::int64_t r = 0; r < t.rows(); ++r) {
    float* to = out + a.out_at.place(t.batch, t.head_of(r), t.query_of(r));
    const float* from = t.sums + r * t.width;
    // A row that sees nothing is zero.
    const bool is_zero =
        t.total[r] == 0 || (a.guarded && std::isnan(t.total[r]));
    const float by = is_zero ? 0 : 1 / t.total[r];
    for (std::int64_t e = 0; e < a.v_size; ++e) {
      to[e] = is_zero ? 0 : from[e] * by;
    }
  }
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
  if (right >= 0 && right < keys) {
    range.end = std::min(range.end, place + right + 1);
  }
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

void flash_attention(KernelContext& c, const Attending& a, Tensor& out) {
  if (out.count() == 0) return;
  const std::int64_t group = a.sharing();
  const std::int64_t queries = std::min(a.queries, kQueryTile);
  const std::int64_t heads = std::clamp<std::int64_t>(
      a.queries < kQueryTile ? kQueryTile / a.queries : 1, 1, group);
  const std::int64_t tiles = (a.queries + queries - 1) / queries;
  const std::int64_t chunks = (group + heads - 1) / heads;
  const std::int64_t per_batch = a.heads / group * chunks * tiles;
  const std::int64_t width = rounded_up(a.v_size, kMostLanes * 2);
  const auto run = best_attend();
  float* to = out.mutable_data<float>();
  // Tiles of one head are next to each other, so that its keys stay near.
  c.threads().for_each(
      a.batch * per_batch, 1, [&](std::int64_t begin, std::int64_t) {
        const std::int64_t chunk = begin % per_batch / tiles;
        // The last tiles have most keys where attention is causal.
        const std::int64_t tile = tiles - 1 - begin % tiles;
        const std::int64_t in_group = chunk % chunks * heads;
        const std::int64_t rows = heads * queries;
        const std::int64_t count =
            rows * (a.k_size + kKeyTile + width + 2) +
            kKeyTile * (a.k_size + (width == a.v_size ? 0 : width));
        Tensor scratch = c.allocate(DataType::kFloat, {&count, 1});
        float* at = scratch.mutable_data<float>();
        const auto take = [&](std::int64_t n) {
          return std::exchange(at, at + n);
        };
        Tile t{.a = a,
               .batch = begin / per_batch,
               .head = chunk / chunks * group + in_group,
               .heads = std::min(heads, group - in_group),
               .query = tile * queries,
               .queries = std::min(queries, a.queries - tile * queries),
               .q = take(rows * a.k_size),
               .k = take(kKeyTile * a.k_size),
               .v = width == a.v_size ? nullptr : take(kKeyTile * width),
               .scores = take(rows * kKeyTile),
               .sums = take(rows * width),
               .largest = take(rows),
               .total = take(rows),
               .width = width};
        if (t.v != nullptr) std::fill_n(t.v, kKeyTile * width, 0.0f);
        load_queries(t);
        run(t);
        store_rows(t, to);
      });
}

}  // namespace ruleengine::kernels
