// For tests of core/io: small models built with the ONNX library's own
// protobuf classes, a temporary folder, and edits that force every part of a
// model to be written anew.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/base/onnx.h"
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
  // The names in the folder, sorted.
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

void set_type(onnx::ValueInfoProto* info, const std::string& name,
              std::initializer_list<std::int64_t> dims, int elem = 1);
onnx::NodeProto* add_node(onnx::GraphProto* graph, const std::string& type,
                          std::initializer_list<const char*> inputs,
                          std::initializer_list<const char*> outputs);
// A float initializer full of bytes 'w'.
onnx::TensorProto* add_tensor(onnx::GraphProto* graph, const std::string& name,
                              std::initializer_list<std::int64_t> dims);

// The graph x -> Add(w) -> Relu -> y.
onnx::ModelProto small_model();

// A model with one of everything: If with a subgraph that reads from outside,
// functions, sparse and quantized parts, typed fields, metadata.
onnx::ModelProto rich_model();

// --- loading -----------------------------------------------------------------

Result<std::unique_ptr<ir::Model>> load_proto(
    const onnx::ModelProto& model, const std::string& directory = {});
// The error of loading; "" when the model is accepted.
std::string error_of(const onnx::ModelProto& model,
                     const std::string& directory = {});

// The first warning of loading; "" when there is none or the model is rejected.
std::string warning_of(const onnx::ModelProto& model);

inline bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Whether two are equal as protobuf messages, apart from unknown fields.
bool same(const std::string& a, const std::string& b,
          std::string* difference = nullptr);

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

// A new initializer made of two copies of `part`.
inline void add_joined(ir::Model& model, const ir::Literal* part) {
  auto parts = model.arena.array<ir::LazyPart>(2);
  parts[0].tensor = parts[1].tensor = part;
  auto* lazy = model.arena.make<ir::Lazy>();
  lazy->parts = parts;
  auto dims = model.arena.array<std::int64_t>(1);
  dims[0] = part->dims[0] * 2;
  auto* tensor = model.arena.make<ir::Literal>();
  tensor->dtype = part->dtype;
  tensor->storage = ir::Storage::kLazy;
  tensor->dims = dims;
  tensor->lazy = lazy;
  const ir::ValueId v = model.graph.add_value(model.names.intern("joined"),
                                              ir::Graph::main_block(),
                                              ir::ValueKind::kInitializer);
  model.graph.add_initializer(v, tensor);
}

}  // namespace ruleengine::io::testing
