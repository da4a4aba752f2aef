#include "core/rewrite/run/fingerprint.h"

#include <bit>
#include <functional>
#include <optional>
#include <string>

#include "core/ir/evaluator.h"
#include "core/ir/model.h"
#include "core/ir/order.h"
#include "core/rewrite/edits/workspace.h"

namespace ruleengine::rewrite {
namespace {

constexpr Fingerprint kSeed = 0x9e3779b97f4a7c15u;

Fingerprint print_of(std::string_view text) {
  return std::hash<std::string_view>()(text);
}

Fingerprint print_of_type(const ir::Literal& tensor) {
  auto out = static_cast<Fingerprint>(tensor.dtype);
  for (std::int64_t dim : tensor.dims) {
    out = mixed(out, static_cast<Fingerprint>(dim));
  }
  return out;
}

// Of what it is computed from.
Fingerprint print_of(const ir::Computed& computed) {
  const ir::Computation& what = *computed.what;
  Fingerprint out = mixed(print_of(what.op.type),
                          std::hash<const void*>()(what.attributes.data()));
  for (const ir::Literal* input : what.inputs) {
    out = mixed(out, std::hash<const void*>()(input));
  }
  return out;
}

// Tensors with the same bytes in the same place are equal.
Fingerprint print_of(const ir::Literal& tensor, const ir::Model& model) {
  const std::string key = key_of(tensor, model.external.get());
  if (!key.empty()) return print_of(key);
  if (tensor.storage == ir::Storage::kComputed) {
    return mixed(print_of_type(tensor), print_of(*tensor.computed));
  }
  if (tensor.storage != ir::Storage::kLazy) {
    Fingerprint out = print_of_type(tensor);
    out = mixed(out, std::hash<const void*>()(tensor.bytes.data()));
    out = mixed(out, std::hash<const void*>()(tensor.strings.data()));
    out = mixed(out, print_of(tensor.external.location));
    return mixed(out, static_cast<Fingerprint>(tensor.external.offset));
  }
  Fingerprint out = static_cast<Fingerprint>(tensor.lazy->axis);
  for (const ir::LazyPart& part : tensor.lazy->parts) {
    out = mixed(out, std::hash<const void*>()(part.tensor));
    out = mixed(out, part.transpose ? 1 : 0);
    out = mixed(out, static_cast<Fingerprint>(part.begin));
    out = mixed(out, static_cast<Fingerprint>(part.count));
  }
  return out;
}

// Folding makes no larger constants at once.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;

std::optional<Fingerprint> print_of_contents(const ir::Literal& tensor,
                                             const ir::Model& model) {
  if (tensor.storage == ir::Storage::kStrings ||
      tensor.storage == ir::Storage::kExternal ||
      tensor.byte_size() > kMostBytes) {
    return std::nullopt;
  }
  std::vector<std::byte> scratch;
  const auto bytes = ir::raw_bytes(tensor, model.external.get(), scratch);
  if (!bytes) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()),
                              bytes->size());
  return mixed(print_of_type(tensor), print_of(text));
}

Fingerprint print_of(const ir::Attribute& a, const ir::Model& model) {
  Fingerprint out = mixed(print_of(a.name), static_cast<Fingerprint>(a.kind));
  const auto add = [&](Fingerprint part) { out = mixed(out, part); };
  const auto bits = [](float f) { return std::bit_cast<std::uint32_t>(f); };
  add(bits(a.f));
  add(static_cast<Fingerprint>(a.i));
  add(print_of(a.s));
  add(print_of(a.ref));
  for (float f : a.floats) add(bits(f));
  for (std::int64_t i : a.ints) add(static_cast<Fingerprint>(i));
  for (std::string_view s : a.strings) add(print_of(s));
  for (const ir::Literal* t : a.tensors) add(print_of(*t, model));
  for (ir::BlockId b : a.blocks) add(b.index());
  return out;
}

}  // namespace

Fingerprint mixed(Fingerprint a, Fingerprint b) {
  Fingerprint x = (a + kSeed) ^ (b * 0xff51afd7ed558ccdu);
  x = (x ^ (x >> 32)) * 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 29);
}

Fingerprint print_of_op(const ir::Graph& graph, ir::NodeId node) {
  const ir::Node& n = graph.node(node);
  Fingerprint out = mixed(kSeed, n.op.index());
  for (const ir::Attribute& a : n.attributes) {
    out = mixed(out, print_of(a, graph.model()));
  }
  return out;
}

Fingerprint print_of_source(const ir::Graph& graph, ir::ValueId value) {
  if (!value) return 0;
  if (const ir::Literal* t = graph.direct_constant(value)) {
    return print_of(*t, graph.model());
  }
  return mixed(1, value.index());
}

Fingerprint print_of_graph(const ir::Graph& graph, bool contents) {
  std::vector<Fingerprint> values(graph.value_count(), 0);
  const auto of_source = [&](ir::ValueId v) {
    const ir::Literal* tensor = contents ? graph.direct_constant(v) : nullptr;
    const auto own =
        tensor ? print_of_contents(*tensor, graph.model()) : std::nullopt;
    return own ? *own : print_of_source(graph, v);
  };
  const auto of_value = [&](ir::ValueId v) {
    return graph.producer(v) ? values[v.index()] : of_source(v);
  };
  const auto order = ir::topological_order(graph);
  Fingerprint all = graph.live_node_count();
  if (!order) return all;
  for (ir::NodeId n : *order) {
    Fingerprint own = mixed(print_of_op(graph, n), graph.node(n).block.index());
    for (const ir::Operand& o : graph.inputs(n)) {
      own = mixed(own, o.value ? of_value(o.value) : 0);
    }
    const auto outputs = graph.outputs(n);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i]) values[outputs[i].index()] = mixed(own, i);
    }
    all += own;  // independent of their order
  }
  for (std::size_t b = 0; b < graph.block_count(); ++b) {
    for (ir::ValueId v : graph.block(ir::BlockId(b)).outputs) {
      all = mixed(all, v ? of_value(v) : 0);
    }
  }
  return all;
}

bool LoopDetector::sees(Fingerprint state,
                        const std::vector<std::uint64_t>& counts) {
  if (steps_ > 0 && state == kept_) return true;
  if (++steps_ == keep_until_) {
    keep_until_ *= 2;
    kept_ = state;
    then_ = counts;
  }
  return false;
}

}  // namespace ruleengine::rewrite
