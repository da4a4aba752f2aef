// Attentions of random forms: what the GPU gives is what the CPU gives.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/cuda/backend/support.h"
#include "tests/support/tier.h"

namespace ruleengine::kernels {
namespace {

class Form {
 public:
  explicit Form(std::uint64_t seed) : random_(seed) {}

  std::string text() {
    choose();
    std::string out = "(" + rows("q", q_heads_, q_rows_, size_) + "," +
                      rows("k", kv_heads_, kv_rows_, size_) + "," +
                      rows("v", kv_heads_, kv_rows_, v_size_);
    std::string arguments = "q, k, v, ";
    if (has_mask_) out += "," + mask() + " m";
    arguments += has_mask_ ? "m, " : ", ";
    if (past_ > 0) {
      out += "," + past("pk", size_) + "," + past("pv", v_size_);
    }
    arguments += past_ > 0 ? "pk, pv, " : ", , ";
    if (has_lengths_) arguments += "n";
    out += ") => (" + rows("y", q_heads_, q_rows_, v_size_);
    if (past_ > 0) {
      out += "," + of(kv_heads_, kv_rows_ + past_, size_) + " ak," +
             of(kv_heads_, kv_rows_ + past_, v_size_) + " av";
    }
    out += ")";
    if (has_lengths_) out += lengths();
    return out + " { y" + (past_ > 0 ? ", ak, av" : "") + " = Attention<" +
           attributes() + ">(" + arguments + ") }";
  }

 private:
  std::int64_t of_range(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool often(int percent) { return of_range(0, 99) < percent; }
  template <typename T>
  T one_of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(
        of_range(0, static_cast<std::int64_t>(all.size()) - 1))];
  }

  void choose() {
    type_ = one_of<std::string>({"float", "float16", "bfloat16"});
    batch_ = of_range(1, 3);
    kv_heads_ = of_range(1, 3);
    q_heads_ = kv_heads_ * of_range(1, 3);
    q_rows_ = often(30) ? 1 : of_range(2, 9);
    kv_rows_ = often(30) ? q_rows_ : of_range(1, 20);
    size_ = one_of<std::int64_t>({8, 16, 24, 5, 12, 64, 72});
    v_size_ = often(60) ? size_ : one_of<std::int64_t>({8, 32, 7});
    is_merged_ = often(40);
    past_ = often(30) ? of_range(1, 9) : 0;
    has_lengths_ = past_ == 0 && often(30);
    has_mask_ = often(40);
  }

  std::string of(std::int64_t heads, std::int64_t count, std::int64_t size) {
    return type_ + "[" + std::to_string(batch_) + "," + std::to_string(heads) +
           "," + std::to_string(count) + "," + std::to_string(size) + "]";
  }
  std::string rows(const std::string& name, std::int64_t heads,
                   std::int64_t count, std::int64_t size) {
    if (!is_merged_) return of(heads, count, size) + " " + name;
    return type_ + "[" + std::to_string(batch_) + "," + std::to_string(count) +
           "," + std::to_string(heads * size) + "] " + name;
  }
  std::string past(const std::string& name, std::int64_t size) {
    return of(kv_heads_, past_, size) + " " + name;
  }

  std::string mask() {
    const std::int64_t keys = kv_rows_ + past_;
    std::vector<std::int64_t> dims = {batch_, q_heads_, q_rows_,
                                      often(80) ? keys : of_range(1, keys)};
    for (std::size_t i = 0; i < 3; ++i) {
      if (often(30)) dims[i] = 1;
    }
    const auto rank = static_cast<std::size_t>(of_range(2, 4));
    std::string out = often(40) ? "bool[" : type_ + "[";
    for (std::size_t i = 4 - rank; i < 4; ++i) {
      out += std::to_string(dims[i]) + (i < 3 ? "," : "]");
    }
    return out;
  }

  std::string lengths() {
    std::string out = " <int64[" + std::to_string(batch_) + "] n = {";
    for (std::int64_t b = 0; b < batch_; ++b) {
      out += (b == 0 ? "" : ",") + std::to_string(of_range(0, kv_rows_));
    }
    return out + "}>";
  }

  std::string attributes() {
    std::string out = "is_causal = " + std::to_string(of_range(0, 1));
    if (is_merged_) {
      out += ", q_num_heads = " + std::to_string(q_heads_) +
             ", kv_num_heads = " + std::to_string(kv_heads_);
    }
    if (often(30)) out += ", scale = 0.4";
    if (often(20)) out += ", softcap = 1.5";
    for (const char* side : {"left", "right"}) {
      if (!often(20)) continue;
      out += std::string(", ") + side +
             "_window_size = " + std::to_string(of_range(0, 6));
    }
    return out;
  }

  std::mt19937_64 random_;
  std::string type_;
  std::int64_t batch_ = 1, q_heads_ = 1, kv_heads_ = 1, q_rows_ = 1,
               kv_rows_ = 1, size_ = 8, v_size_ = 8, past_ = 0;
  bool is_merged_ = false, has_lengths_ = false, has_mask_ = false;
};

TEST_CASE("attentions of random forms agree with the CPU") {
  for (std::size_t seed = 0; seed < 2400; ++seed) {
    if (!has_turn(seed, 40)) continue;
    const std::string text = Form(seed).text();
    CAPTURE(seed);
    CAPTURE(text);
    check_runs(*model_of(text), 2);
  }
}

}  // namespace
}  // namespace ruleengine::kernels
