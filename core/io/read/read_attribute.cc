#include "core/io/read/read_attribute.h"

#include <cstring>

#include "core/io/read/read_tensor.h"
#include "core/io/read/read_type.h"

namespace ruleengine::io {
namespace {

using ir::AttributeKind;

// The value field of each kind, by the kind's number.
constexpr std::uint32_t kFieldOf[] = {
    0,
    attribute_field::kF,
    attribute_field::kI,
    attribute_field::kS,
    attribute_field::kT,
    attribute_field::kG,
    attribute_field::kFloats,
    attribute_field::kInts,
    attribute_field::kStrings,
    attribute_field::kTensors,
    attribute_field::kGraphs,
    attribute_field::kSparse,
    attribute_field::kSparses,
    attribute_field::kTp,
    attribute_field::kTypeProtos,
};
constexpr std::uint32_t kAttributeKinds = std::size(kFieldOf);

constexpr std::uint32_t value_fields() {
  std::uint32_t mask = 0;
  for (std::uint32_t field : kFieldOf) mask |= 1u << field;
  return mask & ~1u;
}

struct Scan {
  std::int64_t type = 0;
  std::uint32_t present = 0;      // value fields, by number
  std::size_t message_count = 0;  // of repeated messages and strings
  Pieces singular;                // the message of t, g, sparse_tensor or tp
};

bool is_singular_message(std::uint32_t field) {
  return field == attribute_field::kT || field == attribute_field::kG ||
         field == attribute_field::kSparse || field == attribute_field::kTp;
}

bool append_floats(Context& context, const Cursor& cursor, const Place& place) {
  if (!cursor.is_length()) {
    context.floats.push_back(cursor.real());
    return true;
  }
  const Bytes packed = cursor.bytes();
  if (packed.size() % 4 != 0) {
    return context.fail(place, "packed floats end inside a number",
                        "a multiple of 4 bytes",
                        std::to_string(packed.size()) + " bytes");
  }
  const std::size_t before = context.floats.size();
  context.floats.resize(before + packed.size() / 4);
  if (!packed.empty()) {
    std::memcpy(context.floats.data() + before, packed.data(), packed.size());
  }
  return true;
}

bool scan_value(Context& context, const Cursor& cursor, const Place& place,
                Scan& scan, ir::Attribute& out) {
  const std::uint32_t field = cursor.field();
  scan.present |= 1u << field;
  switch (field) {
    case attribute_field::kF:
      out.f = cursor.real();
      return true;
    case attribute_field::kI:
      out.i = cursor.integer();
      return true;
    case attribute_field::kS:
      out.s = cursor.text();
      return true;
    case attribute_field::kInts:
      return cursor.append_integers(context.ints) ||
             context.fail(place, "packed ints end inside a number");
    case attribute_field::kFloats:
      return append_floats(context, cursor, place);
    default:
      break;
  }
  if (is_singular_message(field)) {
    scan.singular.add(cursor.bytes());
    scan.message_count = 1;
  } else {
    ++scan.message_count;
  }
  return true;
}

bool scan_fields(Context& context, Bytes proto, const Place& place, Scan& scan,
                 ir::Attribute& out) {
  context.ints.clear();
  context.floats.clear();
  Cursor cursor(proto, schema::kAttribute);
  while (cursor.next()) {
    const std::uint32_t field = cursor.field();
    if (field == attribute_field::kName) {
      out.name = cursor.text();
    } else if (field == attribute_field::kType) {
      scan.type = cursor.integer();
    } else if (field == attribute_field::kRef) {
      out.ref = cursor.text();
    } else if (field < 32 && (value_fields() >> field & 1) != 0) {
      if (!scan_value(context, cursor, place, scan, out)) return false;
    }
  }
  return context.finished(place, cursor);
}

// IR version 1 had no `type`: the value field that is present implies it.
void infer_type(Scan& scan) {
  if (scan.type != 0) return;
  for (std::uint32_t kind = 1; kind < kAttributeKinds; ++kind) {
    if (scan.present == 1u << kFieldOf[kind]) scan.type = kind;
  }
}

bool check_kind(Context& context, const Place& place, Scan& scan,
                const ir::Attribute& out) {
  if (out.name.empty()) {
    return context.fail(place, "an attribute has no name");
  }
  if (!out.ref.empty() && !context.in_function) {
    return context.fail(place,
                        "an attribute outside of functions is a reference",
                        "a value", "ref_attr_name " + quoted_name(out.ref));
  }
  if (!out.ref.empty() && scan.present != 0) {
    return context.fail(place, "an attribute has a value and a reference",
                        "one of the two", "both");
  }
  infer_type(scan);
  const bool known = scan.type > 0 && scan.type < std::int64_t{kAttributeKinds};
  if (!known && !(scan.type == 0 && !out.ref.empty())) {
    return context.fail(place, "an attribute has no valid type",
                        "an AttributeType from 1 to 14",
                        std::to_string(scan.type));
  }
  const std::uint32_t own = 1u << kFieldOf[scan.type];
  if ((scan.present & ~own) != 0) {
    return context.fail(
        place, "the value of an attribute does not fit its type",
        "the field '" +
            std::string(schema::kAttribute.fields[kFieldOf[scan.type]].name) +
            "' alone",
        "another value field, or more than one");
  }
  return true;
}

// Calls `read(bytes, i)` for each message that makes up the value.
template <typename Read>
bool for_each(Context& context, Bytes proto, const Place& place,
              const Scan& scan, Read read) {
  const std::uint32_t field = kFieldOf[scan.type];
  if (is_singular_message(field)) {
    return scan.message_count == 0 ||
           read(scan.singular.whole(context.model.arena), std::size_t{0});
  }
  std::size_t i = 0;
  Cursor cursor(proto, schema::kAttribute);
  while (cursor.next()) {
    if (cursor.field() == field && !read(cursor.bytes(), i++)) return false;
  }
  return context.finished(place, cursor);
}

bool read_tensors(Context& context, Bytes proto, const Place& place,
                  const Scan& scan, ir::Attribute& out) {
  if (scan.message_count == 0 && out.kind == AttributeKind::kTensor) {
    return context.fail(place, "an attribute of type TENSOR has no tensor");
  }
  const auto tensors =
      context.model.arena.array<const ir::Literal*>(scan.message_count);
  out.tensors = tensors;
  return for_each(context, proto, place, scan, [&](Bytes b, std::size_t i) {
    std::string_view name;
    return read_tensor(context, b, place, tensors[i], name);
  });
}

bool read_graphs(Context& context, Bytes proto, const Place& place,
                 const Scan& scan, BlockMaker* maker, ir::Attribute& out) {
  if (scan.message_count == 0 && out.kind == AttributeKind::kGraph) {
    return context.fail(place, "an attribute of type GRAPH has no graph");
  }
  if (maker == nullptr) return true;
  const auto blocks =
      context.model.arena.array<ir::BlockId>(scan.message_count);
  out.blocks = blocks;
  return for_each(context, proto, place, scan, [&](Bytes b, std::size_t i) {
    blocks[i] = maker->make_block(b);
    return true;
  });
}

bool read_strings(Context& context, Bytes proto, const Place& place,
                  const Scan& scan, ir::Attribute& out) {
  const auto strings =
      context.model.arena.array<std::string_view>(scan.message_count);
  out.strings = strings;
  return for_each(context, proto, place, scan, [&](Bytes b, std::size_t i) {
    strings[i] = as_text(b);
    return true;
  });
}

bool read_value(Context& context, Bytes proto, const Place& place,
                const Scan& scan, BlockMaker* maker, ir::Attribute& out) {
  switch (out.kind) {
    case AttributeKind::kInts:
      out.ints =
          context.model.arena.copy(std::span<const std::int64_t>(context.ints));
      return true;
    case AttributeKind::kFloats:
      out.floats =
          context.model.arena.copy(std::span<const float>(context.floats));
      return true;
    case AttributeKind::kStrings:
      return read_strings(context, proto, place, scan, out);
    case AttributeKind::kTensor:
    case AttributeKind::kTensors:
      return read_tensors(context, proto, place, scan, out);
    case AttributeKind::kGraph:
    case AttributeKind::kGraphs:
      return read_graphs(context, proto, place, scan, maker, out);
    case AttributeKind::kSparseTensor:
    case AttributeKind::kSparseTensors:
      return for_each(context, proto, place, scan, [&](Bytes b, std::size_t) {
        std::string_view name;
        return check_sparse(context, b, place, name);
      });
    case AttributeKind::kTypeProto:
    case AttributeKind::kTypeProtos:
      return for_each(context, proto, place, scan, [&](Bytes b, std::size_t) {
        const ir::Type* type;
        return read_type(context, b, place, type);
      });
    default:
      return true;
  }
}

}  // namespace

bool read_attribute(Context& context, Bytes proto, const Place& place,
                    BlockMaker* maker, ir::Attribute& out) {
  Scan scan;
  out.proto = proto;
  if (!scan_fields(context, proto, place, scan, out)) return false;
  const Place here{&place, "attribute", out.name};
  if (!check_kind(context, here, scan, out)) return false;
  out.kind = static_cast<AttributeKind>(scan.type);
  if (!out.ref.empty()) return true;
  return read_value(context, proto, here, scan, maker, out);
}

}  // namespace ruleengine::io
