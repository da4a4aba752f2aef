// Model: what an ONNX file holds. Owns the arena, names, ops, dimensions, the
// main graph and the functions, and keeps the mapped source alive. Everything
// that is not modelled (producer, metadata, training info, unknown fields) stays
// as its encoding in `source` and is written back from there. One thread at a
// time; different Models are independent.
#ifndef RULEENGINE_CORE_IR_MODEL_H_
#define RULEENGINE_CORE_IR_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/arena.h"
#include "core/base/names.h"
#include "core/ir/dim.h"
#include "core/ir/graph.h"
#include "core/ir/op.h"

namespace ruleengine::ir {

struct OpsetImport {
  std::string domain;  // "" for the standard one
  std::int64_t version = 0;
  bool as_read = false;  // so the file says, or leaves it to be understood
};

// A model-local function.
struct Function {
  explicit Function(Model& model) : body(model) {}

  std::string_view domain, name, overload;
  std::vector<std::string_view> inputs, outputs;      // formal names
  std::vector<std::string_view> attributes;           // without default
  std::span<const Attribute> attribute_defaults;
  std::vector<OpsetImport> opset_imports;
  Graph body;  // block 0: inputs and outputs are the formal ones
  std::span<const std::byte> proto;  // encoded FunctionProto; empty when new
  bool removed = false;
};

// What keeps the bytes behind all views alive (a mapping, a buffer).
class Source {
 public:
  virtual ~Source() = default;
  virtual std::span<const std::byte> bytes() const = 0;  // the ModelProto
};

class Model {
 public:
  Model();
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  Arena arena;
  Names names;
  OpTable ops;
  DimTable dims;

  std::string path;  // as given by the user; "" when it came from text
  std::int64_t ir_version = 0;
  std::vector<OpsetImport> opset_imports;
  Graph graph;
  std::vector<std::unique_ptr<Function>> functions;

  std::shared_ptr<const Source> source;        // null for built models
  std::unique_ptr<ExternalData> external;      // null: no external data
  bool changed = false;  // anything differs from `source`

  // The version imported for `domain` ("" or "ai.onnx" is the standard one), 0
  // if none.
  std::int64_t opset(std::string_view domain) const;
  // Adds the import when the domain has none, and says one that was understood.
  void import_opset(std::string_view domain, std::int64_t version);
  // nullptr when no (live) function has this id.
  Function* find_function(const Op& op) const;

  // A name that nothing in the model has yet (values of every graph, nodes and
  // blocks): `stem`, or `stem` with the lowest free number: "Linear_2".
  // Deterministic. The name is then taken.
  std::string_view unique_name(std::string_view stem);

 private:
  struct NameSet;
  std::unique_ptr<NameSet> taken_;  // built at the first unique_name
};

}  // namespace ruleengine::ir

#endif  // RULEENGINE_CORE_IR_MODEL_H_
