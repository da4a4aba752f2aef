// One attention with data: on the device for a plan, and on the host for the
// plain computation that says what the plan is to give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/attention/cudnn.h"
#include "kernels/cuda/attention/description.h"

namespace ruleengine::kernels::cuda {

// Elements of a tensor, as its type has them.
struct Elements {
  DataType type = DataType::kFloat;
  std::vector<double> values;
};

class AttentionCase {
 public:
  // `q_lengths`, `kv_lengths`: of each sequence, where it has lengths.
  AttentionCase(const AttentionDescription& d,
                std::vector<std::int64_t> q_lengths,
                std::vector<std::int64_t> kv_lengths);

  // What a plan is to give for an element of a row, and for its statistics.
  // Empty where the row has no key.
  struct Row {
    std::vector<double> values;
    double statistics = 0;
  };
  Row row(std::int64_t b, std::int64_t head, std::int64_t query) const;

  const AttentionDescription& description() const { return d_; }
  std::int64_t queries(std::int64_t b) const;
  std::int64_t keys(std::int64_t b) const;
  // Where the elements of a row of the result begin.
  std::int64_t place_of_result(std::int64_t b, std::int64_t head,
                               std::int64_t query) const;
  std::int64_t result_count() const { return extent(d_.o, q_dims(d_.v_size)); }

  Elements q, k, v, bias, sink;
  Elements q_lengths, kv_lengths, pages;                // int32
  Elements q_offsets, k_offsets, v_offsets, o_offsets;  // int64
  float scale = 0.3F, cap = 1.5F;

 private:
  FourSizes q_dims(std::int64_t size) const;
  FourSizes kv_dims(std::int64_t size) const;
  static std::int64_t extent(const FourSizes& strides, const FourSizes& dims);
  Elements random(DataType type, std::int64_t count);
  Elements offsets(const std::vector<std::int64_t>& lengths,
                   const FourSizes& strides) const;
  void add_offsets();
  void add_pages();
  void spoil_unused();
  std::int64_t place_of_key(const Elements& firsts, const FourSizes& strides,
                            std::int64_t b, std::int64_t head,
                            std::int64_t key) const;
  double score(std::int64_t b, std::int64_t head, std::int64_t query,
               std::int64_t key) const;
  bool is_seen(std::int64_t b, std::int64_t query, std::int64_t key) const;

  AttentionDescription d_;
  std::vector<std::int64_t> q_counts_, kv_counts_;
  std::uint64_t state_ = 1;
};

// Runs a plan of it on the stand-in: the result, and the statistics. A plan
// that is refused, or misuse, is a text.
struct PlanOutput {
  std::string trouble;
  std::vector<double> values, statistics;
};
PlanOutput run_plan(const AttentionCase& c);

}  // namespace ruleengine::kernels::cuda
