// Mutants: copies of a small model with one or more random changes, such as a
// size, a type, a constant or an op. A mutant is again a valid model, so a rule
// that is right for all models is right for it too. Deterministic: the same
// model and changes give the same mutant on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/model.h"

namespace ruleengine::mutate {

// One change. What it does to a model also depends on the changes before it.
struct Change {
  std::uint32_t kind = 0;  // index among the kinds of changes
  std::uint64_t seed = 0;
};

// What a change is about: "a size", "an op".
std::string_view name_of(const Change& change);

// Between one and four changes.
std::vector<Change> draw_changes(std::uint64_t seed);

struct Mutant {
  std::unique_ptr<ir::Model> model;
  std::string text;  // the model was read from it
};

// Whether an attribute is the number of an element type.
bool names_type(const ir::Attribute& attribute);

// Makes the Facts of a graph.
using FactsOf = std::unique_ptr<ir::Facts> (*)(ir::Graph&);

// The model with these changes. None: a change finds nothing to change, or the
// types contradict each other. The original must be small, with all its data.
std::optional<Mutant> make_mutant(const ir::Model& original,
                                  std::span<const Change> changes,
                                  FactsOf facts_of);

}  // namespace ruleengine::mutate
