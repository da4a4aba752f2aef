// The ONNX library's own inference: the one place of core/analysis that knows
// the library.
#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <unordered_map>

#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>

#include "core/analysis/solver/solver.h"
#include "core/base/onnx.h"
#include "core/ir/shapes.h"
#include "core/ops/op_facts.h"

namespace ruleengine::analysis {
namespace {

using ir::AttributeKind;
using ir::Dim;

// Constants up to this size are shown to the library.
constexpr std::int64_t kMaxBytes = 4096;

// Calls `visit` for every dimension that a type mentions, in order.
template <class Visit>
void for_each_dimension(onnx::TypeProto& type, const Visit& visit) {
  const auto of_tensor = [&](auto& tensor) {
    if (!tensor.has_shape()) return;  // asking for it would make one
    for (auto& d : *tensor.mutable_shape()->mutable_dim()) visit(d);
  };
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
      return of_tensor(*type.mutable_tensor_type());
    case onnx::TypeProto::kSparseTensorType:
      return of_tensor(*type.mutable_sparse_tensor_type());
    case onnx::TypeProto::kSequenceType:
      return for_each_dimension(
          *type.mutable_sequence_type()->mutable_elem_type(), visit);
    case onnx::TypeProto::kOptionalType:
      return for_each_dimension(
          *type.mutable_optional_type()->mutable_elem_type(), visit);
    case onnx::TypeProto::kMapType:
      return for_each_dimension(*type.mutable_map_type()->mutable_value_type(),
                                visit);
    default:
      return;
  }
}

// Dims as the library's dim_params, and back. The library hands names on that
// it was given, so a name that was not put means nothing.
class DimNames {
 public:
  explicit DimNames(ir::DimTable& dims) : dims_(dims) {}

  void put(Dim d, onnx::TensorShapeProto::Dimension& to) {
    to.Clear();
    if (d == kUnknown || (d.known() && d.size() < 0)) return;
    if (d.known()) {
      to.set_dim_value(d.size());
      return;
    }
    const std::string name = "d" + std::to_string(d.id());
    to.set_dim_param(name);
    put_.emplace(name, d);
  }
  Dim get(const onnx::TensorShapeProto::Dimension& from) const {
    if (from.has_dim_value()) {
      return from.dim_value() >= 0 ? Dim(from.dim_value()) : kUnknown;
    }
    const auto at = put_.find(from.dim_param());
    return at == put_.end() ? kUnknown : at->second;
  }
  // As a file says it.
  void spell(Dim d, onnx::TensorShapeProto::Dimension& to) const {
    if (d.known()) return;
    to.Clear();
    if (d != kUnknown && !dims_.is_fresh(d)) to.set_dim_param(dims_.text(d));
  }

 private:
  ir::DimTable& dims_;
  std::map<std::string, Dim> put_;
};

// Takes away the names that the file gives to dimensions: two elements of one
// sequence may have the same name there and still differ in size.
void forget_names(onnx::TypeProto& type) {
  for_each_dimension(type, [](auto& d) { d.clear_dim_param(); });
}

bool put_type(const ir::Type* type, DimNames& names, onnx::TypeProto& to) {
  if (type == nullptr) return false;
  if (!type->is_tensor()) {
    if (!to.ParseFromArray(type->other.data(),
                           static_cast<int>(type->other.size()))) {
      return false;
    }
    if (type->dims.empty()) {
      forget_names(to);
    } else {
      std::size_t next = 0;
      for_each_dimension(to,
                         [&](auto& d) { names.put(type->dims[next++], d); });
    }
    return true;
  }
  if (type->elem == ir::DataType::kUndefined) return false;
  auto* tensor = to.mutable_tensor_type();
  tensor->set_elem_type(static_cast<int>(type->elem));
  if (type->has_shape) {
    auto* shape = tensor->mutable_shape();
    for (Dim d : type->dims) names.put(d, *shape->add_dim());
  }
  return true;
}

std::optional<onnx::TensorProto> tensor_proto(const NodeView& v,
                                              const ir::Literal* t) {
  if (t == nullptr || t->byte_size() > kMaxBytes) return std::nullopt;
  onnx::TensorProto out;
  out.set_data_type(static_cast<int>(t->dtype));
  for (std::int64_t d : t->dims) out.add_dims(d);
  if (t->storage == ir::Storage::kStrings) {
    for (std::string_view s : t->strings) out.add_string_data(std::string(s));
    return out;
  }
  std::vector<std::byte> scratch;
  const auto bytes = ir::raw_bytes(*t, v.model().external.get(), scratch);
  if (!bytes.ok()) return std::nullopt;
  out.set_raw_data(bytes->data(), bytes->size());
  return out;
}

bool put_attribute(const NodeView& v, const ir::Attribute& a,
                   onnx::AttributeProto& to) {
  if (!a.proto.empty() && a.ref.empty()) {
    // A body is left out: its types come from our own graph.
    if (a.kind == AttributeKind::kGraph || a.kind == AttributeKind::kGraphs) {
      return false;
    }
    if (a.proto.size() <= 1u << 20) {
      const bool read =
          to.ParseFromArray(a.proto.data(), static_cast<int>(a.proto.size()));
      if (to.has_tp()) forget_names(*to.mutable_tp());
      for (auto& type : *to.mutable_type_protos()) forget_names(type);
      return read;
    }
  }
  to.set_type(static_cast<onnx::AttributeProto::AttributeType>(a.kind));
  switch (a.kind) {
    case AttributeKind::kFloat:
      to.set_f(a.f);
      return true;
    case AttributeKind::kInt:
      to.set_i(a.i);
      return true;
    case AttributeKind::kString:
      to.set_s(std::string(a.s));
      return true;
    case AttributeKind::kFloats:
      for (float f : a.floats) to.add_floats(f);
      return true;
    case AttributeKind::kInts:
      for (std::int64_t i : a.ints) to.add_ints(i);
      return true;
    case AttributeKind::kStrings:
      for (std::string_view s : a.strings) to.add_strings(std::string(s));
      return true;
    case AttributeKind::kTensor: {
      if (a.tensors.empty()) return false;
      auto t = tensor_proto(v, a.tensors[0]);
      if (t) to.mutable_t()->Swap(&*t);
      return t.has_value();
    }
    default:
      return false;
  }
}

// One node of ours, as the library's inference functions want to see it.
class Context final : public onnx::InferenceContext {
 public:
  explicit Context(const NodeView& view)
      : view_(view),
        names_(view.dims()),
        types_(view.input_count()),
        data_(view.input_count()),
        shapes_(view.input_count()),
        outputs_(view.output_count()) {
    for (std::size_t i = 0; i < view.input_count(); ++i) add_input(i);
    for (const ir::Attribute& a : view.attributes()) {
      const ir::Attribute* bound = view.attribute(a.name);
      onnx::AttributeProto proto;
      if (bound == nullptr || !put_attribute(view, *bound, proto)) continue;
      proto.set_name(std::string(a.name));
      attributes_[std::string(a.name)] = std::move(proto);
    }
  }

  const onnx::AttributeProto* getAttribute(
      const std::string& name) const override {
    const auto at = attributes_.find(name);
    return at == attributes_.end() ? nullptr : &at->second;
  }
  size_t getNumInputs() const override { return types_.size(); }
  // Of an input whose type is not known, a type that says nothing: some schemas
  // follow the pointer of every input that is there.
  const onnx::TypeProto* getInputType(size_t i) const override {
    static const onnx::TypeProto kUnknown;
    const onnx::TypeProto* type = types_.at(i).get();
    return type == nullptr && view_.has_input(i) ? &kUnknown : type;
  }
  bool hasInput(size_t i) const override { return view_.has_input(i); }
  const onnx::TensorProto* getInputData(size_t i) const override {
    return data_.at(i).get();
  }
  size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(size_t i) override { return &outputs_.at(i); }
  bool hasOutput(size_t i) override { return view_.has_output(i); }
  onnx::GraphInferencer* getGraphAttributeInferencer(
      const std::string&) override {
    throw onnx::InferenceError("bodies are not inferred here");
  }
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override {
    return nullptr;
  }
  const onnx::TensorShapeProto* getSymbolicInput(size_t i) const override {
    return shapes_.at(i).get();
  }

  bool take(Outputs to) const {
    bool any = false;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      any = take_one(outputs_[i], to[i]) || any;
    }
    return any;
  }

 private:
  void add_input(std::size_t i) {
    auto type = std::make_unique<onnx::TypeProto>();
    if (put_type(view_.input(i), names_, *type)) types_[i] = std::move(type);
    if (auto t = tensor_proto(view_, view_.constant(i))) {
      data_[i] = std::make_unique<onnx::TensorProto>(*std::move(t));
    }
    if (const auto elements = view_.elements(i)) {
      shapes_[i] = std::make_unique<onnx::TensorShapeProto>();
      for (Dim d : *elements) names_.put(d, *shapes_[i]->add_dim());
    }
  }

  bool take_one(const onnx::TypeProto& from, Inferred& to) const {
    if (!from.has_tensor_type()) return take_other(from, to);
    to.elem = static_cast<ir::DataType>(from.tensor_type().elem_type());
    if (!from.tensor_type().has_shape()) {
      return to.elem != ir::DataType::kUndefined;
    }
    std::vector<Dim> dims;
    for (const auto& d : from.tensor_type().shape().dim()) {
      dims.push_back(names_.get(d));
    }
    // Where the library loses its way, it leaves the axes it had got to.
    if (const auto rank = rank_owed(); rank && *rank != dims.size()) {
      dims.assign(*rank, kUnknown);
    }
    to.set_dims(std::move(dims));
    return true;
  }

  std::optional<std::size_t> rank_owed() const {
    const bool keeps = ops::roles_of(view_.op()).keeps_rank;
    return keeps && view_.ranked(0) ? std::optional(view_.rank(0))
                                    : std::nullopt;
  }

  bool take_other(const onnx::TypeProto& from, Inferred& to) const {
    if (from.value_case() == onnx::TypeProto::VALUE_NOT_SET) return false;
    Arena& arena = view_.model().arena;
    onnx::TypeProto said = from;
    std::vector<Dim> dims;
    for_each_dimension(said, [&](auto& d) {
      dims.push_back(names_.get(d));
      names_.spell(dims.back(), d);
    });
    const std::string bytes = said.SerializeAsString();
    ir::Type type;
    type.kind = ir::TypeKind::kOther;
    type.dims = arena.copy(std::span<const Dim>(dims));
    type.other = std::as_bytes(std::span(arena.copy(std::string_view(bytes))));
    to.whole = arena.make<ir::Type>(type);
    return true;
  }

  const NodeView& view_;
  DimNames names_;
  std::vector<std::unique_ptr<onnx::TypeProto>> types_;
  std::vector<std::unique_ptr<onnx::TensorProto>> data_;
  std::vector<std::unique_ptr<onnx::TensorShapeProto>> shapes_;
  std::vector<onnx::TypeProto> outputs_;
  std::map<std::string, onnx::AttributeProto> attributes_;
};

}  // namespace

bool infer_by_schema(const NodeView& view, Outputs outputs,
                     std::string* refusal) {
  // Building the registry takes 30 ms, so it is not asked about ops it lacks.
  if (!view.op().domain.empty() && !view.op().domain.starts_with("ai.onnx")) {
    return false;
  }
  if (ops::find_op(view.op().domain, view.op().type,
                   static_cast<int>(view.opset())) == nullptr) {
    return false;
  }
  try {
    const std::string domain(view.op().domain);
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(
        std::string(view.op().type), static_cast<int>(view.opset()), domain);
    if (schema == nullptr || !schema->has_type_and_shape_inference_function()) {
      return false;
    }
    Context context(view);
    schema->GetTypeAndShapeInferenceFunction()(context);
    return context.take(outputs);
  } catch (const onnx::InferenceError& error) {
    if (refusal != nullptr) *refusal = error.what();
    return false;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    // The node is wrong, or not known well enough; the verifier judges nodes.
    return false;
  }
}

}  // namespace ruleengine::analysis
