// What a kernel is given, and how an op says which kernel it has. A kernel
// computes one op: it reads attributes and inputs through a KernelContext,
// allocates its outputs there and fills them. It throws Failure where the node
// cannot be computed. A context lives for one call; a kernel may be called from
// several threads for different nodes.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/ops/node_view.h"
#include "runtime/failure.h"
#include "runtime/memory.h"
#include "runtime/tensor.h"
#include "runtime/threads.h"

namespace ruleengine::runtime {

using Ints = std::vector<std::int64_t>;

class Communicator;
class NoiseSource;

using DrawnCounts = std::map<std::string, std::uint64_t, std::less<>>;

// What a run has for all of its nodes.
struct KernelRun {
  std::shared_ptr<Memory> memory;
  Threads* threads = nullptr;
  std::uint64_t seed = 0;  // of ops that draw numbers
  // How often the node that makes a value of this name drew numbers. By names,
  // so that a node draws the same whatever else a model draws.
  DrawnCounts drawn;
  // Nodes of other names draw other numbers than the seed says; nullptr: none.
  const DrawnCounts* alike = nullptr;
  Communicator* communicator = nullptr;  // of a run with other ranks
  bool wide = false;                     // floats are doubles
  NoiseSource* noise = nullptr;          // of a wide run; may be nullptr
  // Fail on values for which runtimes give different results.
  bool agreed_only = false;
};

// A tensor of fixed-size elements in the memory of the run, not initialized.
Tensor allocate(KernelRun& run, DataType dtype, Shape dims);

// "A: float[2,3], B: float[3]": the inputs that are given, each named as the
// op's schema does.
std::string inputs_text(const ops::NodeView& node,
                        std::span<Datum* const> inputs);

// What a kernel keeps for its node between runs, such as repacked weights.
struct KernelCache {
  virtual ~KernelCache() = default;
};

class KernelContext {
 public:
  // Runs the subgraph of an attribute on these inputs; gives its outputs.
  using RunBlock =
      std::function<std::vector<Datum>(ir::BlockId, std::vector<Datum>)>;

  KernelContext(const ops::NodeView& node, std::span<Datum* const> inputs,
                std::span<Datum> outputs, KernelRun& run)
      : node_(node),
        given_(inputs),
        inputs_(inputs),
        outputs_(outputs),
        run_(run) {}

  // The same call with inputs that were adapted.
  KernelContext(const KernelContext& other, std::span<Datum* const> adapted)
      : KernelContext(other) {
    inputs_ = adapted;
  }

  // --- the node --------------------------------------------------------------
  const ops::NodeView& node() const { return node_; }
  const ir::Op& op() const { return node_.op(); }

  // Attributes: as written, or by the schema's default; 0, "" or empty where it
  // has none. `otherwise`: the value where it is not written.
  bool has_attribute(std::string_view name) const {
    return node_.attribute(name) != nullptr;
  }
  std::int64_t attribute_int(std::string_view name) const {
    return node_.attribute_int(name);
  }
  std::int64_t attribute_int(std::string_view name,
                             std::int64_t otherwise) const {
    return has_attribute(name) ? attribute_int(name) : otherwise;
  }
  bool attribute_flag(std::string_view name) const {
    return node_.attribute_int(name) != 0;
  }
  float attribute_float(std::string_view name) const;
  float attribute_float(std::string_view name, float otherwise) const {
    return has_attribute(name) ? attribute_float(name) : otherwise;
  }
  std::string_view attribute_string(std::string_view name) const {
    return node_.attribute_string(name);
  }
  Ints attribute_ints(std::string_view name) const {
    return node_.attribute_ints(name).value_or(Ints());
  }
  std::vector<float> attribute_floats(std::string_view name) const {
    return node_.attribute_floats(name);
  }
  std::vector<std::string> attribute_strings(std::string_view name) const;
  // kUndefined when it is not written. In a wide run floats are doubles.
  DataType attribute_type(std::string_view name) const;
  // nullopt when it is not written. In a wide run floats are doubles.
  std::optional<Tensor> attribute_tensor(std::string_view name) const;
  // Fails when it is not written.
  void need_attribute(std::string_view name) const;
  // A string attribute that is one of `known`; fails for any other.
  std::string_view choice(std::string_view name,
                          std::initializer_list<std::string_view> known) const;
  // Fails with what the attribute says, or with `found`.
  [[noreturn]] void wrong_attribute(std::string_view name, std::string expected,
                                    std::string found = {}) const;

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
  // Attribute `name` in older opsets, else input `i`; nullopt if both are
  // absent.
  std::optional<Ints> ints_of(std::string_view name, std::size_t i) const;

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

  // --- around it -------------------------------------------------------------
  // A tensor for intermediate results, not initialized.
  Tensor allocate(DataType dtype, Shape dims) const;
  Threads& threads() const { return *run_.threads; }
  KernelRun& run() const { return run_; }
  // A number for an op that draws random ones: from its attribute `seed`, or
  // from the seed of the run.
  std::uint64_t seed() const;
  std::vector<Datum> run_block(std::string_view attribute,
                               std::vector<Datum> inputs) const;
  std::unique_ptr<KernelCache>* cache() const { return cache_; }

  // For the Executor. `dying`: whether this node is the last reader of each
  // input.
  void set_dying(std::span<const bool> dying) { dying_ = dying; }
  void set_run_block(RunBlock run) { run_block_ = std::move(run); }
  void set_cache(std::unique_ptr<KernelCache>* cache) { cache_ = cache; }
  std::span<Datum* const> values() const { return inputs_; }
  std::span<Datum> outputs() const { return outputs_; }

 private:
  const Tensor& expect_elements(std::size_t i, std::int64_t count,
                                DataType dtype) const;
  std::shared_ptr<Strings> empty_strings(std::size_t count) const;

  const ops::NodeView& node_;
  std::span<Datum*const> given_, inputs_;
  std::span<Datum> outputs_;
  KernelRun& run_;
  RunBlock run_block_;
  std::unique_ptr<KernelCache>* cache_ = nullptr;
  std::span<const bool> dying_;
};

using KernelFunction = void (*)(KernelContext&);

// What the Executor does with inputs of types that a kernel does not compute
// in.
enum class Adapt : std::uint8_t {
  kNone,  // the kernel takes inputs as they are
  // float16, bfloat16 and narrower become float before, and outputs of the same
  // type parameter are rounded back after.
  kWiden,
  // Elements below a byte become a byte each before, and are packed again
  // after: for kernels that move elements.
  kUnpack,
};

struct Kernel {
  std::string_view domain;  // "" for the standard one
  std::string_view type;
  KernelFunction run = nullptr;
  Adapt adapt = Adapt::kNone;
};

// nullptr where there is no kernel. A version of an op that the newest one
// cannot express has a row of its own, such as "Scan-8".
using FindKernel = const Kernel* (*)(std::string_view domain,
                                     std::string_view type);

// A tensor of the model as one of a run: a view where its bytes are stored raw,
// else decoded. Throws Failure where they cannot be read. `model` must outlive
// it.
Tensor to_tensor(const ir::Literal& tensor, const ir::Model& model);

}  // namespace ruleengine::runtime
