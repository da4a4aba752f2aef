#include "kernels/cuda/attention/description.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <vector>

namespace ruleengine::kernels::cuda {
namespace {

using D = AttentionDescription;

D attention(std::int64_t q_length, std::int64_t kv_length) {
  D d{.batch = 2, .q_heads = 4, .kv_heads = 4};
  d.q_length = q_length, d.kv_length = kv_length;
  d.q = d.o = strides_by_length(4, q_length, 64);
  d.k = d.v = strides_by_length(4, kv_length, 64);
  return d;
}

TEST_CASE("each field is in the key of a description") {
  const std::vector<std::function<void(D&)>> changes = {
      [](D&) {},
      [](D& d) { d.element = DataType::kBfloat16; },
      [](D& d) { ++d.batch; },
      [](D& d) { ++d.q_heads; },
      [](D& d) { ++d.kv_heads; },
      [](D& d) { ++d.q_length; },
      [](D& d) { ++d.kv_length; },
      [](D& d) { ++d.qk_size; },
      [](D& d) { ++d.v_size; },
      [](D& d) { ++d.q[1]; },
      [](D& d) { ++d.k[1]; },
      [](D& d) { ++d.v[1]; },
      [](D& d) { ++d.o[1]; },
      [](D& d) { d.paging = Paging{}; },
      [](D& d) { d.paging = Paging{.page_size = 1}; },
      [](D& d) { d.paging = Paging{.pages = 1}; },
      [](D& d) { d.paging = Paging{.table_length = 1}; },
      [](D& d) { d.paging = Paging{.table_stride = 1}; },
      [](D& d) { d.is_ragged = true; },
      [](D& d) { d.band.diagonal = Diagonal::kBottomRight; },
      [](D& d) { d.band.left = 0; },
      [](D& d) { d.band.left = 1; },
      [](D& d) { d.band.right = 0; },
      [](D& d) { d.bias = Bias{}; },
      [](D& d) {
        d.bias = Bias{.dims = {1, 1, 1, 1}};
      },
      [](D& d) {
        d.bias = Bias{.strides = {1, 1, 1, 1}};
      },
      [](D& d) { d.bias = Bias{.element = DataType::kFloat16}; },
      [](D& d) { d.has_lengths = true; },
      [](D& d) { d.has_sink = true; },
      [](D& d) { d.has_cap = true; },
      [](D& d) { d.has_statistics = true; }};
  std::set<std::string> keys;
  std::set<D> descriptions;
  for (const auto& change : changes) {
    D d = attention(16, 32);
    change(d);
    keys.insert(d.key());
    descriptions.insert(d);
  }
  CHECK(keys.size() == changes.size());
  CHECK(descriptions.size() == changes.size());
}

TEST_CASE("one of two equal attentions is chosen") {
  D d = attention(1, 64);
  d.band = {.diagonal = Diagonal::kBottomRight, .right = 0};
  CHECK(canonical(d) == attention(1, 64));
  d.band.diagonal = Diagonal::kTopLeft;  // sees only the first key
  CHECK(canonical(d).band.right == 0);

  D square = attention(64, 64);
  square.band = {.diagonal = Diagonal::kBottomRight, .right = 0};
  CHECK(canonical(square).band.diagonal == Diagonal::kTopLeft);
  square.has_lengths = true;  // each sequence has its own last key
  CHECK(canonical(square).band.diagonal == Diagonal::kBottomRight);

  D single = attention(16, 32);
  single.batch = 1;
  single.q[0] = 7;
  CHECK(canonical(single).q == strides_by_length(4, 16, 64));
}

TEST_CASE("few plans serve many lengths") {
  std::mt19937 random(1);
  std::set<std::string> keys;
  for (int i = 0; i < 100; ++i) {
    const auto length = static_cast<std::int64_t>(random() % 4096 + 1);
    D d = attention(length, length);
    d.batch = 1;
    d.band.right = 0;
    const D wide = with_buckets(d, bucket_of(length), bucket_of(length));
    CHECK(wide.q_length >= length);
    CHECK((wide.has_lengths && wide.is_ragged));
    keys.insert(wide.key());
  }
  CHECK(keys.size() <= 8);
}

TEST_CASE("buckets") {
  CHECK(bucket_of(1) == 1);
  CHECK(bucket_of(2) == 64);
  CHECK(bucket_of(64) == 64);
  CHECK(bucket_of(65) == 128);
  CHECK(bucket_of(4096) == 4096);
  CHECK(bucket_of((std::int64_t{1} << 30) + 1) == (std::int64_t{1} << 30) + 1);
}

}  // namespace
}  // namespace ruleengine::kernels::cuda
