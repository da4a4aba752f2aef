// Parser: ONNX text to its syntax tree (ast.h), by recursive descent with
// bounded depth. Methods return false after the first error, which error()
// returns. The model provides the arena and the symbols of dimensions; names
// are not resolved here. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/diagnostic.h"
#include "core/text/read/ast.h"
#include "core/text/read/lexer.h"

namespace ruleengine::text {

// The limit on the nesting of subgraphs and of types.
constexpr int kMaxNesting = 64;

class Parser {
 public:
  Parser(std::string_view text, std::string_view file, ir::Model& model,
         const Deadline& deadline = {})
      : lexer_(text, file), model_(model), deadline_(deadline) {}

  bool model(ModelAst& out);
  // Reads a node list without braces, up to the end of the text.
  bool nodes_alone(std::vector<NodeAst>& out);
  // Reads a function without its name, up to the end of the text.
  bool function_alone(FunctionAst& out);
  // Whether the text is a graph rather than a list of nodes.
  bool starts_graph() const;

  Diagnostic& error() { return error_; }
  const Lexer& lexer() const { return lexer_; }

 private:
  // A type before it is made in the model.
  struct DimAst {
    std::int64_t size = -1;  // -1: symbol, or unknown
    std::string_view symbol;
  };
  struct TypeAst {
    std::uint32_t field = 0;                       // of TypeProto
    ir::DataType elem = ir::DataType::kUndefined;  // of tensors; a map's key
    bool has_shape = false;
    std::vector<DimAst> dims;
    std::vector<TypeAst> inner;  // at most one
    std::string_view opaque_domain, opaque_name;
    std::size_t at = 0;
  };

  // The elements of the current list.
  struct ListAst {
    ir::AttributeKind kind = ir::AttributeKind::kUndefined;  // of an element
    std::vector<float> floats;  // of ints too, in case a later one is a float
    std::vector<std::int64_t> ints;
    std::vector<std::string_view> strings;
    std::vector<const ir::Literal*> tensors;
    std::vector<std::unique_ptr<GraphAst>> graphs;
    std::vector<std::vector<std::byte>> types;
  };

  bool in_time();
  bool fail(const Token& token, std::string expected, std::string hint = {});
  bool fail_at(std::size_t at, std::string what, std::string expected = {},
               std::string found = {}, std::string hint = {});

  // --- tokens ---
  bool is(char mark) const { return lexer_.peek().is(mark); }
  bool accept(char mark);
  bool expect(char mark, std::string_view where);
  bool arrow();
  bool string(std::string_view& out, std::string_view what);
  bool integer(std::int64_t& out, std::string_view what);
  bool name(NameAst& out, std::string_view what);
  bool at_name() const;
  Token second() const;                       // the one after the next
  std::string_view keep(const Token& token);  // unquoted, for the arena

  // --- model (parse_model.cc) ---
  // A header: keys, each with what `entry` reads.
  template <typename Entry>
  bool entries(const std::string& owner, std::string_view example, Entry entry);
  bool header(HeaderAst& out);
  bool header_entry(const Token& key, HeaderAst& out);
  bool opsets(ir::OpsetImports& out);
  bool metadata(std::vector<std::byte>& out);
  bool function(FunctionAst& out);
  bool function_rest(FunctionAst& out);  // after the name
  bool function_header(FunctionAst& out);
  bool function_attributes(FunctionAst& out);

  // --- graph and nodes (parse_graph.cc) ---
  bool graph(GraphAst& out);
  // After the name. `defaults`: inputs may have data.
  bool graph_body(GraphAst& out, bool defaults);
  bool values(std::vector<ValueAst>& out, char open, char close, bool data);
  bool value(ValueAst& out, bool data);
  bool node_list(std::vector<NodeAst>& out);
  bool node(NodeAst& out);
  bool node_label(NodeAst& out);
  bool op(NodeAst& out);
  bool names(std::vector<NameAst>& out);

  // --- attributes (parse_attribute.cc) ---
  bool attributes(std::vector<AttributeAst>& out);
  bool attribute(const NameAst& attribute_name, AttributeAst& out);
  bool attribute_list(AttributeAst& out);
  bool attribute_value(AttributeAst& out);
  bool attribute_number(AttributeAst& out);
  bool attribute_typed(AttributeAst& out);
  bool append(ListAst& list, AttributeAst&& element);
  void finish(ListAst& list, AttributeAst& out);
  void encode_types(AttributeAst& out);

  // --- types and tensors (parse_type.cc, parse_tensor.cc) ---
  bool at_type() const;
  bool type(TypeAst& out);
  bool tensor_type(TypeAst& out);
  bool inner_type(TypeAst& out);
  bool opaque_type(TypeAst& out);
  bool dims(TypeAst& out);
  bool dim(DimAst& out);
  const ir::Type* make_type(const TypeAst& type);
  std::vector<std::byte> encode(const TypeAst& type) const;
  bool tensor(const TypeAst& type, const ir::Literal*& out);
  bool tensor_dims(const TypeAst& type, ir::Literal& out);
  bool tensor_data(ir::Literal& out);
  bool tensor_strings(ir::Literal& out);
  bool tensor_external(ir::Literal& out);
  bool element(ir::DataType type, std::vector<std::byte>& out);
  bool no_more(const ir::Literal& tensor, std::size_t count, std::size_t at);

  Lexer lexer_;
  ir::Model& model_;
  const Deadline deadline_;
  Diagnostic error_;
  int depth_ = 0;
};

}  // namespace ruleengine::text
