// Plans compute what their descriptions say: strides, the order of the steps,
// masks, lengths, pages, and numbers of a run.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "kernels/cuda/attention/plans_ahead.h"
#include "tests/cuda/cudnn/attention_case.h"
#include "tests/cuda/standin/standin.h"

namespace ruleengine::kernels::cuda {
namespace {

using D = AttentionDescription;

struct Feature {
  std::string_view name;
  std::function<void(D&)> add;
};

void bottom_right(D& d) {
  d.kv_length = 21;
  d.band.right = 0;
  d.band.diagonal = Diagonal::kBottomRight;
}
void bias(D& d, unsigned axes) {
  Bias out{.element = d.element};
  const FourSizes scores = {d.batch, d.q_heads, d.q_length, d.kv_length};
  std::int64_t stride = 1;
  for (std::size_t i = 4; i-- > 0; stride *= out.dims[i]) {
    out.dims[i] = (axes >> i & 1) != 0 ? scores[i] : 1;
    out.strides[i] = stride;
  }
  d.bias = out;
}
void paged(D& d) {
  d.has_lengths = true;
  d.kv_length = 30;
  d.paging = Paging{.page_size = 8,
                    .pages = 4 * d.batch + 1,
                    .table_length = 4,
                    .table_stride = 4};
}

const Feature kMasks[] = {
    {"no mask", [](D&) {}},
    {"causal", [](D& d) { d.band.right = 0; }},
    {"causal, more keys", [](D& d) { d.kv_length = 19, d.band.right = 0; }},
    {"bottom right", bottom_right},
    {"left", [](D& d) { d.band.left = 3; }},
    {"left and causal", [](D& d) { d.band.left = 3, d.band.right = 0; }},
    {"both sides", [](D& d) { d.band.left = 2, d.band.right = 4; }},
    {"only itself", [](D& d) { d.band.left = 0, d.band.right = 0; }},
    {"left, bottom right", [](D& d) { bottom_right(d), d.band.left = 5; }},
};

const Feature kParts[] = {
    {"plain", [](D&) {}},
    {"by head",
     [](D& d) {
       d.q = strides_by_head(d.q_heads, d.q_length, d.qk_size);
       d.o = strides_by_head(d.q_heads, d.q_length, d.v_size);
       d.k = strides_by_head(d.kv_heads, d.kv_length, d.qk_size);
       d.v = strides_by_head(d.kv_heads, d.kv_length, d.v_size);
     }},
    {"grouped", [](D& d) { d.kv_heads = 2; }},
    {"one head of keys", [](D& d) { d.kv_heads = 1, d.v_size = 8; }},
    {"cap", [](D& d) { d.has_cap = true; }},
    {"sink", [](D& d) { d.has_sink = true; }},
    {"cap, sink, grouped",
     [](D& d) { d.has_cap = d.has_sink = true, d.kv_heads = 2; }},
    {"statistics", [](D& d) { d.has_statistics = true; }},
    {"lengths", [](D& d) { d.has_lengths = true; }},
    {"lengths, cap, statistics",
     [](D& d) { d.has_lengths = d.has_cap = d.has_statistics = true; }},
    {"bias", [](D& d) { bias(d, 15); }},
    {"bias of heads", [](D& d) { bias(d, 14); }},
    {"bias of the batch", [](D& d) { bias(d, 13); }},
    {"bias of keys", [](D& d) { bias(d, 9); }},
    {"bias of queries", [](D& d) { bias(d, 7); }},
    {"bias of queries and keys", [](D& d) { bias(d, 12); }},
    {"one bias", [](D& d) { bias(d, 0); }},
    {"bias in float",
     [](D& d) { bias(d, 15), d.bias->element = DataType::kFloat; }},
    {"bias, cap, lengths",
     [](D& d) { bias(d, 15), d.has_cap = d.has_lengths = true; }},
    {"ragged", [](D& d) { d.has_lengths = d.is_ragged = true; }},
    {"ragged, cap",
     [](D& d) { d.has_lengths = d.is_ragged = d.has_cap = true; }},
    {"paged", paged},
    {"paged, cap, grouped",
     [](D& d) { paged(d), d.has_cap = true, d.kv_heads = 2; }},
    {"paged, ragged", [](D& d) { paged(d), d.is_ragged = true; }},
    {"bfloat16", [](D& d) { d.element = DataType::kBfloat16; }},
};

void set_strides(D& d) {
  if (d.q[3] != 0) return;
  d.q = strides_by_length(d.q_heads, d.q_length, d.qk_size);
  d.o = strides_by_length(d.q_heads, d.q_length, d.v_size);
  d.k = strides_by_length(d.kv_heads, d.kv_length, d.qk_size);
  d.v = strides_by_length(d.kv_heads, d.kv_length, d.v_size);
  if (!d.paging) return;
  d.k = strides_by_head(d.kv_heads, d.paging->page_size, d.qk_size);
  d.v = strides_by_head(d.kv_heads, d.paging->page_size, d.v_size);
}

D with(const Feature& mask, const Feature& part) {
  D d{.batch = 2,
      .q_heads = 4,
      .kv_heads = 4,
      .q_length = 13,
      .kv_length = 13,
      .qk_size = 16,
      .v_size = 16};
  mask.add(d);
  part.add(d);
  set_strides(d);
  return d;
}

AttentionCase case_of(const D& d) {
  return {d, {d.q_length - 2, d.q_length}, {d.kv_length - 1, d.kv_length - 3}};
}

// Where a plan gives something else; "" where nowhere.
std::string difference(const AttentionCase& c, const PlanOutput& found) {
  const D& d = c.description();
  const double tolerance = d.element == DataType::kBfloat16 ? 0.02 : 0.003;
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::int64_t h = 0; h < d.q_heads; ++h) {
      for (std::int64_t i = 0; i < c.queries(b); ++i) {
        const AttentionCase::Row row = c.row(b, h, i);
        const auto at = static_cast<std::size_t>(c.place_of_result(b, h, i));
        double most = 0;
        for (std::size_t e = 0; e < row.values.size(); ++e) {
          const double by = std::abs(found.values[at + e] - row.values[e]);
          if (!(by <= most)) most = by;
        }
        if (d.has_statistics && !row.values.empty()) {
          const auto n =
              static_cast<std::size_t>((b * d.q_heads + h) * d.q_length + i);
          const double by = std::abs(found.statistics[n] - row.statistics);
          if (!(by <= most)) most = by;
        }
        if (!(most <= tolerance)) {
          return "row " + std::to_string(i) + " of head " + std::to_string(h) +
                 " of sequence " + std::to_string(b) + " is off by " +
                 std::to_string(most);
        }
      }
    }
  }
  return "";
}

TEST_CASE("plans agree with their descriptions") {
  std::size_t ran = 0;
  for (const Feature& mask : kMasks) {
    for (const Feature& part : kParts) {
      CAPTURE(mask.name);
      CAPTURE(part.name);
      const AttentionCase c = case_of(with(mask, part));
      const PlanOutput found = run_plan(c);
      if (found.values.empty()) {
        // What check() knows, and nothing else.
        CHECK(found.trouble == "a bias is beside a diagonal at the last key");
        continue;
      }
      ++ran;
      CHECK(found.trouble == "");
      CHECK(difference(c, found) == "");
    }
  }
  CHECK(ran == 207);
  CHECK(standin::driver().live_bytes() == 0);
  CHECK(standin::driver().objects() == 0);
}

TEST_CASE("a wrong scale, cap or bound is seen") {
  D d = with(kMasks[5], kParts[4]);
  AttentionCase c = case_of(d);
  const PlanOutput found = run_plan(c);
  REQUIRE(difference(c, found) == "");
  c.scale *= 1.1F;
  CHECK(difference(c, found) != "");
  D other = d;
  ++*other.band.left;
  CHECK(difference(case_of(other), found) != "");
  other = d;
  other.has_cap = false;
  CHECK(difference(case_of(other), found) != "");
}

TEST_CASE("a plan of a bucket serves shorter sequences") {
  D d = with(kMasks[1], kParts[2]);
  d = with_buckets(d, 64, 64);
  const AttentionCase c(d, {13, 13}, {13, 13});
  const PlanOutput found = run_plan(c);
  CHECK(found.trouble == "");
  CHECK(difference(c, found) == "");
}

// Of heads that are beside each other.
D sequence() {
  const FourSizes strides = strides_by_length(2, 64, 64);
  return {.q_heads = 2,
          .kv_heads = 2,
          .q = strides,
          .k = strides,
          .v = strides,
          .o = strides};
}

TEST_CASE("plans are built ahead") {
  AttentionPlans plans(*chip_of_device(0), *cudnn_version(), 64);
  D causal = sequence();
  causal.band.right = 0;
  {
    PlansAhead ahead(plans);
    ahead.add(with_buckets(causal, 128, 128));
    ahead.add(with_buckets(causal, 256, 256));
    ahead.wait([] {});
  }
  CHECK(plans.counts().builds == 6);  // all but the one that is there first
  PlansAhead ends(plans);
  ends.add(with_buckets(causal, 1024, 1024));
}

}  // namespace
}  // namespace ruleengine::kernels::cuda
