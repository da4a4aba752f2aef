// The part of Parser that reads types.
#include "core/base/suggest.h"
#include "core/ir/data_type.h"
#include "core/text/read/encode.h"
#include "core/text/read/parser.h"
#include "core/text/words.h"
#include "core/wire/schema.h"

namespace ruleengine::text {
bool Parser::at_type() const {
  const Token& token = lexer_.peek();
  return token.kind == TokenKind::kName &&
         (type_word(token.text) != 0 ||
          ir::data_type_from_name(token.text) != ir::DataType::kUndefined);
}

bool Parser::type(TypeAst& out) {
  const Token token = lexer_.peek();
  out.at = token.at;
  if (!at_type()) {
    return fail(token, "a type, such as float[2,3]",
                at_name() ? ir::data_type_hint(token.text) : "");
  }
  out.field = type_word(token.text);
  if (out.field == 0) return tensor_type(out);
  if (++depth_ > kMaxNesting) {
    return fail_at(token.at, "types are nested too deep",
                   "at most " + std::to_string(kMaxNesting) + " levels",
                   "more");
  }
  lexer_.take();
  const bool ok = expect('(', "after the kind of a type") && inner_type(out) &&
                  expect(')', "after a type");
  --depth_;
  return ok;
}

bool Parser::inner_type(TypeAst& out) {
  if (out.field == type_field::kOpaque) return opaque_type(out);
  if (out.field == type_field::kSparse) {
    const std::uint32_t field = out.field;
    const bool ok = tensor_type(out);
    out.field = field;
    return ok;
  }
  if (out.field == type_field::kMap) {
    const Token key = lexer_.peek();
    out.elem = ir::data_type_from_name(key.text);
    if (out.elem == ir::DataType::kUndefined) {
      return fail(key, "the type of a map's keys, such as int64");
    }
    lexer_.take();
    if (!expect(',', "after the type of a map's keys")) return false;
  }
  return type(out.inner.emplace_back());
}

bool Parser::tensor_type(TypeAst& out) {
  const Token token = lexer_.peek();
  out.field = type_field::kTensor;
  out.elem = ir::data_type_from_name(token.text);
  if (out.elem == ir::DataType::kUndefined) {
    return fail(token, "an element type, such as float",
                at_name() ? ir::data_type_hint(token.text) : "");
  }
  lexer_.take();
  // "float" is a scalar; "float[]" has an unknown rank.
  out.has_shape = true;
  if (!accept('[')) return true;
  if (!accept(']')) return dims(out);
  out.has_shape = false;
  return true;
}

bool Parser::dims(TypeAst& out) {
  do {
    if (!dim(out.dims.emplace_back())) return false;
  } while (accept(','));
  return expect(']', "after the dimensions");
}

bool Parser::dim(DimAst& out) {
  if (accept('?')) return true;
  if (at_name()) {
    out.symbol = keep(lexer_.take());
    return true;
  }
  const Token token = lexer_.peek();
  if (token.kind != TokenKind::kInt || token.text[0] == '-') {
    return fail(token, "a dimension: a size, a name or '?'");
  }
  return integer(out.size, "a size");
}

bool Parser::opaque_type(TypeAst& out) {
  if (is(')')) return true;
  std::string joined;
  NameAst part;
  do {
    if (!name(part, "the name of an opaque type")) return false;
    joined.append(joined.empty() ? "" : ".").append(part.text);
  } while (accept('.'));
  out.opaque_name = model_.arena.copy(std::string_view(joined));
  if (!accept(',')) return true;
  out.opaque_domain = out.opaque_name;
  if (!name(part, "the name of an opaque type")) return false;
  out.opaque_name = part.text;
  return true;
}

const ir::Type* Parser::make_type(const TypeAst& type) {
  auto* out = model_.arena.make<ir::Type>();
  if (type.field != type_field::kTensor) {
    out->kind = ir::TypeKind::kOther;
    out->other = model_.arena.copy(std::span<const std::byte>(encode(type)));
    return out;
  }
  out->elem = type.elem;
  out->has_shape = type.has_shape;
  std::vector<ir::Dim> list;
  for (const DimAst& d : type.dims) {
    if (d.size >= 0) {
      list.emplace_back(d.size);
    } else if (d.symbol.empty()) {
      list.push_back(model_.dims.fresh());
    } else {
      list.push_back(model_.dims.symbol(d.symbol));
    }
  }
  out->dims = model_.arena.copy(std::span<const ir::Dim>(list));
  return out;
}

// Encodes a type as TypeProto.
std::vector<std::byte> Parser::encode(const TypeAst& type) const {
  std::vector<std::byte> body, shape;
  const bool tensor =
      type.field == type_field::kTensor || type.field == type_field::kSparse;
  if (tensor || type.field == type_field::kMap) {
    put_int(body, 1, static_cast<std::int64_t>(type.elem));
  }
  if (tensor && type.has_shape) {
    for (const DimAst& d : type.dims) {
      std::vector<std::byte> dim;
      if (d.size >= 0) put_int(dim, 1, d.size);
      if (!d.symbol.empty()) put_text(dim, 2, d.symbol);
      put_bytes(shape, 1, dim);
    }
    put_bytes(body, 2, shape);
  }
  for (const TypeAst& inner : type.inner) {
    put_bytes(body, type.field == type_field::kMap ? 2 : 1, encode(inner));
  }
  if (!type.opaque_domain.empty()) put_text(body, 1, type.opaque_domain);
  if (!type.opaque_name.empty()) put_text(body, 2, type.opaque_name);
  std::vector<std::byte> out;
  put_bytes(out, type.field, body);
  return out;
}

}  // namespace ruleengine::text
