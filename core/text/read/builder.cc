// The part of Builder that makes models and functions.
#include "core/text/read/builder.h"

#include <algorithm>
#include <memory>

#include "core/ir/order.h"
#include "core/text/read/encode.h"
#include "core/wire/schema.h"

namespace ruleengine::text {
namespace {

constexpr std::int64_t kDefaultIr = 10;
constexpr int kRankShift = 20;  // leaves gaps for nodes that edits insert

// The header of a text, encoded as a ModelProto with an empty graph.
class TextSource : public ir::Source {
 public:
  explicit TextSource(std::vector<std::byte> bytes)
      : bytes_(std::move(bytes)) {}
  std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

std::int64_t ir_version_of(std::int64_t opset) {
  if (opset <= 22) return kDefaultIr;
  return std::min<std::int64_t>(opset - 12, 13);  // 11 for 23, 12 for 24, ...
}

std::vector<std::byte> encode_header(const ir::Model& model,
                                     const HeaderAst& header) {
  std::vector<std::byte> out;
  put_int(out, model_field::kIrVersion, model.ir_version);
  out.insert(out.end(), header.other.begin(), header.other.end());
  put_bytes(out, model_field::kGraph, {});
  for (const ir::OpsetImport& import : model.opset_imports) {
    std::vector<std::byte> entry;
    put_text(entry, 1, import.domain);
    put_int(entry, 2, import.version);
    put_bytes(out, model_field::kOpsetImport, entry);
  }
  return out;
}

template <typename Visit>
void for_each_node(const GraphAst& graph, Visit visit) {
  for (const NodeAst& node : graph.nodes) {
    visit(node);
    for (const AttributeAst& a : node.attributes) {
      for (const auto& inner : a.graphs) for_each_node(*inner, visit);
    }
  }
}

// The default opset, or the oldest that has all ops of the graph.
std::int64_t needed_opset(const GraphAst& graph) {
  std::int64_t needed = kDefaultOpset;
  for_each_node(graph, [&](const NodeAst& node) {
    const ops::OpFacts* oldest = ops::oldest_op({}, node.type);
    if (!node.domain.empty() || oldest == nullptr) return;
    needed = std::max<std::int64_t>(needed, oldest->since_version);
  });
  return needed;
}

std::int64_t standard_opset(const ModelAst& ast) {
  std::int64_t opset = needed_opset(ast.graph);
  for (const FunctionAst& f : ast.functions) {
    if (!f.opset_imports) opset = std::max(opset, needed_opset(f.body));
  }
  return opset;
}

// Imports the domains of all nodes.
void count_domains(const GraphAst& graph, ir::OpsetImports& imports,
                   std::int64_t standard) {
  std::unordered_set<std::string> known;
  for (const ir::OpsetImport& import : imports) known.insert(import.domain);
  for_each_node(graph, [&](const NodeAst& node) {
    if (!known.insert(std::string(node.domain)).second) return;
    imports.push_back(
        {std::string(node.domain), node.domain.empty() ? standard : 1});
  });
}

}  // namespace

bool Builder::fail(std::size_t at, std::string what, std::string expected,
                   std::string found, std::string hint) {
  error_.what = std::move(what);
  error_.where = (in_nodes_ ? node_places_ : places_).place(at);
  error_.expected = std::move(expected);
  error_.found = std::move(found);
  error_.hint = std::move(hint);
  return false;
}

bool Builder::build(const ModelAst& ast, bool loose) {
  if (!header(ast) || !functions(ast)) return false;
  loose_ = loose;
  model_.graph.mutable_block(ir::Graph::main_block()).name =
      ast.graph.name.empty() ? "graph" : ast.graph.name;
  if (!body(ast.graph, model_.graph, model_.opset_imports)) return false;
  if (auto calls = check_functions(model_); !calls) {
    error_ = std::move(calls.error());
    error_.where = std::string(places_.file());
    return false;
  }
  if (ast.header.other.empty()) return true;
  model_.source =
      std::make_shared<TextSource>(encode_header(model_, ast.header));
  model_.changed = true;
  return true;
}

bool Builder::header(const ModelAst& ast) {
  const std::int64_t standard = standard_opset(ast);
  if (ast.header.opset_imports) {
    model_.opset_imports = *ast.header.opset_imports;
  } else {
    model_.opset_imports.push_back({"", standard});
  }
  count_domains(ast.graph, model_.opset_imports, standard);
  model_.ir_version = ast.header.ir_version != 0
                          ? ast.header.ir_version
                          : ir_version_of(model_.opset(""));
  return check_newest("model", model_.opset(""));
}

bool Builder::check_newest(const std::string& what, std::int64_t opset) {
  const int newest = ops::newest_opset({});
  return opset <= newest ||
         fail(0,
              "the opset of the " + what + " is newer than this program knows",
              "ai.onnx " + std::to_string(newest) + " or older",
              std::to_string(opset));
}

ir::Function* Builder::build_function(FunctionAst& ast) {
  if (!check_alone(ast)) return nullptr;
  if (!ast.opset_imports) {
    ast.opset_imports.emplace().push_back({"", needed_opset(ast.body)});
  }
  const bool ok =
      check_newest("body", ast.opset_imports->version("")) && function(ast);
  return ok ? model_.functions.back().get() : nullptr;
}

// What a function of a file cannot have, and names of attributes.
bool Builder::check_alone(const FunctionAst& ast) {
  for (const auto* values : {&ast.body.inputs, &ast.body.outputs}) {
    for (const ValueAst& v : *values) {
      if (v.type == nullptr) continue;
      return fail(v.name.at, "an input or output of a body has a type",
                  "a name", "a type of " + quoted_name(v.name.text),
                  "calls may have inputs of several types");
    }
  }
  // Runtimes want the output of a node.
  for (const ValueAst& out : ast.body.outputs) {
    for (const ValueAst& in : ast.body.inputs) {
      if (in.name.text != out.name.text) continue;
      return fail(out.name.at, "an output of a body is an input of it",
                  "the output of a node", quoted_name(out.name.text),
                  "y = Identity(" + printable(in.name.text, 60) + ")");
    }
  }
  for (const ValueAst& v : ast.body.infos) {
    return fail(v.name.at, "a body lists a constant or a type", "nodes alone",
                quoted_name(v.name.text),
                "a constant is a node: c = Constant <value_float = 2.0> ()");
  }
  std::unordered_set<std::string_view> names;
  const auto add = [&](std::string_view name, std::size_t at) {
    return names.insert(name).second ||
           fail(at, "a body has two attributes of one name", "one",
                quoted_name(name));
  };
  for (const NameAst& a : ast.attributes) {
    if (!add(a.text, a.at)) return false;
  }
  for (const AttributeAst& a : ast.attribute_defaults) {
    if (!add(a.value.name, a.at)) return false;
  }
  bool known = true;
  for_each_node(ast.body, [&](const NodeAst& node) {
    for (const AttributeAst& a : node.attributes) {
      if (!known || a.value.ref.empty() || names.contains(a.value.ref))
        continue;
      known = fail(a.at, "a body reads an attribute that it does not declare",
                   "<" + std::string(a.value.ref) + ", ...> before its inputs",
                   "@" + printable(a.value.ref, 60));
    }
  });
  return known;
}

bool Builder::functions(const ModelAst& ast) {
  for (const FunctionAst& f : ast.functions) {
    const ir::OpId op = model_.ops.intern(f.domain, f.body.name, f.overload);
    if (functions_.insert(op.index()).second) continue;
    return fail(f.at, "a function is defined twice", "one definition",
                "a second '" + printable(model_.ops[op].text()) + "'");
  }
  for (const FunctionAst& f : ast.functions) {
    if (!function(f)) return false;
  }
  return true;
}

bool Builder::function(const FunctionAst& ast) {
  auto made = std::make_unique<ir::Function>(model_);
  made->domain = ast.domain;
  made->name = ast.body.name;
  made->overload = ast.overload;
  if (ast.opset_imports) {
    made->opset_imports = *ast.opset_imports;
  } else {
    made->opset_imports.push_back({"", model_.opset("")});
  }
  count_domains(ast.body, made->opset_imports, model_.opset(""));
  if (!formals(ast, *made)) return false;
  ir::Function& kept = *model_.functions.emplace_back(std::move(made));
  return body(ast.body, kept.body, kept.opset_imports);
}

bool Builder::formals(const FunctionAst& ast, ir::Function& function) {
  for (const ValueAst& v : ast.body.inputs) {
    function.inputs.push_back(v.name.text);
  }
  for (const ValueAst& v : ast.body.outputs) {
    function.outputs.push_back(v.name.text);
  }
  std::vector<ir::Attribute> defaults;
  for (const NameAst& a : ast.attributes) {
    function.attributes.push_back(a.text);
  }
  for (const AttributeAst& a : ast.attribute_defaults) {
    if (!a.graphs.empty() || !a.value.ref.empty() || a.empty_list) {
      return fail(a.at, "this cannot be the default of a function's attribute",
                  "a number, a string, a tensor, or a list with a type");
    }
    defaults.push_back(a.value);
  }
  function.attribute_defaults =
      model_.arena.copy(std::span<const ir::Attribute>(defaults));
  return true;
}

bool Builder::body(const GraphAst& ast, ir::Graph& graph,
                   const ir::OpsetImports& imports) {
  graph_ = &graph;
  versions_.clear();
  for (const ir::OpsetImport& import : imports) {
    versions_.emplace(import.domain, import.version);
  }
  if (!block(ast, ir::Graph::main_block())) return false;
  const auto order = ir::topological_order(graph);
  if (!order) {
    error_ = order.error();
    error_.where = std::string(node_places_.file());
    return false;
  }
  std::uint64_t next = 0;
  for (ir::NodeId n : *order) {
    graph.mutable_node(n).rank = ++next << kRankShift;
  }
  return true;
}

}  // namespace ruleengine::text
