// The inputs of a node to be built, as rule code gives them: values, absent
// inputs, lists of values that are spread, and numbers. Numbers become
// constants, whose type follows from the other inputs. A list with symbolic
// dimensions is computed from the graph's inputs at run time. Internal to
// bindings/lua.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bindings/lua/session/handle.h"
#include "core/ops/op_facts.h"

namespace ruleengine::lua {

class BuildInputs {
 public:
  // `facts` is nullptr for an op that is not known; `op` names it in errors.
  BuildInputs(Host& host, lua_State* state, const ops::OpFacts* facts,
              std::string op)
      : host_(host), state_(state), facts_(facts), op_(std::move(op)) {}

  // Appends the argument at stack index `index`. False after fail()/reject().
  bool add(int index);
  // The array part of the table at `index`; holes are absent inputs.
  bool add_array(int index, std::span<const double> places);
  // Numbers become constants of this type, whatever the op says.
  void expect(ir::DataType type) { expected_ = type; }
  void add_value(ir::ValueId value) { inputs_.push_back({.value = value}); }
  std::size_t size() const { return inputs_.size(); }

  // The op is a Reshape without the attribute `allowzero`: symbolic sizes are
  // then written so that a size that turns out to be 0 means 0.
  void reshapes() { reshapes_ = true; }
  // After finish: whether that needs the attribute `allowzero`.
  bool allows_zero() const { return allows_zero_; }

  // Makes the constants and checks that no required input is absent.
  bool finish(std::vector<ir::ValueId>& out);

 private:
  struct Input {
    ir::ValueId value;  // invalid: absent, or numbers
    bool is_number = false, scalar = false;
    bool symbolic = false;  // some number is a dimension known by name only
    std::size_t first = 0, count = 0;  // of numbers_
  };
  struct Number {
    double number = 0;
    ir::Dim dim;  // symbolic, else the number counts
  };

  bool add_one(int index);
  bool add_list(int index);
  bool check_keys(int index);
  bool add_numbers(int index, std::size_t count);
  bool add_number(int index, Input& input);
  const ops::FormalValue* formal(std::size_t place) const;
  ir::DataType wanted_type(std::size_t place) const;
  bool whole_lists() const;
  ir::DataType type_of(const Input& input) const;
  bool make_constant(std::size_t place);
  bool make_sizes(std::size_t place, bool scalar);
  void tell_reshape(std::vector<ir::Dim>& dims);
  bool check_required();
  std::string place_name(std::size_t place) const;

  Host& host_;
  lua_State* state_;
  const ops::OpFacts* facts_;
  std::string op_;
  ir::DataType expected_ = ir::DataType::kUndefined;
  bool reshapes_ = false, allows_zero_ = false;
  std::vector<Input> inputs_;
  std::vector<Number> numbers_;
};

}  // namespace ruleengine::lua
