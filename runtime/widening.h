// Runs one precision up: every float of a run is a double, whatever type the
// model gives it, so that two models that compute the same differ by almost
// nothing. And noise: what rounding could have changed moves a little, so that
// a few runs show how far each element of a result moves by itself (stochastic
// arithmetic; S. Graillat and F. Jezequel, "Stochastic arithmetic").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/ir/model.h"
#include "runtime/preparation.h"

namespace ruleengine::runtime {

// Whether values of the type are doubles in a wide run: float and narrower.
bool is_widened(DataType type);
// The floats of tensors and sequences as doubles, and tensors of doubles as
// numbers of type `to`. Other values stay as they are.
Datum as_doubles(const Datum& value, KernelRun& run);
Datum as_type(const Datum& value, DataType to, KernelRun& run);

// Significant bits of a float type; those of float for other types.
int precision_of(DataType type);
// The most that rounding to so many bits moves a number, relatively.
double rounding_of(int bits);

// The constants and float attributes of a model. The model must outlive it.
class Numbers {
 public:
  explicit Numbers(const ir::Model& model);

  // How many nodes read it, alone or among few others.
  std::size_t count(double number) const;
  // Whether it has the bytes of one of these, or is made of parts of these.
  bool has(const ir::Literal& constant, const ir::Model& its) const;
  // Significant bits of the narrowest float type of a constant or of a value.
  int precision() const { return precision_; }

 private:
  struct Bytes {
    std::span<const std::byte> view;
    std::vector<std::byte> decoded;  // what `view` shows, if it is not empty
  };
  static Bytes bytes_of(const ir::Literal& constant, const ir::Model& model);
  void add(const ir::Graph& graph, const ir::Model& model);
  void add(const ir::Literal& constant, const ir::Model& model,
           std::size_t readers);
  void note(DataType type);

  std::unordered_map<double, std::size_t> numbers_;
  std::unordered_map<std::size_t, std::vector<Bytes>> constants_;  // by size
  int precision_ = 24;
};

// What two models spell alike. The other numbers were computed, and rounded, on
// the way from one to the other. One thread at a time.
class SharedNumbers {
 public:
  SharedNumbers(const ir::Model& first, const ir::Model& second)
      : first_(first), second_(second) {}

  // Whether as many nodes of both read it.
  bool has(double number) const {
    return first_.count(number) == second_.count(number);
  }
  // Whether both have the constant of `its`, or all of its few elements.
  bool has(const ir::Literal& constant, const ir::Model& its) const;
  int precision() const { return first_.precision(); }

 private:
  Numbers first_, second_;
  mutable std::unordered_map<const ir::Literal*, bool> known_;
};

// How numbers move in a wide run.
struct Noise {
  std::uint64_t seed = 0;
  double results = 0;  // relative, of the results of nodes
  // A result with at most so many significant bits is exact and stays.
  int exact_bits = 24;
  // Of inputs and constants: what the order of a sum may change follows from
  // its terms, not from its result.
  double leaves = 0;
  // Constants and attributes move by the rounding of their own types, unless
  // they are in it. nullptr: none does.
  const SharedNumbers* shared = nullptr;
};

// The noise of one run. Results move independently; of inputs and constants
// equal numbers move alike, wherever they stand.
class NoiseSource {
 public:
  NoiseSource(const Noise& noise, KernelRun& run)
      : noise_(noise), run_(run), state_(noise.seed) {}

  // Doubles; what else there is stays.
  Datum result(const Datum& value) {
    return moved(value, noise_.results, noise_.exact_bits);
  }
  // Of, or for, a kernel that computes in float.
  Datum of_float(const Datum& value);
  // `own`: what the model has for the doubles.
  Datum constant(const Datum& doubles, const ir::Literal& own,
                 const ir::Model& model);
  Datum input(const Datum& doubles);
  float attribute(float number) const;

 private:
  Datum moved(const Datum& value, double by, int exact_bits);
  Datum moved_alike(const Datum& value, double by, double together = 0) const;

  const Noise noise_;
  KernelRun& run_;
  std::uint64_t state_;
};

}  // namespace ruleengine::runtime
