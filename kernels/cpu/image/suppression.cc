#include <algorithm>

#include "kernels/cpu/families.h"
#include "kernels/strided.h"

namespace ruleengine::kernels {
namespace {

struct Box {
  float left, top, right, bottom;
};

// Corners may be any two opposite ones.
Box box_of(const float* p, bool is_center) {
  if (is_center) {
    const float half_width = p[2] / 2, half_height = p[3] / 2;
    return {p[0] - half_width, p[1] - half_height, p[0] + half_width,
            p[1] + half_height};
  }
  return {std::min(p[1], p[3]), std::min(p[0], p[2]), std::max(p[1], p[3]),
          std::max(p[0], p[2])};
}

// Whether the intersection is more than `threshold` of the union.
bool overlaps(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return false;
  const float area_a = (a.right - a.left) * (a.bottom - a.top);
  const float area_b = (b.right - b.left) * (b.bottom - b.top);
  const float common = width * height;
  if (area_a <= 0 || area_b <= 0) return false;
  return common / (area_a + area_b - common) > threshold;
}

struct Thresholds {
  std::int64_t most = 0;
  float overlap = 0, score = 0;
  bool has_score = false, is_center = false;
};

Thresholds thresholds_of(const Call& c, bool is_center) {
  Thresholds out;
  out.most = c.has_input(2) ? c.scalar_int(2) : 0;
  out.overlap = c.has_input(3) ? static_cast<float>(c.scalar_float(3)) : 0.0f;
  out.has_score = c.has_input(4);
  if (out.has_score) out.score = static_cast<float>(c.scalar_float(4));
  out.is_center = is_center;
  if (!(out.overlap >= 0 && out.overlap <= 1)) {
    c.wrong_value(3, "0 to 1", std::to_string(out.overlap));
  }
  return out;
}

// The boxes of one class that stay, best first.
Ints kept(const Call& c, const float* boxes, const float* scores,
          std::int64_t count, const Thresholds& options) {
  Ticker tick(c.threads());
  Ints order;
  for (std::int64_t i = 0; i < count; ++i) {
    tick();
    // A NaN never counts as a score.
    if (options.has_score ? scores[i] > options.score
                          : scores[i] == scores[i]) {
      order.push_back(i);
    }
  }
  std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
    tick();
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  Ints out;
  std::vector<Box> taken;
  for (const std::int64_t i : order) {
    if (std::ssize(out) >= options.most) break;
    const Box box = box_of(boxes + 4 * i, options.is_center);
    const bool hidden = std::ranges::any_of(taken, [&](const Box& other) {
      tick();
      return overlaps(other, box, options.overlap);
    });
    if (hidden) continue;
    out.push_back(i);
    taken.push_back(box);
  }
  return out;
}

}  // namespace

void non_max_suppression(Call& c, bool is_center) {
  const Tensor& boxes = c.expect_shape(0, Dims{-1, -1, 4}, DataType::kFloat);
  const Tensor& scores =
      c.expect_shape(1, Dims{boxes.dim(0), -1, boxes.dim(1)}, DataType::kFloat);
  const Thresholds options = thresholds_of(c, is_center);
  const std::int64_t count = boxes.dim(1), classes = scores.dim(1);
  const std::int64_t all = scores.count() == 0 ? 0 : boxes.dim(0) * classes;
  std::vector<Ints> found(index_of(all));
  c.threads().for_each_index(all, 1, [&](std::int64_t i) {
    found[index_of(i)] = kept(c, boxes.data<float>() + i / classes * count * 4,
                              scores.data<float>() + i * count, count, options);
  });
  std::int64_t total = 0;
  for (const Ints& each : found) total += std::ssize(each);
  const Dims dims{total, 3};
  Tensor& out = c.output(0, DataType::kInt64, dims);
  auto* to = out.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < all; ++i) {
    for (const std::int64_t box : found[index_of(i)]) {
      *to++ = i / classes;
      *to++ = i % classes;
      *to++ = box;
    }
  }
}

}  // namespace ruleengine::kernels
