// Body: writes a model-local function, node by node. Values are what its calls
// return; names are those of ONNX's own text where nothing else is said. The
// Function belongs to the Model once finish() put it there. Internal to
// core/rewrite; nothing here fails.
#ifndef RULEENGINE_CORE_REWRITE_BODIES_BODY_H_
#define RULEENGINE_CORE_REWRITE_BODIES_BODY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/model.h"

namespace ruleengine::rewrite {

class Body {
 public:
  Body(ir::Model& model, const ir::Op& op, std::int64_t opset);

  std::int64_t opset() const { return opset_; }
  ir::ValueId input(std::string_view name);
  // `elem`: what constants are cast to where CastLike (opset 15) is missing.
  void set_float_type(ir::DataType elem, ir::ValueId like);

  // A node with outputs of these names; the first, or all of them.
  ir::ValueId node(std::string_view type, std::vector<ir::ValueId> inputs,
                   std::string_view name,
                   std::vector<ir::Attribute> attributes = {});
  std::vector<ir::ValueId> nodes(std::string_view type,
                                 std::vector<ir::ValueId> inputs,
                                 const std::vector<std::string>& names,
                                 std::vector<ir::Attribute> attributes = {});
  // Constants: integers (a scalar when `scalar`), and one number of the type
  // of the function's own floats.
  ir::ValueId integers(std::vector<std::int64_t> data, std::string_view name,
                       bool scalar = false);
  ir::ValueId number(float value, std::string_view name);

  ir::Attribute ints(std::string_view name, std::vector<std::int64_t> data);
  static ir::Attribute integer(std::string_view name, std::int64_t value);

  // Declares the attributes that calls of `op` carry, and adds the function.
  void finish(const std::vector<ir::ValueId>& outputs,
              std::span<const ir::Attribute> call);

 private:
  ir::ValueId value(std::string_view name);
  ir::ValueId constant(const ir::Tensor& tensor, std::string_view name);
  void declare_attributes(std::span<const ir::Attribute> call);

  ir::Model& model_;
  std::int64_t opset_;
  std::unique_ptr<ir::Function> function_;
  ir::Graph& graph_;
  ir::DataType elem_ = ir::DataType::kFloat;
  ir::ValueId like_;
  std::vector<std::string> taken_;
};

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_BODIES_BODY_H_
