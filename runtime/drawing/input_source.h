// What the inputs of one model may be: its uses of them, sizes that fit
// together and values that a run has shown.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/inference.h"
#include "core/base/result.h"
#include "core/ir/model.h"
#include "runtime/drawing/input_drawing.h"
#include "runtime/drawing/input_sizes.h"
#include "runtime/drawing/input_uses.h"
#include "runtime/executor.h"

namespace ruleengine::runtime {

// Draws for one model, and keeps what it found out about it. The model must
// outlive it and not change.
class InputSource {
 public:
  InputSource(const ir::Model& model,
              const std::map<std::string, std::int64_t>& dims);

  // A copy with the same ids, in which facts are stored.
  ir::Model& model() const { return *copy_; }
  ir::Facts& facts() { return facts_; }
  InputSizes& sizes() { return sizes_; }
  const std::vector<InputUse>& uses();  // by input

  // Values of the main graph whose shapes or elements say what inputs may be,
  // and are not known at these sizes.
  std::vector<ir::ValueId> open(const SizeOf& sizes);
  // What such values are in a run at the sizes that domains() is asked for
  // next; replaces what was learned before.
  void learn(std::map<ir::ValueId, Tensor> values) {
    learned_ = std::move(values);
  }

  // Whether some op tells NaN or infinity from numbers.
  bool knows_specials() const;

  std::vector<Domain> domains(const SizeOf& sizes);
  // Turns that show all that is met.
  std::size_t turns(const SizeOf& sizes);
  Result<Executor::Named> draw(const SizeOf& sizes, const Drawn& how,
                               const std::shared_ptr<HostMemory>& memory);

 private:
  std::optional<std::int64_t> size_of(const TableUse& table,
                                      const SizeOf& sizes);
  Domain domain(const InputUse& use, const SizeOf& sizes);

  std::shared_ptr<ir::Model> copy_;
  analysis::Inference facts_;
  InputSizes sizes_;
  std::optional<std::vector<InputUse>> uses_;  // once they are needed
  std::vector<std::string> words_;             // of constants and attributes
  std::map<ir::ValueId, Tensor> learned_;
};

}  // namespace ruleengine::runtime
