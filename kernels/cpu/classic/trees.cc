#include "kernels/cpu/classic/trees.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/keeping.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

enum Compare : std::uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };
enum Aggregate : std::int64_t { kAverage, kSum, kMin, kMax };

struct Branch {
  std::int64_t to = 0;
  bool is_leaf = false;
};

struct Node {
  std::uint8_t mode = kLeq;
  bool nan_is_true = false;
  std::int64_t feature = 0;
  double split = 0;
  std::size_t members_begin = 0, members_end = 0;
  Branch yes, no;
};

struct Ensemble {
  std::vector<Node> nodes;
  std::vector<Branch> roots;
  std::vector<double> members;
  std::vector<double> weights;
  Ints targets;
  std::int64_t target_count = 0;
  std::int64_t last_feature = -1;  // of all that the nodes look at

  bool holds(const Node& n, double x) const {
    if (std::isnan(x)) return n.nan_is_true || n.mode == kNeq;
    switch (n.mode) {
      case kLeq:
        return x <= n.split;
      case kLt:
        return x < n.split;
      case kGte:
        return x >= n.split;
      case kGt:
        return x > n.split;
      case kEq:
        return x == n.split;
      case kNeq:
        return x != n.split;
      default:
        return std::find(members.begin() + std::ptrdiff_t(n.members_begin),
                         members.begin() + std::ptrdiff_t(n.members_end),
                         x) != members.begin() + std::ptrdiff_t(n.members_end);
    }
  }

  // The leaf where a row ends; a path longer than the number of nodes is a
  // cycle.
  template <typename T>
  std::size_t leaf(Branch at, const T* row) const {
    for (std::size_t steps = 0; !at.is_leaf; ++steps) {
      if (steps > nodes.size()) {
        fail("the nodes of a tree form a cycle", "a path to a leaf",
             std::to_string(steps) + " steps through " +
                 std::to_string(nodes.size()) + " nodes");
      }
      const Node& n = nodes[index_of(at.to)];
      at = holds(n, static_cast<double>(row[n.feature])) ? n.yes : n.no;
    }
    return index_of(at.to);
  }
};

// A tensor attribute of numbers of any type.
std::vector<double> numbers(const Preparation& p, std::string_view name) {
  const auto t = p.attribute_tensor(name);
  if (!t) return {};
  const Tensor wide = runtime::widened(*t, p.run());
  std::vector<double> all(index_of(wide.count()));
  dispatch(NumbersAndBool(), wide.dtype(), [&]<typename T>() {
    std::ranges::copy(wide.values<T>(), all.begin());
  });
  return all;
}

Branch branch(const Ints& to, const Ints& leaves, std::size_t i,
              std::size_t nodes, std::size_t leaf_count) {
  const bool is_leaf = leaves[i] != 0;
  const std::size_t most = is_leaf ? leaf_count : nodes;
  if (to[i] < 0 || index_of(to[i]) >= most) {
    fail("a branch of a tree leads nowhere", "below " + std::to_string(most),
         std::to_string(to[i]));
  }
  return {to[i], is_leaf};
}

// Members of the nodes that test membership, in their order, each list ended by
// NaN.
void read_members(const Preparation& p, Ensemble& e) {
  e.members = numbers(p, "membership_values");
  std::size_t at = 0;
  for (Node& n : e.nodes) {
    if (n.mode != kMember) continue;
    n.members_begin = at;
    while (at < e.members.size() && !std::isnan(e.members[at])) ++at;
    n.members_end = at;
    if (at == e.members.size() && n.members_begin == at) {
      p.wrong_attribute("membership_values",
                        "members for each node that tests membership");
    }
    ++at;
  }
}

Ensemble read(const Preparation& p) {
  Ensemble e;
  const Ints feature = p.attribute_ints("nodes_featureids");
  const Ints yes = p.attribute_ints("nodes_truenodeids");
  const Ints no = p.attribute_ints("nodes_falsenodeids");
  const Ints yes_leaf = p.attribute_ints("nodes_trueleafs");
  const Ints no_leaf = p.attribute_ints("nodes_falseleafs");
  const Ints missing = p.attribute_ints("nodes_missing_value_tracks_true");
  const auto modes = numbers(p, "nodes_modes");
  const auto splits = numbers(p, "nodes_splits");
  e.weights = numbers(p, "leaf_weights");
  e.targets = p.attribute_ints("leaf_targetids");
  e.target_count = p.attribute_int("n_targets");
  const std::size_t n = feature.size();
  if (yes.size() != n || no.size() != n || yes_leaf.size() != n ||
      no_leaf.size() != n || modes.size() != n || splits.size() != n ||
      (!missing.empty() && missing.size() != n)) {
    fail("the attributes 'nodes_*' have different lengths",
         std::to_string(n) + ", as 'nodes_featureids' has", "others");
  }
  if (e.weights.size() != e.targets.size()) {
    fail("the attributes of leaves have different lengths",
         std::to_string(e.targets.size()), std::to_string(e.weights.size()));
  }
  for (const std::int64_t t : e.targets) {
    if (t < 0 || t >= e.target_count) {
      fail("a leaf has a target out of range",
           "below " + std::to_string(e.target_count), std::to_string(t));
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (feature[i] < 0 || !(modes[i] <= 6.0) || modes[i] < 0) {
      fail("a node has a feature or mode out of range",
           "a feature from 0, a mode from 0 to 6",
           std::to_string(feature[i]) + ", " + std::to_string(modes[i]));
    }
    e.last_feature = std::max(e.last_feature, feature[i]);
    e.nodes.push_back({.mode = static_cast<std::uint8_t>(modes[i]),
                       .nan_is_true = !missing.empty() && missing[i] != 0,
                       .feature = feature[i],
                       .split = splits[i],
                       .yes = branch(yes, yes_leaf, i, n, e.weights.size()),
                       .no = branch(no, no_leaf, i, n, e.weights.size())});
  }
  for (const std::int64_t root : p.attribute_ints("tree_roots")) {
    if (root < 0 || index_of(root) >= n) {
      fail("a root is out of range", "below " + std::to_string(n),
           std::to_string(root));
    }
    e.roots.push_back({root, false});
  }
  read_members(p, e);
  return e;
}

template <typename T>
void predict(const Ensemble& e, const T* row, std::int64_t how,
             std::vector<double>& scores) {
  const double least = static_cast<double>(std::numeric_limits<T>::lowest());
  const double most = static_cast<double>(std::numeric_limits<T>::max());
  std::ranges::fill(scores, how == kMin ? most : how == kMax ? least : 0.0);
  for (const Branch& root : e.roots) {
    const std::size_t leaf = e.leaf(root, row);
    double& score = scores[index_of(e.targets[leaf])];
    const double weight = e.weights[leaf];
    if (how == kMin) {
      score = std::min(score, weight);
    } else if (how == kMax) {
      score = std::max(score, weight);
    } else {
      score += weight;
    }
  }
  if (how != kAverage) return;
  for (double& s : scores) s /= static_cast<double>(e.roots.size());
}

// The inverse of the error function (Giles 2010), refined by Newton's method.
double inverse_erf(double x) {
  if (std::abs(x) == 1) return x * std::numeric_limits<double>::infinity();
  const double w = -std::log((1 - x) * (1 + x));
  double p;
  if (w < 5) {
    p = 2.81022636e-08;
    for (const double k :
         {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
          -0.00125372503, -0.00417768164, 0.246640727, 1.50140941}) {
      p = p * (w - 2.5) + k;
    }
  } else {
    p = -0.000200214257;
    for (const double k :
         {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
          -0.0076224613, 0.00943887047, 1.00167406, 2.83297682}) {
      p = p * (std::sqrt(w) - 3) + k;
    }
  }
  double y = p * x;
  constexpr double kSlope = 1.1283791670955126;  // 2 / sqrt(pi)
  for (int i = 0; i < 2; ++i) {
    y -= (std::erf(y) - x) / (kSlope * std::exp(-y * y));
  }
  return y;
}

// `how` rows are made of leaves, and what becomes of them `after`.
void run_trees(Call& c, const Ensemble& e, std::int64_t how,
               PostTransform after) {
  const Tensor x = c.expect_rank(0, 2);
  const std::int64_t features = x.dim(1);
  if (e.last_feature >= features) {
    fail("a node has a feature out of range",
         "below " + std::to_string(features), std::to_string(e.last_feature));
  }
  const std::int64_t dims[] = {x.dim(0), e.target_count};
  Tensor& y = c.output(0, x.dtype(), dims);
  if (y.count() == 0) return;
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    T* to = y.mutable_data<T>();
    c.threads().for_each(
        x.dim(0), 64, [&](std::int64_t begin, std::int64_t end) {
          std::vector<double> scores(index_of(e.target_count));
          for (std::int64_t r = begin; r < end; ++r) {
            predict(e, x.data<T>() + r * features, how, scores);
            transform_row(after, scores.data(), e.target_count);
            std::transform(scores.begin(), scores.end(),
                           to + r * e.target_count,
                           [](double s) { return static_cast<T>(s); });
          }
        });
  });
}

}  // namespace

PostTransform post_transform(const Preparation& p) {
  return choice_of<PostTransform>(
      p, "post_transform",
      {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT", ""});
}

void transform_row(PostTransform how, double* row, std::int64_t n) {
  if (how == PostTransform::kNone || n == 0) return;
  if (how == PostTransform::kLogistic || how == PostTransform::kProbit) {
    for (std::int64_t i = 0; i < n; ++i) {
      row[i] = how == PostTransform::kLogistic
                   ? 1 / (1 + std::exp(-row[i]))
                   : std::sqrt(2.0) * inverse_erf(2 * row[i] - 1);
    }
    return;
  }
  const bool keeps_zero = how == PostTransform::kSoftmaxZero;
  const double most = *std::max_element(row, row + n);
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool stays = keeps_zero && std::abs(row[i]) <= 1e-7;
    row[i] = stays ? 0 : std::exp(row[i] - most);
    sum += row[i];
  }
  for (std::int64_t i = 0; sum != 0 && i < n; ++i) row[i] /= sum;
}

Op tree_ensemble(const Preparation& p) {
  const std::int64_t how = p.attribute_int("aggregate_function");
  const std::int64_t after = p.attribute_int("post_transform");
  if (how < kAverage || how > kMax) {
    p.wrong_attribute("aggregate_function", "0 to 3");
  }
  if (after < 0 || after > 4) p.wrong_attribute("post_transform", "0 to 4");
  return [e = read(p), how, transform = static_cast<PostTransform>(after)](
             Call& c) { run_trees(c, e, how, transform); };
}

}  // namespace ruleengine::kernels
