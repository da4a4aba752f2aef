#include "core/io/read/parts.h"

#include "core/ir/model.h"

namespace ruleengine::io {
namespace {

// The value of TypeProto's `oneof`: the last member is used; if the same member
// occurs twice, the messages are merged.
struct Choice {
  std::uint32_t field = 0;
  Pieces payload;
};

bool read_choice(Context& context, Bytes proto, const Place& place,
                 Choice& choice) {
  Cursor cursor(proto, schema::kType);
  while (cursor.next()) {
    if (cursor.field() == type_field::kDenotation ||
        schema::kType.shape(cursor.field()) == schema::kAny) {
      continue;
    }
    if (cursor.field() != choice.field) choice.payload.clear();
    choice.payload.add(cursor.bytes());
    choice.field = cursor.field();
  }
  return context.finished(place, cursor);
}

bool read_dim(Context& context, Bytes proto, const Place& place, ir::Dim& dim) {
  std::int64_t size = -1;
  std::string_view symbol;
  Cursor cursor(proto, schema::kDimension);
  while (cursor.next()) {
    if (cursor.field() == dimension_field::kValue) {
      size = cursor.integer();
      symbol = {};
    } else if (cursor.field() == dimension_field::kParam) {
      symbol = cursor.text();
      size = -1;
    }
  }
  if (!symbol.empty()) {
    dim = context.model.dims.symbol(symbol);
  } else {
    dim = size >= 0 ? ir::Dim(size) : context.model.dims.fresh();
  }
  return context.finished(place, cursor);
}

bool read_shape(Context& context, Bytes proto, const Place& place,
                std::span<const ir::Dim>& dims) {
  std::size_t rank = 0;
  Cursor count(proto, schema::kShape);
  while (count.next()) rank += count.field() == 1;
  if (!context.finished(place, count)) return false;
  const std::span<ir::Dim> out = context.model.arena.array<ir::Dim>(rank);
  std::size_t axis = 0;
  Cursor cursor(proto, schema::kShape);
  while (cursor.next()) {
    if (cursor.field() != 1) continue;
    if (!read_dim(context, cursor.bytes(), place, out[axis++])) return false;
  }
  dims = out;
  return true;
}

bool read_tensor_type(Context& context, Bytes proto, const Place& place,
                      ir::Type& type) {
  bool has_shape = false;
  Pieces shape;
  Cursor cursor(proto, schema::kTypeTensor);
  while (cursor.next()) {
    if (cursor.field() == 1) {
      type.elem = static_cast<ir::DataType>(cursor.integer());
    } else if (cursor.field() == 2) {
      has_shape = true;
      shape.add(cursor.bytes());
    }
  }
  if (!context.finished(place, cursor)) return false;
  type.has_shape = has_shape;
  return !has_shape || read_shape(context, shape.whole(context.model.arena),
                                  place, type.dims);
}

// Checks the nesting of types that are not tensors.
bool check_nesting(Context& context, Choice choice, const Place& place) {
  // Merged messages are needed only to read the next level: one arena for this
  // level, one for the level above.
  Arena arenas[2];
  for (int depth = 0; depth < kMaxTypeNesting; ++depth) {
    Arena& here = arenas[depth % 2];
    here = Arena();
    const bool map = choice.field == type_field::kMap;
    if (!map && choice.field != type_field::kSequence &&
        choice.field != type_field::kOptional) {
      return true;
    }
    const std::uint32_t element = map ? 2 : 1;
    Pieces inner;
    Cursor cursor(choice.payload.whole(here),
                  map ? schema::kTypeMap : schema::kTypeElement);
    while (cursor.next()) {
      if (cursor.field() == element) {
        inner.add(cursor.bytes());
      }
    }
    if (!context.finished(place, cursor)) return false;
    choice = {};
    if (!read_choice(context, inner.whole(here), place, choice)) return false;
  }
  return context.fail(place, "a type is nested too deep",
                      "at most " + std::to_string(kMaxTypeNesting) + " levels",
                      "more");
}

}  // namespace

bool read_type(Context& context, Bytes proto, const Place& place,
               const ir::Type*& type) {
  type = nullptr;
  Choice choice;
  if (!read_choice(context, proto, place, choice)) return false;
  if (choice.field == 0) return true;
  ir::Type* out = context.model.arena.make<ir::Type>();
  type = out;
  if (choice.field == type_field::kTensor) {
    return read_tensor_type(context, choice.payload.whole(context.model.arena),
                            place, *out);
  }
  out->kind = ir::TypeKind::kOther;
  out->other = proto;
  return check_nesting(context, choice, place) &&
         check_opaque(context, proto, schema::kType, place);
}

bool read_value_info(Context& context, Bytes proto, const Place& place,
                     ValueInfo& info) {
  Pieces type;
  Cursor cursor(proto, schema::kValueInfo);
  while (cursor.next()) {
    if (cursor.field() == value_info_field::kName) {
      info.name = cursor.text();
    } else if (cursor.field() == value_info_field::kType) {
      type.add(cursor.bytes());
    } else if (!check_field(context, cursor, place)) {
      return false;
    }
  }
  info.type = type.whole(context.model.arena);
  return context.finished(place, cursor);
}

}  // namespace ruleengine::io
