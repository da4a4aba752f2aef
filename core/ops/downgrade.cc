// to_opset: writes newest forms at an older opset, the inverse of
// core/ops/upgrade.h.

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/ir/model.h"
#include "core/ops/node_spec.h"
#include "core/ops/op_facts.h"
#include "core/ops/upgrade.h"
#include "core/ops/upgrade_table.h"

namespace ruleengine::ops {
namespace {

constexpr std::int64_t kMostFolded = 4096;

std::optional<ir::Attribute> moved_attribute(Arena& arena, const Moved& row,
                                             const ir::Literal& tensor,
                                             ir::ExternalData* external) {
  ir::Attribute a;
  a.name = row.attribute;
  if (row.as == MovedAs::kList || row.as == MovedAs::kOne) {
    const auto values = to_ints(tensor, external, kMostFolded);
    if (!values || (row.as == MovedAs::kOne && values->size() != 1)) {
      return std::nullopt;
    }
    a.kind = row.as == MovedAs::kOne ? ir::AttributeKind::kInt
                                     : ir::AttributeKind::kInts;
    if (row.as == MovedAs::kOne) a.i = values->front();
    if (row.as == MovedAs::kList) {
      a.ints = arena.copy(std::span<const std::int64_t>(*values));
    }
    return a;
  }
  const auto values = to_doubles(tensor, external, 1);
  if (!values || values->size() != 1) return std::nullopt;
  a.kind = ir::AttributeKind::kFloat;
  a.f = static_cast<float>(values->front());
  return a;
}

struct Writer {
  const ir::Graph& graph;
  std::string_view type;
  std::int64_t opset;
  ir::Facts& facts;
  OlderForm form;

  Arena& arena() const { return graph.model().arena; }

  Diagnostic cannot(std::string expected, std::string found) const {
    return {ErrorKind::kRule,
            "opset " + std::to_string(opset) + " cannot express this " +
                std::string(type),
            "",
            std::move(expected),
            std::move(found),
            ""};
  }

  const ir::Type* input_type(std::size_t slot) const {
    const bool there = slot < form.inputs.size() && form.inputs[slot];
    const ir::Type* known = there ? facts.type(form.inputs[slot]) : nullptr;
    return known != nullptr && known->has_shape ? known : nullptr;
  }

  Status move_input(const Moved& row) {
    const auto slot = static_cast<std::size_t>(row.input);
    if (slot >= form.inputs.size() || !form.inputs[slot]) return {};
    const ir::Literal* tensor = facts.constant(form.inputs[slot]);
    std::optional<ir::Attribute> a;
    if (tensor != nullptr) {
      a = moved_attribute(arena(), row, *tensor, graph.model().external.get());
    }
    if (!a) {
      return cannot(
          "a constant, since '" + std::string(row.attribute) +
              "' is an attribute before opset " + std::to_string(row.since),
          "value '" + std::string(graph.name(form.inputs[slot])) + "'");
    }
    form.inputs[slot] = ir::ValueId();
    form.attributes.push_back(*a);
    return {};
  }

  // Removes an input that the older op does not have. That is possible when all
  // its elements are `usual`, the value that it has when absent.
  Status drop_usual_input(std::size_t slot, double usual, int since) {
    if (opset >= since || slot >= form.inputs.size() || !form.inputs[slot]) {
      return {};
    }
    const ir::Literal* tensor = facts.constant(form.inputs[slot]);
    std::optional<std::vector<double>> values;
    if (tensor != nullptr) {
      values = to_doubles(*tensor, graph.model().external.get(), kMostFolded);
    }
    if (!values ||
        std::ranges::any_of(*values, [&](double v) { return v != usual; })) {
      return cannot(
          "no input " + std::to_string(slot),
          "value '" + std::string(graph.name(form.inputs[slot])) + "'");
    }
    form.inputs[slot] = ir::ValueId();
    return {};
  }

  Status fix_softmax() {
    const ir::Type* input = input_type(0);
    if (input == nullptr) {
      return cannot("an input of known rank", "an unknown rank");
    }
    const auto rank = static_cast<std::int64_t>(input->rank());
    ir::Attribute* axis = find(form.attributes, "axis");
    if (axis == nullptr) {
      form.attributes.push_back(
          {.name = "axis", .kind = ir::AttributeKind::kInt, .i = -1});
      axis = &form.attributes.back();
    }
    if (axis->i != -1 && axis->i != rank - 1) {
      return cannot("the last axis", "axis " + std::to_string(axis->i));
    }
    axis->i = rank - 1;
    axis->proto = {};
    return {};
  }

  // The axes of Unsqueeze refer to its output.
  std::optional<std::int64_t> rank_for_axes() const {
    const ir::Type* input = input_type(0);
    if (input == nullptr) return std::nullopt;
    auto rank = static_cast<std::int64_t>(input->rank());
    if (type == "Unsqueeze") {
      for (const ir::Attribute& a : form.attributes) {
        if (a.name == "axes") rank += static_cast<std::int64_t>(a.ints.size());
      }
    }
    return rank;
  }

  Status fix_axis(std::int64_t& axis) const {
    if (axis >= 0) return {};
    const auto rank = rank_for_axes();
    if (!rank || axis < -*rank) {
      return cannot(
          "an axis of 0 or more",
          std::to_string(axis) + (rank ? "" : " of an input of unknown rank"));
    }
    axis += *rank;
    return {};
  }

  Status fix_axes() {
    if (ir::Attribute* axis = find(form.attributes, "axis")) {
      const std::int64_t before = axis->i;
      if (auto status = fix_axis(axis->i); !status) return status;
      if (axis->i != before) axis->proto = {};
    }
    ir::Attribute* axes = find(form.attributes, "axes");
    if (axes == nullptr) return {};
    const auto fixed = arena().copy(axes->ints);
    for (std::int64_t& axis : fixed) {
      if (auto status = fix_axis(axis); !status) return status;
    }
    axes->ints = fixed;
    axes->proto = {};
    return {};
  }

  // An older Split without sizes makes parts of equal size only.
  Status fix_split() {
    const ir::Attribute* count = find(form.attributes, "num_outputs");
    if (count == nullptr) return {};
    const std::int64_t parts = count->i;
    const ir::Type* input = input_type(0);
    std::int64_t at =
        int_of(find(form.attributes, "axis"),
               find_attribute({}, type, static_cast<int>(opset), "axis"));
    if (input != nullptr && at < 0)
      at += static_cast<std::int64_t>(input->rank());
    const bool known = input != nullptr && at >= 0 &&
                       at < static_cast<std::int64_t>(input->rank());
    const ir::Dim size =
        known ? input->dims[static_cast<std::size_t>(at)] : ir::Dim();
    if (!known || !graph.model().dims.exact_div(size, ir::Dim(parts))) {
      return cannot(
          "an axis whose size is a known multiple of " + std::to_string(parts),
          known ? graph.model().dims.text(size) : "an unknown shape");
    }
    std::erase_if(form.attributes, [](const ir::Attribute& a) {
      return a.name == "num_outputs";
    });
    return {};
  }

  // Equal shapes need no attribute. Where the shape of the second input is a
  // suffix of the first one's, "broadcast" is set.
  Status fix_broadcast() {
    const std::size_t last = type == "Gemm" ? 2 : 1;
    if (form.inputs.size() <= last || !form.inputs[last]) return {};
    const ir::Type* a = input_type(0);
    const ir::Type* b = input_type(last);
    if (type == "Gemm") a = nullptr;  // the shape of the product is not at hand
    const bool known = a != nullptr && b != nullptr && a->rank() >= b->rank() &&
                       std::ranges::equal(a->dims.last(b->rank()), b->dims);
    if (!known && type != "Gemm") {
      return cannot(
          "a second input with the shape of the first, or "
          "with a suffix of that shape",
          "other shapes");
    }
    if (known && a->rank() == b->rank()) return {};
    form.attributes.push_back(
        {.name = "broadcast", .kind = ir::AttributeKind::kInt, .i = 1});
    return {};
  }

  // What kMoved and defaults do not cover: changed ops, removed attributes,
  // renamed values, the type of Cast.
  Status fix_changes() {
    for (const Changed& row : kChanged) {
      if (row.type != type || opset >= row.since) continue;
      return cannot("opset " + std::to_string(row.since) + " or newer", "");
    }
    for (const Gone& row : kGone) {
      if (row.type != type || opset >= row.since) continue;
      if (row.usual == row.value) continue;
      form.attributes.push_back({.name = row.attribute,
                                 .kind = ir::AttributeKind::kInt,
                                 .i = row.value});
    }
    for (const OnceDefault& row : kOnceDefault) {
      if (row.type != type || opset >= row.since || row.text.empty()) continue;
      const ir::Attribute* a = find(form.attributes, row.attribute);
      if (a == nullptr || a->s != row.text) {
        return cannot(
            std::string(row.attribute) + " = " + std::string(row.text),
            a == nullptr ? "no such attribute, which now has another default"
                         : std::string(a->s));
      }
      std::erase_if(form.attributes, [&](const ir::Attribute& old) {
        return old.name == row.attribute;
      });
    }
    for (const Renamed& row : kRenamed) {
      if (row.type != type || opset >= row.since) continue;
      ir::Attribute* a = find(form.attributes, row.attribute);
      if (a == nullptr || a->s != row.now) continue;
      a->s = row.before;
      a->proto = {};
    }
    ir::Attribute* to = find(form.attributes, "to");
    if (opset >= kCastByNumber || type != "Cast" || to == nullptr) return {};
    std::string name(data_type_name(static_cast<ir::DataType>(to->i)));
    for (char& c : name) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    *to = {.name = "to",
           .kind = ir::AttributeKind::kString,
           .s = arena().copy(std::string_view(name))};
    return {};
  }

  // Leaves out attributes that the older op does not have, if at their default.
  Status fix_attributes(const OpFacts& then, const OpFacts* now) {
    std::vector<ir::Attribute> kept;
    for (const ir::Attribute& a : form.attributes) {
      if (then.attribute(a.name) != nullptr) {
        kept.push_back(a);
        continue;
      }
      const FormalAttribute* formal =
          now == nullptr ? nullptr : now->attribute(a.name);
      if (formal == nullptr || !is_default(*formal, a)) {
        const std::string attribute = "attribute '" + std::string(a.name) + "'";
        return cannot("no " + attribute + ", unless at its default", attribute);
      }
    }
    form.attributes = std::move(kept);
    return {};
  }

  Status check_complete(const OpFacts& then) const {
    const auto count = form.inputs.size();
    const auto most = static_cast<std::size_t>(then.max_inputs);
    const auto least = static_cast<std::size_t>(then.min_inputs);
    if (count > most || count < least) {
      return cannot((count > most ? "at most " + std::to_string(most)
                                  : "at least " + std::to_string(least)) +
                        " inputs",
                    std::to_string(count));
    }
    for (std::size_t i = 0; i < least; ++i) {
      const FormalValue* formal = then.input(i);
      if (form.inputs[i] || formal == nullptr ||
          formal->arity != Arity::kSingle) {
        continue;
      }
      return cannot("input '" + std::string(formal->name) + "'", "nothing");
    }
    for (const FormalAttribute& formal : then.attributes) {
      const bool given =
          std::ranges::find(form.attributes, formal.name,
                            &ir::Attribute::name) != form.attributes.end();
      if (!formal.required || given) continue;
      return cannot("attribute '" + std::string(formal.name) + "'", "none");
    }
    return {};
  }

  // Rewrites the ops of the standard domain whose form changed.
  Status standard() {
    if (auto status = fix_changes(); !status) return status;
    if (type == "Dropout") {
      if (auto s = drop_usual_input(2, 0, 12); !s) return s;
    }
    if (type == "Slice") {
      if (auto s = drop_usual_input(4, 1, 10); !s) return s;
    }
    for (const Moved& row : kMoved) {
      if (row.type != type || opset >= row.since) continue;
      if (auto status = move_input(row); !status) return status;
    }
    if (opset < kSplitCounts && type == "Split") {
      if (auto status = fix_split(); !status) return status;
    }
    if (opset < kBroadcasts && is_in(kOnceExplicit, type)) {
      if (auto status = fix_broadcast(); !status) return status;
    }
    if (opset < kAxesFromTheEnd && is_in(kAxisOps, type)) {
      if (auto status = fix_axes(); !status) return status;
    }
    if (opset < kSoftmaxOnAxis && is_in(kSoftmaxLike, type))
      return fix_softmax();
    return {};
  }
};

}  // namespace

Result<OlderForm> to_opset(const ir::Graph& graph, std::string_view domain,
                           std::string_view type,
                           std::vector<ir::ValueId> inputs,
                           std::vector<ir::Attribute> attributes,
                           std::int64_t opset, ir::Facts& facts) {
  Writer w{
      graph, type, opset, facts, {std::move(inputs), std::move(attributes)}};
  if (!known_domain(domain)) return std::move(w.form);
  const OpFacts* then = find_op(domain, type, static_cast<int>(opset));
  const OpFacts* now = newest_op(domain, type);
  if (then == nullptr || then->deprecated) {
    return w.cannot("an opset that has the op", "");
  }
  if (domain.empty()) {
    if (auto status = w.standard(); !status) return status.error();
  }
  while (!w.form.inputs.empty() && !w.form.inputs.back()) {
    w.form.inputs.pop_back();
  }
  if (auto status = w.fix_attributes(*then, now); !status) {
    return status.error();
  }
  if (auto status = w.check_complete(*then); !status) return status.error();
  return std::move(w.form);
}

}  // namespace ruleengine::ops
