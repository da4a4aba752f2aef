#include "core/io/read/parts.h"

#include <cstring>

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

bool is_singular_message(std::uint32_t field) {
  return field == attribute_field::kT || field == attribute_field::kG ||
         field == attribute_field::kSparse || field == attribute_field::kTp;
}

class AttributeReader {
 public:
  AttributeReader(Context& context, Bytes proto, BlockMaker* maker,
                  ir::Attribute& out)
      : context_(context), proto_(proto), maker_(maker), out_(out) {
    context.ints.clear();
    context.floats.clear();
    out.proto = proto;
  }

  bool read(const Place& place) {
    if (!scan(place)) return false;
    place_ = {&place, "attribute", out_.name};
    if (!check_kind()) return false;
    out_.kind = static_cast<AttributeKind>(type_);
    return !out_.ref.empty() || read_value();
  }

 private:
  bool fail(std::string what, std::string expected = {},
            std::string found = {}) {
    return context_.fail(place_, std::move(what), std::move(expected),
                         std::move(found));
  }

  bool scan(const Place& place) {
    place_ = place;
    Cursor cursor(proto_, schema::kAttribute);
    while (cursor.next()) {
      const std::uint32_t field = cursor.field();
      if (field == attribute_field::kName) {
        out_.name = cursor.text();
      } else if (field == attribute_field::kType) {
        type_ = cursor.integer();
      } else if (field == attribute_field::kRef) {
        out_.ref = cursor.text();
      } else if (field < 32 && (value_fields() >> field & 1) != 0) {
        present_ |= 1u << field;
        if (!scan_value(cursor)) return false;
      }
    }
    return context_.finished(place, cursor);
  }

  bool scan_value(const Cursor& cursor) {
    switch (cursor.field()) {
      case attribute_field::kF:
        out_.f = cursor.real();
        return true;
      case attribute_field::kI:
        out_.i = cursor.integer();
        return true;
      case attribute_field::kS:
        out_.s = cursor.text();
        return true;
      case attribute_field::kInts:
        return cursor.append_integers(context_.ints) ||
               fail("packed ints end inside a number");
      case attribute_field::kFloats:
        return append_floats(cursor);
      default:
        break;
    }
    if (is_singular_message(cursor.field())) {
      singular_.add(cursor.bytes());
      count_ = 1;
    } else {
      ++count_;
    }
    return true;
  }

  bool append_floats(const Cursor& cursor) {
    std::vector<float>& floats = context_.floats;
    if (!cursor.is_length()) {
      floats.push_back(cursor.real());
      return true;
    }
    const Bytes packed = cursor.bytes();
    if (packed.size() % 4 != 0) {
      return fail("packed floats end inside a number", "a multiple of 4 bytes",
                  std::to_string(packed.size()) + " bytes");
    }
    const std::size_t before = floats.size();
    floats.resize(before + packed.size() / 4);
    if (!packed.empty()) {
      std::memcpy(floats.data() + before, packed.data(), packed.size());
    }
    return true;
  }

  // IR version 1 had no `type`: the value field that is present implies it.
  void infer_type() {
    if (type_ != 0) return;
    for (std::uint32_t kind = 1; kind < kAttributeKinds; ++kind) {
      if (present_ == 1u << kFieldOf[kind]) type_ = kind;
    }
  }

  bool check_kind() {
    if (out_.name.empty()) return fail("an attribute has no name");
    if (!out_.ref.empty() && !context_.in_function) {
      return fail("an attribute outside of functions is a reference", "a value",
                  "ref_attr_name " + quoted_name(out_.ref));
    }
    if (!out_.ref.empty() && present_ != 0) {
      return fail("an attribute has a value and a reference", "one of the two",
                  "both");
    }
    infer_type();
    const bool known = type_ > 0 && type_ < std::int64_t{kAttributeKinds};
    if (!known && !(type_ == 0 && !out_.ref.empty())) {
      return fail("an attribute has no valid type",
                  "an AttributeType from 1 to 14", std::to_string(type_));
    }
    const std::uint32_t own = kFieldOf[type_];
    if ((present_ & ~(1u << own)) != 0) {
      return fail("the value of an attribute does not fit its type",
                  "the field '" +
                      std::string(schema::kAttribute.fields[own].name) +
                      "' alone",
                  "another value field, or more than one");
    }
    return true;
  }

  // Calls `read(bytes, i)` for each message that makes up the value.
  template <typename Read>
  bool for_each(Read read) {
    const std::uint32_t field = kFieldOf[type_];
    if (is_singular_message(field)) {
      return count_ == 0 ||
             read(singular_.whole(context_.model.arena), std::size_t{0});
    }
    std::size_t i = 0;
    Cursor cursor(proto_, schema::kAttribute);
    while (cursor.next()) {
      if (cursor.field() == field && !read(cursor.bytes(), i++)) return false;
    }
    return context_.finished(place_, cursor);
  }

  // Makes the list `to`; `read(bytes, element)` reads each element.
  template <typename T, typename Read>
  bool read_list(std::span<const T>& to, Read read) {
    const std::span<T> list = context_.model.arena.array<T>(count_);
    to = list;
    return for_each(
        [&](Bytes bytes, std::size_t i) { return read(bytes, list[i]); });
  }

  bool read_value() {
    Arena& arena = context_.model.arena;
    switch (out_.kind) {
      case AttributeKind::kInts:
        out_.ints = arena.copy(std::span<const std::int64_t>(context_.ints));
        return true;
      case AttributeKind::kFloats:
        out_.floats = arena.copy(std::span<const float>(context_.floats));
        return true;
      case AttributeKind::kStrings:
        return read_list(out_.strings, [](Bytes b, std::string_view& text) {
          text = as_text(b);
          return true;
        });
      case AttributeKind::kTensor:
        if (count_ == 0)
          return fail("an attribute of type TENSOR has no tensor");
        [[fallthrough]];
      case AttributeKind::kTensors:
        return read_list(
            out_.tensors, [&](Bytes b, const ir::Literal*& tensor) {
              std::string_view name;
              return read_tensor(context_, b, place_, tensor, name);
            });
      case AttributeKind::kGraph:
        if (count_ == 0) return fail("an attribute of type GRAPH has no graph");
        [[fallthrough]];
      case AttributeKind::kGraphs:
        if (maker_ == nullptr) return true;
        return read_list(out_.blocks, [&](Bytes b, ir::BlockId& block) {
          block = maker_->make_block(b);
          return true;
        });
      case AttributeKind::kSparseTensor:
      case AttributeKind::kSparseTensors:
        return for_each([&](Bytes b, std::size_t) {
          std::string_view name;
          return check_sparse(context_, b, place_, name);
        });
      case AttributeKind::kTypeProto:
      case AttributeKind::kTypeProtos:
        return for_each([&](Bytes b, std::size_t) {
          const ir::Type* type;
          return read_type(context_, b, place_, type);
        });
      default:
        return true;
    }
  }

  Context& context_;
  Bytes proto_;
  BlockMaker* maker_;
  ir::Attribute& out_;
  Place place_;
  std::int64_t type_ = 0;
  std::uint32_t present_ = 0;  // value fields, by number
  std::size_t count_ = 0;      // of messages and strings
  Pieces singular_;            // the message of t, g, sparse_tensor or tp
};

}  // namespace

bool read_attribute(Context& context, Bytes proto, const Place& place,
                    BlockMaker* maker, ir::Attribute& out) {
  return AttributeReader(context, proto, maker, out).read(place);
}

}  // namespace ruleengine::io
