// Windows over images that are wider than vectors, panels and blocks.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/text/parse.h"
#include "kernels/cpu.h"
#include "runtime/executor.h"

namespace ruleengine::kernels {
namespace {

using runtime::Executor;

struct ImageCase {
  std::string op = "Conv";
  std::int64_t groups = 1, in = 1, out = 1;  // in and out of a group
  std::int64_t height = 5, width = 100, kernel = 3, wide = 3;
  std::int64_t stride = 1, dilation = 1, pad = 0;

  std::int64_t channels() const { return groups * in; }
  std::int64_t rows() const { return windows(height, kernel); }
  std::int64_t columns() const { return windows(width, wide); }
  std::int64_t windows(std::int64_t size, std::int64_t taps) const {
    return (size + 2 * pad - (taps - 1) * dilation - 1) / stride + 1;
  }
  std::string pair(std::int64_t a, std::int64_t b) const {
    return "[" + std::to_string(a) + "," + std::to_string(b) + "]";
  }
  std::string text() const {
    const auto four = [](const std::vector<std::int64_t>& dims) {
      std::string all;
      for (const std::int64_t d : dims) {
        all += (all.empty() ? "" : ",") + std::to_string(d);
      }
      return "float[" + all + "] ";
    };
    const std::string p = std::to_string(pad);
    std::string attributes = "kernel_shape = " + pair(kernel, wide) +
                             ", strides = " + pair(stride, stride) +
                             ", dilations = " + pair(dilation, dilation) +
                             ", pads = [" + p + "," + p + "," + p + "," + p +
                             "]";
    if (op == "Conv") attributes += ", group = " + std::to_string(groups);
    return "<ir_version: 10, opset_import: [\"\": 22]> g (" +
           four({1, channels(), height, width}) + "x, " +
           four({groups * out, in, kernel, wide}) +
           "w) => (float[1] y) { y = " + op + " <" + attributes + "> (x" +
           (op == "Conv" ? ", w" : "") + ") }";
  }

  // The result for the window of one channel.
  double expected(const std::vector<float>& x, const std::vector<float>& w,
                  std::int64_t channel, std::int64_t row,
                  std::int64_t column) const {
    const bool is_conv = op == "Conv";
    double sum = 0, most = -INFINITY, count = 0;
    for (std::int64_t c = 0; c < (is_conv ? in : 1); ++c) {
      const std::int64_t from = is_conv ? channel / out * in + c : channel;
      for (std::int64_t i = 0; i < kernel; ++i) {
        for (std::int64_t j = 0; j < wide; ++j) {
          const std::int64_t y = row * stride - pad + i * dilation;
          const std::int64_t z = column * stride - pad + j * dilation;
          if (y < 0 || y >= height || z < 0 || z >= width) continue;
          const double v = x[std::size_t((from * height + y) * width + z)];
          const std::int64_t at = ((channel * in + c) * kernel + i) * wide + j;
          sum += is_conv ? v * w[std::size_t(at)] : v;
          most = std::max(most, v);
          ++count;
        }
      }
    }
    return op == "MaxPool" ? most : op == "AveragePool" ? sum / count : sum;
  }
};

runtime::Tensor tensor_of(runtime::Shape dims,
                          const std::vector<float>& values) {
  auto block = std::make_shared<std::vector<float>>(values);
  return {runtime::DataType::kFloat, dims,
          std::shared_ptr<const std::byte>(
              block, reinterpret_cast<const std::byte*>(block->data()))};
}

void check_image(const ImageCase& s) {
  CAPTURE(s.text());
  std::mt19937 random(3);
  const auto numbers = [&](std::int64_t n) {
    std::vector<float> out;
    std::uniform_real_distribution<float> number(-1, 1);
    while (std::ssize(out) < n) out.push_back(number(random));
    return out;
  };
  const auto x = numbers(s.channels() * s.height * s.width);
  const auto w = numbers(s.groups * s.out * s.in * s.kernel * s.wide);
  const auto model = text::parse_model(s.text());
  REQUIRE(model.ok());
  for (const int threads : {1, 3}) {
    runtime::ExecutorOptions how;
    how.backends = {&cpu()};
    how.threads = threads;
    auto made = Executor::create(**model, std::move(how));
    REQUIRE(made.ok());
    const auto found = (*made)->run(
        {{"x", tensor_of(runtime::Dims{1, s.channels(), s.height, s.width}, x)},
         {"w",
          tensor_of(runtime::Dims{s.groups * s.out, s.in, s.kernel, s.wide},
                    w)}});
    REQUIRE(found.ok());
    const auto values = (*found)[0].second.tensor().values<float>();
    const std::int64_t channels =
        s.op == "Conv" ? s.groups * s.out : s.channels();
    REQUIRE(std::ssize(values) == channels * s.rows() * s.columns());
    std::int64_t wrong = 0, at = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < s.rows(); ++i) {
        for (std::int64_t j = 0; j < s.columns(); ++j, ++at) {
          const double off =
              values[std::size_t(at)] - s.expected(x, w, c, i, j);
          wrong += !(std::abs(off) < 1e-4);
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("convolutions and pooling of wide images equal sums by hand") {
  for (const std::int64_t stride : {1, 2, 3}) {
    for (const std::int64_t dilation : {1, 2}) {
      for (const std::int64_t width : {7, 40, 100, 150}) {
        ImageCase s{
            .width = width, .stride = stride, .dilation = dilation, .pad = 1};
        if (dilation == 2) s.wide = 2;
        for (const char* op : {"MaxPool", "AveragePool"}) {
          s.op = op;
          s.groups = 10;
          check_image(s);
        }
        s.op = "Conv";
        check_image(s);  // each channel with its own kernel
        s.groups = 2;
        s.in = 5;
        s.out = 35;
        check_image(s);
        s.kernel = s.wide = 1;
        s.in = 3;
        check_image(s);
      }
    }
  }
}

TEST_CASE("convolutions of each channel equal sums by hand") {
  // Kernels of more taps than are summed at once, narrow images, several bands,
  // and padding and dilations that are larger than the image.
  for (const std::int64_t kernel : {1, 3, 5, 7}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t width : {1, 7, 14, 67}) {
        check_image({.groups = 9,
                     .out = kernel == 3 ? 2 : 1,
                     .height = width == 67 ? 200 : width,
                     .width = width,
                     .kernel = kernel,
                     .wide = kernel,
                     .stride = stride,
                     .pad = kernel / 2});
      }
    }
  }
  ImageCase far{.groups = 5, .height = 6, .width = 9, .stride = 3, .pad = 300};
  for (const std::int64_t dilation : {4, 100, 301}) {
    far.dilation = dilation;
    check_image(far);
  }
  check_image({.groups = 3,
               .height = 1,
               .width = 20000,
               .kernel = 1,
               .wide = 9,
               .stride = 2});
  check_image({.groups = 3,
               .height = 20000,
               .width = 1,
               .kernel = 9,
               .wide = 1,
               .stride = 2});
}

}  // namespace
}  // namespace ruleengine::kernels
