// The part of Builder that makes blocks.
#include "core/base/suggest.h"
#include "core/text/read/builder.h"
#include "core/text/words.h"

namespace ruleengine::text {

using ir::BlockId;
using ir::ValueId;
using ir::ValueKind;

// The recursion is bounded: the parser limits nesting.
bool Builder::block(const GraphAst& ast, BlockId id) {
  const std::size_t outer = undo_.size();
  std::vector<Child> children;
  const bool main = id == ir::Graph::main_block();
  graph_->mutable_block(id).changed = true;
  if (!inputs(ast, id) || !initializers(ast, id)) return false;
  if (main) in_nodes_ = true;
  if (!node_outputs(ast, id)) return false;
  for (const NodeAst& n : ast.nodes) {
    if (options_.deadline.is_over()) {
      error_ = options_.deadline.passed(std::string(places_.file()),
                                        "the model was being read");
      return false;
    }
    if (!node(n, id, children)) return false;
  }
  if (main) in_nodes_ = false;
  if (!outputs(ast, id) || !infos(ast, id)) return false;
  if (main) in_nodes_ = true;
  for (const Child& child : children) {
    if (!block(*child.graph, child.block)) return false;
  }
  if (main) in_nodes_ = false;
  for (; undo_.size() > outer; undo_.pop_back()) {
    scope_[undo_.back().first.index()] = undo_.back().second;
  }
  return true;
}

ValueId Builder::visible(std::string_view name) const {
  const Name id = model_.names.find(name);
  return id && id.index() < scope_.size() ? scope_[id.index()] : ValueId();
}

bool Builder::define(const NameAst& name, ValueKind kind, BlockId block,
                     ValueId& value) {
  const Name id = model_.names.intern(name.text);
  if (id.index() >= scope_.size()) scope_.resize(id.index() + 1);
  ValueId& seen = scope_[id.index()];
  if (seen && graph_->value(seen).block == block) {
    return fail(name.at, "a name is defined twice",
                "one definition of " + quoted_name(name.text),
                std::string(ir::kind_text(kind)) + ", after " +
                    std::string(ir::kind_text(graph_->value(seen).kind)));
  }
  value = graph_->add_value(id, block, kind);
  undo_.emplace_back(id, seen);
  seen = value;
  return true;
}

bool Builder::inputs(const GraphAst& ast, BlockId id) {
  for (const ValueAst& input : ast.inputs) {
    ValueId value;
    if (!define(input.name, ValueKind::kInput, id, value)) return false;
    graph_->add_block_input(id, value);
    graph_->mutable_value(value).declared = input.type;
    if (input.tensor != nullptr) graph_->add_initializer(value, input.tensor);
  }
  return true;
}

bool Builder::initializers(const GraphAst& ast, BlockId id) {
  for (const ValueAst& info : ast.infos) {
    if (info.tensor == nullptr) continue;
    // An initializer may be the default of an input with the same name.
    ValueId value = visible(info.name.text);
    const bool input = value && graph_->value(value).block == id &&
                       graph_->value(value).kind == ValueKind::kInput &&
                       graph_->value(value).tensor == nullptr;
    if (!input && !define(info.name, ValueKind::kInitializer, id, value)) {
      return false;
    }
    graph_->add_initializer(value, info.tensor);
  }
  // Before IR version 4 every initializer had to be listed as an input; it is a
  // constant all the same.
  if (model_.ir_version < 4) {
    for (ValueId value : graph_->block(id).initializers) {
      graph_->mutable_value(value).kind = ValueKind::kInitializer;
    }
  }
  return true;
}

bool Builder::node_outputs(const GraphAst& ast, BlockId id) {
  for (const NodeAst& n : ast.nodes) {
    for (const NameAst& output : n.outputs) {
      ValueId value;
      if (!output.text.empty() &&
          !define(output, ValueKind::kUndefined, id, value)) {
        return false;
      }
    }
  }
  return true;
}

std::string Builder::suggestion(std::string_view name) const {
  constexpr std::size_t kMost = 20000;  // a hint must not take seconds
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < scope_.size() && i < kMost; ++i) {
    if (scope_[i]) known.push_back(model_.names.text(Name(i)));
  }
  return ruleengine::suggestion(name, known);
}

bool Builder::resolve(const NameAst& name, std::string_view reader,
                      ValueId& value) {
  value = name.text.empty() ? ValueId() : visible(name.text);
  if (value || name.text.empty()) return true;
  return fail(name.at, std::string(reader) + " a value that nothing defines",
              "an input, a constant or the output of a node",
              quoted_name(name.text), suggestion(name.text));
}

bool Builder::node(const NodeAst& ast, BlockId id,
                   std::vector<Child>& children) {
  std::vector<ValueId> in, out;
  for (const NameAst& input : ast.inputs) {
    if (!resolve(input, "a node reads", in.emplace_back())) return false;
  }
  for (const NameAst& output : ast.outputs) {
    out.push_back(output.text.empty() ? ValueId() : visible(output.text));
  }
  std::span<const ir::Attribute> list;
  if (!attributes(ast, id, children, list)) return false;
  const ir::OpId op = model_.ops.intern(ast.domain, ast.type, ast.overload);
  const ir::NodeId made = graph_->add_node(op, id, ast.name, in, out, list);
  graph_->mutable_node(made).metadata =
      model_.arena.copy(std::span<const ir::Metadata>(ast.metadata));
  return true;
}

bool Builder::outputs(const GraphAst& ast, BlockId id) {
  for (const ValueAst& output : ast.outputs) {
    ValueId value;
    if (!resolve(output.name, "an output of the graph is", value)) {
      if (loose_ && !error_.hint.starts_with("did you mean")) {
        const std::string name = name_text(output.name.text);
        error_.hint = "if this output is now the input or constant x: " + name +
                      " = Identity(x)";
      }
      return false;
    }
    if (id == ir::Graph::main_block() &&
        graph_->value(value).block_output_count > 0) {
      return fail(output.name.at, "two outputs have the same name",
                  "each name once", quoted_name(output.name.text));
    }
    graph_->add_block_output(id, value);
    ir::Value& v = graph_->mutable_value(value);
    if (v.block == id && v.declared == nullptr) v.declared = output.type;
  }
  return true;
}

bool Builder::infos(const GraphAst& ast, BlockId id) {
  for (const ValueAst& info : ast.infos) {
    if (info.tensor != nullptr) continue;
    const ValueId value = visible(info.name.text);
    if (!value || graph_->value(value).block != id) {
      if (loose_) continue;
      return fail(info.name.at,
                  "a type is declared for a value that nothing "
                  "defines",
                  "the name of a value", quoted_name(info.name.text),
                  suggestion(info.name.text));
    }
    ir::Value& v = graph_->mutable_value(value);
    if (v.declared == nullptr) v.declared = info.type;
  }
  return true;
}

}  // namespace ruleengine::text
