// For tests of this folder: small models built with the ONNX library's own
// protobuf classes, a temporary folder, and edits that force every part of a
// model to be written anew.
#ifndef RULEENGINE_CORE_IO_TEST_SUPPORT_H_
#define RULEENGINE_CORE_IO_TEST_SUPPORT_H_

#include <google/protobuf/util/message_differencer.h>
#include <onnx/onnx_pb.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/io/load.h"
#include "core/io/save.h"
#include "core/ir/model.h"

namespace ruleengine::io::testing {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "io-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const {
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }
  // Names inside, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& e : fs::directory_iterator(path_)) {
      out.push_back(e.path().filename().string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  fs::path path_;
};

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// --- building ----------------------------------------------------------------

inline void set_type(onnx::ValueInfoProto* info, const std::string& name,
                     std::initializer_list<std::int64_t> dims,
                     int elem = onnx::TensorProto::FLOAT) {
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(elem);
  tensor->mutable_shape();
  for (std::int64_t dim : dims) {
    tensor->mutable_shape()->add_dim()->set_dim_value(dim);
  }
}

inline onnx::NodeProto* add_node(onnx::GraphProto* graph,
                                 const std::string& type,
                                 std::initializer_list<const char*> inputs,
                                 std::initializer_list<const char*> outputs) {
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(type);
  for (const char* name : inputs) node->add_input(name);
  for (const char* name : outputs) node->add_output(name);
  node->set_name("n_" + std::string(*outputs.begin()));
  return node;
}

inline onnx::TensorProto* add_tensor(onnx::GraphProto* graph,
                                     const std::string& name,
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

// x -> Add(w) -> Relu -> y.
inline onnx::ModelProto small_model() {
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

// If with a subgraph that reads from outside, functions, sparse and quantized
// parts, typed fields, metadata: one of everything.
onnx::ModelProto rich_model();

// --- loading -----------------------------------------------------------------

inline Result<std::unique_ptr<ir::Model>> load_proto(
    const onnx::ModelProto& model, const std::string& directory = {}) {
  LoadOptions options;
  options.directory = directory;
  return load_bytes(model.SerializeAsString(), options);
}

inline std::string error_of(const onnx::ModelProto& model,
                            const std::string& directory = {}) {
  auto result = load_proto(model, directory);
  return result ? "" : result.error().text();
}

inline void touch(ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    graph.mutable_node(ir::NodeId(i)).proto = {};
  }
  for (std::size_t i = 0; i < graph.block_count(); ++i) {
    graph.mutable_block(ir::BlockId(i)).changed = true;
  }
}
inline void touch_all(ir::Model& model) {
  touch(model.graph);
  for (auto& function : model.functions) touch(function->body);
  model.changed = true;
}

inline bool same(const std::string& a, const std::string& b,
                 std::string* difference = nullptr) {
  onnx::ModelProto x, y;
  if (!x.ParseFromString(a) || !y.ParseFromString(b)) return false;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_message_field_comparison(
      google::protobuf::util::MessageDifferencer::EQUIVALENT);
  if (difference != nullptr) differencer.ReportDifferencesToString(difference);
  return differencer.Compare(x, y);
}

}  // namespace ruleengine::io::testing

#endif  // RULEENGINE_CORE_IO_TEST_SUPPORT_H_
