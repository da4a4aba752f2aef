// The operations of a graph, computed element by element as cuDNN defines them:
// products, pointwise operations, reductions, loads of pages, and whole
// attentions. Internal to tests/cuda/cudnn.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tests/cuda/cudnn/tensor.h"

namespace ruleengine::standin {

struct Operation {
  std::vector<TensorSpec> inputs, outputs;
  std::function<void(TensorMemory&)> run;
};

// Throws GraphFault where it is not known, or its tensors do not fit.
Operation operation_of(const Descriptor& d);
// Of CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR.
Operation attention_operation(const Descriptor& d);

// The operations of a graph, in an order in which they can run.
std::vector<Operation> operations_of(const Descriptor& graph);

// Calls f(index) for all elements.
template <typename F>
void for_each_index(const Four& dims, F f) {
  for (std::int64_t b = 0; b < dims[0]; ++b) {
    for (std::int64_t h = 0; h < dims[1]; ++h) {
      for (std::int64_t i = 0; i < dims[2]; ++i) {
        for (std::int64_t j = 0; j < dims[3]; ++j) f(Four{b, h, i, j});
      }
    }
  }
}

// The number of a sequence that an optional tensor tells, at most `absent`.
std::int64_t length_of(const TensorMemory& m, const TensorSpec* lengths,
                       std::int64_t sequence, std::int64_t absent);
// Writes NaN where rows of the result are beyond the length of their sequence;
// rows of ragged results are not there.
void spoil_row(TensorMemory& m, const TensorSpec& t, std::int64_t b,
               std::int64_t h, std::int64_t row);

}  // namespace ruleengine::standin
