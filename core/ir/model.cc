#include "core/ir/model.h"

namespace ruleengine::ir {

// All names of nodes and blocks, and the next number to try for each stem.
// Names of values are looked up in Model::names, which keeps every name.
struct Model::NameSet {
  Names names;
  std::unordered_map<std::string_view, std::uint64_t> next;

  void add_all(const Graph& graph) {
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      names.intern_view(graph.node(NodeId(i)).name);
    }
    for (std::size_t i = 0; i < graph.block_count(); ++i) {
      names.intern_view(graph.block(BlockId(i)).name);
    }
  }
};

Model::Model() : graph(*this) {}
Model::Model(const Model& other, Copied)
    : names(other.names),
      ops(other.ops),
      dims(other.dims),
      path(other.path),
      ir_version(other.ir_version),
      opset_imports(other.opset_imports),
      graph(other.graph, *this),
      source(other.source),
      external(other.external),
      evaluator(other.evaluator),
      changed(other.changed),
      folded(other.folded) {
  for (const auto& each : other.functions) {
    functions.push_back(std::make_unique<Function>(*each, *this));
  }
}

std::shared_ptr<Model> Model::copy() const {
  return std::shared_ptr<Model>(new Model(*this, Copied()));
}

Model::~Model() = default;

void Model::import_opset(std::string_view domain, std::int64_t version) {
  if (domain == "ai.onnx") domain = {};
  if (const std::size_t at = opset_imports.find(domain);
      at < opset_imports.size()) {
    opset_imports.set_version(at, opset_imports[at].version);
    return;
  }
  opset_imports.push_back({std::string(domain), version});
}

Function* Model::find_function(const Op& op) const {
  if (functions.empty()) return nullptr;
  if (functions.size() < indexed_) {
    by_op_.clear();
    indexed_ = 0;
  }
  for (; indexed_ < functions.size(); ++indexed_) {
    Function* const f = functions[indexed_].get();
    by_op_[{f->domain, f->name, f->overload}].push_back(f);
  }
  const auto named = by_op_.find(op);
  if (named == by_op_.end()) return nullptr;
  for (Function* f : named->second) {
    if (!f->removed) return f;
  }
  return nullptr;
}

void Model::limit_growth(std::size_t most) {
  constexpr std::size_t kTimes = 5;
  free_ = kTimes * bytes();
  most_ = most;
}

Diagnostic Model::full() const {
  const auto mebibytes = [](std::size_t bytes) {
    return std::to_string(bytes >> 20) + " MiB";
  };
  return {.kind = ErrorKind::kLimit,
          .what = "rules made the model grow beyond its memory limit",
          .expected = "at most " + mebibytes(most_),
          .found = mebibytes(growth() + (std::size_t{1} << 20) - 1),
          .remedy = Remedy::kMemory};
}

std::string_view Model::unique_name(std::string_view stem) {
  if (!taken_) {
    taken_ = std::make_unique<NameSet>();
    taken_->names.reserve(graph.node_count());
    taken_->add_all(graph);
    for (const auto& f : functions) taken_->add_all(f->body);
  }
  const auto is_free = [&](std::string_view name) {
    return !names.find(name) && !taken_->names.find(name);
  };
  std::string candidate(stem);
  if (!is_free(candidate)) {
    auto it = taken_->next.find(stem);
    if (it == taken_->next.end()) {
      it = taken_->next.emplace(arena.copy(stem), 1).first;
    }
    do {
      candidate = std::string(stem) + "_" + std::to_string(it->second++);
    } while (!is_free(candidate));
  }
  const std::string_view name = arena.copy(std::string_view(candidate));
  names.intern_view(name);
  return name;
}

}  // namespace ruleengine::ir
