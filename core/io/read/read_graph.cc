#include "core/io/read/read_graph.h"

#include <utility>

#include "core/io/read/order.h"
#include "core/io/read/parts.h"
#include "core/ir/order.h"

namespace ruleengine::io {

using ir::BlockId;
using ir::ValueId;
using ir::ValueKind;

const BodyLayout kGraphBody = {schema::kGraph,
                               graph_field::kNode,
                               graph_field::kInitializer,
                               graph_field::kSparse,
                               graph_field::kInput,
                               graph_field::kOutput,
                               graph_field::kValueInfo,
                               false};
const BodyLayout kFunctionBody = {schema::kFunction,
                                  function_field::kNode,
                                  0,
                                  0,
                                  function_field::kInput,
                                  function_field::kOutput,
                                  function_field::kValueInfo,
                                  true};

GraphReader::GraphReader(Context& context, ir::Graph& graph,
                         ir::OpsetImports& imports, Scope& scope)
    : context_(context),
      graph_(graph),
      imports_(imports),
      scope_(scope),
      serial_(++context.graph_readers) {}

bool GraphReader::read(Bytes proto, const BodyLayout& layout,
                       const Place& place) {
  depths_.assign(1, 0);
  const BlockId main = ir::Graph::main_block();
  tasks_.push_back({main, proto});
  while (!tasks_.empty()) {
    const Task task = tasks_.back();
    tasks_.pop_back();
    if (!task.block) {
      for (; undo_.size() > task.undo; undo_.pop_back()) {
        scope_[undo_.back().first.index()] = undo_.back().second;
      }
      continue;
    }
    tasks_.push_back({BlockId(), {}, undo_.size()});
    const ir::NodeId owner = graph_.block(task.block).owner;
    const std::string name =
        owner ? std::string(graph_.node(owner).name) : std::string();
    const Place nested{&place, "subgraph of node", name};
    const bool ok =
        read_block(task.block, task.proto, owner ? kGraphBody : layout,
                   owner ? nested : place);
    if (!ok) return false;
    for (; !children_.empty(); children_.pop_back()) {
      tasks_.push_back(children_.back());
    }
  }
  return check_broken() && (sorted_ || order_blocks()) && rank_bodies();
}

BlockId GraphReader::make_block(Bytes graph) {
  const BlockId id =
      graph_.add_block(ir::NodeId(graph_.node_count()), block_, {});
  depths_.push_back(depths_[block_.index()] + 1);
  children_.push_back({id, graph});
  return id;
}

bool GraphReader::read_block(BlockId block, Bytes proto,
                             const BodyLayout& layout, const Place& place) {
  block_ = block;
  if (!context_.in_time(place)) return false;
  if (depths_[block.index()] > kMaxNesting) {
    return context_.fail(place, "subgraphs are nested too deep",
                         "at most " + std::to_string(kMaxNesting) + " levels",
                         "more");
  }
  graph_.mutable_block(block).proto = proto;
  return reserve(proto, layout, place) && define_inputs(layout, place) &&
         define_initializers(layout, place) &&
         define_node_outputs(layout, place) && link_nodes(layout, place) &&
         declare(layout, place);
}

// Counts everything first: growing the arrays step by step would need twice the
// memory. Nested bodies rely on amortized growth, since many small exact steps
// would be quadratic.
bool GraphReader::reserve(Bytes proto, const BodyLayout& layout,
                          const Place& place) {
  std::size_t nodes = 0, values = 0, operands = 0;
  constants_.clear();
  others_.clear();
  Cursor cursor(proto, layout.message);
  while (cursor.next()) {
    const std::uint32_t field = cursor.field();
    split(cursor, layout);
    if (field == graph_field::kName && !layout.formal) {
      graph_.mutable_block(block_).name = cursor.text();
    }
    if (field == layout.input || field == layout.initializer) ++values;
    if (!layout.formal && (field == graph_field::kAnnotation ||
                           field == graph_field::kMetadata)) {
      if (!check_field(context_, cursor, place)) return false;
    }
    if (field != layout.node) continue;
    ++nodes;
    Cursor node(cursor.bytes(), schema::kNode);
    while (node.next()) {
      operands += node.field() == node_field::kInput;
      values += node.field() == node_field::kOutput;
    }
    if (!context_.finished({&place, "node", {}}, node)) return false;
  }
  if (!context_.finished(place, cursor)) return false;
  constexpr std::size_t kMost = 1u << 31;
  if (graph_.node_count() + nodes > kMost ||
      graph_.value_count() + values > kMost || operands > kMost) {
    return context_.fail(place, "the graph is too large",
                         "less than 2^31 nodes, values and inputs", "more");
  }
  if (block_ == ir::Graph::main_block()) {
    // Half as much again is reserved for edits; memory that is not touched
    // costs nothing.
    graph_.reserve(nodes + nodes / 2, values + values / 2,
                   operands + operands / 2);
    context_.model.names.reserve(values);
    graph_.mutable_block(block_).nodes.reserve(nodes);
  }
  return true;
}

void GraphReader::split(const Cursor& cursor, const BodyLayout& layout) {
  const bool constant =
      layout.initializer != 0 &&
      (cursor.field() == layout.initializer || cursor.field() == layout.sparse);
  std::vector<Bytes>& stretches = constant ? constants_ : others_;
  const Bytes whole = cursor.whole();
  context_.passage.pass(whole);
  if (!stretches.empty() &&
      stretches.back().data() + stretches.back().size() == whole.data()) {
    stretches.back() = {stretches.back().data(),
                        stretches.back().size() + whole.size()};
  } else {
    stretches.push_back(whole);
  }
}

bool GraphReader::is_own(ValueId value) const {
  return value && graph_.value(value).block == block_;
}

ValueId GraphReader::visible(std::string_view name) {
  const Name id = context_.model.names.intern_view(name);
  return id.index() < scope_.size() ? scope_[id.index()] : ValueId();
}

bool GraphReader::define(std::string_view name, ValueKind kind,
                         const Place& place, ValueId& value) {
  const Name id = context_.model.names.intern_view(name);
  if (id.index() >= scope_.size()) {
    scope_.resize(std::max<std::size_t>(id.index() + 1, scope_.size() * 2));
  }
  ValueId& seen = scope_[id.index()];
  if (is_own(seen)) {
    return context_.fail(
        place, "a name is defined twice",
        "one definition of " + quoted_name(name),
        std::string(ir::kind_text(kind)) + ", after " +
            std::string(ir::kind_text(graph_.value(seen).kind)));
  }
  value = graph_.add_value(id, block_, kind);
  undo_.emplace_back(id, seen);
  seen = value;
  return true;
}

bool GraphReader::read_interface(const Cursor& field, const BodyLayout& layout,
                                 const Place& place, ValueInfo& info) {
  if (!layout.formal) {
    return read_value_info(context_, field.bytes(), place, info);
  }
  info.name = field.text();
  return true;
}

bool GraphReader::define_inputs(const BodyLayout& layout, const Place& place) {
  return each_field(
      others_, layout.message, layout.input, [&](const Cursor& field) {
        ValueInfo info;
        if (!read_interface(field, layout, {&place, "input", {}}, info)) {
          return false;
        }
        const Place here{&place, "input", info.name};
        if (info.name.empty())
          return context_.fail(here, "an input has no name");
        ValueId value;
        const ir::Type* type = nullptr;
        if (!define(info.name, ValueKind::kInput, here, value) ||
            !read_type(context_, info.type, here, type)) {
          return false;
        }
        graph_.add_block_input(block_, value);
        graph_.mutable_value(value).declared = type;
        return true;
      });
}

bool GraphReader::define_initializers(const BodyLayout& layout,
                                      const Place& place) {
  for (const Bytes stretch : constants_) {
    Cursor cursor(stretch, layout.message);
    while (cursor.next()) {
      const bool ok = cursor.field() == layout.initializer
                          ? define_initializer(cursor.bytes(), place)
                          : define_sparse(cursor.bytes(), place);
      if (!ok || !context_.in_time(place)) return false;
      context_.passage.pass(cursor.whole());
    }
  }
  return true;
}

bool GraphReader::define_initializer(Bytes proto, const Place& place) {
  const Place here{&place, "initializer", {}};
  const ir::Literal* tensor = nullptr;
  std::string_view name;
  if (!read_tensor(context_, proto, here, tensor, name)) {
    return tensor != nullptr && define_broken(*tensor, name, place);
  }
  if (name.empty()) {  // no node can read it
    context_.warn(here, "an initializer has no name", "a name", "none");
    return true;
  }
  // The name is copied, since looking at it among the weights would load them.
  constexpr std::size_t kFar = 4096;
  if (tensor->bytes.size() >= kFar) name = context_.model.arena.copy(name);
  ValueId value = visible(name);
  const bool own = is_own(value);
  if (own && graph_.value(value).tensor != nullptr && is_main()) {
    context_.warn({&place, "initializer", name}, "a name is defined twice",
                  "one definition of " + quoted_name(name),
                  "another initializer; the last one is used");
    graph_.mutable_value(value).tensor = tensor;
    return true;
  }
  const bool input = own && graph_.value(value).kind == ValueKind::kInput &&
                     graph_.value(value).tensor == nullptr;
  if (!input && !define(name, ValueKind::kInitializer,
                        {&place, "initializer", name}, value)) {
    return false;
  }
  graph_.add_initializer(value, tensor);
  // Before IR version 4 every initializer had to be listed as an input, which
  // did not make it one.
  if (context_.model.ir_version < 4) {
    graph_.mutable_value(value).kind = ValueKind::kInitializer;
  }
  return true;
}

// Defines an initializer with wrong data. It is an error only if something
// reads it, which is known at the end.
bool GraphReader::define_broken(const ir::Literal& tensor,
                                std::string_view name, const Place& place) {
  if (context_.is_damaged || name.empty() ||
      tensor.storage == ir::Storage::kExternal) {
    return false;
  }
  if (is_own(visible(name))) return false;
  Diagnostic why = *std::exchange(context_.error, std::nullopt);
  ValueId value;
  if (!define(name, ValueKind::kInitializer, place, value)) return false;
  broken_.emplace_back(value, std::move(why));
  return true;
}

bool GraphReader::check_broken() {
  for (auto& [value, why] : broken_) {
    if (graph_.reader_count(value) > 0) {
      context_.error = std::move(why);
      return false;
    }
    context_.warn({}, "an initializer that nothing reads: " + why.what,
                  why.expected, why.found);
  }
  return true;
}

// A sparse initializer is a constant that the engine never looks into; it stays
// encoded and is not among the block's initializers.
bool GraphReader::define_sparse(Bytes proto, const Place& place) {
  const Place here{&place, "sparse initializer", {}};
  std::string_view name;
  if (!check_sparse(context_, proto, here, name)) return false;
  if (name.empty()) return context_.fail(here, "an initializer has no name");
  ValueId value = visible(name);
  if (is_own(value) && graph_.value(value).kind == ValueKind::kInput) {
    return true;
  }
  return define(name, ValueKind::kInitializer,
                {&place, "sparse initializer", name}, value);
}

bool GraphReader::define_node_outputs(const BodyLayout& layout,
                                      const Place& place) {
  next_output_ = static_cast<std::uint32_t>(graph_.value_count());
  return each_field(
      others_, layout.message, layout.node, [&](const Cursor& field) {
        Cursor node(field.bytes(), schema::kNode);
        while (node.next()) {
          if (node.field() != node_field::kOutput || node.bytes().empty())
            continue;
          ValueId value;
          if (!define(node.text(), ValueKind::kUndefined,
                      {&place, "node output", node.text()}, value)) {
            return false;
          }
        }
        return true;
      });
}

// Reads outputs, then the types that value_info gives to names of this body.
bool GraphReader::declare(const BodyLayout& layout, const Place& place) {
  const auto declare_one = [&](const Cursor& field) {
    ValueInfo info;
    return read_interface(field, layout, {&place, "output", {}}, info) &&
           declare_output(info.name, info.type, place);
  };
  const auto declare_value = [&](const Cursor& field) {
    ValueInfo info;
    const Place here{&place, "value_info", {}};
    if (!read_value_info(context_, field.bytes(), here, info)) return false;
    const ValueId value = visible(info.name);
    const Place named{&place, "value_info", info.name};
    const ir::Type* type = nullptr;
    if (!read_type(context_, info.type, named, type)) return false;
    declare_type(value, type);
    return true;
  };
  return each_field(others_, layout.message, layout.output, declare_one) &&
         each_field(others_, layout.message, layout.value_info, declare_value);
}

// The first type that is declared counts.
void GraphReader::declare_type(ValueId value, const ir::Type* type) {
  if (is_own(value) && graph_.value(value).declared == nullptr) {
    graph_.mutable_value(value).declared = type;
  }
}

bool GraphReader::declare_output(std::string_view name, Bytes type_proto,
                                 const Place& place) {
  const Place here{&place, "output", name};
  const ValueId value = visible(name);
  if (name.empty() || !value) {
    return context_.fail(here, "nothing produces an output of the graph",
                         "a node output, an input or an initializer",
                         quoted_name(name));
  }
  if (block_ == ir::Graph::main_block() &&
      graph_.value(value).block_output_count > 0) {
    if (!is_main()) {
      return context_.fail(here, "two outputs have the same name",
                           "each name once", "the second output");
    }
    context_.warn(here, "two outputs have the same name", "each name once",
                  "the second output");
  }
  graph_.add_block_output(block_, value);
  check_order(block_, value);
  const ir::Type* type = nullptr;
  if (!read_type(context_, type_proto, here, type)) return false;
  declare_type(value, type);
  return true;
}

bool GraphReader::order_blocks() {
  Orderer orderer(graph_);
  next_rank_ = 0;
  for (std::size_t b = 0; b < graph_.block_count(); ++b) {
    const Orderer::Order order = orderer.run(BlockId(b));
    if (!order.cycle.empty()) {
      std::string nodes;
      for (std::size_t i = 0; i < order.cycle.size() && i < 8; ++i) {
        nodes += (i == 0 ? "" : " -> ") + graph_.describe(order.cycle[i]);
      }
      if (order.cycle.size() > 8) nodes += " -> ...";
      return context_.fail(
          {}, "the graph has a cycle", "an acyclic graph",
          "a cycle of " + std::to_string(order.cycle.size()) +
              (order.cycle.size() == 1 ? " node: " : " nodes: ") +
              printable(nodes, 2000));
    }
    for (ir::NodeId n : order.nodes) {
      graph_.mutable_node(n).rank = ++next_rank_ << 20;
    }
  }
  return true;
}

// Nodes of a body are read after its owner, but their ranks must come before
// its.
bool GraphReader::rank_bodies() {
  if (graph_.block_count() == 1) return true;
  const auto order = ir::topological_order(graph_);
  if (!order) {
    return context_.fail({}, order.error().what, order.error().expected,
                         order.error().found);
  }
  next_rank_ = 0;
  for (ir::NodeId n : *order) {
    graph_.mutable_node(n).rank = ++next_rank_ << 20;
  }
  return true;
}

}  // namespace ruleengine::io
