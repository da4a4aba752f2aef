// One call of an op: its inputs, the outputs that it makes, and the run around
// it. What cannot be computed throws Failure. A call lives as long as the op
// runs; ops of different nodes may run on several threads.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/attributes.h"
#include "runtime/tensor.h"

namespace ruleengine::runtime {

// "A: float[2,3], B: float[3]": the inputs that are given, each named as the
// op's schema does.
std::string inputs_text(const ops::NodeView& node,
                        std::span<const Datum* const> inputs);

// Runs subgraphs of a graph that is running.
class BlockRunner {
 public:
  virtual ~BlockRunner() = default;
  // On these inputs; gives the outputs.
  virtual std::vector<Datum> run_block(ir::BlockId block,
                                       std::vector<Datum> inputs) = 0;
};

class Call : public NodeContext {
 public:
  // `blocks`: for the ops that have subgraphs. `place`: where outputs and
  // scratch are; nullptr: on the host.
  Call(const ops::NodeView& node, std::span<const Datum* const> inputs,
       std::span<Datum> outputs, KernelRun& run, BlockRunner* blocks = nullptr,
       DeviceMemory* place = nullptr)
      : NodeContext(node, run, place),
        blocks_(blocks),
        given_(inputs),
        inputs_(inputs),
        outputs_(outputs) {}

  // The same call with inputs that were adapted.
  Call(const Call& other, std::span<const Datum* const> adapted) : Call(other) {
    inputs_ = adapted;
  }

  // --- inputs ----------------------------------------------------------------
  std::size_t input_count() const { return inputs_.size(); }
  bool has_input(std::size_t i) const {
    return i < inputs_.size() && inputs_[i] != nullptr;
  }
  // Fails where it is absent.
  const Datum& value(std::size_t i) const;
  // Fails where it is absent or not a tensor.
  const Tensor& input(std::size_t i) const;
  // The input where it is of this type, rank or shape, or has so many elements.
  // Each fails otherwise and names the input as the op's schema does. A size of
  // -1 stands for any; without `dtype` any type will do.
  const Tensor& expect_type(std::size_t i, DataType dtype) const;
  const Tensor& expect_rank(std::size_t i, std::size_t least,
                            std::size_t most) const;
  const Tensor& expect_rank(std::size_t i, std::size_t rank) const {
    return expect_rank(i, rank, rank);
  }
  const Tensor& expect_min_rank(std::size_t i, std::size_t least) const {
    return expect_rank(i, least, static_cast<std::size_t>(-1));
  }
  const Tensor& expect_shape(std::size_t i, Shape dims,
                             DataType dtype = DataType::kUndefined) const;
  const Tensor& expect_count(std::size_t i, std::integral auto count,
                             DataType dtype = DataType::kUndefined) const {
    return expect_elements(i, static_cast<std::int64_t>(count), dtype);
  }
  // What other checks fail with.
  [[noreturn]] void wrong_type(std::size_t i, std::string expected) const;
  [[noreturn]] void wrong_shape(std::size_t i, std::string expected) const;
  [[noreturn]] void wrong_value(std::size_t i, std::string expected,
                                std::string found) const;
  // The type of a tensor before it was adapted.
  DataType given_type(std::size_t i) const {
    return given_[i]->tensor().dtype();
  }
  // Elements of an integer tensor (bool: 0 or 1).
  Ints ints(std::size_t i) const;
  std::int64_t scalar_int(std::size_t i) const;
  // Of a float tensor of one element, of any float type.
  double scalar_float(std::size_t i) const;

  // --- outputs ---------------------------------------------------------------
  std::size_t output_count() const { return outputs_.size(); }
  // Whether something may read it.
  bool wants(std::size_t i) const {
    return i < outputs_.size() && node_.has_output(i);
  }
  // Allocated, not initialized. Strings are empty. An output that is not
  // wanted may be written too.
  Tensor& output(std::size_t i, DataType dtype, Shape dims);
  // Memory of input `from`, if it is of this type and shape and this node is
  // its last reader; else allocated.
  Tensor& output_in_place(std::size_t i, std::size_t from, DataType dtype,
                          Shape dims);
  void set_output(std::size_t i, Datum value);
  // Whether output `i` may be a view.
  bool gives_view(std::size_t i) const {
    return i < 64 && (views_ >> i & 1) != 0;
  }

  // --- around it -------------------------------------------------------------
  std::vector<Datum> run_block(ir::BlockId block,
                               std::vector<Datum> inputs) const {
    return blocks_->run_block(block, std::move(inputs));
  }

  // For the Executor. `dying`: whether this node is the last reader of each
  // input.
  void set_dying(std::span<const bool> dying) { dying_ = dying; }
  // For backends: the outputs that may be views.
  void set_views(std::uint64_t outputs) { views_ = outputs; }
  std::span<const Datum* const> values() const { return inputs_; }
  std::span<Datum> outputs() const { return outputs_; }

 private:
  const Tensor& expect_elements(std::size_t i, std::int64_t count,
                                DataType dtype) const;

  BlockRunner* blocks_;
  std::span<const Datum*const> given_, inputs_;
  std::span<Datum> outputs_;
  std::span<const bool> dying_;
  std::uint64_t views_ = 0;
};

// A tensor of the model as one of a run: a view where its bytes are stored raw,
// else decoded. Throws Failure where they cannot be read. `model` must outlive
// it.
Tensor to_tensor(const ir::Literal& tensor, const ir::Model& model);

}  // namespace ruleengine::runtime
