// Ops that make tensors out of attributes, shapes and numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/ir/narrow_float.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/patterns.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

Tensor constant_value(const Preparation& p) {
  if (auto value = p.attribute_tensor("value")) return *std::move(value);
  if (p.has_attribute("value_int")) {
    return scalar(p, p.attribute_int("value_int"));
  }
  if (p.has_attribute("value_float")) {
    return scalar(p, p.attribute_float("value_float"));
  }
  if (p.has_attribute("value_ints")) {
    return list_of<std::int64_t>(p, p.attribute_ints("value_ints"));
  }
  if (p.has_attribute("value_floats")) {
    return list_of<float>(p, p.attribute_floats("value_floats"));
  }
  if (p.has_attribute("value_string")) {
    const std::string_view one[] = {p.attribute_string("value_string")};
    return list_of<String>(p, one).reshaped({});
  }
  if (p.has_attribute("value_strings")) {
    return list_of<String>(p, p.attribute_strings("value_strings"));
  }
  if (p.has_attribute("sparse_value")) {
    fail("the kernel does not read a sparse constant", "a dense one");
  }
  fail("the constant has no value",
       "one of the attributes 'value', "
       "'value_float', 'value_floats', 'value_int', 'value_ints', "
       "'value_string' and 'value_strings'",
       "none");
}

Op constant(const Preparation& p) {
  return [value = constant_value(p)](Call& c) { c.set_output(0, value); };
}

Op constant_of_shape(const Preparation& p) {
  const Tensor given = p.attribute_tensor("value").value_or(scalar(p, 0.0F));
  if (given.count() != 1) p.wrong_attribute("value", "1 element");
  return [dtype = given.dtype(),
          value = runtime::unpacked(given, p.run())](Call& c) {
    Tensor& out = c.output(0, value.dtype(), c.ints(0));
    dispatch_width(value.dtype(), [&]<typename T>() {
      fill(c, mutable_elements<T>(out), out.count(), *elements<T>(value));
    });
    if (runtime::is_packed(dtype)) {
      c.set_output(0, runtime::packed(out, dtype, c.run()));
    }
  };
}

template <typename T>
T one_value(const Call& c, std::size_t i) {
  return c.expect_count(i, 1, kTypeOf<T>).template data<T>()[0];
}

void range(Call& c) {
  dispatch(Numbers(), c.input(0).dtype(), [&]<typename T>() {
    const T start = one_value<T>(c, 0), delta = one_value<T>(c, 2);
    const std::int64_t count = range_count(start, one_value<T>(c, 1), delta);
    T* out = c.output(0, kTypeOf<T>, {&count, 1}).template mutable_data<T>();
    for_each_element(c, count, [&](std::int64_t i) {
      if constexpr (std::is_floating_point_v<T>) {
        out[i] =
            static_cast<T>(static_cast<double>(start) +
                           static_cast<double>(i) * static_cast<double>(delta));
      } else {
        // Unsigned, where wrapping around is defined.
        out[i] = static_cast<T>(static_cast<std::uint64_t>(start) +
                                static_cast<std::uint64_t>(i) *
                                    static_cast<std::uint64_t>(delta));
      }
    });
  });
}

// The number 1 of a type, as its bits.
std::uint64_t one_bits(DataType dtype) {
  if (ir::is_narrow_float(dtype)) return ir::narrow(dtype, 1.0);
  if (dtype == DataType::kFloat) return std::bit_cast<std::uint32_t>(1.0f);
  if (dtype == DataType::kDouble) return std::bit_cast<std::uint64_t>(1.0);
  if (ir::is_integer(dtype) || dtype == DataType::kBool) return 1;
  fail("the kernel does not compute " + std::string(ir::data_type_name(dtype)));
}

// `type`: kUndefined for that of the input; `k`: the diagonal.
void eye_like(Call& c, DataType type, std::int64_t k) {
  const Tensor& x = c.expect_rank(0, 2);
  const DataType dtype = type == DataType::kUndefined ? x.dtype() : type;
  const std::uint64_t one = one_bits(dtype);
  const std::int64_t height = x.dim(0), width = x.dim(1);
  Tensor& out = c.output(0, dtype, x.dims());
  dispatch_width(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      T* to = out.template mutable_data<T>();
      fill(c, to, out.count(), T(0));
      if (k <= -height || k >= width) return;
      for (std::int64_t i = std::max<std::int64_t>(0, -k);
           i < std::min(height, width - k); ++i) {
        to[i * width + i + k] = static_cast<T>(one);
      }
    }
  });
}

}  // namespace

const KernelRows kGeneratorRows = {
    {"", "Constant", constant},
    {"", "ConstantOfShape", constant_of_shape},
    {"", "EyeLike",
     keeping<eye_like, type_attribute<"dtype">, int_attribute<"k">>},
    {"", "Range", range, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
