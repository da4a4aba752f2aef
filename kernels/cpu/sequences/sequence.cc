// Sequences and optional values.

#include "core/ir/graph.h"
#include "kernels/cpu/control/bodies.h"
#include "kernels/cpu/families.h"
#include "kernels/dispatch.h"
#include "kernels/strided.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

const Datum::List& items_of(const Call& c, std::size_t i) {
  const Datum& value = c.value(i);
  if (!value.is_sequence()) c.wrong_type(i, "a sequence");
  return value.items();
}

void check_type(const Datum::List& items, const Tensor& tensor) {
  if (items.empty() || !items[0].is_tensor() ||
      items[0].tensor().dtype() == tensor.dtype()) {
    return;
  }
  fail("the tensors of a sequence have different element types",
       items[0].text(), tensor.text());
}

void sequence_construct(Call& c) {
  Datum::List items;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    check_type(items, c.input(i));
    items.emplace_back(c.input(i));
  }
  c.set_output(0, Datum::sequence(std::move(items)));
}

void sequence_empty(Call& c) { c.set_output(0, Datum::sequence({})); }

void sequence_insert(Call& c) {
  Datum::List items = items_of(c, 0);
  check_type(items, c.input(1));
  // An item may be inserted after the last one; -1 is the place before it.
  const auto size = std::ssize(items);
  std::int64_t at = c.has_input(2) ? c.scalar_int(2) : size;
  if (at < -size || at > size) {
    c.wrong_value(2, std::to_string(-size) + " to " + std::to_string(size),
                  std::to_string(at));
  }
  if (at < 0) at += size;
  items.insert(items.begin() + at, Datum(c.input(1)));
  c.set_output(0, Datum::sequence(std::move(items)));
}

void sequence_erase(Call& c) {
  Datum::List items = items_of(c, 0);
  if (items.empty()) c.wrong_value(0, "1 item or more", "none");
  const std::size_t at =
      c.has_input(1) ? input_place(c, 1, items.size()) : items.size() - 1;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  c.set_output(0, Datum::sequence(std::move(items)));
}

void sequence_at(Call& c) {
  const Datum::List& items = items_of(c, 0);
  c.set_output(0, items[input_place(c, 1, items.size())]);
}

void sequence_length(Call& c) {
  c.set_output(0, scalar<std::int64_t>(c, std::ssize(items_of(c, 0))));
}

// Sizes of the parts along an axis of `size`.
Ints part_sizes(const Call& c, std::int64_t size) {
  if (c.has_input(1) && !c.input(1).is_scalar()) {
    Ints sizes = c.ints(1);
    check_parts(sizes, size);
    return sizes;
  }
  const std::int64_t each = c.has_input(1) ? c.scalar_int(1) : 1;
  if (each < 1) c.wrong_value(1, "1 or more", std::to_string(each));
  const std::int64_t parts = ceil_div(size, each);
  c.allocate(DataType::kInt64, {&parts, 1});  // so many fit
  Ints sizes(index_of(parts), each);
  if (size % each != 0) sizes.back() = size % each;
  return sizes;
}

void split_to_sequence(Call& c, const AttributeAxis& along, bool keeps_dims) {
  const DataType dtype = c.input(0).dtype();
  const Tensor x = runtime::unpacked(c.input(0), c.run());
  const std::size_t axis = along.of(c, x.rank());
  const bool keeps = c.has_input(1) || keeps_dims;
  Dims dims(x.dims().first(axis));
  dims.append(x.dims().subspan(axis + 1));
  Datum::List items;
  std::int64_t at = 0;
  for (const std::int64_t size : part_sizes(c, x.dim(axis))) {
    const Tensor part = cut(c, x, axis, at, size);
    items.emplace_back(
        runtime::packed(keeps ? part : part.reshaped(dims), dtype, c.run()));
    at += size;
  }
  c.set_output(0, Datum::sequence(std::move(items)));
}

// `adds`: along a new axis.
void concat_from_sequence(Call& c, const AttributeAxis& along, bool adds) {
  const Datum::List& items = items_of(c, 0);
  if (items.empty()) c.wrong_value(0, "1 item or more", "none");
  std::vector<Tensor> tensors;
  std::size_t axis = 0;
  for (const Datum& item : items) {
    if (!item.is_tensor()) {
      fail("wrong type of an item of the sequence", "a tensor", item.text());
    }
    Tensor t = runtime::unpacked(item.tensor(), c.run());
    const std::size_t rank = t.rank() + (adds ? 1 : 0);
    axis = along.of(c, rank);
    Dims dims(t.dims().first(adds ? axis : t.rank()));
    if (adds) {
      dims.push_back(1);
      dims.append(t.dims().subspan(axis));
    }
    tensors.push_back(t.reshaped(dims));
  }
  std::vector<const Tensor*> parts;
  for (const Tensor& t : tensors) parts.push_back(&t);
  c.set_output(0, runtime::packed(joined(c, parts, axis),
                                  items[0].tensor().dtype(), c.run()));
}

Body body_of(const Preparation& p) { return Body(p, "body"); }

void sequence_map(Call& c, const Body& body) {
  const std::size_t rounds = items_of(c, 0).size();
  if (body.inputs != c.input_count()) {
    fail("the body does not fit the inputs of the node",
         std::to_string(c.input_count()) + " inputs",
         std::to_string(body.inputs));
  }
  std::vector<Datum::List> outputs(body.outputs.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    c.threads().look();
    std::vector<Datum> inputs;
    for (std::size_t i = 0; i < c.input_count(); ++i) {
      const Datum& value = c.value(i);
      if (value.is_sequence() && round >= value.items().size()) {
        fail("the sequences have different lengths", std::to_string(rounds),
             value.text());
      }
      inputs.push_back(value.is_sequence() ? value.items()[round] : value);
    }
    std::vector<Datum> results = c.run_block(body.block, std::move(inputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i].push_back(std::move(results[i]));
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    c.set_output(i, Datum::sequence(std::move(outputs[i])));
  }
}

void optional(Call& c) {
  c.set_output(0, c.has_input(0) ? c.value(0) : Datum::none());
}

void optional_get_element(Call& c) {
  if (c.value(0).is_none())
    c.wrong_value(0, "an optional that has a value", "an empty one");
  c.set_output(0, c.value(0));
}

void optional_has_element(Call& c) {
  const bool has = c.has_input(0) && !c.value(0).is_none();
  c.set_output(0, scalar(c, has));
}

}  // namespace

const KernelRows kSequenceRows = {
    {"", "ConcatFromSequence",
     keeping<concat_from_sequence, needed<"axis", axis_attribute<>>,
             flag_attribute<"new_axis">>},
    {"", "Optional", optional},
    {"", "OptionalGetElement", optional_get_element},
    {"", "OptionalHasElement", optional_has_element},
    {"", "SequenceAt", sequence_at},
    {"", "SequenceConstruct", sequence_construct},
    {"", "SequenceEmpty", sequence_empty},
    {"", "SequenceErase", sequence_erase},
    {"", "SequenceInsert", sequence_insert},
    {"", "SequenceLength", sequence_length},
    {"", "SequenceMap", keeping<sequence_map, body_of>},
    {"", "SplitToSequence",
     keeping<split_to_sequence, axis_attribute<>, flag_attribute<"keepdims">>},
};

}  // namespace ruleengine::kernels
