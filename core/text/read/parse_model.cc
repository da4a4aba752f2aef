// The parts of Parser that read tokens, models and functions.
#include <array>
#include <charconv>
#include <unordered_set>

#include "core/base/suggest.h"
#include "core/text/read/encode.h"
#include "core/text/read/parser.h"
#include "core/wire/schema.h"

namespace ruleengine::text {
namespace {

constexpr std::array<std::string_view, 8> kModelKeys = {
    "ir_version", "opset_import",  "producer_name", "producer_version",
    "domain",     "model_version", "doc_string",    "metadata_props"};
constexpr std::array<std::string_view, 4> kFunctionKeys = {
    "opset_import", "doc_string", "domain", "overload"};

std::string describe(const Token& token) {
  if (token.kind == TokenKind::kEnd) return "the end of the text";
  if (token.kind == TokenKind::kString) return printable(token.text, 60);
  return quoted_name(token.text, 60);
}

}  // namespace

bool Parser::in_time() {
  if (!deadline_.is_over()) return true;
  error_ = deadline_.passed(lexer_.place(lexer_.peek().at),
                            "the model was being read");
  return false;
}

bool Parser::fail_at(std::size_t at, std::string what, std::string expected,
                     std::string found, std::string hint) {
  error_.what = std::move(what);
  error_.where = lexer_.place(at);
  error_.expected = std::move(expected);
  error_.found = std::move(found);
  error_.hint = std::move(hint);
  return false;
}

bool Parser::fail(const Token& token, std::string expected, std::string hint) {
  std::string what = "the text of the graph is not understood";
  if (token.kind == TokenKind::kBad) what += ": " + std::string(token.problem);
  return fail_at(token.at, std::move(what), std::move(expected),
                 describe(token), std::move(hint));
}

// --- tokens ----------------------------------------------------------------

bool Parser::accept(char mark) {
  if (!is(mark)) return false;
  lexer_.take();
  return true;
}

bool Parser::expect(char mark, std::string_view where) {
  if (accept(mark)) return true;
  return fail(lexer_.peek(),
              std::string("'") + mark + "' " + std::string(where));
}

bool Parser::arrow() {
  if (lexer_.peek().kind != TokenKind::kArrow) {
    return fail(lexer_.peek(), "'=>' between inputs and outputs");
  }
  lexer_.take();
  return true;
}

std::string_view Parser::keep(const Token& token) {
  const bool quoted = token.kind == TokenKind::kString;
  return quoted ? model_.arena.copy(std::string_view(unquoted(token.text)))
                : model_.arena.copy(token.text);
}

bool Parser::string(std::string_view& out, std::string_view what) {
  if (lexer_.peek().kind != TokenKind::kString) {
    return fail(lexer_.peek(), std::string(what) + " in quotes");
  }
  out = keep(lexer_.take());
  return true;
}

bool Parser::integer(std::int64_t& out, std::string_view what) {
  const Token token = lexer_.peek();
  const char* end = token.text.data() + token.text.size();
  if (token.kind != TokenKind::kInt ||
      std::from_chars(token.text.data(), end, out).ec != std::errc()) {
    return fail(token, std::string(what) + ", an integer of 64 bits");
  }
  lexer_.take();
  return true;
}

Token Parser::second() const {
  Lexer ahead = lexer_;
  ahead.take();
  return ahead.peek();
}

bool Parser::at_name() const {
  return lexer_.peek().kind == TokenKind::kName ||
         lexer_.peek().kind == TokenKind::kString;
}

bool Parser::name(NameAst& out, std::string_view what) {
  if (!at_name()) {
    return fail(lexer_.peek(), std::string(what),
                "names with other characters than letters, digits and '_' "
                "need quotes");
  }
  out.at = lexer_.peek().at;
  out.text = keep(lexer_.take());
  return true;
}

// --- model -----------------------------------------------------------------

bool Parser::model(ModelAst& out) {
  if (is('<') && !header(out.header)) return false;
  if (!is('(') && lexer_.peek().kind != TokenKind::kEnd) {
    NameAst graph_name;
    if (!name(graph_name, "a graph: its name, or '(' and its inputs")) {
      return false;
    }
    out.graph.name = graph_name.text;
  }
  if (!graph_body(out.graph, true)) return false;
  while (lexer_.peek().kind != TokenKind::kEnd) {
    if (!function(out.functions.emplace_back())) return false;
  }
  return true;
}

bool Parser::nodes_alone(std::vector<NodeAst>& out) {
  while (lexer_.peek().kind != TokenKind::kEnd) {
    if (!node(out.emplace_back())) return false;
  }
  return true;
}

bool Parser::starts_graph() const {
  return is('<') || is('(') || (at_name() && second().is('('));
}

template <typename Entry>
bool Parser::entries(const std::string& owner, std::string_view example,
                     Entry entry) {
  lexer_.take();
  do {
    const Token key = lexer_.take();
    if (key.kind != TokenKind::kName) {
      return fail(
          key, "a key of the " + owner + ", such as " + std::string(example));
    }
    if (!expect(':', "after a key") || !entry(key)) return false;
  } while (accept(','));
  return expect('>', "after the " + owner + "'s header");
}

bool Parser::header(HeaderAst& out) {
  return entries("model", "ir_version",
                 [&](const Token& key) { return header_entry(key, out); });
}

bool Parser::header_entry(const Token& key, HeaderAst& out) {
  const auto text = [&](std::uint32_t field) {
    std::string_view value;
    if (!string(value, "the value")) return false;
    put_text(out.other, field, value);
    return true;
  };
  if (key.text == "ir_version") {
    return integer(out.ir_version, "the version") &&
           (out.ir_version >= 1 ||
            fail_at(key.at, "the model has no known ir_version", "1 or more",
                    std::to_string(out.ir_version)));
  }
  if (key.text == "opset_import") return opsets(out.opset_imports.emplace());
  if (key.text == "producer_name") return text(model_field::kProducerName);
  if (key.text == "producer_version")
    return text(model_field::kProducerVersion);
  if (key.text == "domain") return text(model_field::kDomain);
  if (key.text == "doc_string") return text(model_field::kDocString);
  if (key.text == "metadata_props") return metadata(out.other);
  if (key.text == "model_version") {
    std::int64_t version = 0;
    if (!integer(version, "the version")) return false;
    put_int(out.other, model_field::kModelVersion, version);
    return true;
  }
  return fail(key, "a key of the model", suggestion(key.text, kModelKeys));
}

bool Parser::opsets(ir::OpsetImports& out) {
  if (!expect('[', "before the list of opsets")) return false;
  if (accept(']')) return true;
  std::unordered_set<std::string_view> seen;
  do {
    std::string_view domain;
    std::int64_t version = 0;
    const std::size_t at = lexer_.peek().at;
    if (!string(domain, "a domain") || !expect(':', "after the domain") ||
        !integer(version, "the version of the opset")) {
      return false;
    }
    if (domain == "ai.onnx") domain = {};
    if (!seen.insert(domain).second) {
      return fail_at(at, "a domain is imported twice", "once",
                     "a second import of '" + printable(domain) + "'");
    }
    if (version < 1) {
      return fail_at(at, "an opset has no valid version", "1 or more",
                     std::to_string(version));
    }
    out.push_back({std::string(domain), version});
  } while (accept(','));
  return expect(']', "after the list of opsets");
}

bool Parser::metadata(std::vector<std::byte>& out) {
  if (!expect('[', "before the metadata")) return false;
  if (accept(']')) return true;
  do {
    std::string_view key, value;
    if (!string(key, "a key") || !expect(':', "after the key") ||
        !string(value, "a value")) {
      return false;
    }
    std::vector<std::byte> entry;
    put_text(entry, entry_field::kKey, key);
    put_text(entry, entry_field::kValue, value);
    put_bytes(out, model_field::kMetadata, entry);
  } while (accept(','));
  return expect(']', "after the metadata");
}

// --- functions -------------------------------------------------------------

bool Parser::function(FunctionAst& out) {
  if (is('<') && !function_header(out)) return false;
  NameAst function_name;
  if (!name(function_name, "a function, or the end of the text")) return false;
  out.at = function_name.at;
  out.body.name = function_name.text;
  return function_rest(out);
}

bool Parser::function_rest(FunctionAst& out) {
  return function_attributes(out) && graph_body(out.body, false);
}

bool Parser::function_alone(FunctionAst& out) {
  if (is('<') && second().text == "opset_import" && !function_header(out)) {
    return false;
  }
  if (!out.domain.empty() || !out.overload.empty()) {
    return fail_at(0, "the body of an op names a function",
                   "opset_import alone", "", "the key of `body` is the name");
  }
  if (!is('<') && !is('(')) {
    return fail(lexer_.peek(), "the body of an op: '(' and its inputs",
                "(x) => (y) { y = Relu(x) }");
  }
  if (!function_rest(out)) return false;
  if (lexer_.peek().kind == TokenKind::kEnd) return true;
  return fail(lexer_.peek(), "the end of the body");
}

bool Parser::function_header(FunctionAst& out) {
  const bool ok = entries("function", "domain", [&](const Token& key) {
    std::string_view ignored;
    if (key.text == "opset_import") return opsets(out.opset_imports.emplace());
    if (key.text == "domain") return string(out.domain, "the domain");
    if (key.text == "overload") return string(out.overload, "the overload");
    if (key.text == "doc_string") return string(ignored, "the documentation");
    return fail(key, "a key of the function",
                suggestion(key.text, kFunctionKeys));
  });
  if (out.domain == "ai.onnx") out.domain = {};
  return ok;
}

// Reads "<axis, epsilon: float = 1e-5>": attributes without and with a default.
bool Parser::function_attributes(FunctionAst& out) {
  if (!accept('<')) return true;
  if (accept('>')) return true;
  do {
    NameAst attribute_name;
    if (!name(attribute_name, "the name of an attribute")) return false;
    if (is(':') || is('=')) {
      AttributeAst& with_default = out.attribute_defaults.emplace_back();
      if (!attribute(attribute_name, with_default)) return false;
    } else {
      out.attributes.push_back(attribute_name);
    }
  } while (accept(','));
  return expect('>', "after the function's attributes");
}

}  // namespace ruleengine::text
