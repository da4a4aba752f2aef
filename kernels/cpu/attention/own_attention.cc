// The engine's own ops of attention: softmax(q k^T scale + mask) v, where the
// operands broadcast (core/ops/dialect/attention.cc has the meaning).
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/ops/dialect.h"
#include "kernels/cpu/attention/attending.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

// An input as [outer..., batch, head, row, element], with leading axes of 1
// where it has fewer.
class Operand {
 public:
  Operand(const Tensor& x, std::size_t rank) {
    for (std::size_t i = x.rank(); i < rank; ++i) dims_.push_back(1);
    for (const std::int64_t size : x.dims()) dims_.push_back(size);
    steps_ = broadcast_strides(dims_, dims_);
  }

  Shape outer() const { return Shape(dims_).first(dims_.size() - 4); }
  std::int64_t batch() const { return last(dims_)[0]; }
  std::int64_t heads() const { return last(dims_)[1]; }
  std::int64_t rows() const { return last(dims_)[2]; }
  std::int64_t elements() const { return last(dims_)[3]; }

  // Along the outer axes of a broadcast.
  Dims outer_steps(Shape all) const {
    return Dims(Shape(steps_).first(all.size()));
  }
  std::array<std::int64_t, 4> steps() const {
    const Shape s = last(steps_);
    return {s[0], s[1], s[2], s[3]};
  }
  HeadStrides rows_at(std::int64_t first) const {
    const Shape s = last(steps_);
    return {.batch = s[0], .head = s[1], .row = s[2], .first = first};
  }

 private:
  static Shape last(const Dims& all) { return Shape(all).last(4); }

  Dims dims_, steps_;
};

struct OwnAttention {
  OwnAttention(const Preparation& p, std::string_view scale_attribute)
      : scale(p, scale_attribute),
        // 0 where the op has no such attribute.
        softcap(std::abs(static_cast<double>(p.attribute_float("softcap")))),
        is_causal(p.attribute_flag("is_causal")),
        is_guarded(p.attribute_int("guarded", 1) != 0) {}

  ScoreScale scale;
  double softcap;
  bool is_causal, is_guarded;
};

class Attention {
 public:
  Attention(Call& c, const OwnAttention& op)
      : c_(c),
        rank_(c.expect_min_rank(kQ, 2).rank()),
        q_(operand(c.input(kQ))),
        k_(operand(c.expect_rank(kK, rank_))),
        v_(operand(c.expect_rank(kV, rank_))),
        mask_(operand(mask())) {
    const Shape sides[] = {q_.outer(), k_.outer(), v_.outer(), mask_.outer()};
    outer_ = broadcast(sides);
    a_.q = c.input(kQ);
    a_.k = c.input(kK);
    a_.v = c.input(kV);
    a_.batch = common(&Operand::batch, {&q_, &k_, &v_, &mask_});
    a_.heads = common(&Operand::heads, {&q_, &mask_});
    a_.queries = common(&Operand::rows, {&q_, &mask_});
    a_.k_heads = k_.heads();
    a_.v_heads = v_.heads();
    a_.keys = k_.rows();
    a_.k_size = q_.elements();
    a_.v_size = v_.elements();
    a_.out_at = split_strides(a_.heads, a_.queries, a_.v_size);
    a_.guarded = c.has_input(kMask) && op.is_guarded;
    a_.scale = op.scale.of(a_.k_size);
    a_.softcap = op.softcap;
    check_sizes();
    if (op.is_causal) set_causal();
  }

  // As docs/dialect.md says it: queries, keys and values do not broadcast to
  // each other.
  void expect_own_sizes(std::optional<std::int64_t> written) const {
    const std::int64_t heads = written.value_or(q_.heads());
    if (q_.heads() != heads) {
      c_.wrong_shape(kQ, std::to_string(heads) + " heads");
    }
    for (const auto& [input, side] : {std::pair(kK, &k_), std::pair(kV, &v_)}) {
      const std::int64_t own = side->heads();
      const bool divides = own == heads || (own > 0 && heads % own == 0);
      if (side->batch() != q_.batch() || !divides || own != k_.heads()) {
        c_.wrong_shape(input,
                       "the batch of Q, and heads that divide its heads");
      }
    }
  }

  void run() {
    Dims all = outer_;
    for (const std::int64_t size : {a_.batch, a_.heads, a_.queries, a_.v_size})
      all.push_back(size);
    Tensor& out = c_.output(0, a_.q.dtype(), Shape(all).last(rank_));
    if (out.count() == 0) return;
    const Rows<4> places(outer_,
                         {q_.outer_steps(outer_), k_.outer_steps(outer_),
                          v_.outer_steps(outer_), mask_.outer_steps(outer_)});
    const std::int64_t each = product(Shape(all).last(4));
    places.for_each(0, places.count(), [&](std::int64_t i, const auto& from) {
      for (std::int64_t j = 0; j < places.length(); ++j) {
        const auto at = [&](std::size_t operand) {
          return from[operand] + j * places.inner(operand);
        };
        a_.q_at = q_.rows_at(at(kQ));
        a_.k_at = k_.rows_at(at(kK));
        a_.v_at = v_.rows_at(at(kV));
        if (c_.has_input(kMask)) {
          a_.mask = {.values = mask(),
                     .strides = mask_.steps(),
                     .first = at(kMask),
                     .keys = a_.keys};
        }
        a_.out_at.first = (i + j) * each;
        attend(c_, a_, out);
      }
    });
  }

 private:
  Operand operand(const Tensor& x) const {
    return {x, std::max<std::size_t>(rank_, 4)};
  }

  // A scalar that is never read, where there is none.
  Tensor mask() const {
    if (!c_.has_input(kMask)) return {};
    const Tensor& mask = c_.expect_rank(kMask, 0, rank_);
    const DataType type = c_.given_type(kMask), wanted = c_.given_type(kQ);
    if (type != DataType::kBool && type != wanted) {
      c_.wrong_type(kMask,
                    "bool or " + std::string(ir::data_type_name(wanted)));
    }
    return mask;
  }

  // The size of an axis that all of them broadcast to.
  static std::int64_t common(std::int64_t (Operand::*size)() const,
                             std::initializer_list<const Operand*> operands) {
    Dims all{1};
    for (const Operand* each : operands) {
      all = broadcast(all, Dims{(each->*size)()});
    }
    return all[0];
  }

  void set_causal() {
    a_.is_causal = q_.rows() == a_.queries;
    if (a_.is_causal) return;
    // The rows of the mask all meet the first query, which sees one key.
    a_.lengths.assign(index_of(a_.batch), std::min<std::int64_t>(1, a_.keys));
  }

  void check_sizes() const {
    if (k_.elements() != a_.k_size) {
      c_.wrong_shape(kK, "rows of " + std::to_string(a_.k_size));
    }
    if (v_.rows() != a_.keys) {
      c_.wrong_shape(kV, std::to_string(a_.keys) + " rows");
    }
    if (mask_.elements() != a_.keys && mask_.elements() != 1) {
      c_.wrong_shape(kMask, "rows of " + std::to_string(a_.keys));
    }
  }

  Call& c_;
  std::size_t rank_;
  Operand q_, k_, v_, mask_;
  Dims outer_;  // the axes before the batch
  Attending a_;
};

Op aten_attention(const Preparation& p) {
  return [op = OwnAttention(p, "scale")](Call& c) { Attention(c, op).run(); };
}

Op own_attention(const Preparation& p) {
  return [op = OwnAttention(p, "scale"),
          heads = written_int<"num_heads">(p)](Call& c) {
    Attention attention(c, op);
    attention.expect_own_sizes(heads);
    attention.run();
  };
}

Op attention_forward(const Preparation& p) {
  p.need_attribute("sm_scale");
  return
      [op = OwnAttention(p, "sm_scale")](Call& c) { Attention(c, op).run(); };
}

}  // namespace

const KernelRows kOwnAttentionRows = {
    {ops::dialect::kAten, "scaled_dot_product_attention", aten_attention,
     Adapt::kWiden},
    {ops::dialect::kOwn, "AttentionForward", attention_forward, Adapt::kWiden},
    {ops::dialect::kOwn, "ScaledDotProductAttention", own_attention,
     Adapt::kWiden},
};

}  // namespace ruleengine::kernels
