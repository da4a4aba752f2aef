#include "core/io/standard_body.h"

#include <algorithm>
#include <exception>
#include <new>
#include <vector>

#include <onnx/defs/schema.h>

#include "core/base/onnx.h"
#include "core/io/write/emit.h"
#include "core/io/write/write_model.h"
#include "core/ops/op_facts.h"

namespace ruleengine::io {
namespace {

const onnx::OpSchema* schema_of(const ir::Op& op) {
  // Building the library's registry takes a while.
  const ops::OpFacts* newest = ops::newest_op(op.domain, op.type);
  if (newest == nullptr || !op.overload.empty()) return nullptr;
  return onnx::OpSchemaRegistry::Schema(std::string(op.type),
                                        ops::newest_opset(op.domain),
                                        std::string(op.domain));
}

template <typename Message>
Status parse(const ir::Model& model, const Rope& rope, Message& to) {
  const auto bytes = flatten(rope, model);
  if (!bytes) return bytes.error();
  if (to.ParseFromString(*bytes)) return {};
  return Diagnostic{.kind = ErrorKind::kModel,
                    .what = "the message is too large for the ONNX library"};
}

// Values have names by their slots: bodies refer to formal inputs.
Result<onnx::NodeProto> call_proto(const ir::Graph& graph, ir::NodeId call) {
  onnx::NodeProto out;
  out.set_op_type(std::string(graph.op(call).type));
  out.set_domain(std::string(graph.op(call).domain));
  for (const ir::Operand& in : graph.inputs(call)) {
    out.add_input(in.value ? "in" + std::to_string(out.input_size()) : "");
  }
  for (const ir::ValueId v : graph.outputs(call)) {
    out.add_output(v ? "out" + std::to_string(out.output_size()) : "");
  }
  for (const ir::Attribute& a : graph.node(call).attributes) {
    if (!a.blocks.empty() || !a.ref.empty()) {
      return Diagnostic{
          .kind = ErrorKind::kModel,
          .what = "the standard's body cannot be given attribute " +
                  quoted_name(a.name)};
    }
    Rope rope;
    Emitter emitter(rope, nullptr, nullptr);
    if (a.proto.empty()) {
      encode_attribute(emitter, a);
    } else {
      rope.view(a.proto);
    }
    const Status read = parse(graph.model(), rope, *out.add_attribute());
    if (!read) return read.error();
  }
  return out;
}

Result<std::vector<onnx::TypeProto>> type_protos(
    const ir::Model& model, std::span<const ir::Type* const> types) {
  std::vector<onnx::TypeProto> out(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] == nullptr) continue;
    Rope rope;
    encode_type(rope, *types[i], model.dims);
    if (Status read = parse(model, rope, out[i]); !read) return read.error();
  }
  return out;
}

// False where the library has no body for such a call.
bool build(const onnx::OpSchema& schema, const onnx::NodeProto& call,
           const std::vector<onnx::TypeProto>& types,
           onnx::FunctionProto& out) {
  const int opset = ops::newest_opset(schema.domain());
  std::vector<int> versions;
  if (schema.HasFunction()) {
    const onnx::FunctionProto* body = schema.GetFunction(opset);
    if (body == nullptr) return false;
    out = *body;
    versions = schema.function_opset_versions();
  } else {
    const onnx::FunctionBodyBuildContextImpl context(call, types);
    if (!schema.BuildContextDependentFunction(context, out, opset)) {
      return false;
    }
    versions = schema.context_dependent_function_opset_versions();
  }
  // A body does not compute trailing outputs that the call leaves out.
  int wanted = call.output_size();
  while (wanted > 0 && call.output(wanted - 1).empty()) --wanted;
  while (out.output_size() > wanted) out.mutable_output()->RemoveLast();
  const bool imports_standard = std::ranges::any_of(
      out.opset_import(),
      [](const auto& import) { return import.domain().empty(); });
  if (!imports_standard) {
    out.add_opset_import()->set_version(
        schema.domain().empty() ? versions.back() : ops::newest_opset(""));
  }
  return true;
}

}  // namespace

bool has_standard_body(const ir::Op& op) {
  const onnx::OpSchema* schema = schema_of(op);
  return schema != nullptr &&
         (schema->HasFunction() || schema->HasContextDependentFunction());
}

Result<std::string> standard_body(const ir::Graph& graph, ir::NodeId call,
                                  std::span<const ir::Type* const> types) {
  const ir::Op& op = graph.op(call);
  const onnx::OpSchema* schema = schema_of(op);
  Diagnostic error{.kind = ErrorKind::kModel,
                   .what = "the standard has no body for this call"};
  if (schema == nullptr) return error;
  auto proto = call_proto(graph, call);
  if (!proto) return proto.error();
  const auto known = type_protos(graph.model(), types);
  if (!known) return known.error();
  try {
    onnx::FunctionProto body;
    if (!build(*schema, *proto, *known, body)) return error;
    return body.SerializeAsString();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    error.found = thrown.what();
    return error;
  }
}

}  // namespace ruleengine::io
