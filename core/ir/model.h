// Model: what an ONNX file holds. Owns the arena, names, ops, dimensions, the
// main graph and the functions, and keeps the mapped source alive. Everything
// that is not modelled (producer, metadata, training info, unknown fields)
// stays as its encoding in `source` and is written back from there. One thread
// at a time; different Models are independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/arena.h"
#include "core/base/diagnostic.h"
#include "core/base/names.h"
#include "core/ir/dim.h"
#include "core/ir/graph.h"
#include "core/ir/op.h"
#include "core/ir/opsets.h"

namespace ruleengine::ir {

// A model-local function beside its body.
struct FunctionHead {
  std::string_view domain, name, overload;
  std::vector<std::string_view> inputs, outputs;  // formal names
  std::vector<std::string_view> attributes;       // without default
  std::span<const Attribute> attribute_defaults;
  OpsetImports opset_imports;
  std::span<const std::byte> proto;  // encoded FunctionProto; empty when new
  bool removed = false;
  // Whether its calls are ops to rules, which do not look into its body.
  bool is_op = false;
};

struct Function : FunctionHead {
  explicit Function(Model& model) : body(model) { body.set_function(this); }
  // A copy as a function of `model`, which is a copy of the other's model.
  Function(const Function& other, Model& model)
      : FunctionHead(other), body(other.body, model) {
    body.set_function(this);
  }

  Graph body;  // block 0: inputs and outputs are the formal ones
};

class Evaluator;  // core/ir/evaluator.h

// What keeps the bytes behind all views alive (a mapping, a buffer).
class Source {
 public:
  virtual ~Source() = default;
  virtual std::span<const std::byte> bytes() const = 0;  // the ModelProto
};

class Model : public std::enable_shared_from_this<Model> {
 public:
  Model();
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // A copy for edits of its own, with the same ids. It borrows texts,
  // attributes and data: this model must outlive it, and keeps what it has
  // meanwhile.
  std::shared_ptr<Model> copy() const;

  Arena arena;
  Names names;
  OpTable ops;
  DimTable dims;

  std::string path;  // as given by the user; "" when it came from text
  std::int64_t ir_version = 0;
  OpsetImports opset_imports;
  Graph graph;
  std::vector<std::unique_ptr<Function>> functions;

  std::shared_ptr<const Source> source;    // null for built models
  std::shared_ptr<ExternalData> external;  // null: no external data
  // What folds nodes; it outlives the model. nullptr: nothing is computed.
  const Evaluator* evaluator = nullptr;
  bool changed = false;     // anything differs from `source`
  std::int64_t folded = 0;  // bytes of larger constants that analysis computed

  // The version imported for `domain` ("" or "ai.onnx" is the standard one), 0
  // if none.
  std::int64_t opset(std::string_view domain) const {
    return opset_imports.version(domain);
  }
  // Adds the import if the domain has none; marks an implied one as explicit.
  void import_opset(std::string_view domain, std::int64_t version);
  // nullptr when no (live) function has this id.
  Function* find_function(const Op& op) const;

  // Memory of the model beside its file, approximate. Code that stores
  // something elsewhere for the model reports it by hold() and release().
  std::size_t bytes() const {
    return arena.bytes() + names.bytes() + ops.bytes() + dims.bytes() + held_;
  }
  void hold(std::size_t bytes) { held_ += bytes; }
  void release(std::size_t bytes) { held_ -= bytes; }

  // Limits growth from now on: the model may grow to a few times its own size,
  // and by `most` bytes beyond that. Code that lets rules build asks is_full()
  // now and then, and stops with the error full().
  void limit_growth(std::size_t most);
  bool is_full() const { return growth() > most_; }
  std::size_t growth() const {  // bytes beyond the free growth
    const std::size_t now = bytes();
    return now > free_ ? now - free_ : 0;
  }
  Diagnostic full() const;

  // A name that nothing in the model has yet (values of every graph, nodes and
  // blocks): `stem`, or `stem` with the lowest free number: "Linear_2".
  // Deterministic. The name is then taken.
  std::string_view unique_name(std::string_view stem);

 private:
  struct Copied {};
  Model(const Model& other, Copied);

  std::size_t held_ = 0;
  std::size_t free_ = std::numeric_limits<std::size_t>::max();
  std::size_t most_ = 0;

  struct NameSet;
  std::unique_ptr<NameSet> taken_;  // built at the first unique_name
  // The first `indexed_` functions.
  mutable std::unordered_map<Op, std::vector<Function*>, Op::Hash> by_op_;
  mutable std::size_t indexed_ = 0;
};

// Counts memory that is stored elsewhere for a model, until this is destroyed.
class Held {
 public:
  explicit Held(Model& model) : model_(model) {}
  ~Held() { model_.release(bytes_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  void add(std::size_t bytes) {
    bytes_ += bytes;
    model_.hold(bytes);
  }

 private:
  Model& model_;
  std::size_t bytes_ = 0;
};

}  // namespace ruleengine::ir
