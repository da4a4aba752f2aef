#include <algorithm>

#include "core/io/read/order.h"
#include "core/io/read/parts.h"
#include "core/io/read/read_graph.h"
#include "core/ops/onnx_runtime.h"

// The part of GraphReader that reads nodes.
namespace ruleengine::io {

using ir::ValueId;

namespace {

// Ranks leave gaps for nodes that edits insert between two others.
constexpr int kRankShift = 20;

bool has_duplicate(std::span<const ir::Attribute> attributes,
                   std::string_view& name) {
  std::vector<std::string_view> names;
  if (attributes.size() <= 8) {  // nearly always
    for (std::size_t i = 1; i < attributes.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (attributes[i].name != attributes[j].name) continue;
        name = attributes[i].name;
        return true;
      }
    }
    return false;
  }
  for (const ir::Attribute& a : attributes) names.push_back(a.name);
  std::sort(names.begin(), names.end());
  const auto it = std::adjacent_find(names.begin(), names.end());
  if (it == names.end()) return false;
  name = *it;
  return true;
}

// For diagnostics: the name or the first output of a node, searched in its
// fields since they often come after the faulty part.
std::string_view node_name(Bytes proto) {
  std::string_view name, output;
  Cursor cursor(proto, schema::kNode);
  while (cursor.next()) {
    if (cursor.field() == node_field::kName) name = cursor.text();
    if (cursor.field() == node_field::kOutput && output.empty()) {
      output = cursor.text();
    }
  }
  return name.empty() ? output : name;
}

}  // namespace

bool GraphReader::link_nodes(const BodyLayout& layout, const Place& place) {
  return each_field(
      others_, layout.message, layout.node, [&](const Cursor& node) {
        return context_.in_time(place) && link_node(node.bytes(), place);
      });
}

// Notes when a node reads a value that comes later in the file: the nodes then
// have to be sorted.
void GraphReader::check_order(ir::BlockId reader, ValueId id) {
  const ir::Value& value = graph_.value(id);
  if (value.block == reader) {
    sorted_ &= value.kind != ir::ValueKind::kUndefined;
  } else if (value.producer) {
    sorted_ &= value.producer < Orderer::ancestor(graph_, reader, value.block);
  }
}

bool GraphReader::scan_operand(const Cursor& cursor, Bytes node,
                               const Place& place) {
  if (cursor.field() == node_field::kOutput) {
    const bool absent = cursor.bytes().empty();
    outputs_.push_back(absent ? ValueId() : ValueId(next_output_++));
    return true;
  }
  if (cursor.bytes().empty()) {
    inputs_.push_back(ValueId());
    return true;
  }
  const ValueId value = visible(cursor.text());
  if (!value) {
    return context_.fail({&place, "node", node_name(node)},
                         "a node reads a name that nothing defines",
                         "an input, an initializer or the output of a node",
                         quoted_name(cursor.text()));
  }
  check_order(block_, value);
  inputs_.push_back(value);
  return true;
}

// Keeps one view as long as the fields are adjacent.
void GraphReader::NodeParts::add_extra(Bytes field) {
  if (extra.empty()) {
    extra = field;
  } else if (extra.data() + extra.size() == field.data()) {
    extra = {extra.data(), extra.size() + field.size()};
  } else {
    scattered = true;
  }
}

bool GraphReader::scan_node(Bytes proto, const Place& place, NodeParts& parts) {
  inputs_.clear();
  outputs_.clear();
  Cursor cursor(proto, schema::kNode);
  while (cursor.next()) {
    switch (cursor.field()) {
      case node_field::kInput:
      case node_field::kOutput:
        if (!scan_operand(cursor, proto, place)) return false;
        break;
      case node_field::kName:
        parts.name = cursor.text();
        break;
      case node_field::kOpType:
        parts.type = cursor.text();
        break;
      case node_field::kDomain:
        parts.domain = cursor.text();
        break;
      case node_field::kOverload:
        parts.overload = cursor.text();
        break;
      case node_field::kAttribute:
        ++parts.attributes;
        break;
      case node_field::kMetadata:
        ++parts.metadata;
        break;
      default:
        if (!check_field(context_, cursor, place)) return false;
        parts.add_extra(cursor.whole());
    }
  }
  return context_.finished(place, cursor);
}

Bytes GraphReader::gather_extra(Bytes proto, const NodeParts& parts) {
  if (!parts.scattered) return parts.extra;
  std::vector<std::byte> out;
  Cursor cursor(proto, schema::kNode);
  while (cursor.next()) {
    const std::uint32_t f = cursor.field();
    if (f <= node_field::kAttribute ||
        (f >= node_field::kDomain && f <= node_field::kMetadata)) {
      continue;
    }
    out.insert(out.end(), cursor.whole().begin(), cursor.whole().end());
  }
  return context_.model.arena.copy(Bytes(out));
}

bool GraphReader::check_node(const NodeParts& parts, const Place& place,
                             ir::OpId& op) {
  if (parts.type.empty()) {
    return context_.fail(place, "a node has no op_type");
  }
  if (inputs_.empty() && outputs_.empty()) {
    return context_.fail(place, "a node has neither inputs nor outputs");
  }
  op = context_.model.ops.intern(parts.domain, parts.type, parts.overload);
  std::vector<std::uint32_t>& checked = context_.op_checked;
  if (op.index() >= checked.size()) {
    checked.resize(std::max<std::size_t>(op.index() + 1, 2 * checked.size()));
  }
  if (checked[op.index()] == serial_) return true;
  checked[op.index()] = serial_;
  const std::string_view domain = context_.model.ops[op].domain;
  if (imports_.find(domain) < imports_.size()) return true;
  if (!context_.in_function && imply(domain, place)) return true;
  return context_.fail(
      place, "the domain of a node is not imported",
      "an opset_import for " +
          (domain.empty() ? "the standard domain" : quoted_name(domain)),
      "none", "used by op " + quoted_name(context_.model.ops[op].text()));
}

// If a model imports some domain, ONNX Runtime treats the other domains that it
// knows as imported.
bool GraphReader::imply(std::string_view domain, const Place& place) {
  const auto implied = std::ranges::find(ops::kImpliedOpsets, domain,
                                         &ops::ImpliedOpset::domain);
  if (implied == ops::kImpliedOpsets.end()) return false;
  context_.warn(place, "the domain of a node is not imported",
                "an opset_import for " + (domain.empty() ? "the standard domain"
                                                         : quoted_name(domain)),
                "none; " + std::string(ops::kRuntimeName) + " takes it to be " +
                    std::to_string(implied->version));
  imports_.push_back({std::string(domain), implied->version, /*as_read=*/true});
  return true;
}

bool GraphReader::read_attributes(Bytes proto, const NodeParts& parts,
                                  const Place& place,
                                  std::span<const ir::Attribute>& attributes) {
  if (parts.attributes == 0) return true;
  const auto out = context_.model.arena.array<ir::Attribute>(parts.attributes);
  std::size_t i = 0;
  Cursor cursor(proto, schema::kNode);
  while (cursor.next()) {
    if (cursor.field() != node_field::kAttribute) continue;
    if (!read_attribute(context_, cursor.bytes(), place, this, out[i++])) {
      return false;
    }
  }
  std::string_view name;
  if (has_duplicate(out, name)) {
    return context_.fail(place, "an attribute is given twice", "once",
                         quoted_name(name));
  }
  attributes = out;
  return true;
}

bool GraphReader::read_metadata(Bytes proto, const NodeParts& parts,
                                const Place& place,
                                std::span<const ir::Metadata>& metadata) {
  if (parts.metadata == 0) return true;
  const auto out = context_.model.arena.array<ir::Metadata>(parts.metadata);
  std::size_t i = 0;
  Cursor cursor(proto, schema::kNode);
  while (cursor.next()) {
    if (cursor.field() != node_field::kMetadata) continue;
    Cursor entry(cursor.bytes(), schema::kEntry);
    const auto [key, value] = read_entry(entry);
    if (!context_.finished(place, entry)) return false;
    out[i++] = {key, value};
  }
  metadata = out;
  return true;
}

std::string_view GraphReader::first_output() const {
  for (ValueId v : outputs_) {
    if (v) return graph_.name(v);
  }
  return {};
}

bool GraphReader::link_node(Bytes proto, const Place& place) {
  NodeParts parts;
  if (!scan_node(proto, place, parts)) return false;
  const Place here{&place, "node",
                   parts.name.empty() ? first_output() : parts.name};
  ir::OpId op;
  std::span<const ir::Attribute> attributes;
  std::span<const ir::Metadata> metadata;
  if (!check_node(parts, here, op) ||
      !read_attributes(proto, parts, here, attributes) ||
      !read_metadata(proto, parts, here, metadata)) {
    return false;
  }
  const ir::NodeId id =
      graph_.add_node(op, block_, parts.name, inputs_, outputs_, attributes);
  ir::Node& node = graph_.mutable_node(id);
  node.proto = proto;
  node.extra = gather_extra(proto, parts);
  node.metadata = metadata;
  node.rank = ++next_rank_ << kRankShift;
  return true;
}

}  // namespace ruleengine::io
