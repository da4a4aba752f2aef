#include "runtime/call.h"

#include <algorithm>
#include <cstring>

#include "core/ir/element_types.h"
#include "core/ir/narrow_float.h"
#include "runtime/conversions.h"
#include "runtime/widening.h"

namespace ruleengine::runtime {
namespace {

const ops::FormalValue* formal_input(const ops::NodeView& node, std::size_t i) {
  const ops::OpFacts* facts = ops::find_op(node.op().domain, node.op().type,
                                           static_cast<int>(node.opset()));
  return facts == nullptr ? nullptr : facts->input(i);
}

std::string place(std::size_t i, const ops::NodeView& node) {
  const ops::FormalValue* formal = formal_input(node, i);
  if (formal == nullptr) return "input " + std::to_string(i);
  const std::string name = "input '" + std::string(formal->name) + "'";
  return formal->arity == ops::Arity::kVariadic
             ? name + " (index " + std::to_string(i) + ")"
             : name;
}

}  // namespace

std::string inputs_text(const ops::NodeView& node,
                        std::span<const Datum* const> inputs) {
  constexpr std::size_t kMost = 8;
  std::string out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    if (!out.empty()) out += ", ";
    if (i >= kMost) return out + "...";
    const ops::FormalValue* formal = formal_input(node, i);
    if (formal != nullptr) out += formal->name;
    if (formal == nullptr || formal->arity == ops::Arity::kVariadic) {
      out += '[' + std::to_string(i) + ']';
    }
    out += ": " + inputs[i]->text();
  }
  return out;
}

const Datum& Call::value(std::size_t i) const {
  if (!has_input(i)) fail(place(i, node_) + " is missing");
  return *inputs_[i];
}

const Tensor& Call::input(std::size_t i) const {
  const Datum& v = value(i);
  if (!v.is_tensor()) wrong_type(i, "a tensor");
  return v.tensor();
}

void Call::wrong_type(std::size_t i, std::string expected) const {
  fail("wrong type of " + place(i, node_), std::move(expected),
       given_[i]->text());
}

void Call::wrong_shape(std::size_t i, std::string expected) const {
  fail("wrong shape of " + place(i, node_), std::move(expected),
       given_[i]->text());
}

void Call::wrong_value(std::size_t i, std::string expected,
                       std::string found) const {
  fail("wrong value of " + place(i, node_), std::move(expected),
       std::move(found));
}

const Tensor& Call::expect_type(std::size_t i, DataType dtype) const {
  const Tensor& t = input(i);
  if (t.dtype() == dtype) return t;
  wrong_type(i, std::string(ir::data_type_name(dtype)));
}

const Tensor& Call::expect_rank(std::size_t i, std::size_t least,
                                std::size_t most) const {
  const Tensor& t = input(i);
  if (t.rank() >= least && t.rank() <= most) return t;
  std::string expected = std::to_string(least);
  if (most == static_cast<std::size_t>(-1)) {
    expected += " or more";
  } else if (most > least) {
    expected += (most == least + 1 ? " or " : " to ") + std::to_string(most);
  }
  fail("wrong rank of " + place(i, node_), std::move(expected),
       given_[i]->text());
}

const Tensor& Call::expect_shape(std::size_t i, Shape dims,
                                 DataType dtype) const {
  const Tensor& t =
      dtype == DataType::kUndefined ? input(i) : expect_type(i, dtype);
  const auto fits = [](std::int64_t size, std::int64_t expected) {
    return expected < 0 || size == expected;
  };
  if (std::ranges::equal(t.dims(), dims, fits)) return t;
  wrong_shape(i, shape_text(dims));
}

const Tensor& Call::expect_elements(std::size_t i, std::int64_t count,
                                    DataType dtype) const {
  const Tensor& t =
      dtype == DataType::kUndefined ? input(i) : expect_type(i, dtype);
  if (t.count() == count) return t;
  wrong_shape(i,
              count == 1 ? "1 element" : std::to_string(count) + " elements");
}

Ints Call::ints(std::size_t i) const {
  const Tensor& t = input(i);
  const bool is_bool = t.dtype() == DataType::kBool;
  Ints out;
  const bool is_read =
      t.dtype() != DataType::kUint64 &&
      ir::visit_type(ir::IntegerTypes(), is_bool ? DataType::kUint8 : t.dtype(),
                     [&]<typename T>() {
                       out.assign(t.data<T>(), t.data<T>() + t.count());
                     });
  if (!is_read) wrong_type(i, "integers");
  return out;
}

std::int64_t Call::scalar_int(std::size_t i) const {
  expect_count(i, 1);
  return ints(i)[0];
}

double Call::scalar_float(std::size_t i) const {
  const Tensor& t = expect_count(i, 1);
  if (t.dtype() == DataType::kFloat) return t.data<float>()[0];
  if (t.dtype() == DataType::kDouble) return t.data<double>()[0];
  if (ir::is_narrow_float(t.dtype())) {
    const bool wide = ir::bit_width(t.dtype()) == 16;
    return ir::widen(t.dtype(), wide ? t.data<std::uint16_t>()[0]
                                     : t.data<std::uint8_t>()[0]);
  }
  return static_cast<double>(ints(i)[0]);
}

Tensor& Call::output(std::size_t i, DataType dtype, Shape dims) {
  // More outputs than the node names: the caller gave a place for all.
  if (i >= outputs_.size()) fail("the op has no output " + std::to_string(i));
  outputs_[i] = Datum(allocate(dtype, dims));
  return outputs_[i].tensor();
}

Tensor& Call::output_in_place(std::size_t i, std::size_t from, DataType dtype,
                              Shape dims) {
  const Datum* source = from < inputs_.size() ? inputs_[from] : nullptr;
  if (source == nullptr || from >= dying_.size() || !dying_[from] ||
      !source->is_tensor() || !source->tensor().is_sole() ||
      source->tensor().place() != place_ || source->tensor().dtype() != dtype ||
      source->tensor().is_string() || !source->tensor().is_dense() ||
      !is_same_shape(source->tensor().dims(), dims)) {
    return output(i, dtype, dims);
  }
  outputs_[i] = *source;
  return outputs_[i].tensor();
}

void Call::set_output(std::size_t i, Datum value) {
  if (i < outputs_.size()) outputs_[i] = std::move(value);
}

Tensor to_tensor(const ir::Literal& tensor, const ir::Model& model) {
  if (tensor.dtype == DataType::kString) {
    auto strings =
        std::make_shared<Strings>(tensor.strings.begin(), tensor.strings.end());
    return {tensor.dims, std::move(strings)};
  }
  auto scratch = std::make_shared<std::vector<std::byte>>();
  const auto bytes = ir::raw_bytes(tensor, model.external.get(), *scratch);
  if (!bytes) throw Failure{bytes.error()};
  const std::size_t size = bytes_of(tensor.dtype, count_of(tensor.dims));
  if (bytes->size() < size) fail("a tensor is shorter than its shape says");
  // Kernels read elements in place, so they must be aligned.
  const auto address = reinterpret_cast<std::uintptr_t>(bytes->data());
  const auto width =
      static_cast<std::size_t>(std::max(1, ir::bit_width(tensor.dtype) / 8));
  if (address % std::min<std::size_t>(width, 8) == 0) {
    // The model keeps its bytes; where it is a copy, the tensor keeps the
    // model.
    std::shared_ptr<const void> owner = model.weak_from_this().lock();
    if (!scratch->empty()) owner = scratch;
    return {tensor.dtype, tensor.dims,
            std::shared_ptr<const std::byte>(std::move(owner), bytes->data())};
  }
  auto block = HostMemory::create()->allocate(size);  // no run owns the result
  std::memcpy(block.get(), bytes->data(), size);
  Tensor copy(tensor.dtype, tensor.dims, std::move(block));
  copy.mark_own();
  return copy;
}

}  // namespace ruleengine::runtime
