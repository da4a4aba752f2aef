// Symbolic dimensions. A Dim is a 64-bit value: a known size, or an expression
// in a DimTable. Expressions are kept as canonical polynomials with integer
// coefficients over atoms (named symbols, fresh unknowns, floor divisions,
// maxima), so two Dims are equal as expressions exactly when they are equal as
// values: "B*S", "S*B" and "(2*B*S)/2" are one Dim. The table belongs to one
// Model and is not thread-safe; Dims are plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ruleengine::ir {

// A size (>= 0), or a symbolic expression. Values inside shape arithmetic may
// be negative known integers too (a -1 of Reshape): Dim holds any integer
// above kLowest. Lower ones become the lowest that it holds.
class Dim {
 public:
  constexpr Dim() = default;  // 0
  constexpr explicit Dim(std::int64_t size)
      : raw_(holds(size) ? size : kLowest + 1) {}
  static constexpr Dim expression(std::uint32_t id) {
    Dim out;
    out.raw_ = kLowest - static_cast<std::int64_t>(id);
    return out;
  }
  static constexpr bool holds(std::int64_t size) { return size > kLowest; }

  constexpr bool known() const { return holds(raw_); }
  constexpr std::int64_t size() const { return raw_; }  // when known
  constexpr std::uint32_t id() const {                  // when not known
    return static_cast<std::uint32_t>(kLowest - raw_);
  }
  constexpr auto operator<=>(const Dim&) const = default;

 private:
  static constexpr std::int64_t kLowest = -(std::int64_t{1} << 62);
  std::int64_t raw_ = 0;
};

class DimTable {
 public:
  DimTable();
  ~DimTable();
  DimTable(const DimTable& other);  // in which all Dims of `other` are the same
  DimTable(DimTable&&) noexcept;
  DimTable& operator=(DimTable&&) noexcept;

  // The symbol of this name (ONNX dim_param). Names that read as expressions
  // of + - * and integers over identifiers ("past + 1", "2*seq", as exporters
  // write them) become those expressions. A name that reads as a number ("1",
  // "3*1") is a name: other readers of ONNX take its size from the input.
  Dim symbol(std::string_view name);
  // From now on symbol() and bound() put `dim` in place of this name.
  void bind(std::string_view name, Dim dim);
  bool has_bound() const;  // whether a name was bound
  Dim bound(Dim d);        // `d` with what was bound in place of names
  // An unknown dimension, equal to itself only. text() calls it "?N".
  Dim fresh();
  bool is_fresh(Dim d) const;  // is, or contains, a fresh unknown
  // Whether `d` is one named symbol or one fresh unknown, and no expression.
  bool is_single(Dim d) const;
  // Whether `d` is, or contains, a floor division.
  bool is_rounded(Dim d) const;

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b);
  Dim mul(Dim a, Dim b);
  Dim neg(Dim a);
  // a / b when b divides a as polynomials; none when it does not or b is 0.
  std::optional<Dim> exact_div(Dim a, Dim b);
  Dim floor_div(Dim a, Dim b);  // an atom when it cannot be simplified
  Dim ceil_div(Dim a, Dim b);
  Dim min(Dim a, Dim b);
  Dim max(Dim a, Dim b);

  // The named symbols and fresh unknowns that `d` is made of, each once,
  // sorted.
  std::vector<Dim> leaves(Dim d) const;

  // `d` as a sum of products of atoms: 2*B*S + 1 is {2, {B, S}} and {1, {}}.
  // Each atom is a Dim of its own; powers repeat it.
  struct Product {
    std::int64_t coefficient = 0;
    std::vector<Dim> atoms;
  };
  std::vector<Product> products(Dim d) const;

  // {a, b} when `d` is a quotient a // b that could not be simplified, else
  // empty.
  std::vector<Dim> quotient_of(Dim d) const;

  // The number that `d` is where `leaf` gives those of its leaves.
  double value(Dim d, const std::function<double(Dim)>& leaf) const;

  // True when `a` is provably >= 0. Atoms that stand for sizes are >= 0.
  bool nonnegative(Dim a) const;
  // True when `a` and `b` provably differ, whatever the sizes of the atoms.
  bool provably_different(Dim a, Dim b) const;

  std::size_t bytes() const;  // memory in use, approximate

  // "12", "B", "B*S + 1"; deterministic.
  std::string text(Dim d) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ruleengine::ir
