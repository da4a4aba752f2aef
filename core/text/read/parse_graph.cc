// The part of Parser that reads graphs and nodes.
#include "core/ir/data_type.h"
#include "core/text/read/parser.h"

namespace ruleengine::text {

bool Parser::graph(GraphAst& out) {
  NameAst graph_name;
  const std::size_t at = lexer_.peek().at;
  if (!is('(')) {
    if (!name(graph_name, "the name of a graph")) return false;
    out.name = graph_name.text;
  }
  if (++depth_ > kMaxNesting) {
    return fail_at(at, "subgraphs are nested too deep",
                   "at most " + std::to_string(kMaxNesting) + " levels",
                   "more");
  }
  const bool ok = graph_body(out, true);
  --depth_;
  return ok;
}

bool Parser::graph_body(GraphAst& out, bool defaults) {
  return values(out.inputs, '(', ')', defaults) && arrow() &&
         values(out.outputs, '(', ')', false) &&
         (!is('<') || values(out.infos, '<', '>', true)) &&
         node_list(out.nodes);
}

// `data`: whether a value may have data.
bool Parser::values(std::vector<ValueAst>& out, char open, char close,
                    bool data) {
  if (!expect(open, "before a list of values")) return false;
  if (accept(close)) return true;
  do {
    if (!in_time() || !value(out.emplace_back(), data)) return false;
  } while (accept(','));
  return expect(close, "after a list of values");
}

bool Parser::value(ValueAst& out, bool data) {
  TypeAst said;
  const bool typed = at_type();
  if (typed) {
    if (!type(said)) return false;
    out.type = make_type(said);
  }
  const Token first = lexer_.peek();
  if (!name(out.name, "the name of a value")) return false;
  if (!typed && (is('[') || at_name())) {
    return fail_at(first.at, "there is no type '" + printable(first.text) + "'",
                   "a type, such as float[2,3]", {},
                   ir::data_type_hint(first.text));
  }
  if (out.name.text.empty()) {
    return fail_at(out.name.at, "a value has no name", "a name", "\"\"");
  }
  if (!data || !is('=')) return true;
  if (!typed) {
    return fail(lexer_.peek(), "a type before the name of a constant",
                "such as float[2] w = {1, 2}");
  }
  lexer_.take();
  return tensor(said, out.tensor);
}

bool Parser::node_list(std::vector<NodeAst>& out) {
  if (!expect('{', "before a list of nodes")) return false;
  while (!accept('}')) {
    if (!in_time() || !node(out.emplace_back())) return false;
  }
  return true;
}

bool Parser::node(NodeAst& out) {
  if (accept('[') && !node_label(out)) return false;
  if (!at_name() && !is('=') && !is(',')) {
    return fail(lexer_.peek(), "a node such as y = Relu(x), or '}'");
  }
  if (!names(out.outputs) || !expect('=', "after the outputs of a node") ||
      !op(out) || (is('<') && !attributes(out.attributes)) ||
      !expect('(', "before the inputs of a node") || !names(out.inputs) ||
      !expect(')', "after the inputs of a node")) {
    return false;
  }
  // Attributes may also come after the inputs.
  return !out.attributes.empty() || !is('<') || attributes(out.attributes);
}

// After '[': the name of the node, its metadata as "key": "value", or both,
// separated by commas.
bool Parser::node_label(NodeAst& out) {
  NameAst first;
  if (at_name() && !name(first, "the name of a node")) return false;
  std::string_view key = first.text;
  if (!is(':')) {
    out.name = first.text;
    if (accept(']')) return true;
    if (!expect(',', "after the name of a node") || !string(key, "a key")) {
      return false;
    }
  }
  for (;;) {
    std::string_view value;
    if (!expect(':', "after the key") || !string(value, "a value")) {
      return false;
    }
    out.metadata.push_back({key, value});
    if (!accept(',')) return expect(']', "after the metadata of a node");
    if (!string(key, "a key")) return false;
  }
}

// Reads the domain and the type, separated by points; the last part is the
// type.
bool Parser::op(NodeAst& out) {
  NameAst part;
  std::string domain;
  if (!name(part, "the type of an op")) return false;
  out.at = part.at;
  while (accept('.')) {
    domain.append(domain.empty() ? "" : ".").append(part.text);
    if (!name(part, "the type of an op after its domain")) return false;
  }
  out.domain = domain == "ai.onnx"
                   ? std::string_view()
                   : model_.arena.copy(std::string_view(domain));
  out.type = part.text;
  if (part.text.empty()) {
    return fail_at(part.at, "a node has no op", "the type of an op", "\"\"");
  }
  if (!accept(':')) return true;
  NameAst overload;
  if (!name(overload, "an overload")) return false;
  out.overload = overload.text;
  return true;
}

// Names may be left out or "": "(x, , y)" has an absent second one. A comma
// after the last name is ignored.
bool Parser::names(std::vector<NameAst>& out) {
  while (at_name() || is(',')) {
    NameAst& next = out.emplace_back();
    next.at = lexer_.peek().at;
    if (at_name() && !name(next, "a value")) return false;
    if (!accept(',')) return true;
  }
  return true;
}

}  // namespace ruleengine::text
