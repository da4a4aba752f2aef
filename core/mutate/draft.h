// Draft: the model that becomes a mutant, and edits of it that several changes
// need. In between it need not be valid.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/random_bits.h"
#include "core/ir/facts.h"
#include "core/ir/model.h"
#include "core/mutate/mutant.h"

namespace ruleengine::mutate {

// The standard's distributions differ between machines.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  std::uint64_t bits() { return random_(); }
  std::size_t below(std::size_t count) { return bits() % count; }
  bool chance(double probability) { return random_.uniform() < probability; }
  template <typename T>
  T one_of(std::initializer_list<T> options) {
    return options.begin()[below(options.size())];
  }
  // None of an empty list.
  template <typename T>
  std::optional<T> pick(const std::vector<T>& options) {
    if (options.empty()) return std::nullopt;
    return options[below(options.size())];
  }
  // Of a list that is not empty.
  template <typename List>
  auto& choose(List& options) {
    return options[below(options.size())];
  }

 private:
  RandomBits random_;
};

// One input of one node.
struct Edge {
  ir::NodeId node;
  std::size_t input = 0;
};

// A tensor that the model holds: an initializer, or the value of a Constant.
struct Constant {
  ir::ValueId value;
  ir::NodeId node;  // of a Constant
  const ir::Literal* tensor = nullptr;
};

class Draft {
 public:
  Draft(const ir::Model& original, FactsOf facts_of)
      : model_(original.copy()), facts_of_(facts_of) {}

  ir::Model& model() { return *model_; }
  ir::Graph& graph() { return model_->graph; }
  Arena& arena() { return model_->arena; }
  std::vector<ir::ValueId>& inputs() { return main().inputs; }
  std::vector<ir::ValueId>& outputs() { return main().outputs; }

  // --- reading ---
  std::vector<ir::NodeId> nodes() const;  // live ones, of all blocks
  std::vector<Edge> edges() const;        // inputs that are not absent
  std::vector<Constant> constants() const;
  std::vector<ir::ValueId> inner_values() const;  // of the main block
  // Tensor inputs without a default, of known rank.
  std::vector<ir::ValueId> tensor_inputs() const;
  const ir::Type* type(ir::ValueId value);  // inferred; nullptr: not known

  // --- types ---
  // Gives `change` each declared tensor type, to change it.
  void retype(const std::function<void(ir::DataType& elem,
                                       std::vector<ir::Dim>& dims)>& change);
  void set_type(ir::ValueId value, ir::DataType elem,
                std::vector<ir::Dim> dims);

  // --- constants ---
  // False, and nothing is done, for nullptr.
  bool set_tensor(const Constant& constant, const ir::Literal* tensor);
  void make_input(const Constant& initializer);
  void make_initializer(ir::ValueId input, const ir::Literal* tensor);

  ir::ValueId add_initializer(const ir::Literal* tensor);

  // --- nodes ---
  void set_op(ir::NodeId node, std::string_view type);
  std::vector<ir::Attribute> attributes(ir::NodeId node) const;
  void set_attributes(ir::NodeId node, std::vector<ir::Attribute> attributes);
  // Gives `change` each attribute of the node; it says whether it changed it.
  void change_attributes(ir::NodeId node,
                         const std::function<bool(ir::Attribute&)>& change);
  // A new node of the standard beside `beside`; its output.
  ir::ValueId add_node(std::string_view type, ir::BlockId block,
                       std::span<const ir::ValueId> inputs,
                       std::vector<ir::Attribute> attributes = {});
  void set_input(const Edge& edge, ir::ValueId value);
  void set_inputs(ir::NodeId node, std::span<const ir::ValueId> inputs);
  ir::ValueId input(const Edge& edge) const {
    return model_->graph.input(edge.node, edge.input);
  }
  // All readers of `old` read `value`, graph outputs too.
  void move_readers(ir::ValueId old, ir::ValueId value);
  void remove_input(ir::ValueId input);
  void add_output(ir::ValueId value);
  void drop_output(std::size_t place);

 private:
  ir::Block& main() {
    return model_->graph.mutable_block(ir::Graph::main_block());
  }
  void changed() { facts_.reset(); }

  std::shared_ptr<ir::Model> model_;
  FactsOf facts_of_;
  std::unique_ptr<ir::Facts> facts_;  // of the graph as it is
};

// --- tensors (tensors.cc) ---

// The elements as numbers; none where they are not numbers, or many.
std::optional<std::vector<double>> numbers_of(const ir::Literal& tensor);
// `numbers`, repeated or cut to the size that `dims` says. nullptr where the
// type has no numbers of whole bytes.
const ir::Literal* make_tensor(Arena& arena, ir::DataType elem,
                               std::span<const std::int64_t> dims,
                               std::span<const double> numbers);

// What a change does: false where it finds nothing to change.
using Apply = bool (*)(Draft& draft, Dice& dice);
struct Kind {
  std::string_view name;
  Apply apply;
  std::size_t weight = 1;  // how often it is drawn
};
std::span<const Kind> size_kinds();       // sizes.cc
std::span<const Kind> type_kinds();       // types.cc
std::span<const Kind> constant_kinds();   // constants.cc
std::span<const Kind> attribute_kinds();  // attributes.cc
std::span<const Kind> reader_kinds();     // readers.cc
std::span<const Kind> op_kinds();         // op_changes.cc

}  // namespace ruleengine::mutate
