#include "core/ir/model.h"

#include <unordered_map>

namespace ruleengine::ir {

// Every node and block name, and the next number to try for each stem. Value
// names are looked up in Model::names, which never forgets one.
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
Model::~Model() = default;

std::int64_t Model::opset(std::string_view domain) const {
  if (domain == "ai.onnx") domain = {};
  for (const OpsetImport& import : opset_imports) {
    if (import.domain == domain) return import.version;
  }
  return 0;
}

void Model::import_opset(std::string_view domain, std::int64_t version) {
  if (domain == "ai.onnx") domain = {};
  for (OpsetImport& import : opset_imports) {
    if (import.domain != domain) continue;
    import.as_read = false;
    return;
  }
  opset_imports.push_back({std::string(domain), version});
}

Function* Model::find_function(const Op& op) const {
  for (const auto& f : functions) {
    if (!f->removed && f->name == op.type && f->domain == op.domain &&
        f->overload == op.overload) {
      return f.get();
    }
  }
  return nullptr;
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
