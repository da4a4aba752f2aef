#include "core/base/onnx.h"
#include "tests/support/io.h"

#include <google/protobuf/util/message_differencer.h>

namespace ruleengine::io::testing {

void set_type(onnx::ValueInfoProto* info, const std::string& name,
              std::initializer_list<std::int64_t> dims, int elem) {
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(elem);
  tensor->mutable_shape();
  for (std::int64_t dim : dims) {
    tensor->mutable_shape()->add_dim()->set_dim_value(dim);
  }
}

onnx::NodeProto* add_node(onnx::GraphProto* graph, const std::string& type,
                          std::initializer_list<const char*> inputs,
                          std::initializer_list<const char*> outputs) {
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(type);
  for (const char* name : inputs) node->add_input(name);
  for (const char* name : outputs) node->add_output(name);
  node->set_name("n_" + std::string(*outputs.begin()));
  return node;
}

onnx::TensorProto* add_tensor(onnx::GraphProto* graph, const std::string& name,
                              std::initializer_list<std::int64_t> dims) {
  onnx::TensorProto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  std::int64_t count = 1;
  for (std::int64_t dim : dims) {
    tensor->add_dims(dim);
    count *= dim;
  }
  tensor->set_raw_data(std::string(static_cast<std::size_t>(count) * 4, 'w'));
  return tensor;
}

// The graph x -> Add(w) -> Relu -> y.
onnx::ModelProto small_model() {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.set_producer_name("test");
  auto* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(18);
  onnx::GraphProto* graph = model.mutable_graph();
  graph->set_name("g");
  set_type(graph->add_input(), "x", {2, 4});
  set_type(graph->add_output(), "y", {2, 4});
  add_tensor(graph, "w", {4});
  add_node(graph, "Add", {"x", "w"}, {"a"});
  add_node(graph, "Relu", {"a"}, {"y"});
  return model;
}

Result<std::unique_ptr<ir::Model>> load_proto(const onnx::ModelProto& model,
                                              const std::string& directory) {
  LoadOptions options;
  options.directory = directory;
  return load_bytes(model.SerializeAsString(), options);
}

std::string error_of(const onnx::ModelProto& model,
                     const std::string& directory) {
  auto result = load_proto(model, directory);
  return result ? "" : result.error().text();
}

std::string warning_of(const onnx::ModelProto& model) {
  std::vector<Diagnostic> warnings;
  auto loaded = load_bytes(model.SerializeAsString(), {.warnings = &warnings});
  return loaded && !warnings.empty() ? warnings[0].text() : "";
}

bool same(const std::string& a, const std::string& b, std::string* difference) {
  onnx::ModelProto x, y;
  if (!x.ParseFromString(a) || !y.ParseFromString(b)) return false;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_message_field_comparison(
      google::protobuf::util::MessageDifferencer::EQUIVALENT);
  if (difference != nullptr) differencer.ReportDifferencesToString(difference);
  return differencer.Compare(x, y);
}

}  // namespace ruleengine::io::testing
