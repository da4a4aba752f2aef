#include "kernels/cpu/convolution/windows.h"

#include "kernels/keeping.h"

namespace ruleengine::kernels {
namespace {

// So that products of two numbers of a window fit.
constexpr std::int64_t kMost = std::int64_t{1} << 30;

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return -ceil_div(-a, b);
}

void set_out(Window& w, bool rounds_up) {
  const std::int64_t room = w.room();
  w.out =
      (rounds_up ? ceil_div(room, w.stride) : floor_div(room, w.stride)) + 1;
  // An empty axis may have no window.
  if (room < 0 && (w.in > 0 || w.out != 0)) {
    fail("a window is larger than the padded input",
         std::to_string(w.in + w.before + w.after) + " at most",
         std::to_string(w.extent()));
  }
  // No window begins in the padding at the end.
  if (rounds_up && (w.out - 1) * w.stride >= w.in + w.before) --w.out;
}

void set_same(Window& w, bool more_at_end) {
  w.out = ceil_div(w.in, w.stride);
  split_padding(w, w.span() - w.in, more_at_end);
}

}  // namespace

WindowInts::WindowInts(const Preparation& p, std::string_view name,
                       std::int64_t least)
    : name_(name), least_(least), written_(p.attribute_ints(name)) {
  for (const std::int64_t each : written_) {
    if (each < least || each > kMost) {
      p.wrong_attribute(name, std::to_string(least) + " to 2^30",
                        std::to_string(each));
    }
  }
}

Ints WindowInts::of(const runtime::NodeContext& node, std::size_t count) const {
  if (written_.empty()) return Ints(count, least_);
  if (written_.size() != count) {
    node.wrong_attribute(name_, std::to_string(count) + " numbers");
  }
  return written_;
}

WindowRule::WindowRule(const Preparation& p)
    : kernel(p.attribute_ints("kernel_shape")),
      auto_pad(choice_of<AutoPad>(
          p, "auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", ""})),
      rounds_up(p.attribute_flag("ceil_mode")),
      strides(p, "strides", 1),
      dilations(p, "dilations", 1),
      pads(auto_pad == AutoPad::kNone ? WindowInts(p, "pads", 0)
                                      : WindowInts(0)) {}

Windows plain_windows(Call& c, const WindowRule& rule, Shape spatial,
                      const Ints& kernel) {
  const std::size_t rank = spatial.size();
  runtime::count_of(spatial);  // fails where it does not fit
  if (kernel.size() != rank) {
    fail("wrong number of sizes of the kernel",
         std::to_string(rank) + ", one for each axis of the input",
         std::to_string(kernel.size()));
  }
  const Ints strides = rule.strides.of(c, rank);
  const Ints dilations = rule.dilations.of(c, rank);
  const Ints pads = rule.pads.of(c, 2 * rank);
  Windows all(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    if (kernel[i] < 1 || kernel[i] > kMost) {
      fail("a size of the kernel is out of range", "at least 1",
           std::to_string(kernel[i]));
    }
    all[i] = {.in = spatial[i],
              .kernel = kernel[i],
              .stride = strides[i],
              .dilation = dilations[i],
              .before = pads[i],
              .after = pads[rank + i]};
    if (all[i].in > kMost * 4) {
      c.wrong_shape(0, "axes of " + std::to_string(kMost * 4) + " at most");
    }
  }
  return all;
}

void split_padding(Window& w, std::int64_t total, bool more_at_end) {
  total = std::max<std::int64_t>(0, total);
  const std::int64_t less = total / 2, more = total - less;
  w.before = more_at_end ? less : more;
  w.after = more_at_end ? more : less;
}

Windows windows_of(Call& c, const WindowRule& rule, Shape dims,
                   const Ints& kernel) {
  c.expect_min_rank(0, 2);
  Windows all = plain_windows(c, rule, dims.subspan(2), kernel);
  for (Window& w : all) {
    if (rule.is_same()) {
      set_same(w, rule.auto_pad == AutoPad::kSameUpper);
    } else {
      set_out(w, rule.rounds_up && rule.auto_pad == AutoPad::kNone);
    }
  }
  return all;
}

Dims dims_of(std::int64_t batch, std::int64_t channels, const Windows& windows,
             std::int64_t Window::*size) {
  Dims dims{batch, channels};
  for (const Window& w : windows) dims.push_back(w.*size);
  return dims;
}

Ints kernel_of_weights(Call& c, const WindowRule& rule, Shape weights) {
  const Shape sizes = weights.subspan(2);
  runtime::count_of(sizes);  // fails where it does not fit
  const Ints own(sizes.begin(), sizes.end());
  if (!rule.kernel.empty() && rule.kernel != own) {
    c.wrong_attribute("kernel_shape", runtime::shape_text(sizes));
  }
  return own;
}

}  // namespace ruleengine::kernels
