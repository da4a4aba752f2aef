#include "core/io/write/emit.h"

#include <bit>
#include <string>

#include "core/io/read/parts.h"
#include "core/io/read/tensor_data.h"

namespace ruleengine::io {
namespace {

// The external data entry of an encoded TensorProto that was accepted at load.
struct External {
  bool is = false;
  ir::ExternalRef ref;
  std::uint64_t size = 0;
};

void read_reference(Bytes proto, ir::ExternalRef& ref) {
  const auto [key, value] = read_entry(proto);
  if (key == "location") ref.location = value;
  if (key == "offset") ref.offset = std::stoll(std::string(value));
}

External external_of(Bytes proto) {
  External out;
  ir::Literal tensor;
  std::vector<std::int64_t> dims;
  Cursor cursor(proto, schema::kTensor);
  while (cursor.next()) {
    switch (cursor.field()) {
      case tensor_field::kDims:
        (void)cursor.append_integers(dims);
        break;
      case tensor_field::kDataType:
        tensor.dtype = static_cast<ir::DataType>(cursor.integer());
        break;
      case tensor_field::kDataLocation:
        out.is = cursor.number() == 1;
        break;
      case tensor_field::kExternalData:
        read_reference(cursor.bytes(), out.ref);
        break;
      default:
        break;
    }
  }
  if (!out.is) return out;
  tensor.dims = dims;
  out.size = static_cast<std::uint64_t>(raw_size(tensor).value_or(0));
  return out;
}

}  // namespace

bool Emitter::relocates(Bytes body) const {
  return plan_ != nullptr && plan_->relocates() && external_ != nullptr &&
         external_->any_use_in(body);
}

void Emitter::verbatim(std::uint32_t field, Bytes body,
                       const schema::Message& message) {
  if (!relocates(body)) return rope_.message(field, body);
  const Rope::Mark mark = rope_.begin(field);
  relocate(body, message);
  rope_.end(mark);
}

// The recursion is as deep as the messages are nested, which load has bounded.
void Emitter::relocate(Bytes body, const schema::Message& message) {
  if (&message == &schema::kTensor) return relocate_tensor(body, nullptr);
  Cursor cursor(body, message);
  while (cursor.next()) {
    if (cursor.child() != nullptr && relocates(cursor.bytes())) {
      verbatim(cursor.field(), cursor.bytes(), *cursor.child());
    } else {
      rope_.view(cursor.whole());
    }
  }
}

void Emitter::renamed_tensor(std::uint32_t field, Bytes body,
                             std::string_view name) {
  const Rope::Mark mark = rope_.begin(field);
  relocate_tensor(body, &name);
  rope_.end(mark);
}

void Emitter::relocate_tensor(Bytes body, const std::string_view* name) {
  const External external = relocates(body) ? external_of(body) : External();
  bool placed = false;
  Cursor cursor(body, schema::kTensor);
  while (cursor.next()) {
    if (name != nullptr && cursor.field() == tensor_field::kName) continue;
    if (!external.is || cursor.field() != tensor_field::kExternalData) {
      rope_.view(cursor.whole());
    } else if (!placed) {
      placed = true;
      external_data(plan_->original(external.ref, external.size));
    }
  }
  if (name != nullptr) rope_.text(tensor_field::kName, *name);
}

void Emitter::external_data(const ir::ExternalRef& ref) {
  const auto entry = [&](std::string_view key, std::string_view value) {
    rope_.entry(tensor_field::kExternalData, key, value);
  };
  entry("location", ref.location);
  entry("offset", std::to_string(ref.offset));
  if (ref.length >= 0) entry("length", std::to_string(ref.length));
}

namespace {

using ir::AttributeKind;

// The stored tensor with the same bytes: skips lazy tensors that only rename or
// reshape.
const ir::Literal& data_of(const ir::Literal& tensor) {
  const ir::Literal* at = &tensor;
  while (at->storage == ir::Storage::kLazy && at->lazy->is_view()) {
    at = at->lazy->parts[0].tensor;
  }
  return *at;
}

void encode_header(Rope& rope, const ir::Literal& tensor,
                   std::string_view name) {
  for (std::int64_t dim : tensor.dims) rope.varint(tensor_field::kDims, dim);
  rope.varint(tensor_field::kDataType, static_cast<std::int64_t>(tensor.dtype));
  if (!name.empty()) rope.text(tensor_field::kName, name);
}

void encode_reference(Emitter& emitter, const ir::ExternalRef& ref) {
  emitter.external_data(ref);
  emitter.rope().varint(tensor_field::kDataLocation, 1);
}

void encode_data(Emitter& emitter, const ir::Literal& tensor, DataPlace place) {
  Rope& rope = emitter.rope();
  const ir::Literal& data = data_of(tensor);
  if (data.storage == ir::Storage::kStrings) {
    for (std::string_view text : data.strings) {
      rope.text(tensor_field::kStringData, text);
    }
    return;
  }
  DataPlan* plan = emitter.plan();
  const auto size = static_cast<std::uint64_t>(tensor.byte_size());
  if (data.storage == ir::Storage::kExternal) {
    return encode_reference(emitter, plan != nullptr
                                         ? plan->original(data.external, size)
                                         : data.external);
  }
  if (plan != nullptr && place == DataPlace::kAnywhere &&
      DataPlan::is_large(size)) {
    return encode_reference(emitter, plan->stored(data, size));
  }
  rope.header(tensor_field::kRawData, size);
  if (data.storage == ir::Storage::kRaw) {
    rope.view(data.bytes);
  } else {
    rope.tensor(data, size);
  }
}

void encode_value(Emitter& emitter, const ir::Attribute& a) {
  Rope& rope = emitter.rope();
  switch (a.kind) {
    case AttributeKind::kFloat:
      return rope.fixed32(attribute_field::kF,
                          std::bit_cast<std::uint32_t>(a.f));
    case AttributeKind::kInt:
      return rope.varint(attribute_field::kI, a.i);
    case AttributeKind::kString:
      return rope.text(attribute_field::kS, a.s);
    case AttributeKind::kFloats:
      for (float f : a.floats) {
        rope.fixed32(attribute_field::kFloats, std::bit_cast<std::uint32_t>(f));
      }
      return;
    case AttributeKind::kInts:
      for (std::int64_t i : a.ints) rope.varint(attribute_field::kInts, i);
      return;
    case AttributeKind::kStrings:
      for (std::string_view s : a.strings) {
        rope.text(attribute_field::kStrings, s);
      }
      return;
    case AttributeKind::kTensor:
    case AttributeKind::kTensors:
      for (const ir::Literal* t : a.tensors) {
        const bool one = a.kind == AttributeKind::kTensor;
        const auto field =
            one ? attribute_field::kT : attribute_field::kTensors;
        const std::string_view name =
            t->proto.empty() ? std::string_view() : tensor_name(t->proto);
        write_tensor(emitter, field, *t, name, DataPlace::kInside);
      }
      return;
    default:
      return;
  }
}

}  // namespace

void encode_size(Rope& rope, ir::Dim dim, const ir::DimTable& dims) {
  if (dim.known() && dim.size() >= 0) {
    rope.varint(dimension_field::kValue, dim.size());
  } else if (!dim.known() && !dims.is_fresh(dim)) {
    rope.text(dimension_field::kParam, dims.text(dim));
  }
}

void encode_type(Rope& rope, const ir::Type& type, const ir::DimTable& dims) {
  if (!type.is_tensor()) return rope.view(type.other);
  const Rope::Mark tensor = rope.begin(type_field::kTensor);
  rope.varint(1, static_cast<std::int64_t>(type.elem));
  if (type.has_shape) {
    const Rope::Mark shape = rope.begin(2);
    for (ir::Dim dim : type.dims) {
      const Rope::Mark mark = rope.begin(1);
      encode_size(rope, dim, dims);
      rope.end(mark);
    }
    rope.end(shape);
  }
  rope.end(tensor);
}

void encode_value_info(Rope& rope, std::uint32_t field, std::string_view name,
                       const ir::Type* type, const ir::DimTable& dims) {
  const Rope::Mark mark = rope.begin(field);
  rope.text(value_info_field::kName, name);
  if (type != nullptr) {
    const Rope::Mark inner = rope.begin(value_info_field::kType);
    encode_type(rope, *type, dims);
    rope.end(inner);
  }
  rope.end(mark);
}

void encode_tensor_info(Rope& rope, std::uint32_t field, std::string_view name,
                        const ir::Literal& tensor) {
  std::vector<ir::Dim> sizes;
  for (std::int64_t dim : tensor.dims) sizes.emplace_back(dim);
  ir::Type type;
  type.elem = tensor.dtype;
  type.has_shape = true;
  type.dims = sizes;
  encode_value_info(rope, field, name, &type, ir::DimTable());
}

void encode_opset(Rope& rope, std::uint32_t field,
                  const ir::OpsetImport& import) {
  const Rope::Mark mark = rope.begin(field);
  rope.text(opset_field::kDomain, import.domain);
  rope.varint(opset_field::kVersion, import.version);
  rope.end(mark);
}

void write_tensor(Emitter& emitter, std::uint32_t field,
                  const ir::Literal& tensor, std::string_view name,
                  DataPlace place) {
  DataPlan* plan = emitter.plan();
  const bool spilled = plan != nullptr && plan->spills() &&
                       place == DataPlace::kAnywhere &&
                       tensor.storage == ir::Storage::kRaw &&
                       DataPlan::is_large(tensor.bytes.size());
  if (!tensor.proto.empty() && !spilled) {
    if (tensor_name(tensor.proto) == name) {
      return emitter.verbatim(field, tensor.proto, schema::kTensor);
    }
    return emitter.renamed_tensor(field, tensor.proto, name);
  }
  const Rope::Mark mark = emitter.rope().begin(field);
  encode_header(emitter.rope(), tensor, name);
  encode_data(emitter, tensor, place);
  emitter.rope().end(mark);
}

void encode_attribute(Emitter& emitter, const ir::Attribute& attribute) {
  Rope& rope = emitter.rope();
  rope.text(attribute_field::kName, attribute.name);
  if (attribute.ref.empty()) {
    encode_value(emitter, attribute);
  } else {
    rope.text(attribute_field::kRef, attribute.ref);
  }
  rope.varint(attribute_field::kType,
              static_cast<std::int64_t>(attribute.kind));
}

}  // namespace ruleengine::io
