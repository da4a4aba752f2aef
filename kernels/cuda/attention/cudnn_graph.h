// The graph of an attention. Only for cudnn.cc, which is compiled alone.
#pragma once

#include <cudnn_frontend.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/cuda/attention/description.h"

namespace ruleengine::kernels::cuda {

namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using Tensor = std::shared_ptr<Tensor_attributes>;
using Graph = std::shared_ptr<fe::graph::Graph>;

// How the tensors of a graph are called; cuDNN serves them by number.
enum Role : std::int64_t {
  kQ = 1,
  kK,
  kV,
  kO,
  kBias,
  kQLengths,
  kKvLengths,
  kKPages,
  kVPages,
  kQOffsets,
  kKOffsets,
  kVOffsets,
  kOOffsets,
  kSink,
  kStatistics,
  kScale,
  kCap
};

inline fe::DataType_t type_of(DataType element) {
  switch (element) {
    case DataType::kFloat16:
      return fe::DataType_t::HALF;
    case DataType::kBfloat16:
      return fe::DataType_t::BFLOAT16;
    case DataType::kFloat:
      return fe::DataType_t::FLOAT;
    default:
      return fe::DataType_t::NOT_SET;
  }
}

// Fills a graph with one attention.
class GraphWriter {
 public:
  GraphWriter(const AttentionDescription& d, Graph graph)
      : d_(d), graph_(std::move(graph)) {}

  void write() {
    if (d_.has_lengths) add_lengths();
    const Tensor q = tensor(kQ, {d_.batch, d_.q_heads, d_.q_length, d_.qk_size},
                            d_.q, d_.element);
    const Tensor k = tensor(kK, dims_of_kv(d_.qk_size), d_.k, d_.element);
    const Tensor v = tensor(kV, dims_of_kv(d_.v_size), d_.v, d_.element);
    if (d_.is_ragged) add_offsets(q, k, v);
    const auto [o, statistics] = graph_->sdpa(q, k, v, attributes());
    finish(o);
    if (d_.has_statistics) finish_statistics(statistics);
  }

 private:
  Tensor tensor(Role role, const FourSizes& dims, const FourSizes& strides,
                fe::DataType_t type) {
    return graph_->tensor(Tensor_attributes()
                              .set_uid(role)
                              .set_dim({dims.begin(), dims.end()})
                              .set_stride({strides.begin(), strides.end()})
                              .set_data_type(type));
  }
  Tensor tensor(Role role, const FourSizes& dims, const FourSizes& strides,
                DataType type) {
    return tensor(role, dims, strides, type_of(type));
  }
  // A number of a run, on the host.
  Tensor number(Role role) {
    const Tensor out =
        tensor(role, {1, 1, 1, 1}, {1, 1, 1, 1}, fe::DataType_t::FLOAT);
    out->set_is_pass_by_value(true);
    return out;
  }

  FourSizes dims_of_kv(std::int64_t size) const {
    if (d_.paging) {
      return {d_.paging->pages, d_.kv_heads, d_.paging->page_size, size};
    }
    return {d_.batch, d_.kv_heads, d_.kv_length, size};
  }

  void add_lengths() {
    const FourSizes dims = {d_.batch, 1, 1, 1};
    q_lengths_ = tensor(kQLengths, dims, {1, 1, 1, 1}, fe::DataType_t::INT32);
    kv_lengths_ = tensor(kKvLengths, dims, {1, 1, 1, 1}, fe::DataType_t::INT32);
  }

  Tensor offsets(Role role) {
    return tensor(role, {d_.batch + 1, 1, 1, 1}, {1, 1, 1, 1},
                  fe::DataType_t::INT64);
  }
  void add_offsets(const Tensor& q, const Tensor& k, const Tensor& v) {
    q->set_ragged_offset(offsets(kQOffsets));
    o_offsets_ = offsets(kOOffsets);
    if (d_.paging) return;
    k->set_ragged_offset(offsets(kKOffsets));
    v->set_ragged_offset(offsets(kVOffsets));
  }

  fe::graph::SDPA_attributes attributes() {
    fe::graph::SDPA_attributes out;
    out.set_generate_stats(d_.has_statistics).set_attn_scale(number(kScale));
    if (d_.bias) {
      out.set_bias(
          tensor(kBias, d_.bias->dims, d_.bias->strides, d_.bias->element));
    }
    if (d_.has_sink) {
      out.set_sink_token(tensor(kSink, {1, d_.q_heads, 1, 1},
                                {d_.q_heads, 1, 1, 1}, fe::DataType_t::FLOAT));
    }
    if (d_.paging) set_pages(out);
    // These also tell the products how far to go.
    if (d_.has_lengths) {
      out.set_seq_len_q(q_lengths_).set_seq_len_kv(kv_lengths_);
    }
    if (d_.has_cap) {
      out.set_score_mod(capped_and_masked());
    } else {
      set_masks(out);
    }
    return out;
  }

  void set_pages(fe::graph::SDPA_attributes& out) {
    const Paging& p = *d_.paging;
    const FourSizes dims = {d_.batch, 1, p.table_length, 1};
    const FourSizes strides = {p.table_stride, p.table_stride, 1, 1};
    out.set_paged_attention_k_table(
        tensor(kKPages, dims, strides, fe::DataType_t::INT32));
    out.set_paged_attention_v_table(
        tensor(kVPages, dims, strides, fe::DataType_t::INT32));
    out.set_paged_attention_max_seq_len_kv(static_cast<int>(d_.kv_length));
  }

  fe::DiagonalAlignment_t diagonal() const {
    return d_.band.diagonal == Diagonal::kTopLeft
               ? fe::DiagonalAlignment_t::TOP_LEFT
               : fe::DiagonalAlignment_t::BOTTOM_RIGHT;
  }
  void set_masks(fe::graph::SDPA_attributes& out) {
    out.set_padding_mask(d_.has_lengths);
    if (!d_.band.is_there()) return;
    out.set_diagonal_alignment(diagonal());
    if (d_.band.left) {
      out.set_diagonal_band_left_bound(static_cast<int>(*d_.band.left + 1));
    }
    if (d_.band.right) {
      out.set_diagonal_band_right_bound(static_cast<int>(*d_.band.right));
    }
  }

  // cuDNN takes no mask beside what changes scores, so that has the masks in
  // it, after the cap: a capped minus infinity would be seen.
  std::function<Tensor(Graph, Tensor)> capped_and_masked() {
    namespace mods = fe::graph::attn::score_modifiers;
    const Tensor cap = number(kCap);
    return [d = d_, at = diagonal(), cap, q_lengths = q_lengths_,
            kv_lengths = kv_lengths_](Graph g, Tensor scores) {
      Tensor s = mods::Softcap().forward(g, scores, cap);
      if (d.band.is_there()) {
        std::optional<std::int64_t> left = d.band.left;
        if (left) ++*left;
        s = mods::sliding_window_mask(g, s, at, left, d.band.right, d.q_length,
                                      d.kv_length, q_lengths, kv_lengths,
                                      nullptr, nullptr);
      }
      if (!d.has_lengths) return s;
      return mods::padding_mask(g, s, kv_lengths, q_lengths);
    };
  }

  void finish(const Tensor& o) {
    o->set_output(true)
        .set_uid(kO)
        .set_dim({d_.batch, d_.q_heads, d_.q_length, d_.v_size})
        .set_stride({d_.o.begin(), d_.o.end()});
    if (o_offsets_) o->set_ragged_offset(o_offsets_);
  }
  void finish_statistics(const Tensor& statistics) {
    const FourSizes strides = strides_by_head(d_.q_heads, d_.q_length, 1);
    statistics->set_output(true)
        .set_uid(kStatistics)
        .set_data_type(fe::DataType_t::FLOAT)
        .set_dim({d_.batch, d_.q_heads, d_.q_length, 1})
        .set_stride({strides.begin(), strides.end()});
  }

  const AttentionDescription& d_;
  Graph graph_;
  Tensor q_lengths_, kv_lengths_, o_offsets_;
};

}  // namespace ruleengine::kernels::cuda
