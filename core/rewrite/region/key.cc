#include <fmt/format.h>

#include <map>
#include <span>
#include <type_traits>
#include <unordered_map>

#include "core/rewrite/edits/same.h"
#include "core/rewrite/edits/workspace.h"
#include "core/rewrite/region/reads.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;
using Side = Region::Side;

// The text that tells cuts apart: the terms that each side computes, each once.
class Key {
 public:
  Key(const Region& region, const Cut& cut)
      : region_(region), graph_(region.graph), cut_(cut) {}

  // Sets the key, and whether both sides are the same terms.
  void write(Cut& out) {
    put_opsets();
    for (const ValueId v : cut_.inputs) {
      refs_[v] = fmt::format("i{}", refs_.size());
      put(out_, region_.facts.type(v));
    }
    for (const auto& [v, elements] : cut_.known) {
      std::string text = "k";
      put(text, region_.facts.type(v));
      put_all(text, std::span(elements));
      refs_[v] = std::move(text);
    }
    for (const NodeId n : cut_.before) add(n, Side::kBefore);
    std::vector<std::string> before, after;
    for (const Region::Result& r : region_.results) {
      before.push_back(ref(r.before));
    }
    for (const NodeId n : cut_.after) add(n, Side::kAfter);
    for (const Region::Result& r : region_.results) {
      after.push_back(ref(r.after));
    }
    for (const auto& each : before) put(out_, each);
    for (const auto& each : after) put(out_, each);
    out.is_same = true;
    for (std::size_t i = 0; i < before.size(); ++i) {
      out.is_same = out.is_same && (before[i] == after[i] ||
                                    has_same_bits(region_.results[i]));
    }
    out.key = std::move(out_);
  }

 private:
  // A function has its own.
  void put_opsets() {
    const ir::OpsetImports& imports = opsets_of(graph_);
    put(out_, imports.size());
    for (const ir::OpsetImport& each : imports) {
      put(out_, std::string_view(each.domain));
      put(out_, each.version);
    }
  }

  static void put(std::string& to, std::string_view text) {
    put(to, text.size());
    to += text;
  }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  static void put(std::string& to, T number) {
    to.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  template <class T>
  static void put_all(std::string& to, std::span<const T> all) {
    put(to, all.size());
    for (const T& each : all) put(to, each);
  }
  static std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void put(std::string& to, const ir::Type* type) {
    if (type == nullptr) return put(to, '?');
    put(to, type->kind);
    put(to, type->elem);
    put(to, text_of(type->other));
    if (!type->is_tensor()) return;
    put(to, type->has_shape);
    put(to, type->dims.size());
    const ir::DimTable& dims = graph_.model().dims;
    for (const ir::Dim own : type->dims) {
      const auto equal = cut_.sizes.find(own);
      const ir::Dim d = equal != cut_.sizes.end() ? equal->second : own;
      // Unknown sizes of two layers are not the same.
      const bool is_own = !d.known() && dims.is_single(d) && dims.is_fresh(d);
      put(to, is_own);
      const auto number = [&] {
        return sizes_.emplace(d, sizes_.size()).first->second;
      };
      put(to, is_own      ? static_cast<std::int64_t>(number())
              : d.known() ? d.size()
                          : -1 - static_cast<std::int64_t>(d.id()));
    }
  }

  void put(std::string& to, const ir::Literal& tensor) {
    ir::ExternalData* const external = graph_.model().external.get();
    const std::string known = key_of(tensor, external);
    if (!known.empty()) return put(to, std::string_view(known));
    if (is_zeros(tensor)) {
      put(to, 'z');
      put(to, tensor.dtype);
      return put_all(to, tensor.dims);
    }
    put(to, reinterpret_cast<std::uintptr_t>(&tensor));
  }

  std::string ref(ValueId v) {
    if (!v) return "-";
    if (const auto it = refs_.find(v); it != refs_.end()) return it->second;
    std::string text = "c";
    const ir::Value& value = graph_.value(v);
    if (value.tensor != nullptr) put_constant(text, *value.tensor);
    return text;
  }

  // Two initializers.
  bool has_same_bits(const Region::Result& r) const {
    const ir::Literal* const before = graph_.value(r.before).tensor;
    const ir::Literal* const after = graph_.value(r.after).tensor;
    return before != nullptr && after != nullptr &&
           ir::equal_bits(*before, *after, graph_.model().external.get());
  }

  // A large weight of a general cut by how it is put together.
  void put_constant(std::string& to, const ir::Literal& tensor) {
    if (const auto it = cut_.weights.find(&tensor); it != cut_.weights.end()) {
      return put(to, std::string_view(refs_.at(it->second)));
    }
    if (!is_made_of_inputs(tensor, cut_)) return put(to, tensor);
    put(to, 'l');
    put_all(to, tensor.dims);
    put(to, tensor.lazy->axis);
    put(to, tensor.lazy->parts.size());
    for (const ir::LazyPart& part : tensor.lazy->parts) {
      put(to, part.transpose);
      put(to, part.begin);
      put(to, part.count);
      put_constant(to, *part.tensor);
    }
  }

  // The outputs of equal nodes are the same terms.
  void add(NodeId n, Side side) {
    const std::string text = term(n, side);
    const auto [it, is_new] = terms_.emplace(text, terms_.size());
    if (is_new) put(out_, std::string_view(text));
    std::size_t i = 0;
    for (const ValueId v : graph_.outputs(n)) {
      if (v) refs_[v] = fmt::format("t{}.{}", it->second, i);
      ++i;
    }
  }

  // Two nodes that draw random numbers, or may do anything, differ.
  bool is_pure(NodeId n) const {
    const ir::Op& op = graph_.op(n);
    return ops::facts_of(graph_, n) != nullptr && !is_random(op.type) &&
           graph_.model().find_function(op) == nullptr;
  }

  std::string term(NodeId n, Side side) {
    const ir::Op& op = graph_.op(n);
    std::string to;
    put(to, op.domain);
    put(to, op.type);
    put(to, op.overload);
    if (!is_pure(n)) {
      put(to, impure_.emplace(n, impure_.size()).first->second);
    }
    const std::size_t count = graph_.inputs(n).size();
    put(to, count);
    for (std::size_t i = 0; i < count; ++i) {
      put(to, std::string_view(ref(region_.input(n, i, side))));
    }
    put(to, graph_.node(n).attributes.size());
    for (const ir::Attribute& a : graph_.node(n).attributes) put(to, a, side);
    put(to, graph_.outputs(n).size());
    return to;
  }

  void put(std::string& to, const ir::Attribute& a, Side side) {
    put(to, a.name);
    put(to, a.kind);
    put(to, a.f);
    put(to, a.i);
    put(to, a.s);
    put(to, a.ref);
    put_all(to, a.floats);
    put_all(to, a.ints);
    put_all(to, a.strings);
    put(to, a.tensors.size());
    for (const ir::Literal* each : a.tensors) put(to, *each);
    put(to, a.blocks.size());
    for (const ir::BlockId b : a.blocks) put(to, b, side);
    if (a.kind >= ir::AttributeKind::kSparseTensor) put(to, text_of(a.proto));
  }

  void put(std::string& to, ir::BlockId body, Side side) {
    const ir::Block& block = graph_.block(body);
    for (const ValueId v : block.inputs) {
      // A body that both sides have has its name from the first of them.
      const auto name = fmt::format("b{}", refs_.size());
      put(to, std::string_view(refs_.try_emplace(v, name).first->second));
      put(to, graph_.value(v).declared);
    }
    for (const NodeId n : nodes_of(graph_, body, [&](NodeId each) {
           return region_.has(each, side);
         }))
      add(n, side);
    const auto outputs = region_.outputs(body, side);
    put(to, outputs.size());
    for (const ValueId v : outputs) put(to, std::string_view(ref(v)));
  }

  const Region& region_;
  const ir::Graph& graph_;
  const Cut& cut_;
  std::string out_;
  std::unordered_map<ValueId, std::string> refs_;
  std::unordered_map<std::string, std::size_t> terms_;
  std::unordered_map<NodeId, std::size_t> impure_;
  std::map<ir::Dim, std::size_t> sizes_;
};

}  // namespace

void write_key(const Region& region, Cut& cut) { Key(region, cut).write(cut); }

}  // namespace ruleengine::rewrite
