#include "core/io/write/emit.h"

#include <string>

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

}  // namespace ruleengine::io
