// Ops of domain ai.onnx.ml: what classical models are made of.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "kernels/cpu/classic/trees.h"
#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/products/gemm.h"
#include "kernels/strided.h"

namespace ruleengine::kernels {
namespace {

constexpr std::string_view kMlDomain = "ai.onnx.ml";

void array_feature_extractor(Call& c) {
  const Tensor x = c.expect_min_rank(0, 1);
  const std::size_t last = x.rank() - 1;
  const Ints at = ints_up_to(c, 1, x.dim(last) - 1);
  Dims dims(x.dims());
  if (x.rank() == 1) dims = Dims{1, 0};
  dims.back() = std::ssize(at);
  Tensor& y = c.output(0, x.dtype(), dims);
  take(c, x, last, at, y);
}

using MlNumbers = Types<float, double, std::int32_t, std::int64_t>;

void binarizer(Call& c, double threshold) {
  dispatch(MlNumbers(), c.input(0).dtype(), [&]<typename T>() {
    map_unary<T, T>(
        c, [threshold](T x) { return T(static_cast<double>(x) > threshold); });
  });
}

// Keys and values of LabelEncoder come as lists of a type, or as tensors.
Tensor list(const Preparation& p, std::string_view name) {
  const std::string prefix(name);
  if (const auto t = p.attribute_tensor(prefix + "_tensor")) return *t;
  if (p.has_attribute(prefix + "_strings")) {
    return list_of<String>(p, p.attribute_strings(prefix + "_strings"));
  }
  if (p.has_attribute(prefix + "_int64s")) {
    return list_of<std::int64_t>(p, p.attribute_ints(prefix + "_int64s"));
  }
  if (p.has_attribute(prefix + "_floats")) {
    return list_of<float>(p, p.attribute_floats(prefix + "_floats"));
  }
  fail("attribute '" + prefix + "_*' is missing");
}

// What unknown keys map to, in the type of the values.
template <typename T>
T fallback(const Preparation& p, DataType type) {
  if (const auto t = p.attribute_tensor("default_tensor")) {
    if (t->dtype() != type || t->count() == 0) {
      p.wrong_attribute(
          "default_tensor",
          "an element of " + std::string(ir::data_type_name(type)));
    }
    return elements<T>(*t)[0];
  }
  if constexpr (std::is_same_v<T, String>) {
    return p.has_attribute("default_string")
               ? String(p.attribute_string("default_string"))
               : "_Unused";
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(p.attribute_float("default_float", -0.0));
  } else {
    return static_cast<T>(p.attribute_int("default_int64", -1));
  }
}

// All NaN are one key, and so are both zeros.
template <typename T>
struct KeyEqual {
  bool operator()(const T& a, const T& b) const {
    return a == b || (a != a && b != b);
  }
};
template <typename T>
struct KeyHash {
  std::size_t operator()(const T& v) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::isnan(v) ? 1 : std::hash<T>()(v);
    } else {
      return std::hash<T>()(v);
    }
  }
};

// What keys map to.
template <typename K, typename V>
class Labels {
 public:
  Labels(const Preparation& p, const Tensor& keys, const Tensor& values)
      : from_(keys.dtype()),
        to_(values.dtype()),
        otherwise_(fallback<V>(p, values.dtype())) {
    if (keys.count() != values.count()) {
      fail("the keys do not fit the values", keys.text(), values.text());
    }
    for (std::int64_t i = 0; i < keys.count(); ++i) {
      // The first of equal keys.
      labels_.try_emplace(elements<K>(keys)[i], elements<V>(values)[i]);
    }
  }

  void operator()(Call& c) const {
    const Tensor x = c.expect_type(0, from_);
    V* to = mutable_elements<V>(c.output(0, to_, x.dims()));
    Ticker tick(c.threads());
    for (std::int64_t i = 0; i < x.count(); ++i) {
      tick(8);
      const auto it = labels_.find(elements<K>(x)[i]);
      to[i] = it == labels_.end() ? otherwise_ : it->second;
    }
  }

 private:
  DataType from_, to_;
  V otherwise_;
  std::unordered_map<K, V, KeyHash<K>, KeyEqual<K>> labels_;
};

// Before opset 2 there was one list, of strings, for integers as well.
Op classes(const Preparation& p) {
  const Tensor names = list(p, "classes");
  Ints numbers(index_of(names.count()));
  std::iota(numbers.begin(), numbers.end(), 0);
  const Tensor places = list_of<std::int64_t>(p, numbers);
  return [to_place = Labels<String, std::int64_t>(p, names, places),
          to_name = Labels<std::int64_t, String>(p, places, names)](Call& c) {
    c.input(0).is_string() ? to_place(c) : to_name(c);
  };
}

// Calls f for the type of a label.
template <typename F>
void dispatch_label(DataType type, F f) {
  if (type == DataType::kString) return f.template operator()<String>();
  dispatch(Types<float, double, std::int16_t, std::int32_t, std::int64_t>(),
           type, f);
}

Op label_encoder(const Preparation& p) {
  if (p.has_attribute("classes_strings")) return classes(p);
  const Tensor keys = list(p, "keys"), values = list(p, "values");
  std::optional<Op> op;
  dispatch_label(keys.dtype(), [&]<typename K>() {
    dispatch_label(values.dtype(), [&]<typename V>() {
      op.emplace(Labels<K, V>(p, keys, values));
    });
  });
  return *std::move(op);
}

// Attributes with one number for each feature, or one for all.
float of_feature(const std::vector<float>& values, std::int64_t feature) {
  return values.size() == 1 ? values[0] : values[index_of(feature)];
}

void need_features(const Call& c, std::size_t count, std::int64_t features,
                   std::string_view name) {
  if (count == 1 || static_cast<std::int64_t>(count) == features) return;
  c.wrong_attribute(name, "1 or " + std::to_string(features) + " numbers");
}

// The size of the last axis of input `i`.
std::int64_t last_axis(const Call& c, std::size_t i = 0) {
  return c.expect_min_rank(i, 1).dims().back();
}

void scaler(Call& c, const std::vector<float>& offset,
            const std::vector<float>& scale) {
  const Tensor x = c.input(0);
  const std::int64_t features = last_axis(c);
  need_features(c, offset.size(), features, "offset");
  need_features(c, scale.size(), features, "scale");
  float* to = c.output(0, DataType::kFloat, x.dims()).mutable_data<float>();
  dispatch(MlNumbers(), x.dtype(), [&]<typename T>() {
    for_each_element(c, x.count(), [&](std::int64_t i) {
      const std::int64_t f = i % features;
      to[i] = (static_cast<float>(x.data<T>()[i]) - of_feature(offset, f)) *
              of_feature(scale, f);
    });
  });
}

enum class RowNorm : std::uint8_t { kMax, kL1, kL2 };

RowNorm norm_of(const Preparation& p) {
  return choice_of<RowNorm>(p, "norm", {"MAX", "L1", "L2"});
}

void normalizer(Call& c, RowNorm norm) {
  const Tensor x = c.input(0);
  const std::int64_t features = last_axis(c);
  float* to = c.output(0, DataType::kFloat, x.dims()).mutable_data<float>();
  const std::int64_t rows = x.count() == 0 ? 0 : x.count() / features;
  dispatch(MlNumbers(), x.dtype(), [&]<typename T>() {
    Ticker tick(c.threads());
    for (std::int64_t r = 0; r < rows; ++r) {
      tick(features);
      const T* row = x.data<T>() + r * features;
      double size = norm == RowNorm::kMax ? static_cast<double>(row[0]) : 0;
      for (std::int64_t i = 0; i < features; ++i) {
        const auto v = static_cast<double>(row[i]);
        if (norm == RowNorm::kMax) size = std::max(size, v);
        if (norm == RowNorm::kL1) size += std::abs(v);
        if (norm == RowNorm::kL2) size += v * v;
      }
      if (norm == RowNorm::kL2) size = std::sqrt(size);
      if (size == 0) size = 1;
      for (std::int64_t i = 0; i < features; ++i) {
        to[r * features + i] =
            static_cast<float>(static_cast<double>(row[i]) / size);
      }
    }
  });
}

template <typename T>
void impute(Call& c, const Tensor& x, const std::vector<T>& values, T gap) {
  const std::int64_t features = last_axis(c);
  need_features(c, values.size(), features,
                std::is_floating_point_v<T> ? "imputed_value_floats"
                                            : "imputed_value_int64s");
  T* to = c.output(0, x.dtype(), x.dims()).template mutable_data<T>();
  for_each_element(c, x.count(), [&](std::int64_t i) {
    const T v = x.data<T>()[i];
    const std::int64_t f = values.size() == 1 ? 0 : i % features;
    to[i] = KeyEqual<T>()(v, gap) ? values[index_of(f)] : v;
  });
}

void imputer(Call& c, const std::vector<float>& floats, const Ints& ints,
             float float_gap, std::int64_t int_gap) {
  const Tensor x = c.input(0);
  dispatch(MlNumbers(), x.dtype(), [&]<typename T>() {
    if constexpr (std::is_floating_point_v<T>) {
      const std::vector<T> values(floats.begin(), floats.end());
      impute<T>(c, x, values, static_cast<T>(float_gap));
    } else {
      const std::vector<T> values(ints.begin(), ints.end());
      impute<T>(c, x, values, static_cast<T>(int_gap));
    }
  });
}

struct OneHotEncoder {
  explicit OneHotEncoder(const Preparation& p);
  void operator()(Call& c) const;

  std::unordered_map<std::string, std::int64_t> words;
  std::unordered_map<std::int64_t, std::int64_t> numbers;
  std::int64_t word_count, number_count;  // as listed, maybe twice
  bool may_miss;
};

OneHotEncoder::OneHotEncoder(const Preparation& p)
    : may_miss(!p.has_attribute("zeros") || p.attribute_flag("zeros")) {
  const auto given_words = p.attribute_strings("cats_strings");
  for (std::size_t i = 0; i < given_words.size(); ++i) {
    words[given_words[i]] = static_cast<std::int64_t>(i);
  }
  const Ints given = p.attribute_ints("cats_int64s");
  for (std::size_t i = 0; i < given.size(); ++i) {
    numbers[given[i]] = static_cast<std::int64_t>(i);
  }
  word_count = std::ssize(given_words);
  number_count = std::ssize(given);
}

void OneHotEncoder::operator()(Call& c) const {
  const Tensor x = c.input(0);
  const std::int64_t width = x.is_string() ? word_count : number_count;
  Dims dims(x.dims());
  dims.push_back(width);
  Tensor& y = c.output(0, DataType::kFloat, dims);
  float* to = y.mutable_data<float>();
  fill(c, to, y.count(), 0.0f);
  Ticker tick(c.threads());
  const auto miss = [&](std::string found) {
    if (!may_miss) c.wrong_value(0, "a category that the op lists", found);
  };
  const auto mark = [&](std::int64_t i, const auto& map, const auto& key) {
    tick(8);
    const auto it = map.find(key);
    if (it != map.end()) {
      to[i * width + it->second] = 1;
    } else if constexpr (std::is_arithmetic_v<std::decay_t<decltype(key)>>) {
      miss(std::to_string(key));
    } else {
      miss("'" + printable(key) + "'");
    }
  };
  if (x.is_string()) {
    for (std::int64_t i = 0; i < x.count(); ++i) {
      mark(i, words, std::string(x.strings()[index_of(i)]));
    }
    return;
  }
  dispatch(MlNumbers(), x.dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const T v = x.data<T>()[i];
      if constexpr (std::is_floating_point_v<T>) {
        // No category lies beyond the range of integers.
        if (!(std::abs(v) < T(0x1p62))) {
          miss(std::to_string(v));
          continue;
        }
      }
      mark(i, numbers, static_cast<std::int64_t>(v));
    }
  });
}

// `said`: the widths that inputs are cut to, or filled with zeros.
void feature_vectorizer(Call& c, const std::optional<Ints>& said) {
  std::int64_t rows = -1;
  Ints widths, kept;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const Tensor& x = c.expect_rank(i, 1, 2);
    const std::int64_t count = x.rank() == 1 ? 1 : x.dim(0);
    if (rows >= 0 && count != rows) {
      c.wrong_shape(i, std::to_string(rows) + " rows");
    }
    rows = count;
    widths.push_back(last_axis(c, i));
    kept.push_back(x.count() == 0 ? 0 : widths.back());
  }
  if (said) {
    kept = *said;
    const bool fits = kept.size() == widths.size() &&
                      std::ranges::all_of(kept, [](std::int64_t n) {
                        return n >= 0 && n < std::int64_t{1} << 40;
                      });
    if (!fits) {
      c.wrong_attribute("inputdimensions",
                        std::to_string(widths.size()) + " sizes below 2^40");
    }
  }
  const auto width = std::accumulate(kept.begin(), kept.end(), std::int64_t{0});
  const std::int64_t dims[] = {std::max<std::int64_t>(rows, 0), width};
  float* to = c.output(0, DataType::kFloat, dims).mutable_data<float>();
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const Tensor x = c.input(i);
    const std::int64_t own = kept[i], all = widths[i];
    dispatch(MlNumbers(), x.dtype(), [&]<typename T>() {
      for_each_element(c, rows * own, [&](std::int64_t k) {
        const std::int64_t row = k / own, at = k % own;
        to[row * width + begin + at] =
            at < all ? static_cast<float>(x.data<T>()[row * all + at]) : 0;
      });
    });
    begin += own;
  }
}

// Scores of [rows, targets] by weights of [targets, features].
Tensor linear_scores(Call& c, std::int64_t targets,
                     const std::vector<float>& weights,
                     const std::vector<float>& shifts) {
  const Tensor in = in_type(c, c.expect_rank(0, 1, 2), DataType::kFloat);
  const std::int64_t rows = in.rank() == 1 ? 1 : in.dim(0);
  const std::int64_t features = last_axis(c);
  const auto known = std::ssize(weights);
  if (targets <= 0 || known % targets != 0 || known / targets != features) {
    c.wrong_attribute("coefficients", std::to_string(features) +
                                          " numbers for each of " +
                                          std::to_string(targets) + " targets");
  }
  if (!shifts.empty() && std::ssize(shifts) != targets) {
    c.wrong_attribute("intercepts", std::to_string(targets) + " numbers");
  }
  const std::int64_t dims[] = {rows, targets};
  Tensor out = c.allocate(DataType::kFloat, dims);
  float* to = out.mutable_data<float>();
  fill(c, to, out.count(), 0.0f);
  if (out.count() != 0 && features != 0) {
    gemm<float>(c.threads(), {.m = rows,
                              .n = targets,
                              .k = features,
                              .a = {in.data<float>(), features},
                              .b = {weights.data(), features, true},
                              .c = to,
                              .ldc = targets});
  }
  for (std::int64_t i = 0; !shifts.empty() && i < out.count(); ++i) {
    to[i] += shifts[index_of(i % targets)];
  }
  return out;
}

void transform_rows(const Call& c, PostTransform how, float* at,
                    std::int64_t rows, std::int64_t n) {
  std::vector<double> row(index_of(n));
  Ticker tick(c.threads());
  for (std::int64_t r = 0; r < rows; ++r, at += n) {
    tick(n);
    std::copy_n(at, n, row.begin());
    transform_row(how, row.data(), n);
    std::ranges::transform(row, at,
                           [](double v) { return static_cast<float>(v); });
  }
}

void linear_regressor(Call& c, std::int64_t targets,
                      const std::vector<float>& weights,
                      const std::vector<float>& shifts, PostTransform after) {
  Tensor y = linear_scores(c, targets, weights, shifts);
  transform_rows(c, after, y.mutable_data<float>(), y.dim(0), targets);
  c.set_output(0, std::move(y));
}

}  // namespace

const KernelRows kMlRows = {
    {kMlDomain, "ArrayFeatureExtractor", array_feature_extractor},
    {kMlDomain, "Binarizer", keeping<binarizer, float_attribute<"threshold">>},
    {kMlDomain, "FeatureVectorizer",
     keeping<feature_vectorizer, written_ints<"inputdimensions">>},
    {kMlDomain, "Imputer",
     keeping<imputer, floats_attribute<"imputed_value_floats">,
             ints_attribute<"imputed_value_int64s">,
             float_attribute<"replaced_value_float">,
             int_attribute<"replaced_value_int64">>},
    {kMlDomain, "LabelEncoder", label_encoder},
    {kMlDomain, "LinearRegressor",
     keeping<linear_regressor, int_attribute<"targets", 1>,
             floats_attribute<"coefficients">, floats_attribute<"intercepts">,
             post_transform>},
    {kMlDomain, "Normalizer", keeping<normalizer, norm_of>},
    {kMlDomain, "OneHotEncoder", prepared<OneHotEncoder>},
    {kMlDomain, "Scaler",
     keeping<scaler, floats_attribute<"offset">, floats_attribute<"scale">>},
    {kMlDomain, "TreeEnsemble", tree_ensemble, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
