// TfIdfVectorizer: how often each n-gram of a pool stands in the input.
#include "kernels/cpu/families.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "kernels/cpu/elementwise/elementwise.h"

namespace ruleengine::kernels {
namespace {

// N-grams as a tree: from a place, a token leads to the next one. Tokens are
// numbers; strings are numbered by the pool.
struct GramPool {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> next;
  std::vector<std::int64_t> gram = {-1};  // of each place, or -1
  std::unordered_map<std::string, std::int64_t> numbers;
  Ints indexes;
  std::vector<float> weights;  // 1 where it is empty
  std::int64_t width = 0;      // one more than the greatest index
  bool are_counted = true;     // or it is noted only that they are there

  void add(std::span<const std::int64_t> tokens, std::int64_t id) {
    std::int64_t at = 0;
    for (const std::int64_t token : tokens) {
      const auto place = std::ssize(gram);
      const auto [it, is_new] = next.try_emplace({at, token}, place);
      if (is_new) gram.push_back(-1);
      at = it->second;
    }
    // Ties go to the first.
    std::int64_t& known = gram[index_of(at)];
    if (known < 0) known = id;
  }
};

Ints pool_tokens(const Preparation& p, GramPool& pool) {
  if (!p.has_attribute("pool_strings")) return p.attribute_ints("pool_int64s");
  Ints tokens;
  for (const std::string& word : p.attribute_strings("pool_strings")) {
    const auto number = std::ssize(pool.numbers);
    tokens.push_back(pool.numbers.try_emplace(word, number).first->second);
  }
  return tokens;
}

GramPool read_pool(const Preparation& p) {
  const std::int64_t least = p.attribute_int("min_gram_length");
  const std::int64_t most = p.attribute_int("max_gram_length");
  GramPool pool;
  const Ints tokens = pool_tokens(p, pool);
  const Ints starts = p.attribute_ints("ngram_counts");
  pool.indexes = p.attribute_ints("ngram_indexes");
  pool.weights = p.attribute_floats("weights");
  std::int64_t id = 0;
  const auto size = std::ssize(tokens);
  for (std::size_t n = 0; n < starts.size(); ++n) {
    const std::int64_t begin = starts[n];
    const std::int64_t end = n + 1 < starts.size() ? starts[n + 1] : size;
    const auto length = static_cast<std::int64_t>(n) + 1;
    if (begin < 0 || begin > end || end > size || (end - begin) % length != 0) {
      p.wrong_attribute("ngram_counts", "ascending starts of whole n-grams, " +
                                            std::to_string(size) + " at most");
    }
    for (std::int64_t at = begin; at < end; at += length, ++id) {
      if (length < least || length > most) continue;
      pool.add({tokens.data() + at, index_of(length)}, id);
    }
  }
  if (std::ssize(pool.indexes) < id) {
    p.wrong_attribute("ngram_indexes", std::to_string(id) + " numbers or more");
  }
  if (!pool.weights.empty() && pool.weights.size() != pool.indexes.size()) {
    p.wrong_attribute("weights",
                      std::to_string(pool.indexes.size()) + " numbers");
  }
  for (const std::int64_t index : pool.indexes) {
    if (index < 0 || index >= std::int64_t{1} << 40) {
      p.wrong_attribute("ngram_indexes", "0 or more, below 2^40",
                        std::to_string(index));
    }
    pool.width = std::max(pool.width, index + 1);
  }
  const std::string_view mode = p.choice("mode", {"TF", "IDF", "TFIDF"});
  pool.are_counted = mode != "IDF";
  if (mode == "TF") pool.weights.clear();
  return pool;
}

// -1 for a string that is not in the pool.
Ints input_tokens(Call& c, const GramPool& pool) {
  const Tensor& x = c.input(0);
  if (!x.is_string()) {
    if (!pool.numbers.empty()) c.wrong_type(0, "string, as in the pool");
    return c.ints(0);
  }
  Ints tokens;
  for (const String& word : x.strings()) {
    const auto it = pool.numbers.find(std::string(word));
    tokens.push_back(it == pool.numbers.end() ? -1 : it->second);
  }
  return tokens;
}

// Counts the n-grams of a row whose tokens are `step` apart.
void count(const GramPool& pool, std::span<const std::int64_t> row,
           std::size_t step, bool with_single, std::vector<float>& counts,
           Ticker& tick) {
  for (std::size_t begin = 0; begin < row.size(); ++begin) {
    std::int64_t place = 0;
    for (std::size_t at = begin; at < row.size(); at += step) {
      tick();
      const auto it = pool.next.find({place, row[at]});
      if (it == pool.next.end()) break;
      place = it->second;
      const std::int64_t id = pool.gram[index_of(place)];
      if (id >= 0 && (at > begin || with_single)) {
        ++counts[index_of(id)];
      }
    }
  }
}

void weigh_grams(Call& c, const GramPool& pool, std::int64_t most_skips) {
  const Tensor x = c.expect_rank(0, 0, 2);
  const Ints tokens = input_tokens(c, pool);
  const std::int64_t width = pool.width;
  const bool is_matrix = x.rank() == 2;
  const std::int64_t rows = is_matrix ? x.dim(0) : 1;
  const std::int64_t dims[] = {rows, width};
  Tensor& out = c.output(0, DataType::kFloat,
                         is_matrix ? Shape(dims) : Shape(dims + 1, 1));
  float* to = out.mutable_data<float>();
  fill(c, to, out.count(), 0.0f);
  const std::size_t length = rows == 0 ? 0 : tokens.size() / index_of(rows);
  const auto skips = std::clamp<std::int64_t>(
      most_skips, 0, static_cast<std::int64_t>(length));
  Ticker tick(c.threads());
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<float> counts(pool.indexes.size(), 0.0f);
    const std::span row(tokens.data() + index_of(r) * length, length);
    for (std::int64_t skip = 0; skip <= skips; ++skip) {
      count(pool, row, index_of(skip) + 1, skip == 0, counts, tick);
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      const float weight = pool.weights.empty() ? 1 : pool.weights[i];
      to[r * width + pool.indexes[i]] +=
          weight * (pool.are_counted ? counts[i] : 1);
    }
  }
}

}  // namespace

Op tf_idf_vectorizer(const Preparation& p) {
  return keeping<weigh_grams, read_pool, int_attribute<"max_skip_count">>(p);
}

}  // namespace ruleengine::kernels
