// Builder: makes graphs from the syntax tree of a text: resolves names, gives
// attributes the types that their ops want, and sorts the nodes, which may be
// in any order. An undefined name, a name that is defined twice and a cycle are
// errors with their place. One use, one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/ir/model.h"
#include "core/ops/op_facts.h"
#include "core/text/parse.h"
#include "core/text/read/ast.h"
#include "core/text/read/lexer.h"

namespace ruleengine::text {

class Builder {
 public:
  // `places` gives the positions of syntax elements; `nodes_places` those of
  // the nodes of the main graph, if they come from another text.
  Builder(ir::Model& model, const ParseOptions& options, const Lexer& places,
          const Lexer& node_places)
      : model_(model),
        options_(options),
        places_(places),
        node_places_(node_places) {}

  // Value infos of undefined names are an error, unless `loose`.
  bool build(const ModelAst& ast, bool loose);
  // A function that stands alone: it has an opset of its own, and no types.
  // nullptr after an error.
  ir::Function* build_function(FunctionAst& ast);

  Diagnostic& error() { return error_; }

 private:
  // A body that is built after its outer block is complete.
  struct Child {
    ir::BlockId block;
    const GraphAst* graph;
  };

  bool fail(std::size_t at, std::string what, std::string expected = {},
            std::string found = {}, std::string hint = {});

  // --- models and functions (builder.cc) ---
  bool header(const ModelAst& ast);
  bool check_newest(const std::string& what, std::int64_t opset);
  bool functions(const ModelAst& ast);
  bool function(const FunctionAst& ast);
  bool check_alone(const FunctionAst& ast);
  bool formals(const FunctionAst& ast, ir::Function& function);
  bool body(const GraphAst& ast, ir::Graph& graph,
            const ir::OpsetImports& imports);

  // --- blocks (build_graph.cc) ---
  bool block(const GraphAst& ast, ir::BlockId id);
  bool define(const NameAst& name, ir::ValueKind kind, ir::BlockId block,
              ir::ValueId& value);
  bool inputs(const GraphAst& ast, ir::BlockId id);
  bool initializers(const GraphAst& ast, ir::BlockId id);
  bool node_outputs(const GraphAst& ast, ir::BlockId id);
  bool node(const NodeAst& ast, ir::BlockId id, std::vector<Child>& children);
  bool outputs(const GraphAst& ast, ir::BlockId id);
  bool infos(const GraphAst& ast, ir::BlockId id);
  bool resolve(const NameAst& name, std::string_view reader,
               ir::ValueId& value);
  ir::ValueId visible(std::string_view name) const;
  std::string suggestion(std::string_view name) const;

  // --- nodes (build_node.cc) ---
  bool attributes(const NodeAst& ast, ir::BlockId id,
                  std::vector<Child>& children,
                  std::span<const ir::Attribute>& out);
  bool fit(const AttributeAst& ast, const ops::OpFacts* op, ir::Attribute& out);
  bool check_op(const NodeAst& ast, const ops::OpFacts* op);
  void warn_of_op(const NodeAst& ast, const ops::OpFacts* op);
  std::int64_t version(std::string_view domain) const;

  ir::Model& model_;
  const ParseOptions& options_;
  const Lexer& places_;
  const Lexer& node_places_;
  Diagnostic error_;

  // The body that is being built.
  ir::Graph* graph_ = nullptr;
  std::unordered_map<std::string_view, std::int64_t> versions_;  // by domain
  std::unordered_set<std::uint32_t> functions_;  // OpIds of all functions
  std::unordered_set<std::uint32_t> warned_;     // OpIds
  bool loose_ = false;
  bool in_nodes_ = false;           // use nodes_places
  std::vector<ir::ValueId> scope_;  // by Name
  std::vector<std::pair<Name, ir::ValueId>> undo_;
};

}  // namespace ruleengine::text
