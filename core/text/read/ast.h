// The syntax tree of a text, before names are resolved. Types, tensors and
// attribute values are already the model's (in its arena); names are views into
// the text or the arena. Owned by one parse.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/ir/attribute.h"
#include "core/ir/model.h"

namespace ruleengine::text {

struct NameAst {
  std::string_view text;  // "": absent
  std::size_t at = 0;
};

struct ValueAst {
  NameAst name;
  const ir::Type* type = nullptr;       // nullptr: not given
  const ir::Literal* tensor = nullptr;  // an initializer, or an input's default
};

struct GraphAst;

struct AttributeAst {
  ir::Attribute value;  // `blocks` is not filled
  std::vector<std::unique_ptr<GraphAst>> graphs;
  std::vector<std::vector<std::byte>> types;  // encoded TypeProtos
  bool has_type = false;                      // given, as in "axis: int = 1"
  bool empty_list = false;  // "[]" without a type: the op determines it
  std::size_t at = 0;
};

struct NodeAst {
  std::string_view name;
  std::vector<ir::Metadata> metadata;
  std::vector<NameAst> outputs;
  std::vector<NameAst> inputs;
  std::string_view domain, type, overload;
  std::vector<AttributeAst> attributes;
  std::size_t at = 0;  // of the op
};

struct GraphAst {
  std::string_view name;
  std::vector<ValueAst> inputs;
  std::vector<ValueAst> outputs;
  std::vector<ValueAst> infos;  // value infos and initializers, in order
  std::vector<NodeAst> nodes;
};

struct FunctionAst {
  std::string_view domain, overload;
  std::optional<ir::OpsetImports> opset_imports;
  std::vector<NameAst> attributes;  // without default
  std::vector<AttributeAst> attribute_defaults;
  std::size_t at = 0;
  GraphAst body;  // its name is the function's
};

struct HeaderAst {
  std::int64_t ir_version = 0;  // 0: not given
  std::optional<ir::OpsetImports> opset_imports;
  // The encoded fields of ModelProto that a Model does not have.
  std::vector<std::byte> other;
};

struct ModelAst {
  HeaderAst header;
  GraphAst graph;
  std::vector<FunctionAst> functions;
};

}  // namespace ruleengine::text
