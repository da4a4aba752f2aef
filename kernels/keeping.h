// Preparing an op that is a function of its call and of what it keeps of its
// node. Internal to kernels.
#pragma once

#include <algorithm>

#include "kernels/shapes.h"

namespace ruleengine::kernels {

// The preparation of an op that is a function of its call and of what each
// `read` gives for the preparation.
template <auto run, auto... read>
Op keeping(const Preparation& p) {
  return [... kept = read(p)](Call& c) { run(c, kept...); };
}

// What may be read: a class that the preparation makes, or an attribute.
template <typename T>
T kept(const Preparation& p) {
  return T(p);
}
template <std::size_t kSize>
struct AttributeName {
  consteval AttributeName(const char (&name)[kSize]) {
    std::copy_n(name, kSize, text);
  }
  operator std::string_view() const { return text; }
  char text[kSize];
};
template <AttributeName kName = "axis">
AttributeAxis axis_attribute(const Preparation& p) {
  return AttributeAxis(p, kName);
}
template <AttributeName kName>
bool flag_attribute(const Preparation& p) {
  return p.attribute_flag(kName);
}
template <AttributeName kName>
float float_attribute(const Preparation& p) {
  return p.attribute_float(kName);
}
template <AttributeName kName, std::int64_t... kOtherwise>
std::int64_t int_attribute(const Preparation& p) {
  return p.attribute_int(kName, kOtherwise...);
}
template <AttributeName kName>
std::vector<float> floats_attribute(const Preparation& p) {
  return p.attribute_floats(kName);
}
template <AttributeName kName>
Ints ints_attribute(const Preparation& p) {
  return p.attribute_ints(kName);
}
// Nothing where it is not written.
template <AttributeName kName>
std::optional<std::int64_t> written_int(const Preparation& p) {
  if (!p.has_attribute(kName)) return std::nullopt;
  return p.attribute_int(kName);
}
template <AttributeName kName>
std::optional<Ints> written_ints(const Preparation& p) {
  if (!p.has_attribute(kName)) return std::nullopt;
  return p.attribute_ints(kName);
}
// What is read of an attribute that has to be written.
template <AttributeName kName, auto read>
auto needed(const Preparation& p) {
  p.need_attribute(kName);
  return read(p);
}
template <AttributeName kName>
DataType type_attribute(const Preparation& p) {
  return p.attribute_type(kName);
}

// An attribute that says by a word which of some ways is meant: the enumerator
// of the word's place among `known`; the first one for "".
template <typename E>
E choice_of(const Preparation& p, std::string_view name,
            std::initializer_list<std::string_view> known) {
  const std::string_view word = p.choice(name, known);
  if (word.empty()) return E();
  return static_cast<E>(std::ranges::find(known, word) - known.begin());
}

}  // namespace ruleengine::kernels
