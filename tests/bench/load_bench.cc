// Loading against protobuf's own parse of the same bytes, in one process: a
// file that RULEENGINE_BENCH_MODEL names, and generated graphs of growing size.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/base/onnx.h"
#include "core/io/load.h"

namespace ruleengine::bench {
namespace {

const char* model_path() { return std::getenv("RULEENGINE_BENCH_MODEL"); }

void load_file(benchmark::State& state) {
  if (model_path() == nullptr) {
    return state.SkipWithError("RULEENGINE_BENCH_MODEL is not set");
  }
  for (auto _ : state) {
    auto model = io::load(model_path());
    if (!model) return state.SkipWithError(model.error().what.c_str());
    benchmark::DoNotOptimize(model);
  }
}
BENCHMARK(load_file);

// The fastest use of protobuf: maps the file and parses it in place.
void parse_file(benchmark::State& state) {
  if (model_path() == nullptr) {
    return state.SkipWithError("RULEENGINE_BENCH_MODEL is not set");
  }
  for (auto _ : state) {
    const int file = open(model_path(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (file < 0 || fstat(file, &info) != 0) {
      return state.SkipWithError("the model cannot be opened");
    }
    const auto size = static_cast<std::size_t>(info.st_size);
    void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    onnx::ModelProto model;
    if (bytes == MAP_FAILED ||
        !model.ParseFromArray(bytes, static_cast<int>(size))) {
      return state.SkipWithError("protobuf cannot parse the model");
    }
    benchmark::DoNotOptimize(model);
    munmap(bytes, size);
    close(file);
  }
}
BENCHMARK(parse_file);

// A chain of additions, each with its own weight.
std::string chain(std::int64_t nodes) {
  onnx::ModelProto model;
  model.set_ir_version(9);
  model.add_opset_import()->set_version(18);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("chain");
  graph.add_input()->set_name("v0");
  for (std::int64_t i = 0; i < nodes; ++i) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type("Add");
    node.set_name("add_" + std::to_string(i));
    node.add_input("v" + std::to_string(i));
    node.add_input("w" + std::to_string(i));
    node.add_output("v" + std::to_string(i + 1));
    onnx::TensorProto& weight = *graph.add_initializer();
    weight.set_name("w" + std::to_string(i));
    weight.set_data_type(onnx::TensorProto::FLOAT);
    weight.add_dims(4);
    weight.set_raw_data(std::string(16, '\0'));
  }
  graph.add_output()->set_name("v" + std::to_string(nodes));
  return model.SerializeAsString();
}

void load_chain(benchmark::State& state) {
  const std::string bytes = chain(state.range(0));
  for (auto _ : state) {
    auto model = io::load_bytes(bytes);
    if (!model) return state.SkipWithError(model.error().what.c_str());
    benchmark::DoNotOptimize(model);
  }
  state.SetComplexityN(state.range(0));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(load_chain)->RangeMultiplier(10)->Range(1000, 1000000)->Complexity();

void parse_chain(benchmark::State& state) {
  const std::string bytes = chain(state.range(0));
  for (auto _ : state) {
    onnx::ModelProto model;
    if (!model.ParseFromString(bytes)) {
      return state.SkipWithError("protobuf cannot parse the model");
    }
    benchmark::DoNotOptimize(model);
  }
  state.SetComplexityN(state.range(0));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(parse_chain)->RangeMultiplier(10)->Range(1000, 1000000)->Complexity();

}  // namespace
}  // namespace ruleengine::bench
