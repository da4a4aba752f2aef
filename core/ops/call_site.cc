#include "core/ops/call_site.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "core/ir/model.h"
#include "core/ops/op_row.h"

namespace ruleengine::ops {
namespace {

// An attribute that oldest opsets had for every op, and that means nothing.
constexpr std::string_view kHint = "consumed_inputs";

}  // namespace

std::size_t CallSite::place_of(std::string_view input) const {
  const auto at = std::ranges::find(op_.inputs, input, &FormalValue::name);
  assert(at != op_.inputs.end());
  return static_cast<std::size_t>(at - op_.inputs.begin());
}

std::size_t CallSite::output_count() const {
  body_.note(fmt::format("wants{}", outputs_.count));
  return outputs_.count;
}

bool CallSite::wants(std::size_t output) const {
  const bool wanted = output >= 32 || (outputs_.wanted >> output & 1) != 0;
  if (wanted) body_.note(fmt::format("wants_{}", op_.outputs[output].name));
  return wanted;
}

void CallSite::check() const {
  for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
    const FormalValue& formal = op_.inputs[i];
    const bool given = i < inputs_.size() && inputs_[i];
    if (formal.arity == Arity::kSingle && !given) {
      body_.refuse(fmt::format("input '{}' is missing", formal.name));
    }
  }
  for (const ir::Attribute& a : attributes_) {
    if (op_.attribute(a.name) == nullptr && a.name != kHint) {
      body_.refuse("attribute " + quoted_name(a.name) + " has no meaning");
    }
  }
  for (const FormalAttribute& formal : op_.attributes) {
    if (formal.required && written(formal.name) == nullptr) {
      body_.refuse(fmt::format("attribute '{}' is missing", formal.name));
    }
  }
}

std::size_t input_count(const OpFacts& op, const ir::Graph& graph,
                        ir::NodeId call) {
  const std::size_t count = op.inputs.size();
  const bool is_variadic =
      count > 0 && op.inputs.back().arity == Arity::kVariadic;
  return is_variadic ? std::max(count, graph.inputs(call).size()) : count;
}

void refuse_surplus(Body& body, const OpFacts& op, const ir::Graph& graph,
                    ir::NodeId call) {
  for (std::size_t i = op.inputs.size(); i < graph.inputs(call).size(); ++i) {
    const ir::ValueId value = graph.input(call, i);
    if (value && op.input(i) == nullptr) {
      body.refuse(fmt::format("input {} has no meaning", i + 1));
    }
  }
}

namespace {

// Whether a node of the graph calls the function without that input.
bool omits(const ir::Graph& graph, const ir::Function& function,
           std::size_t input) {
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const ir::NodeId node(i);
    if (!graph.node(node).removed &&
        graph.model().find_function(graph.op(node)) == &function &&
        !graph.input(node, input)) {
      return true;
    }
  }
  return false;
}

}  // namespace

void refuse_uncertain(Body& body, const OpFacts& op, const ir::Graph& graph,
                      ir::NodeId call) {
  const ir::Model& model = graph.model();
  const auto function = std::ranges::find_if(
      model.functions, [&](const auto& f) { return &f->body == &graph; });
  if (function == model.functions.end()) return;
  const auto formals = graph.block(ir::Graph::main_block()).inputs;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const ir::ValueId value = graph.input(call, i);
    const auto formal = std::ranges::find(formals, value);
    if (op.inputs[i].arity != Arity::kOptional || !value ||
        formal == formals.end()) {
      continue;
    }
    const auto place = static_cast<std::size_t>(formal - formals.begin());
    bool omitted = omits(model.graph, **function, place);
    for (const auto& each : model.functions) {
      omitted =
          omitted || (!each->removed && omits(each->body, **function, place));
    }
    if (!omitted) continue;
    body.refuse(fmt::format("a call of the function omits input '{}'",
                            op.inputs[i].name));
  }
}

CallOutputs outputs_of(const ir::Graph& graph, ir::NodeId call, Wanted wanted) {
  CallOutputs out{.count = graph.outputs(call).size(), .wanted = 0};
  while (out.count > 1 && !graph.output(call, out.count - 1)) --out.count;
  for (std::size_t i = 0; i < std::min<std::size_t>(out.count, 32); ++i) {
    const ir::ValueId value = graph.output(call, i);
    const bool is_wanted =
        value && (wanted == Wanted::kNamed || graph.reader_count(value) > 0);
    if (is_wanted) out.wanted |= 1u << i;
  }
  return out;
}

ir::ValueId CallSite::operator[](std::string_view input) const {
  const std::size_t place = place_of(input);
  const ir::ValueId value =
      place < inputs_.size() ? inputs_[place] : ir::ValueId();
  const bool is_optional = op_.inputs[place].arity == Arity::kOptional;
  if (value && is_optional) body_.note(std::string(input));
  return value;
}

bool CallSite::same(std::string_view a, std::string_view b) const {
  const bool same = body_.same(inputs_[place_of(a)], inputs_[place_of(b)]);
  if (same) body_.note(fmt::format("{}_is_{}", a, b));
  return same;
}

// nullptr where the rank is not known.
const ir::Type* CallSite::shape_of(std::string_view input) const {
  const ir::ValueId value = inputs_[place_of(input)];
  const ir::Type* type = value ? body_.type(value) : nullptr;
  const bool known = type != nullptr && type->is_tensor() && type->has_shape;
  return known ? type : nullptr;
}

const ir::Attribute* CallSite::written(std::string_view attribute) const {
  const auto at =
      std::ranges::find(attributes_, attribute, &ir::Attribute::name);
  if (at == attributes_.end()) return nullptr;
  const FormalAttribute* formal = op_.attribute(attribute);
  if (formal != nullptr && at->kind != formal->kind && at->ref.empty()) {
    body_.refuse("wrong kind of attribute '" + std::string(attribute) + "'");
  }
  if (!at->ref.empty()) {
    body_.refuse("attribute '" + std::string(attribute) +
                 "' is given by the caller of the function");
  }
  return &*at;
}

bool CallSite::is_written(std::string_view attribute) const {
  return written(attribute) != nullptr;
}

std::int64_t CallSite::quiet_int(std::string_view attribute) const {
  return ops::int_of(written(attribute), op_.attribute(attribute));
}

std::int64_t CallSite::int_of(std::string_view attribute) const {
  const std::int64_t value = quiet_int(attribute);
  if (value != op_.attribute(attribute)->default_int) {
    body_.note(fmt::format("{}{}", attribute, value));
  }
  return value;
}

float CallSite::float_of(std::string_view attribute) const {
  const ir::Attribute* a = written(attribute);
  const FormalAttribute& formal = *op_.attribute(attribute);
  const float value = a != nullptr ? a->f : formal.default_float;
  // fmt writes the shortest text that reads back as the same float.
  if (!formal.has_default || value != formal.default_float) {
    if (a != nullptr) body_.note(fmt::format("{}{}", attribute, value));
  }
  return value;
}

std::vector<std::int64_t> CallSite::ints_of(std::string_view attribute) const {
  const ir::Attribute* a = written(attribute);
  const auto usual = op_.attribute(attribute)->default_ints;
  const auto ints = a != nullptr ? a->ints : usual;
  if (!std::ranges::equal(ints, usual)) {
    body_.note(fmt::format("{}{}", attribute, fmt::join(ints, "x")));
  }
  return {ints.begin(), ints.end()};
}

std::string_view CallSite::string_of(std::string_view attribute) const {
  const std::string_view value =
      ops::string_of(written(attribute), op_.attribute(attribute));
  body_.note(fmt::format("{}_{}", attribute, value));
  return value;
}

std::vector<float> CallSite::floats_of(std::string_view attribute) const {
  const ir::Attribute* a = written(attribute);
  const auto floats =
      a != nullptr ? a->floats : op_.attribute(attribute)->default_floats;
  body_.note(fmt::format("{}{}", attribute, fmt::join(floats, "x")));
  return {floats.begin(), floats.end()};
}

Body::Attributes CallSite::others(
    std::initializer_list<std::string_view> without) const {
  Body::Attributes out;
  for (const ir::Attribute& a : attributes_) {
    if (a.name == kHint || std::ranges::find(without, a.name) != without.end())
      continue;
    if (written(a.name) != nullptr) out.push_back(a);
    body_.note(fmt::format("{}{}{}{}{}", a.name, a.s, a.i, a.f,
                           fmt::join(a.ints, "x")));
  }
  return out;
}

ir::DataType CallSite::elem(std::string_view input) const {
  const ir::DataType elem = quiet_elem(input);
  if (elem == ir::DataType::kUndefined) return elem;
  body_.note(fmt::format("{}_{}", input, ir::data_type_name(elem)));
  return elem;
}

ir::DataType CallSite::quiet_elem(std::string_view input) const {
  const ir::ValueId value = inputs_[place_of(input)];
  const ir::Type* type = value ? body_.type(value) : nullptr;
  const bool known = type != nullptr && type->is_tensor();
  return known ? type->elem : ir::DataType::kUndefined;
}

std::optional<std::size_t> CallSite::rank(std::string_view input) const {
  const ir::Type* type = shape_of(input);
  if (type == nullptr) return std::nullopt;
  body_.note(fmt::format("{}_rank{}", input, type->rank()));
  return type->rank();
}

std::size_t CallSite::rank_or(std::string_view input, std::size_t usual) const {
  const ir::Type* type = shape_of(input);
  return type == nullptr ? usual : type->rank();
}

std::optional<ir::Dim> CallSite::dim(std::string_view input,
                                     std::size_t place) const {
  const ir::Type* type = shape_of(input);
  if (type == nullptr || type->rank() < place) return std::nullopt;
  return type->dims[type->rank() - place];
}

std::int64_t CallSite::quiet_size(std::string_view input,
                                  std::size_t place) const {
  const auto size = dim(input, place);
  return size && size->known() ? size->size() : 0;
}

bool CallSite::same_size(std::string_view a, std::string_view b,
                         std::size_t place) const {
  const auto x = dim(a, place), y = dim(b, place);
  return x && y && *x == *y;
}

bool CallSite::at_most(std::string_view a, std::string_view b,
                       std::size_t place) const {
  const auto x = dim(a, place), y = dim(b, place);
  ir::DimTable& dims = body_.host().model().dims;
  return x && y && dims.nonnegative(dims.sub(*y, *x));
}

std::int64_t CallSite::size(std::string_view input, std::size_t place) const {
  const std::int64_t size = quiet_size(input, place);
  if (size > 0) body_.note(fmt::format("{}_{}is{}", input, place, size));
  return size;
}

Body::Values write_meaning(Body& body, std::string_view domain,
                           std::string_view type, Body::Values inputs,
                           std::span<const ir::Attribute> attributes) {
  const OpFacts* op = newest_op(domain, type);
  inputs.resize(std::max(inputs.size(), op->inputs.size()));
  return meaning_of(domain, type)(CallSite(
      body, *op, std::move(inputs), attributes, {.count = op->outputs.size()}));
}

}  // namespace ruleengine::ops
