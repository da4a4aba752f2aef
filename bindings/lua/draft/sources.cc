
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "bindings/lua/reference.h"
#include "bindings/lua/words/words.h"
#include "core/ops/op_family.h"
#include "core/text/numbers.h"

#include "bindings/lua/draft/region.h"

namespace ruleengine::lua {
namespace {

constexpr std::size_t kMostSources = 30;  // what an op of a rule may read
constexpr std::int64_t kMostListed = 64;  // elements of a list in a pattern
constexpr std::int64_t kMostShown = 16;   // elements of one in an example
constexpr std::int64_t kMostExact = std::int64_t{1} << 53;

// The formal name of the input in the newest schema of the op; "" without one.
std::string_view role_of(const ir::Graph& graph, ir::NodeId node,
                         std::size_t place) {
  const ir::Op& op = graph.op(node);
  const auto* row = ops::newest_op(op.domain, op.type);
  const auto* formal = row == nullptr ? nullptr : row->input(place);
  return formal == nullptr ? std::string_view() : formal->name;
}

// Whether a pattern had better not have the constant as a number.
bool is_better_read(const ir::Literal& tensor, const ir::Op& reader,
                    std::string_view role, ir::ExternalData* external) {
  // The pattern would fit one size alone.
  if (role == "shape" || role == "sizes" || role == "repeats" ||
      role == "split") {
    return true;
  }
  const auto is_in = [&](std::string_view name) {
    const ops::OpClass* of = ops::find_op_class(name);
    return of != nullptr && of->has(reader.domain, reader.type);
  };
  // A number fits constants of any rank with one element, which matters to
  // other ops: Gather(x, 0) and Gather(x, {0}) differ in rank.
  if (ir::is_integer(tensor.dtype) && tensor.dims.empty()) {
    return !is_in("elementwise_binary");
  }
  // A number fits both zeros.
  const auto number = ir::to_doubles(tensor, external, 1);
  return reader.standard("Div") && number && number->front() == 0;
}

// A small constant as a pattern writes it; "" for others.
std::string literal_of(const ir::Literal& tensor, ir::ExternalData* external) {
  const std::int64_t count = tensor.element_count();
  if (ir::is_float(tensor.dtype) && count == 1) {
    const auto number = ir::to_doubles(tensor, external, 1);
    if (!number || !std::isfinite(number->front())) return "";
    return tensor.dtype == ir::DataType::kDouble
               ? text::number_text(number->front())
               : text::number_text(static_cast<float>(number->front()));
  }
  if (!ir::is_integer(tensor.dtype) || tensor.dims.size() > 1 ||
      count > kMostListed) {
    return "";
  }
  const auto numbers = ir::to_ints(tensor, external, kMostListed);
  if (!numbers || std::ranges::any_of(*numbers, [](std::int64_t each) {
        return each > kMostExact || each < -kMostExact;
      })) {
    return "";
  }
  const std::string list = fmt::format("{}", fmt::join(*numbers, ", "));
  return tensor.dims.empty() ? list : "{" + list + "}";
}

class Finder {
 public:
  Finder(ir::Model& model, ops::NewestNodes& newest, const Selection& selection,
         FreshNames& names)
      : model_(model),
        graph_(model.graph),
        newest_(newest),
        selection_(selection),
        names_(names) {}

  Result<std::vector<Source>> run() {
    for (const ir::NodeId id : selection_.nodes) {
      for (std::size_t i = 0; i < newest_.input_count(id); ++i) {
        add(newest_.input(id, i), id, i, false);
      }
      for (std::size_t i = 0; i < graph_.inputs(id).size(); ++i) {
        add(graph_.input(id, i), id, i, true);
      }
    }
    if (sources_.size() > kMostSources) {
      return misuse(
          "the nodes read too many values",
          fmt::format("{}; at most {}", sources_.size(), kMostSources),
          "name fewer nodes");
    }
    for (const Source& each : sources_) {
      if (auto status = check_type(each); !status) return status.error();
    }
    return std::move(sources_);
  }

 private:
  void add(ir::ValueId value, ir::NodeId reader, std::size_t place,
           bool is_stored) {
    if (!value || selection_.has(graph_.producer(value))) return;
    const auto [at, is_new] = place_.try_emplace(value, sources_.size());
    if (!is_new) {
      Source& known = sources_[at->second];
      known.is_stored = known.is_stored || is_stored;
      return;
    }
    const std::string_view role = role_of(graph_, reader, place);
    Source source{.value = value,
                  .constant = newest_.facts().constant(value),
                  .is_stored = is_stored,
                  .type = newest_.facts().type(value)};
    if (const ir::Literal* constant = source.constant) {
      ir::ExternalData* external = model_.external.get();
      source.literal = literal_of(*constant, external);
      if (is_better_read(*constant, graph_.op(reader), role, external)) {
        source.prefers = false;
      }
      const bool is_plain = constant->element_count() <= kMostShown &&
                            ir::is_integer(constant->dtype);
      source.is_shown = !source.literal.empty() || is_plain;
    }
    source.name = names_.take(stem_of(source, role));
    sources_.push_back(std::move(source));
  }

  std::string stem_of(const Source& source, std::string_view role) {
    const bool is_float = source.type == nullptr || !source.type->is_tensor() ||
                          ir::is_float(source.type->elem);
    if (is_float && !newest_.facts().is_constant(source.value)) {
      static constexpr const char* kStems[] = {"x", "y", "z", "u", "v"};
      return activations_ < std::size(kStems) ? kStems[activations_++] : "x";
    }
    constexpr std::size_t kLongest = 12;
    const std::string_view name = graph_.name(source.value);
    const std::string last =
        in_small_letters(name.substr(name.find_last_of("./:") + 1));
    // Exporters number what has no name: "onnx::MatMul_326".
    const bool is_named = name.find("::") == name.npos;
    if (is_named && last.size() <= kLongest && is_lua_name(last)) return last;
    const std::string its = in_small_letters(role);
    return its.size() > 1 && is_lua_name(its) ? its : "w";
  }

  Status check_type(const Source& source) const {
    if (!source.is_stored && source.literal.empty()) {
      return misuse("no pattern can write an attribute of these nodes",
                    "value '" + printable(graph_.name(source.value)) + "'",
                    "the newest opset has it as an input, which is too long");
    }
    if (!source.is_input()) return {};
    const ir::Type* type = source.type;
    if (type != nullptr && type->is_tensor() && ir::is_known(type->elem) &&
        type->has_shape) {
      return {};
    }
    return misuse("the type of what the nodes read is not known",
                  "value '" + printable(graph_.name(source.value)) + "'",
                  "it must be a tensor of a known rank");
  }

  ir::Model& model_;
  ir::Graph& graph_;
  ops::NewestNodes& newest_;
  const Selection& selection_;
  FreshNames& names_;
  std::vector<Source> sources_;
  std::map<ir::ValueId, std::size_t> place_;  // in sources_
  std::size_t activations_ = 0;
};

}  // namespace

FreshNames::FreshNames() {
  for (const Word& word : words()) {
    if (word.of.empty()) taken_.emplace(word.name);
  }
  taken_.insert({"op", "m", "ms", "nodes", "attrs", "math", "_"});
}

std::string FreshNames::take(std::string_view stem) {
  const bool is_valid = is_lua_name(stem) && !is_reserved_name(stem);
  const std::string valid(is_valid ? stem : "v");
  std::string name = valid;
  for (int count = 2; !taken_.insert(name).second; ++count) {
    name = valid + std::to_string(count);
  }
  return name;
}

Result<std::vector<Source>> sources_of(ir::Model& model,
                                       ops::NewestNodes& newest,
                                       const Selection& selection,
                                       FreshNames& names) {
  return Finder(model, newest, selection, names).run();
}

std::string in_small_letters(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    // Not std::tolower, which depends on the locale.
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace ruleengine::lua
