#include "runtime/executor_impl.h"

#include <map>

#include "core/base/suggest.h"
#include "core/ir/shapes.h"
#include "runtime/failure.h"

namespace ruleengine::runtime {
namespace {

class Binder {
 public:
  explicit Binder(const ir::Model& model)
      : model_(model),
        inputs_(model.graph.block(ir::Graph::main_block()).inputs) {}

  std::vector<Datum> bind(const Executor::Named& given) {
    std::vector<Datum> out(inputs_.size());
    for (const auto& [name, value] : given) {
      Datum& place = out[place_of(name)];
      if (!place.is_absent()) {
        fail("input '" + printable(name) + "' is given twice");
      }
      place = value;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      const ir::Value& formal = model_.graph.value(inputs_[i]);
      if (out[i].is_absent()) {
        if (formal.tensor != nullptr) continue;
        fail("input '" + printable(name_of(i)) + "' is missing",
             formal.declared == nullptr
                 ? ""
                 : ir::type_text(model_.dims, *formal.declared));
      }
      if (formal.declared != nullptr) check(i, *formal.declared, out[i]);
    }
    return out;
  }

 private:
  std::string_view name_of(std::size_t i) const {
    return model_.graph.name(inputs_[i]);
  }

  std::size_t place_of(const std::string& name) const {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (name_of(i) == name) return i;
      names.push_back(name_of(i));
    }
    const std::string_view meant = nearest(name, names);
    std::string all;
    for (const auto each : names) {
      all += (all.empty() ? "" : ", ") + printable(each);
    }
    throw Failure{{.kind = ErrorKind::kUsage,
                   .what = "the model has no input '" + printable(name) + "'",
                   .expected = shortened(all),
                   .hint = meant.empty() ? "" : did_you_mean({&meant, 1})}};
  }

  void check(std::size_t i, const ir::Type& declared, const Datum& value) {
    if (!declared.is_tensor()) return;
    const auto wrong = [&](std::string_view what, std::string more = {}) {
      fail("wrong " + std::string(what) + " of input '" +
               printable(name_of(i)) + "'",
           ir::type_text(model_.dims, declared) + more, value.text());
    };
    if (!value.is_tensor()) return wrong("type");
    const Tensor& t = value.tensor();
    if (declared.elem != DataType::kUndefined && t.dtype() != declared.elem) {
      wrong("type");
    }
    if (!declared.has_shape) return;
    if (declared.rank() != t.rank()) wrong("rank");
    for (std::size_t axis = 0; axis < t.rank(); ++axis) {
      const ir::Dim d = declared.dims[axis];
      if (d.known() && d.size() != t.dim(axis)) wrong("shape");
      if (d.known() || !model_.dims.is_single(d) || model_.dims.is_fresh(d)) {
        continue;
      }
      const auto [it, is_new] = sizes_.emplace(d, t.dim(axis));
      if (!is_new && it->second != t.dim(axis)) {
        wrong("shape", " with " + model_.dims.text(d) + " = " +
                           std::to_string(it->second));
      }
    }
  }

  const ir::Model& model_;
  const std::vector<ir::ValueId>& inputs_;
  std::map<ir::Dim, std::int64_t> sizes_;
};

}  // namespace

std::vector<Datum> bind_inputs(const ir::Model& model,
                               const Executor::Named& given) {
  return Binder(model).bind(given);
}

}  // namespace ruleengine::runtime
