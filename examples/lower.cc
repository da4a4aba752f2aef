// Lowers a model to a list of calls of kernels, and compares what they compute
// with what the library does.
//
//   g++ -std=c++20 lower.cc -o lower $(pkg-config --cflags --libs ruleengine)
//   ./lower bert.onnx batch=2 seq=16
//
// The rules fuse the model first. A node becomes a call where a kernel is there
// for it; a call of a function without one becomes the calls of its body. The
// kernels do all in doubles, and are as short as they can be.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <ruleengine.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Shape = std::vector<std::int64_t>;

struct Array {
  Shape shape;
  std::vector<double> data;
};

std::int64_t size_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

Array zeros(Shape shape) {
  const auto size = static_cast<std::size_t>(size_of(shape));
  return {std::move(shape), std::vector<double>(size)};
}

template <typename T>
std::vector<double> numbers_of(const re::Tensor& tensor) {
  std::vector<T> raw(tensor.bytes().size() / sizeof(T));
  tensor.copy_to<T>(raw).value();
  return {raw.begin(), raw.end()};
}

Array array_of(const re::Tensor& tensor) {
  Array out{{tensor.shape().begin(), tensor.shape().end()}, {}};
  switch (tensor.type()) {
    case re::type_of<float>:
      out.data = numbers_of<float>(tensor);
      break;
    case re::type_of<std::int64_t>:
      out.data = numbers_of<std::int64_t>(tensor);
      break;
    case re::type_of<bool>:
      out.data = numbers_of<std::uint8_t>(
          re::Tensor({"", re::type_of<std::uint8_t>, 0, nullptr,
                      tensor.bytes().data(), tensor.bytes().size()}));
      break;
    default:
      throw std::runtime_error("no constants of type " +
                               std::to_string(tensor.type()));
  }
  return out;
}

// --- kernels -----------------------------------------------------------------

// What a call has: its node, its inputs (NULL: left out) and its outputs.
struct Operands {
  re::Node node;
  std::vector<const Array*> in;
  std::vector<Array*> out;

  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    const auto its = node.attribute(name);
    return its ? its->i() : otherwise;
  }
  std::size_t axis(std::int64_t otherwise) const {
    const std::int64_t given = integer("axis", otherwise);
    return static_cast<std::size_t>(given < 0 ? given + std::ssize(in[0]->shape)
                                              : given);
  }
};
using Kernel = std::function<void(const Operands&)>;

// The shape of both, where sizes of 1 are repeated.
Shape broadcast(const Shape& a, const Shape& b) {
  Shape out = a.size() < b.size() ? b : a;
  const Shape& other = a.size() < b.size() ? a : b;
  for (std::size_t i = 1; i <= other.size(); ++i) {
    auto& size = *(out.end() - static_cast<std::ptrdiff_t>(i));
    const auto its = *(other.end() - static_cast<std::ptrdiff_t>(i));
    size = size == 1 ? its : size;
  }
  return out;
}

// `a` repeated to a shape.
Array expand(const Array& a, const Shape& shape) {
  Array out = zeros(shape);
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    std::size_t rest = i, from = 0, step = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const auto size = static_cast<std::size_t>(shape[axis]);
      const std::size_t at = rest % size;
      rest /= size;
      const std::size_t missing = shape.size() - a.shape.size();
      if (axis < missing) continue;
      const auto its = static_cast<std::size_t>(a.shape[axis - missing]);
      from += its == 1 ? 0 : at * step;
      step *= its;
    }
    out.data[i] = a.data[from];
  }
  return out;
}

template <typename F>
Kernel binary(F compute) {
  return [compute](const Operands& its) {
    const Shape shape = broadcast(its.in[0]->shape, its.in[1]->shape);
    Array a = expand(*its.in[0], shape);
    const Array b = expand(*its.in[1], shape);
    std::ranges::transform(a.data, b.data, a.data.begin(), compute);
    *its.out[0] = std::move(a);
  };
}

template <typename F>
Kernel unary(F compute) {
  return [compute](const Operands& its) {
    Array a = *its.in[0];
    std::ranges::transform(a.data, a.data.begin(), compute);
    *its.out[0] = std::move(a);
  };
}

void where(const Operands& its) {
  const Shape shape = broadcast(its.in[0]->shape,
                                broadcast(its.in[1]->shape, its.in[2]->shape));
  const Array chosen = expand(*its.in[0], shape);
  Array yes = expand(*its.in[1], shape);
  const Array no = expand(*its.in[2], shape);
  for (std::size_t i = 0; i < yes.data.size(); ++i) {
    if (chosen.data[i] == 0) yes.data[i] = no.data[i];
  }
  *its.out[0] = std::move(yes);
}

Array transposed(const Array& a, re::Numbers perm) {
  std::vector<std::size_t> steps(a.shape.size(), 1);
  for (std::size_t i = a.shape.size(); i-- > 1;) {
    steps[i - 1] = steps[i] * static_cast<std::size_t>(a.shape[i]);
  }
  Shape shape;
  for (const std::int64_t axis : perm) {
    shape.push_back(a.shape[static_cast<std::size_t>(axis)]);
  }
  Array out = zeros(shape);
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    std::size_t rest = i, from = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const auto size = static_cast<std::size_t>(shape[axis]);
      from += rest % size * steps[static_cast<std::size_t>(perm[axis])];
      rest /= size;
    }
    out.data[i] = a.data[from];
  }
  return out;
}

void transpose(const Operands& its) {
  Shape perm(its.in[0]->shape.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (const auto given = its.node.attribute("perm")) {
    perm.assign(given->ints().begin(), given->ints().end());
  }
  *its.out[0] = transposed(*its.in[0], perm);
}

// a [..., M, K] times b [..., K, N].
Array product(const Array& a, const Array& b) {
  const Shape heads = broadcast({a.shape.begin(), a.shape.end() - 2},
                                {b.shape.begin(), b.shape.end() - 2});
  Shape shape = heads, left = heads, right = heads;
  const auto m = *(a.shape.end() - 2), k = a.shape.back(), n = b.shape.back();
  shape.insert(shape.end(), {m, n});
  left.insert(left.end(), {m, k});
  right.insert(right.end(), {k, n});
  const Array x = expand(a, left), y = expand(b, right);
  Array out = zeros(shape);
  for (std::int64_t h = 0; h < size_of(heads); ++h) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < k; ++j) {
        const double factor =
            x.data[static_cast<std::size_t>((h * m + i) * k + j)];
        const double* row = &y.data[static_cast<std::size_t>((h * k + j) * n)];
        double* to = &out.data[static_cast<std::size_t>((h * m + i) * n)];
        for (std::int64_t c = 0; c < n; ++c) to[c] += factor * row[c];
      }
    }
  }
  return out;
}

void softmax_rows(Array& a) {
  const auto width = static_cast<std::size_t>(a.shape.back());
  for (std::size_t row = 0; row < a.data.size(); row += width) {
    const std::span its(&a.data[row], width);
    const double top = *std::ranges::max_element(its);
    double sum = 0;
    for (double& each : its) sum += each = std::exp(each - top);
    for (double& each : its) each /= sum;
  }
}

void layer_normalization(const Operands& its) {
  Array out = *its.in[0];
  const auto given = its.node.attribute("epsilon");
  const double epsilon = given ? given->f() : 1e-5;
  const auto width = static_cast<std::size_t>(out.shape.back());
  for (std::size_t row = 0; row < out.data.size(); row += width) {
    const std::span each(&out.data[row], width);
    const auto count = static_cast<double>(width);
    double mean = 0, square = 0;
    for (const double x : each) mean += x / count;
    for (const double x : each) square += (x - mean) * (x - mean) / count;
    for (std::size_t i = 0; i < width; ++i) {
      each[i] =
          (each[i] - mean) / std::sqrt(square + epsilon) * its.in[1]->data[i];
      if (its.in.size() > 2) each[i] += its.in[2]->data[i];
    }
  }
  *its.out[0] = std::move(out);
}

void gather(const Operands& its) {
  const Array &from = *its.in[0], &at = *its.in[1];
  const std::size_t axis = its.axis(0);
  const auto before = from.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto outer =
      static_cast<std::size_t>(size_of({from.shape.begin(), before}));
  const auto inner =
      static_cast<std::size_t>(size_of({before + 1, from.shape.end()}));
  Shape shape(from.shape.begin(), before);
  shape.insert(shape.end(), at.shape.begin(), at.shape.end());
  shape.insert(shape.end(), before + 1, from.shape.end());
  Array out{shape, {}};
  for (std::size_t i = 0; i < outer; ++i) {
    for (const double number : at.data) {
      const auto row = static_cast<std::size_t>(
          number < 0 ? number + static_cast<double>(*before) : number);
      const auto* first =
          &from.data[(i * static_cast<std::size_t>(*before) + row) * inner];
      out.data.insert(out.data.end(), first, first + inner);
    }
  }
  *its.out[0] = std::move(out);
}

void reshape(const Operands& its) {
  Array out = *its.in[0];
  Shape shape;
  for (const double size : its.in[1]->data) {
    shape.push_back(size == 0 ? out.shape[shape.size()]
                              : static_cast<std::int64_t>(size));
  }
  for (auto& size : shape) {
    if (size == -1) size = -size_of(out.shape) / size_of(shape);
  }
  out.shape = shape;
  *its.out[0] = std::move(out);
}

void flatten(const Operands& its) {
  Array out = *its.in[0];
  const auto axis = static_cast<std::ptrdiff_t>(its.axis(1));
  const std::int64_t rows =
      size_of({out.shape.begin(), out.shape.begin() + axis});
  out.shape = {rows, size_of({out.shape.begin() + axis, out.shape.end()})};
  *its.out[0] = std::move(out);
}

// Along the last axis.
void split(const Operands& its) {
  const Array& from = *its.in[0];
  const auto width = static_cast<std::size_t>(from.shape.back());
  std::size_t first = 0;
  for (std::size_t i = 0; i < its.out.size(); ++i) {
    const auto size = static_cast<std::size_t>(its.in[1]->data[i]);
    Shape shape = from.shape;
    shape.back() = static_cast<std::int64_t>(size);
    Array out{shape, {}};
    for (std::size_t row = 0; row < from.data.size(); row += width) {
      const auto at =
          from.data.begin() + static_cast<std::ptrdiff_t>(row + first);
      out.data.insert(out.data.end(), at,
                      at + static_cast<std::ptrdiff_t>(size));
    }
    *its.out[i] = std::move(out);
    first += size;
  }
}

// softmax(scale q k^T + mask) v, of heads [B,H,S,D].
void attention(const Operands& its) {
  const std::int64_t kPerm[] = {0, 1, 3, 2};
  Array scores = product(*its.in[0], transposed(*its.in[1], kPerm));
  const auto scale = its.node.attribute("scale");
  const double factor =
      scale ? scale->f()
            : 1 / std::sqrt(static_cast<double>(its.in[0]->shape.back()));
  const Array mask = its.in.size() > 3 && its.in[3] != nullptr
                         ? expand(*its.in[3], scores.shape)
                         : zeros(scores.shape);
  for (std::size_t i = 0; i < scores.data.size(); ++i) {
    scores.data[i] = scores.data[i] * factor + mask.data[i];
  }
  softmax_rows(scores);
  *its.out[0] = product(scores, *its.in[2]);
}

const std::map<std::string_view, Kernel>& kernels() {
  static const std::map<std::string_view, Kernel> all = {
      {"Add", binary(std::plus())},
      {"And", binary(std::logical_and())},
      {"Cast", unary([](double x) { return x; })},
      {"CastLike", unary([](double x) { return x; })},
      {"Div", binary(std::divides())},
      {"Erf", unary([](double x) { return std::erf(x); })},
      {"Flatten", flatten},
      {"Gather", gather},
      {"LayerNormalization", layer_normalization},
      {"MatMul",
       [](const Operands& its) {
         *its.out[0] = product(*its.in[0], *its.in[1]);
       }},
      {"Mul", binary(std::multiplies())},
      {"Reshape", reshape},
      {"ScaledDotProductAttention", attention},
      {"Softmax",
       [](const Operands& its) {
         *its.out[0] = *its.in[0];
         softmax_rows(*its.out[0]);
       }},
      {"Split", split},
      {"Transpose", transpose},
      {"Where", where}};
  return all;
}

// --- lowering ----------------------------------------------------------------

// Values are numbered anew, since each call of a function has its own.
struct Step {
  re::Node node;
  const Kernel* kernel;
  std::vector<std::int64_t> in, out;  // RE_NOTHING: left out
};

class Program {
 public:
  explicit Program(const re::Walk& walk) : walk_(walk) {
    const re::Graph main = walk.main();
    std::map<std::int64_t, std::int64_t> names;
    for (const std::int64_t each : main.inputs())
      inputs_.push_back(add(names, each));
    lower(main, names);
    for (const std::int64_t each : main.outputs())
      outputs_.push_back(find(names, each));
  }

  void print(std::ostream& to) const {
    for (const Step& step : steps_) {
      to << step.node.type() << "(";
      for (const auto each : step.in)
        to << (each == step.in[0] ? "" : ", ") << "%" << each;
      to << ") ->";
      for (const auto each : step.out) to << " %" << each;
      to << "\n";
    }
  }

  std::vector<Array> run(const std::vector<Array>& inputs) const {
    std::vector<Array> values = constants_;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      values[static_cast<std::size_t>(inputs_[i])] = inputs[i];
    }
    for (const Step& step : steps_) {
      Operands its{step.node, {}, {}};
      for (const auto each : step.in) {
        its.in.push_back(each == RE_NOTHING
                             ? nullptr
                             : &values[static_cast<std::size_t>(each)]);
      }
      for (const auto each : step.out) {
        its.out.push_back(&values[static_cast<std::size_t>(each)]);
      }
      (*step.kernel)(its);
    }
    std::vector<Array> out;
    for (const auto each : outputs_)
      out.push_back(values[static_cast<std::size_t>(each)]);
    return out;
  }

 private:
  using Names = std::map<std::int64_t, std::int64_t>;

  std::int64_t add(Names& names, std::int64_t value) {
    constants_.emplace_back();
    return names[value] = std::ssize(constants_) - 1;
  }
  // The number of a value that is there, or of a constant.
  std::int64_t find(Names& names, std::int64_t value) {
    if (value == RE_NOTHING) return RE_NOTHING;
    const auto known = names.find(value);
    if (known != names.end()) return known->second;
    const std::int64_t number = add(names, value);
    constants_.back() = array_of(walk_.value(value).constant().value());
    return number;
  }

  void lower(const re::Graph& graph, Names& names) {
    for (const re::Node node : graph.nodes()) {
      if (node.type() == "Constant") continue;  // see find()
      const auto kernel = kernels().find(node.type());
      if (kernel != kernels().end()) {
        Step step{node, &kernel->second, {}, {}};
        for (const auto each : node.inputs())
          step.in.push_back(find(names, each));
        for (const auto each : node.outputs())
          step.out.push_back(add(names, each));
        steps_.push_back(std::move(step));
      } else if (const auto body = node.function()) {
        Names inside;
        for (std::size_t i = 0; i < node.inputs().size(); ++i) {
          inside[body->inputs()[i]] = find(names, node.inputs()[i]);
        }
        lower(*body, inside);
        for (std::size_t i = 0; i < node.outputs().size(); ++i) {
          names[node.outputs()[i]] = find(inside, body->outputs()[i]);
        }
      } else {
        throw std::runtime_error("no kernel for " + std::string(node.type()));
      }
    }
  }

  const re::Walk& walk_;
  std::vector<Array> constants_;  // empty for values that are computed
  std::vector<Step> steps_;
  std::vector<std::int64_t> inputs_, outputs_;
};

int compare(const std::string& path, const std::vector<re::Dimension>& sizes) {
  const re::Model model = re::Model::load(path, {.dimensions = sizes}).value();
  const re::Rules rules = re::Rules::load().value();
  const re::Run fused = rules.run(model, {.target = "portable"}).value();
  const re::Walk walk = re::Walk::make(fused.model).value();
  const Program program(walk);
  program.print(std::cout);

  // Tokens and masks of 0 and 1.
  std::mt19937 random(0);
  std::vector<std::vector<std::int64_t>> given;
  std::vector<Array> inputs;
  std::vector<re::Tensor> tensors;
  std::vector<std::string> names;
  std::vector<Shape> shapes;
  const re::Numbers all = walk.main().inputs();
  given.reserve(all.size());
  shapes.reserve(all.size());
  names.reserve(all.size());
  for (const std::int64_t each : all) {
    const re::Value value = walk.value(each);
    Shape& shape = shapes.emplace_back();
    for (const re_dim& size : value.shape()) shape.push_back(size.value);
    if (value.type() != re::type_of<std::int64_t> ||
        std::ranges::any_of(shape, [](auto size) { return size < 0; })) {
      throw std::runtime_error("an input is no int64 of a known shape: " +
                               std::string(value.name()));
    }
    auto& numbers = given.emplace_back(size_of(shape));
    for (auto& number : numbers) number = random() % 2;
    inputs.push_back({shape, {numbers.begin(), numbers.end()}});
    names.emplace_back(value.name());
    tensors.push_back(re::Tensor::of(names.back().c_str(), numbers, shape));
  }

  const re::Session session = re::Session::make(model).value();
  const re::Values want = session.run(tensors).value();
  const std::vector<Array> got = program.run(inputs);
  double difference = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Array expected = array_of(want[i].tensor().value());
    for (std::size_t j = 0; j < expected.data.size(); ++j) {
      difference =
          std::max(difference, std::abs(expected.data[j] - got[i].data[j]));
    }
  }
  std::cout << "the largest difference is " << difference << "\n";
  return difference < 1e-4 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::cerr << "usage: lower MODEL [NAME=SIZE]...\n";
    return 2;
  }
  std::vector<re::Dimension> sizes;
  for (int i = 2; i < argc; ++i) {
    const std::string given = argv[i];
    const std::size_t equals = given.find('=');
    if (equals == given.npos) throw std::runtime_error(given + ": no size");
    sizes.push_back(
        {given.substr(0, equals), std::stoll(given.substr(equals + 1)), {}});
  }
  return compare(argv[1], sizes);
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
