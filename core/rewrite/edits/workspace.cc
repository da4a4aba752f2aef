#include "core/rewrite/edits/workspace.h"

#include <algorithm>

namespace ruleengine::rewrite {
namespace {

// Larger constants are not compared.
constexpr std::size_t kSmall = 256;

}  // namespace

std::string key_of(const ir::Literal& tensor, ir::ExternalData* external) {
  if (tensor.storage == ir::Storage::kStrings ||
      tensor.storage == ir::Storage::kExternal) {
    return {};
  }
  if (tensor.byte_size() > static_cast<std::int64_t>(kSmall)) return {};
  std::vector<std::byte> scratch;
  auto bytes = ir::raw_bytes(tensor, external, scratch);
  if (!bytes) return {};
  std::string key = std::to_string(static_cast<int>(tensor.dtype));
  for (std::int64_t d : tensor.dims) key += "," + std::to_string(d);
  key += ":";
  key.append(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return key;
}

Workspace::Workspace(ir::Graph& graph)
    : graph_(graph),
      first_made_(graph.node_count()),
      values_before_(graph.value_count()) {}

std::int64_t Workspace::opset(std::string_view domain) const {
  return graph_.opset(domain);
}

void Workspace::import_opset(std::string_view domain, std::int64_t version) {
  if (domain == "ai.onnx") domain = {};
  graph_.model().import_opset(domain, version);
  if (function() == nullptr || opset(domain) != 0) return;
  function()->opset_imports.push_back({std::string(domain), version});
}

bool Workspace::stands(ir::ValueId value) const {
  return value.index() < graph_.value_count() && !graph_.value(value).removed;
}

ir::ValueId Workspace::find_constant(const ir::Literal& tensor) const {
  ir::ExternalData* external = graph_.model().external.get();
  const std::string key = key_of(tensor, external);
  if (key.empty()) return {};
  const auto it = constants_.find(key);
  if (it == constants_.end() || !stands(it->second)) return {};
  // The id may belong to another value, if the edit was undone.
  const ir::Literal* found = graph_.direct_constant(it->second);
  const bool same = found != nullptr && key_of(*found, external) == key;
  return same ? it->second : ir::ValueId();
}

void Workspace::add_constant(const ir::Literal& tensor, ir::ValueId value) {
  std::string key = key_of(tensor, graph_.model().external.get());
  if (!key.empty()) constants_[std::move(key)] = value;
}

ir::ValueId Workspace::find_initializer(const ir::Literal& tensor) {
  if (!std::exchange(initializers_known_, true)) {
    for (std::size_t i = 0; i < values_before_; ++i) {
      const ir::Value& value = graph_.value(ir::ValueId(i));
      if (value.kind == ir::ValueKind::kInitializer) {
        initializers_.try_emplace(value.tensor, ir::ValueId(i));
      }
    }
  }
  const auto it = initializers_.find(&tensor);
  return it == initializers_.end() ? ir::ValueId() : it->second;
}

ir::ValueId Workspace::find_transposed(ir::ValueId of) const {
  const auto it = transposed_.find(of);
  if (it == transposed_.end() || !stands(it->second) || !stands(of)) return {};
  const ir::Literal* from = graph_.direct_constant(of);
  const ir::Literal* to = graph_.direct_constant(it->second);
  const auto is_transpose = [](const ir::Literal* t,
                               const ir::Literal* source) {
    return t != nullptr && t->storage == ir::Storage::kLazy &&
           t->lazy->is_turned() && t->lazy->parts[0].tensor == source;
  };
  if (!is_transpose(to, from) && !is_transpose(from, to)) return {};
  return it->second;
}

void Workspace::add_transposed(ir::ValueId of, ir::ValueId value) {
  transposed_[of] = value;
  transposed_[value] = of;
}

std::vector<Workspace::Place> Workspace::output_places(ir::ValueId value) {
  if (graph_.value(value).block_output_count == 0) return {};
  if (!outputs_known_) {
    outputs_known_ = true;
    for (std::size_t b = 0; b < graph_.block_count(); ++b) {
      const ir::BlockId block(b);
      const auto& outputs = graph_.block(block).outputs;
      for (std::uint32_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i]) outputs_[outputs[i]].emplace_back(block, i);
      }
    }
  }
  // Edits may have given the place to another value.
  std::vector<Place> places = outputs_[value];
  std::erase_if(places, [&](const Place& p) {
    return graph_.block(p.first).outputs[p.second] != value;
  });
  std::ranges::sort(places);
  const auto repeated = std::ranges::unique(places);
  places.erase(repeated.begin(), repeated.end());
  return places;
}

void Workspace::note_output(ir::ValueId value, Place place) {
  if (outputs_known_) outputs_[value].push_back(place);
}

bool Workspace::is_used(Name name) {
  if (!names_known_) {
    names_known_ = true;
    for (std::size_t i = 0; i < graph_.value_count(); ++i) {
      const ir::ValueId v(i);
      if (graph_.value(v).name) note_name(graph_.value(v).name, v);
    }
  }
  const auto it = of_name_.find(name);
  return it != of_name_.end() &&
         std::ranges::any_of(it->second, [&](ir::ValueId v) {
           if (v.index() >= graph_.value_count()) return false;
           const ir::Value& value = graph_.value(v);
           const ir::NodeId owner = graph_.block(value.block).owner;
           const bool is_gone =
               value.removed || (owner && graph_.node(owner).removed);
           return value.name == name && !is_gone;
         });
}

void Workspace::note_name(Name name, ir::ValueId value) {
  if (names_known_) of_name_[name].push_back(value);
}

void Workspace::clear_marks() {
  marks_.resize(graph_.node_count(), epoch_);
  ++epoch_;
}

bool Workspace::mark(ir::NodeId node) {
  std::uint32_t& m = marks_[node.index()];
  if (m == epoch_) return false;
  m = epoch_;
  return true;
}

bool Workspace::marked(ir::NodeId node) const {
  return marks_[node.index()] == epoch_;
}

void compact_initializers(ir::Graph& graph) {
  std::vector<bool> listed(graph.value_count(), false);
  for (std::size_t i = 0; i < graph.block_count(); ++i) {
    auto& list = graph.mutable_block(ir::BlockId(i)).initializers;
    std::erase_if(list, [&](ir::ValueId v) {
      const bool hidden = !graph.value(v).name && graph.reader_count(v) == 0;
      if (graph.value(v).removed || hidden || listed[v.index()]) return true;
      listed[v.index()] = true;
      return false;
    });
  }
}

bool encloses(const ir::Graph& graph, ir::BlockId outer, ir::BlockId inner) {
  while (inner && inner != outer) inner = graph.block(inner).parent;
  return inner == outer;
}

}  // namespace ruleengine::rewrite
