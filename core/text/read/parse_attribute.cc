// The part of Parser that reads attributes.
#include <unordered_set>
#include <utility>

#include "core/base/suggest.h"
#include "core/text/numbers.h"
#include "core/text/read/encode.h"
#include "core/text/read/parser.h"
#include "core/text/words.h"
#include "core/wire/schema.h"

namespace ruleengine::text {

using ir::AttributeKind;

bool Parser::attributes(std::vector<AttributeAst>& out) {
  if (!expect('<', "before attributes")) return false;
  if (accept('>')) return true;
  std::unordered_set<std::string_view> seen;
  do {
    NameAst given;
    if (!name(given, "the name of an attribute") ||
        !attribute(given, out.emplace_back())) {
      return false;
    }
    if (!seen.insert(given.text).second) {
      return fail_at(given.at, "an attribute is given twice", "once",
                     "a second '" + printable(given.text) + "'");
    }
  } while (accept(','));
  return expect('>', "after attributes");
}

bool Parser::attribute(const NameAst& attribute_name, AttributeAst& out) {
  out.at = attribute_name.at;
  out.value.name = attribute_name.text;
  AttributeKind wanted = AttributeKind::kUndefined;
  if (accept(':')) {
    const Token token = lexer_.take();
    wanted = kind_from_name(token.text);
    if (token.kind != TokenKind::kName || wanted == AttributeKind::kUndefined) {
      return fail(token, "the type of an attribute, such as int or floats",
                  suggestion(token.text, kind_names()));
    }
    out.has_type = true;
  }
  if (!expect('=', "after the name of an attribute")) return false;
  if (accept('@')) {
    NameAst ref;
    if (!name(ref, "an attribute of the function")) return false;
    out.value.ref = ref.text;
    out.value.kind = wanted;
    return true;
  }
  out.value.kind = is('[') ? element_kind(wanted) : wanted;
  const std::size_t at = lexer_.peek().at;
  if (is('[') != is_list(wanted) && wanted != AttributeKind::kUndefined) {
    return fail_at(at, "the value of an attribute is not of its type",
                   std::string(kind_name(wanted)),
                   is('[') ? "a list" : "a single value");
  }
  if (!(is('[') ? attribute_list(out) : attribute_value(out))) return false;
  if (!out.types.empty()) encode_types(out);
  return true;
}

// Types are kept as an encoded AttributeProto.
void Parser::encode_types(AttributeAst& out) {
  const bool list = out.value.kind == AttributeKind::kTypeProtos;
  std::vector<std::byte> proto;
  put_text(proto, attribute_field::kName, out.value.name);
  for (const auto& type : out.types) {
    put_bytes(proto, list ? attribute_field::kTypeProtos : attribute_field::kTp,
              type);
  }
  put_int(proto, attribute_field::kType,
          static_cast<std::int64_t>(out.value.kind));
  out.value.proto = model_.arena.copy(std::span<const std::byte>(proto));
}

bool Parser::attribute_list(AttributeAst& out) {
  lexer_.take();
  const AttributeKind wanted = out.value.kind;
  if (accept(']')) {
    out.value.kind = list_of(wanted);
    out.empty_list = wanted == AttributeKind::kUndefined;
    return true;
  }
  ListAst list;
  list.kind = wanted;
  do {
    AttributeAst element;
    element.at = lexer_.peek().at;
    element.value.kind = wanted;
    if (!attribute_value(element) || !append(list, std::move(element))) {
      return false;
    }
  } while (accept(','));
  if (!expect(']', "after a list")) return false;
  finish(list, out);
  return true;
}

bool Parser::append(ListAst& list, AttributeAst&& element) {
  const ir::Attribute& value = element.value;
  // Integers in a list with floats are floats.
  const bool real =
      list.kind == AttributeKind::kFloat && value.kind == AttributeKind::kInt;
  const bool turns =
      list.kind == AttributeKind::kInt && value.kind == AttributeKind::kFloat;
  if (list.kind != AttributeKind::kUndefined && list.kind != value.kind &&
      !real && !turns) {
    return fail_at(element.at, "the elements of a list have different types",
                   std::string(kind_name(list.kind)),
                   std::string(kind_name(value.kind)));
  }
  if (!real) list.kind = value.kind;
  if (value.kind == AttributeKind::kFloat) list.floats.push_back(value.f);
  if (value.kind == AttributeKind::kInt) {
    list.ints.push_back(value.i);
    list.floats.push_back(static_cast<float>(value.i));
  }
  if (value.kind == AttributeKind::kString) list.strings.push_back(value.s);
  if (value.kind == AttributeKind::kTensor) {
    list.tensors.push_back(value.tensors[0]);
  }
  for (auto& graph : element.graphs) list.graphs.push_back(std::move(graph));
  for (auto& type : element.types) list.types.push_back(std::move(type));
  return true;
}

void Parser::finish(ListAst& list, AttributeAst& out) {
  ir::Attribute& value = out.value;
  Arena& arena = model_.arena;
  value.kind = list_of(list.kind);
  if (value.kind == AttributeKind::kFloats) {
    value.floats = arena.copy(std::span<const float>(list.floats));
  } else if (value.kind == AttributeKind::kInts) {
    value.ints = arena.copy(std::span<const std::int64_t>(list.ints));
  } else if (value.kind == AttributeKind::kStrings) {
    value.strings = arena.copy(std::span<const std::string_view>(list.strings));
  } else if (value.kind == AttributeKind::kTensors) {
    value.tensors =
        arena.copy(std::span<const ir::Literal* const>(list.tensors));
  }
  out.graphs = std::move(list.graphs);
  out.types = std::move(list.types);
}

// Reads one value; `out.value.kind` is its required kind, if that was given.
bool Parser::attribute_value(AttributeAst& out) {
  const AttributeKind wanted = out.value.kind;
  const Token token = lexer_.peek();
  bool ok = false;
  if (at_type()) {
    ok = attribute_typed(out);
  } else if (token.kind == TokenKind::kInt || token.kind == TokenKind::kFloat ||
             (token.kind == TokenKind::kName && is_float_word(token.text))) {
    ok = attribute_number(out);
  } else if (token.kind == TokenKind::kString && !second().is('(')) {
    out.value.kind = AttributeKind::kString;
    out.value.s = keep(lexer_.take());
    ok = true;
  } else if (at_name() || is('(')) {
    out.value.kind = AttributeKind::kGraph;
    ok = graph(*out.graphs.emplace_back(std::make_unique<GraphAst>()));
  } else {
    return fail(token, "the value of an attribute");
  }
  if (!ok) return false;
  if (wanted == AttributeKind::kUndefined || wanted == out.value.kind) {
    return true;
  }
  return fail_at(token.at, "the value of an attribute is not of its type",
                 std::string(kind_name(wanted)),
                 std::string(kind_name(out.value.kind)));
}

bool Parser::attribute_number(AttributeAst& out) {
  const Token token = lexer_.peek();
  if (token.kind == TokenKind::kInt &&
      out.value.kind != AttributeKind::kFloat) {
    out.value.kind = AttributeKind::kInt;
    return integer(out.value.i, "the value of an attribute");
  }
  const auto value = to_float(token.text);
  if (!value) return fail(token, "a number of type float");
  out.value.kind = AttributeKind::kFloat;
  out.value.f = *value;
  lexer_.take();
  return true;
}

// Reads a tensor, or a type alone.
bool Parser::attribute_typed(AttributeAst& out) {
  TypeAst said;
  if (!type(said)) return false;
  NameAst ignored;
  if (!at_name() && !is('{') && !is('=')) {
    out.value.kind = AttributeKind::kTypeProto;
    out.types.push_back(encode(said));
    return true;
  }
  if (at_name() && !name(ignored, "the name of a tensor")) return false;
  accept('=');
  const ir::Literal* data = nullptr;
  if (!tensor(said, data)) return false;
  out.value.kind = AttributeKind::kTensor;
  out.value.tensors =
      model_.arena.copy(std::span<const ir::Literal* const>(&data, 1));
  return true;
}

}  // namespace ruleengine::text
