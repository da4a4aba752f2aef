#include "bindings/lua/nodes/build_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bindings/lua/nodes/attribute_value.h"
#include "bindings/lua/sandbox/stack.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "core/ir/model.h"
#include "core/rewrite/sizes.h"

namespace ruleengine::lua {
namespace {

// More inputs than any node has: a bound for the indices in rule code.
constexpr std::size_t kMaxInputs = 100'000;

// Inputs that are int64 lists, also where the schema has a type variable.
bool is_index_list(std::string_view name) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"axes", "ends", "pads", "repeats", "shape", "sizes", "split", "starts",
       "steps"});
  return std::ranges::binary_search(kNames, name);
}

ir::DataType fixed_type(std::string_view formal) {
  constexpr std::string_view kHead = "tensor(";
  if (!formal.starts_with(kHead)) return ir::DataType::kUndefined;
  formal.remove_prefix(kHead.size());
  formal.remove_suffix(1);
  return ir::data_type_from_name(formal);
}

}  // namespace

bool BuildInputs::add(int index) {
  if (lua_istable(state_, index)) return add_list(index);
  return add_one(index);
}

bool BuildInputs::add_one(int index) {
  if (inputs_.size() >= kMaxInputs) {
    return fail(host_, op_ + " gets too many inputs");
  }
  if (lua_isnoneornil(state_, index)) {
    inputs_.emplace_back();
    return true;
  }
  const Handle* handle = to_handle(host_, state_, index);
  if (handle != nullptr && handle->kind == HandleKind::kValue) {
    if (!check_alive(host_, *handle)) return false;
    add_value(value_in(*host_.session.edit, *handle));
    return true;
  }
  if (handle != nullptr && handle->kind == HandleKind::kNode) {
    return fail(host_, op_ + " gets a node as an input", "a value", "a node",
                "n.outputs[1] is its first value");
  }
  const bool number = lua_type(state_, index) == LUA_TNUMBER ||
                      lua_isboolean(state_, index) ||
                      (handle != nullptr && handle->kind == HandleKind::kDim);
  if (!number) {
    return fail(host_, op_ + " gets something that cannot be an input",
                "values, numbers, lists of values, nil",
                kind_of(state_, index));
  }
  Input input{
      .is_number = true, .scalar = true, .first = numbers_.size(), .count = 1};
  if (!add_number(index, input)) return false;
  inputs_.push_back(input);
  return true;
}

bool BuildInputs::add_number(int index, Input& input) {
  if (const Handle* d = to_handle(host_, state_, index, HandleKind::kDim)) {
    if (!check_alive(host_, *d)) return false;
    input.symbolic = true;
    numbers_.push_back({.dim = d->dim});
    return true;
  }
  const auto read = read_number(host_, state_, index, "a constant of " + op_);
  if (!read) return false;
  numbers_.push_back({.number = *read});
  return true;
}

// A table of attributes would be an empty list of inputs.
bool BuildInputs::check_keys(int index) {
  const auto names = string_keys(state_, index);
  if (names.empty()) return true;
  const std::string name = printable(names[0]);
  return fail(
      host_, op_ + " gets a table of names as an input",
      "attributes beside the inputs: " + op_ + "{x, " + name + " = ...}",
      quoted_name(name));
}

// A list of values is spread; a list of numbers is one constant.
bool BuildInputs::add_list(int index) {
  if (!check_keys(index)) return false;
  const std::size_t count = lua_objlen(state_, index);
  lua_rawgeti(state_, index, 1);
  const bool numbers =
      lua_type(state_, -1) == LUA_TNUMBER ||
      to_handle(host_, state_, -1, HandleKind::kDim) != nullptr ||
      is_shape(host_, state_, index);
  lua_pop(state_, 1);
  if (numbers) return add_numbers(index, count);
  if (count == 0 && !is_list(host_, state_, index)) {
    // A list that rule code wrote itself: an empty list of numbers where the op
    // takes one, else no values.
    const ops::FormalValue* at = formal(inputs_.size());
    if (at != nullptr && is_index_list(at->name)) {
      return add_numbers(index, 0);
    }
  }
  luaL_checkstack(state_, 2, "inputs");
  return all_elements(state_, index, count,
                      [&](int at) { return add_one(at); });
}

bool BuildInputs::add_numbers(int index, std::size_t count) {
  Input input{.is_number = true, .first = numbers_.size(), .count = count};
  Sandbox::charge(state_, count);
  const bool good = all_elements(state_, index, count,
                                 [&](int at) { return add_number(at, input); });
  if (good) inputs_.push_back(input);
  return good;
}

bool BuildInputs::add_array(int index, std::span<const double> places) {
  std::size_t last = 0;
  for (const double place : places) {
    last = static_cast<std::size_t>(std::clamp(place, 0.0, double{kMaxInputs}));
    if (place >= 1 && static_cast<double>(last) == place) continue;
    return fail(host_, op_ + " has no such input", "whole numbers from 1",
                fmt::format("{}", place));
  }
  return all_elements(state_, index, last, [&](int at) { return add(at); });
}

const ops::FormalValue* BuildInputs::formal(std::size_t place) const {
  return facts_ == nullptr ? nullptr : facts_->input(place);
}

ir::DataType BuildInputs::type_of(const Input& input) const {
  if (!input.value) return ir::DataType::kUndefined;
  const ir::Type* type = host_.session.facts->type(input.value);
  return type != nullptr && type->is_tensor() ? type->elem
                                              : ir::DataType::kUndefined;
}

// The type from the schema, else that of an input with the same type variable,
// else that of any input.
ir::DataType BuildInputs::wanted_type(std::size_t place) const {
  if (expected_ != ir::DataType::kUndefined) return expected_;
  const ops::FormalValue* at = formal(place);
  if (at != nullptr) {
    const ir::DataType fixed = fixed_type(at->type);
    if (fixed != ir::DataType::kUndefined) return fixed;
    if (is_index_list(at->name)) return ir::DataType::kInt64;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].value || formal(i) == nullptr) continue;
      if (formal(i)->type != at->type) continue;
      const ir::DataType shared = type_of(inputs_[i]);
      if (shared != ir::DataType::kUndefined) return shared;
    }
    if (at->type == "Tind") return ir::DataType::kInt64;
  }
  for (const Input& input : inputs_) {
    const ir::DataType other = type_of(input);
    if (ir::is_float(other) || ir::is_integer(other)) return other;
  }
  // Lists of whole numbers alone are sizes: op.Concat{{m.B, 4}, axis = 0}.
  return whole_lists() ? ir::DataType::kInt64 : ir::DataType::kUndefined;
}

bool BuildInputs::whole_lists() const {
  const auto is_list = [](const Input& input) {
    return input.is_number && !input.scalar;
  };
  return std::ranges::all_of(inputs_, is_list) &&
         std::ranges::all_of(numbers_, [](const Number& n) {
           return to_integer(n.number).has_value();
         });
}

bool BuildInputs::make_constant(std::size_t place) {
  Input& input = inputs_[place];
  const ir::DataType type = wanted_type(place);
  if (type == ir::DataType::kUndefined) {
    return reject(host_, "the type is unknown for the number that is " +
                             place_name(place));
  }
  const ops::FormalValue* at = formal(place);
  const bool scalar =
      input.scalar && !(at != nullptr && is_index_list(at->name));
  if (input.symbolic) return make_sizes(place, scalar);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < input.count; ++i) {
    numbers.push_back(numbers_[input.first + i].number);
  }
  const ir::Literal* tensor =
      make_tensor(host_, type, numbers, scalar, place_name(place));
  if (tensor == nullptr) return false;
  const std::string_view hint = at != nullptr ? at->name : "constant";
  input.value = host_.session.edit->constant(tensor, hint);
  return true;
}

// Dimensions known by name only, as int64 values computed at run time.
bool BuildInputs::make_sizes(std::size_t place, bool scalar) {
  Input& input = inputs_[place];
  const std::span<const Number> numbers =
      std::span(numbers_).subspan(input.first, input.count);
  if (scalar || wanted_type(place) != ir::DataType::kInt64) {
    for (const Number& n : numbers) {
      if (!n.dim.known()) reject_dim(host_, place_name(place), n.dim);
    }
    return false;
  }
  std::vector<ir::Dim> dims;
  for (const Number& n : numbers) {
    if (!n.dim.known()) {
      dims.push_back(n.dim);
      continue;
    }
    const auto size = to_integer(n.number);
    if (!size) {
      return reject_number(host_, n.number, ir::DataType::kInt64,
                           place_name(place));
    }
    dims.emplace_back(*size);
  }
  if (reshapes_ && place == 1) tell_reshape(dims);
  auto built = rewrite::build_sizes(*host_.session.edit, dims);
  if (!built) return fail(host_, std::move(built.error()));
  if (auto* rejection = std::get_if<rewrite::Rejection>(&*built)) {
    return reject(host_, std::move(*rejection));
  }
  input.value = std::get<std::vector<ir::ValueId>>(*built)[0];
  return true;
}

void BuildInputs::tell_reshape(std::vector<ir::Dim>& dims) {
  const ir::ValueId x = inputs_[0].value;
  const ir::Type* type = x ? host_.session.facts->type(x) : nullptr;
  ir::DimTable& table = host_.session.graph->model().dims;
  auto told = rewrite::reshape_sizes(table, type, dims);
  dims = std::move(told.dims);
  allows_zero_ = told.allow_zero;
}

std::string BuildInputs::place_name(std::size_t place) const {
  const ops::FormalValue* at = formal(place);
  if (at == nullptr) {
    return "input " + std::to_string(place + 1) + " of " + op_;
  }
  return "input '" + std::string(at->name) + "' of " + op_;
}

// A required input that is nil often comes from a branch that was not taken.
bool BuildInputs::check_required() {
  if (facts_ == nullptr) return true;
  const auto least = static_cast<std::size_t>(facts_->min_inputs);
  for (std::size_t i = 0; i < std::max(least, inputs_.size()); ++i) {
    const ops::FormalValue* at = formal(i);
    if (at == nullptr) break;  // too many: the Edit's own message
    const bool there = i < inputs_.size() && inputs_[i].value;
    if (there || at->arity == ops::Arity::kOptional) continue;
    if (i >= least && i >= inputs_.size()) break;
    const auto& names = host_.session.not_taken;
    return fail(host_, place_name(i) + " is required", "a value", "nil",
                names.empty()
                    ? ""
                    : fmt::format("nil in this match, since their branch was "
                                  "not taken: m.{}",
                                  fmt::join(names, ", m.")));
  }
  return true;
}

bool BuildInputs::finish(std::vector<ir::ValueId>& out) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_number && !make_constant(i)) return false;
  }
  while (!inputs_.empty() && !inputs_.back().value) inputs_.pop_back();
  if (!check_required()) return false;
  out.clear();
  for (const Input& input : inputs_) out.push_back(input.value);
  return true;
}

}  // namespace ruleengine::lua
