// Tensors of a graph of operations: what their descriptors say, and elements as
// doubles. Internal to tests/cuda/cudnn.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/cuda/cudnn/descriptor.h"

namespace ruleengine::standin {

using Four = std::array<std::int64_t, 4>;

// What a graph may not ask for. Its text says what.
struct GraphFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct TensorSpec {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Four dims{}, strides{};
  std::int64_t uid = 0, alignment = 1;
  bool is_virtual = false, is_by_value = false;
  std::shared_ptr<const TensorSpec> offsets;  // of ragged sequences

  std::int64_t count() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
};

// Throws GraphFault.
TensorSpec spec_of(const Descriptor* tensor);

double read_element(cudnnDataType_t type, const void* at);
void write_element(cudnnDataType_t type, void* at, double value);
// As a tensor of this type would keep it.
double rounded(cudnnDataType_t type, double value);
std::size_t element_bytes(cudnnDataType_t type);

// The tensors of one run.
class TensorMemory {
 public:
  // By uid: addresses of the device, and copies of values of the host.
  std::map<std::int64_t, void*> addresses;
  std::map<std::int64_t, std::vector<std::byte>> values;

  bool is_ready(const TensorSpec& t) const {
    return !t.is_virtual || virtuals_.contains(t.uid);
  }
  // An axis of size 1 stands for any size.
  double read(const TensorSpec& t, Four at) const;
  void write(const TensorSpec& t, const Four& at, double value);
  // Room for a tensor that only the graph has; of NaN.
  void make(const TensorSpec& t);

 private:
  std::int64_t place(const TensorSpec& t, const Four& at) const;
  void* address(const TensorSpec& t) const;

  std::map<std::int64_t, std::vector<double>> virtuals_;
};

}  // namespace ruleengine::standin
