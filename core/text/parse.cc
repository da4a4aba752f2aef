#include "core/text/parse.h"

#include <string>
#include <utility>

#include "core/ir/call.h"
#include "core/text/read/builder.h"
#include "core/text/read/parser.h"

namespace ruleengine::text {

using ModelResult = Result<std::unique_ptr<ir::Model>>;

ModelResult parse_model(std::string_view text, std::string_view file,
                        const ParseOptions& options) {
  auto model = std::make_unique<ir::Model>();
  model->path = std::string(file);
  ModelAst ast;
  Parser parser(text, file, *model, options.deadline);
  if (!parser.model(ast)) return std::move(parser.error());
  Builder builder(*model, options, parser.lexer(), parser.lexer());
  if (!builder.build(ast, false)) return std::move(builder.error());
  return model;
}

Result<ir::Function*> parse_function(ir::Model& model, std::string_view text,
                                     const ir::Op& op, std::string_view file,
                                     const ParseOptions& options) {
  FunctionAst ast;
  Parser parser(text, file, model, options.deadline);
  if (!parser.function_alone(ast)) return std::move(parser.error());
  ast.domain = model.arena.copy(op.domain);
  ast.body.name = model.arena.copy(op.type);
  ast.overload = model.arena.copy(op.overload);
  Builder builder(model, options, parser.lexer(), parser.lexer());
  ir::Function* const made = builder.build_function(ast);
  if (made == nullptr) return std::move(builder.error());
  return made;
}

namespace {

std::string op_text(const ir::Function& f) {
  return ir::Op{f.domain, f.name, f.overload}.text();
}

std::string counts(std::size_t inputs, std::size_t outputs) {
  return std::to_string(inputs) + " inputs and " + std::to_string(outputs) +
         " outputs";
}

}  // namespace

Status check_functions(const ir::Model& model) {
  const auto fault = ir::call_fault(model, 0);
  if (!fault) return {};
  if (!fault->cycle.empty()) {
    const std::string caller = op_text(*fault->cycle.back());
    return Diagnostic{
        .what = "a function calls itself",
        .where = caller,
        .expected = "functions without recursion",
        .found = op_text(*fault->cycle.front()) + " in the body of " + caller};
  }
  if (!fault->call) {
    return Diagnostic{
        .what = "the calls of functions expand to too many nodes",
        .expected = "at most " + std::to_string(ir::kMaxExpandedNodes),
        .found = "more"};
  }
  const ir::Function& f = *fault->function;
  const ir::Graph& graph = *fault->graph;
  const ir::Node& node = graph.node(fault->call);
  return Diagnostic{
      .what = "a call has more inputs or outputs than its function: " +
              printable(graph.describe(fault->call)),
      .where = graph.function() ? op_text(*graph.function()) : "",
      .expected = counts(f.inputs.size(), f.outputs.size()),
      .found = counts(node.operand_count, node.output_count)};
}

ModelResult parse_after(const ir::Model& before, std::string_view before_text,
                        std::string_view nodes, std::string_view file,
                        const ParseOptions& options) {
  auto model = std::make_unique<ir::Model>();
  Parser parser(nodes, file, *model);
  if (parser.starts_graph()) return parse_model(nodes, file, options);
  ModelAst ast;
  Parser outer(before_text, {}, *model);
  if (!outer.model(ast)) return std::move(outer.error());
  ast.graph.nodes.clear();
  if (!parser.nodes_alone(ast.graph.nodes)) return std::move(parser.error());
  // The new nodes are written in the opset of the old graph.
  ast.header.ir_version = before.ir_version;
  ast.header.opset_imports = before.opset_imports;
  Builder builder(*model, options, outer.lexer(), parser.lexer());
  if (!builder.build(ast, true)) return std::move(builder.error());
  return model;
}

}  // namespace ruleengine::text
