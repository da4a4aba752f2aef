#include "tests/cuda/plans/features.h"

namespace ruleengine::kernels::cuda {
namespace {

using D = AttentionDescription;

void wide(D& d) { d.kv_length = 2 * d.q_length; }
void causal(D& d) { d.band.right = 0; }
void bottom_right(D& d) {
  wide(d);
  causal(d);
  d.band.diagonal = Diagonal::kBottomRight;
}
void window(D& d) { d.band.left = 127; }
void lengths(D& d) { d.has_lengths = true; }
void cap(D& d) { d.has_cap = true; }
void grouped(D& d) { d.q_heads = 4 * d.kv_heads; }
void multi_query(D& d) { d.kv_heads = 1; }
void sink(D& d) { d.has_sink = true; }
void statistics(D& d) { d.has_statistics = true; }
void odd(D& d) { d.q_length = 333, d.kv_length = 777; }
void ragged(D& d) {
  lengths(d);
  d.is_ragged = true;
}
void decode(D& d) {
  d.q_length = 1;
  d.kv_length = 2048;
}
void paged(D& d, std::int64_t page_size) {
  lengths(d);
  grouped(d);
  d.kv_length = 2048;
  const std::int64_t table = d.kv_length / page_size;
  d.paging = Paging{.page_size = page_size,
                    .pages = d.batch * table,
                    .table_length = table,
                    .table_stride = table};
}
// In the dims where it is not 1, of the type of the elements.
void bias(D& d, bool batch, bool heads, bool queries, bool keys) {
  Bias b{.element = d.element};
  b.dims = {batch ? d.batch : 1, heads ? d.q_heads : 1,
            queries ? d.q_length : 1, keys ? d.kv_length : 1};
  std::int64_t stride = 1;
  for (std::size_t i = 4; i-- > 0; stride *= b.dims[i]) b.strides[i] = stride;
  d.bias = b;
}
void full_bias(D& d) { bias(d, true, true, true, true); }

const Feature kFeatures[] = {
    {"plain", [](D&) {}},
    {"by_head",
     [](D& d) {
       d.q = d.k = d.v = d.o = strides_by_head(d.q_heads, d.q_length, d.v_size);
     }},
    {"packed",
     [](D& d) {
       d.q = d.k = d.v = strides_by_length(3 * d.q_heads, d.q_length, d.v_size);
     }},
    {"small_values", [](D& d) { d.v_size = d.qk_size / 2; }},
    {"odd", odd},
    {"odd_causal", [](D& d) { odd(d), causal(d); }},
    {"odd_bottom_right",
     [](D& d) { bottom_right(d), d.q_length = 333, d.kv_length = 777; }},
    {"odd_lengths", [](D& d) { odd(d), lengths(d); }},
    {"causal", causal},
    {"causal_wide", [](D& d) { wide(d), causal(d); }},
    {"bottom_right", bottom_right},
    {"window_causal", [](D& d) { window(d), causal(d); }},
    {"window_left", window},
    {"window_both", [](D& d) { window(d), d.band.right = 64; }},
    {"window_bottom_right", [](D& d) { bottom_right(d), window(d); }},
    {"window_lengths", [](D& d) { bottom_right(d), window(d), lengths(d); }},
    {"bias_full", full_bias},
    {"bias_of_heads", [](D& d) { bias(d, false, true, true, true); }},
    {"bias_of_batch", [](D& d) { bias(d, true, false, true, true); }},
    {"bias_shared", [](D& d) { bias(d, false, false, true, true); }},
    {"bias_of_keys", [](D& d) { bias(d, true, false, false, true); }},
    {"bias_of_queries", [](D& d) { bias(d, true, true, true, false); }},
    {"bias_one", [](D& d) { bias(d, false, false, false, false); }},
    {"bias_float",
     [](D& d) { full_bias(d), d.bias->element = DataType::kFloat; }},
    {"bias_causal", [](D& d) { full_bias(d), causal(d); }},
    {"bias_window", [](D& d) { full_bias(d), window(d), causal(d); }},
    {"bias_lengths", [](D& d) { full_bias(d), lengths(d); }},
    {"bias_odd", [](D& d) { odd(d), full_bias(d); }},
    {"bias_decode", [](D& d) { decode(d), full_bias(d); }},
    {"lengths", lengths},
    {"lengths_causal", [](D& d) { lengths(d), causal(d); }},
    {"lengths_bottom_right", [](D& d) { bottom_right(d), lengths(d); }},
    {"grouped", grouped},
    {"grouped_causal", [](D& d) { grouped(d), causal(d); }},
    {"multi_query", multi_query},
    {"multi_query_causal", [](D& d) { multi_query(d), causal(d); }},
    {"cap", cap},
    {"cap_causal", [](D& d) { cap(d), causal(d); }},
    {"cap_bottom_right", [](D& d) { cap(d), bottom_right(d); }},
    {"cap_window", [](D& d) { cap(d), window(d), causal(d); }},
    {"cap_window_both", [](D& d) { cap(d), window(d), d.band.right = 64; }},
    {"cap_window_lengths",
     [](D& d) { cap(d), bottom_right(d), window(d), lengths(d); }},
    {"cap_lengths", [](D& d) { cap(d), lengths(d); }},
    {"cap_bias", [](D& d) { cap(d), full_bias(d); }},
    {"cap_bias_causal", [](D& d) { cap(d), full_bias(d), causal(d); }},
    {"cap_grouped_window",
     [](D& d) { cap(d), grouped(d), window(d), causal(d); }},
    {"cap_sink", [](D& d) { cap(d), sink(d); }},
    {"cap_statistics", [](D& d) { cap(d), statistics(d), causal(d); }},
    {"cap_decode", [](D& d) { cap(d), decode(d), lengths(d); }},
    {"decode", decode},
    {"decode_causal", [](D& d) { decode(d), causal(d); }},
    {"decode_grouped", [](D& d) { decode(d), grouped(d); }},
    {"decode_lengths", [](D& d) { decode(d), grouped(d), lengths(d); }},
    {"decode_window",
     [](D& d) {
       bottom_right(d), decode(d), grouped(d), lengths(d), window(d);
     }},
    {"paged16_decode", [](D& d) { decode(d), paged(d, 16); }},
    {"paged64_decode", [](D& d) { decode(d), paged(d, 64); }},
    {"paged_decode_window",
     [](D& d) { bottom_right(d), decode(d), paged(d, 64), window(d); }},
    {"paged_decode_cap", [](D& d) { decode(d), paged(d, 64), cap(d); }},
    {"paged_decode_bias", [](D& d) { decode(d), paged(d, 64), full_bias(d); }},
    {"paged16_prefill", [](D& d) { bottom_right(d), paged(d, 16); }},
    {"paged64_prefill", [](D& d) { bottom_right(d), paged(d, 64); }},
    {"paged_prefill_window",
     [](D& d) { bottom_right(d), paged(d, 64), window(d), cap(d); }},
    {"paged_odd_page",
     [](D& d) { decode(d), paged(d, 64), d.paging->page_size = 48; }},
    {"ragged", ragged},
    {"ragged_bottom_right", [](D& d) { bottom_right(d), ragged(d); }},
    {"ragged_grouped", [](D& d) { bottom_right(d), ragged(d), grouped(d); }},
    {"ragged_cap", [](D& d) { bottom_right(d), ragged(d), cap(d); }},
    {"ragged_paged", [](D& d) { bottom_right(d), paged(d, 64), ragged(d); }},
    {"sink", sink},
    {"sink_causal", [](D& d) { sink(d), causal(d); }},
    {"sink_window", [](D& d) { sink(d), causal(d), window(d), grouped(d); }},
    {"sink_decode", [](D& d) { sink(d), decode(d); }},
    {"statistics", statistics},
    {"statistics_causal", [](D& d) { statistics(d), causal(d); }},
    {"statistics_lengths",
     [](D& d) { statistics(d), bottom_right(d), lengths(d); }},
    {"statistics_decode", [](D& d) { statistics(d), decode(d), lengths(d); }}};

void set_strides(D& d) {
  if (d.q[3] == 0) d.q = strides_by_length(d.q_heads, d.q_length, d.qk_size);
  if (d.o[3] == 0) d.o = strides_by_length(d.q_heads, d.q_length, d.v_size);
  if (d.k[3] != 0) return;
  if (d.paging) {
    d.k = strides_by_head(d.kv_heads, d.paging->page_size, d.qk_size);
    d.v = strides_by_head(d.kv_heads, d.paging->page_size, d.v_size);
  } else {
    d.k = strides_by_length(d.kv_heads, d.kv_length, d.qk_size);
    d.v = strides_by_length(d.kv_heads, d.kv_length, d.v_size);
  }
}

}  // namespace

std::span<const Feature> features() { return kFeatures; }

AttentionDescription attention_with(const Feature& feature, DataType element,
                                    std::int64_t size) {
  D d{.element = element, .batch = 2, .q_heads = 8, .kv_heads = 8};
  d.q_length = d.kv_length = 512;
  d.qk_size = d.v_size = size;
  feature.add(d);
  set_strides(d);
  return canonical(d);
}

}  // namespace ruleengine::kernels::cuda
