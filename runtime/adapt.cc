#include "runtime/adapt.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/ir/narrow_float.h"
#include "runtime/half.h"

namespace ruleengine::runtime {
namespace {

constexpr auto float_of_bfloat = [](std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
};
constexpr auto bfloat_of_float = [](float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<std::uint16_t>(bits >> 16 | 0x40u);  // a quiet NaN
  }
  const std::uint32_t half = 0x7fffu + (bits >> 16 & 1u);
  return static_cast<std::uint16_t>((bits + half) >> 16);
};

// f(elements, results, their number).
template <typename From, typename To>
Tensor converted(const Tensor& t, DataType to, KernelRun& run,
                 void (*f)(const From*, To*, std::int64_t)) {
  Tensor out = allocate(run, to, t.dims());
  const From* in = t.data<From>();
  To* result = out.mutable_data<To>();
  constexpr std::int64_t kGrain = 1 << 15;
  run.threads->for_each(t.count(), kGrain,
                        [&](std::int64_t begin, std::int64_t end) {
                          f(in + begin, result + begin, end - begin);
                        });
  return out;
}

bool is_adapted(Adapt adapt, const Datum* value) {
  if (adapt == Adapt::kNone || value == nullptr) return false;
  if (value->is_sequence()) {
    return std::ranges::any_of(value->items(), [&](const Datum& each) {
      return is_adapted(adapt, &each);
    });
  }
  if (!value->is_tensor()) return false;
  const DataType type = value->tensor().dtype();
  return adapt == Adapt::kWiden ? ir::is_narrow_float(type) : is_packed(type);
}

Datum adapted(Adapt adapt, const Datum& value, KernelRun& run) {
  if (value.is_sequence()) {
    Datum::List items;
    for (const Datum& each : value.items()) {
      items.push_back(is_adapted(adapt, &each) ? adapted(adapt, each, run)
                                               : each);
    }
    return Datum::sequence(std::move(items));
  }
  const Tensor& t = value.tensor();
  return adapt == Adapt::kWiden ? widened(t, run) : unpacked(t, run);
}

DataType type_of(const Datum& value) {
  if (value.is_sequence()) {
    return value.items().empty() ? DataType::kUndefined
                                 : type_of(value.items()[0]);
  }
  return value.tensor().dtype();
}

// "seq(T)" has the parameter T.
std::string_view parameter(const ops::FormalValue* formal) {
  return formal == nullptr ? std::string_view() : formal->type;
}

}  // namespace

Tensor widened(const Tensor& t, KernelRun& run) {
  if (!ir::is_narrow_float(t.dtype())) return t;
  if (t.dtype() == DataType::kFloat16) {
    return converted(t, DataType::kFloat, run, floats_of_halves);
  }
  if (t.dtype() == DataType::kBfloat16) {
    return mapped<std::uint16_t, float, true>(t, DataType::kFloat, run,
                                              float_of_bfloat);
  }
  const Tensor bytes = unpacked(t, run);
  float table[256];
  for (std::uint32_t i = 0; i < 256; ++i) {
    table[i] = static_cast<float>(ir::widen(t.dtype(), i));
  }
  return mapped<std::uint8_t, float>(
      bytes, DataType::kFloat, run,
      [&](std::uint8_t bits) { return table[bits]; });
}

namespace {

// From float or double.
template <typename From>
Tensor narrow(const Tensor& t, DataType to, KernelRun& run) {
  if (ir::bit_width(to) == 16) {
    return mapped<From, std::uint16_t>(t, to, run, [&](From v) {
      return static_cast<std::uint16_t>(ir::narrow(to, v));
    });
  }
  const Tensor bytes = mapped<From, std::uint8_t>(
      t, DataType::kUint8, run,
      [&](From v) { return static_cast<std::uint8_t>(ir::narrow(to, v)); });
  return is_packed(to) ? packed(bytes, to, run) : bytes.as(to);
}

}  // namespace

Tensor narrowed(const Tensor& t, DataType to, KernelRun& run) {
  if (!ir::is_narrow_float(to)) return t;
  if (t.dtype() == DataType::kDouble) return narrow<double>(t, to, run);
  if (to == DataType::kFloat16) {
    return converted(t, to, run, halves_of_floats);
  }
  if (to == DataType::kBfloat16) {
    return mapped<float, std::uint16_t, true>(t, to, run, bfloat_of_float);
  }
  return narrow<float>(t, to, run);
}

Tensor unpacked(const Tensor& t, KernelRun& run) {
  if (!is_packed(t.dtype())) return t;
  const int bits = ir::bit_width(t.dtype());
  const bool is_signed =
      t.dtype() == DataType::kInt4 || t.dtype() == DataType::kInt2;
  Tensor out =
      allocate(run, is_signed ? DataType::kInt8 : DataType::kUint8, t.dims());
  const auto* in = t.data<std::uint8_t>();
  auto* to = out.mutable_data<std::uint8_t>();
  const int per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1, sign = 1u << (bits - 1);
  for (std::int64_t i = 0; i < t.count(); ++i) {
    unsigned v = (in[i / per_byte] >> (i % per_byte * bits)) & mask;
    if (is_signed && (v & sign) != 0) v |= ~mask;
    to[i] = static_cast<std::uint8_t>(v);
  }
  return out;
}

Tensor packed(const Tensor& t, DataType to, KernelRun& run) {
  if (!is_packed(to)) return t;
  const int bits = ir::bit_width(to);
  Tensor out = allocate(run, to, t.dims());
  const auto* in = t.data<std::uint8_t>();
  auto* bytes = out.mutable_data<std::uint8_t>();
  std::memset(bytes, 0, out.byte_size());
  const int per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1;
  for (std::int64_t i = 0; i < t.count(); ++i) {
    bytes[i / per_byte] = static_cast<std::uint8_t>(
        bytes[i / per_byte] | (in[i] & mask) << (i % per_byte * bits));
  }
  return out;
}

PreparedNode::PreparedNode(const Kernel& kernel, const ops::NodeView& node,
                           std::span<const Datum* const> constants,
                           KernelRun& run)
    : adapt_(kernel.adapt), op_(prepare(kernel, node, constants, run)) {
  if (adapt_ == Adapt::kNone) return;
  const ops::OpFacts* facts =
      ops::find_op(kernel.domain, kernel.type, static_cast<int>(node.opset()));
  const std::size_t inputs = node.graph().inputs(node.id()).size();
  alike_.resize(std::max<std::size_t>(node.output_count(), 1));
  for (std::size_t o = 0; o < alike_.size(); ++o) {
    for (std::size_t i = 0; i < inputs; ++i) {
      const bool is_alike = facts == nullptr || parameter(facts->input(i)) ==
                                                    parameter(facts->output(o));
      if (is_alike) alike_[o].push_back(i);
    }
  }
}

Op PreparedNode::prepare(const Kernel& kernel, const ops::NodeView& node,
                         std::span<const Datum* const> constants,
                         KernelRun& run) {
  SmallVector<const Tensor*, 8> known;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    known.push_back(nullptr);
    const Datum* own = constants[i];
    if (own == nullptr) continue;
    if (is_adapted(adapt_, own)) {
      // Others are adapted at each call, and take no memory in between.
      constexpr std::int64_t kSmall = 1 << 12;
      const bool is_small = own->is_tensor() && own->tensor().count() <= kSmall;
      const bool is_half = ir::bit_width(type_of(*own)) == 16;
      if (!is_small && !(is_half && run.arranges_weights)) continue;
      held_.resize(constants.size());
      held_[i] = adapted(adapt_, *own, run);
      own = &held_[i];
    }
    if (own->is_tensor()) known.back() = &own->tensor();
  }
  const Preparation preparation(node, {known.data(), known.size()}, run);
  Op op = kernel.prepare(preparation);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (!preparation.is_released(i)) continue;
    released_.push_back(i);
    if (i >= held_.size() || held_[i].is_absent()) continue;
    held_[i] = constants[i]->tensor().without_bytes();
  }
  return op;
}

void PreparedNode::run(Call& call) const {
  const auto given = call.values();
  std::vector<Datum> own;
  SmallVector<Datum*, 8> inputs;
  SmallVector<DataType, 8> types;  // of those that were adapted
  bool any = false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    inputs.push_back(given[i]);
    types.push_back(DataType::kUndefined);
    if (!is_adapted(adapt_, given[i])) continue;
    types.back() = type_of(*given[i]);
    any = true;
    if (i < held_.size() && !held_[i].is_absent()) {
      // A constant is only read.
      inputs.back() = const_cast<Datum*>(&held_[i]);
      continue;
    }
    if (own.empty()) own.resize(given.size());
    own[i] = adapted(adapt_, *given[i], call.run());
    inputs.back() = &own[i];
  }
  if (!any) return op_.run(call);
  Call inner(call, {inputs.data(), inputs.size()});
  op_.run(inner);
  restore_types(call, {types.data(), types.size()});
}

void PreparedNode::restore_types(Call& call,
                                 std::span<const DataType> given) const {
  const auto outputs = call.outputs();
  for (std::size_t o = 0; o < std::min(outputs.size(), alike_.size()); ++o) {
    if (!outputs[o].is_tensor()) continue;
    const auto it = std::ranges::find_if(alike_[o], [&](std::size_t i) {
      return i < given.size() && given[i] != DataType::kUndefined;
    });
    if (it == alike_[o].end()) continue;
    const Tensor& t = outputs[o].tensor();
    if (adapt_ == Adapt::kWiden && t.dtype() != DataType::kFloat) continue;
    outputs[o] = adapt_ == Adapt::kWiden ? narrowed(t, given[*it], call.run())
                                         : packed(t, given[*it], call.run());
  }
}

}  // namespace ruleengine::runtime
