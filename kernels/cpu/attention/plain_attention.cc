// Attention with all scores, in double: the reference for the fast kernel, and
// the one that can return scores.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/attention/attending.h"

namespace ruleengine::kernels {
namespace {

constexpr double kHiddenScore = -std::numeric_limits<double>::infinity();

// What attribute `qk_matmul_output_mode` asks for.
enum ScoreStage : std::int64_t { kRaw, kCapped, kBiased, kWeights };

template <typename T>
struct Row {
  const Attending& a;
  std::int64_t batch, head, query;
  double* scores;

  void cap() const {
    if (!(a.softcap > 0)) return;
    for (std::int64_t j = 0; j < a.keys; ++j) {
      scores[j] = std::tanh(scores[j] / a.softcap) * a.softcap;
    }
  }

  double bias(std::int64_t j) const {
    if (!a.mask.is_there()) return 0;
    if (j >= a.mask.keys) return kHiddenScore;
    const std::int64_t at = a.mask.place(batch, head, query, j);
    if (a.mask.values.dtype() == DataType::kBool) {
      return a.mask.values.data<std::uint8_t>()[at] != 0 ? 0 : kHiddenScore;
    }
    return static_cast<double>(a.mask.values.data<T>()[at]);
  }

  void add_bias() const {
    const KeyRange seen = a.seen(batch, query);
    for (std::int64_t j = 0; j < a.keys; ++j) {
      const double by =
          j >= seen.begin && j < seen.end ? bias(j) : kHiddenScore;
      // Also where the score is NaN or infinite.
      scores[j] = by == kHiddenScore ? kHiddenScore : scores[j] + by;
    }
  }

  void softmax() const {
    const bool sinks = !a.sinks.empty();
    double most =
        sinks ? static_cast<double>(a.sinks[index_of(head)]) : kHiddenScore;
    const double sink = most;
    for (std::int64_t j = 0; j < a.keys; ++j) most = std::max(most, scores[j]);
    double sum = sinks ? std::exp(sink - most) : 0;
    for (std::int64_t j = 0; j < a.keys; ++j) {
      scores[j] = scores[j] == kHiddenScore ? 0 : std::exp(scores[j] - most);
      sum += scores[j];
    }
    if (a.guarded && std::isnan(sum)) {
      return void(std::fill_n(scores, a.keys, 0.0));
    }
    if (sum == 0) sum = 1;
    for (std::int64_t j = 0; j < a.keys; ++j) scores[j] /= sum;
  }
};

template <typename T>
void run(const RunContext& c, const Attending& a, Tensor& out, Tensor* scores,
         std::int64_t mode) {
  T* to = out.mutable_data<T>();
  T* given = scores == nullptr ? nullptr : scores->mutable_data<T>();
  const std::int64_t rows = a.batch * a.heads * a.queries;
  const std::int64_t scratch = a.keys + a.v_size;
  c.threads().for_each(rows, 16, [&](std::int64_t begin, std::int64_t end) {
    Tensor space = c.allocate(DataType::kDouble, {&scratch, 1});
    auto* at = space.mutable_data<double>();
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t head = i / a.queries % a.heads;
      const Row<T> row{a, i / a.queries / a.heads, head, i % a.queries, at};
      const auto give = [&](std::int64_t when) {
        if (given == nullptr || mode != when) return;
        for (std::int64_t j = 0; j < a.keys; ++j) {
          given[i * a.keys + j] = static_cast<T>(at[j]);
        }
      };
      score_row<T>(a, i, at);
      give(kRaw);
      row.cap();
      give(kCapped);
      row.add_bias();
      give(kBiased);
      row.softmax();
      give(kWeights);
      gather_row(a, i, at, false, at + a.keys,
                 to + a.out_at.place(row.batch, head, row.query));
    }
  });
}

}  // namespace

void plain_attention(const RunContext& c, const Attending& a, Tensor& out,
                     Tensor* scores, std::int64_t mode) {
  dispatch(Floats(), a.q.dtype(),
           [&]<typename T>() { run<T>(c, a, out, scores, mode); });
}

}  // namespace ruleengine::kernels
