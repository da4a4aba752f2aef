// Json: a value to be written as JSON. Braces make one as they do in other
// libraries: a list in which each element is a pair that begins with a text is
// an object, {{"name", "x"}, {"size", 3}}; any other is an array, {1, 2}.
//
// It is here because the destructors of those libraries allocate: memory that
// runs out would end the process of whoever embeds the engine. core/engine
// reads JSON with such a library.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ruleengine {

class Json {
 public:
  class Item;
  using Member = std::pair<std::string, Json>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  template <std::signed_integral T>
  Json(T value) : value_(static_cast<std::int64_t>(value)) {}
  template <std::unsigned_integral T>
  Json(T value) : value_(static_cast<std::uint64_t>(value)) {}
  template <std::floating_point T>
  Json(T value) : value_(static_cast<double>(value)) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::initializer_list<Item> items);
  // A list, or a map of texts.
  template <std::ranges::input_range R>
  requires(!std::convertible_to<const R&, std::string_view>)
      Json(const R& range) {
    using Value = std::ranges::range_value_t<R>;
    if constexpr (requires(const Value& v) { std::string_view(v.first); }) {
      Object& object = value_.emplace<Object>();
      for (const auto& [key, value] : range) object.emplace_back(key, value);
    } else {
      Array& array = value_.emplace<Array>();
      for (const auto& each : range) array.emplace_back(each);
    }
  }

  static Json array();
  static Json object();

  std::size_t size() const;  // 0 for what is neither
  // Of an array; `i` is less than size().
  void push_back(Json element);
  template <std::integral T>  // a plain one would be ambiguous for 0
  Json& operator[](T i) {
    return std::get<Array>(value_)[static_cast<std::size_t>(i)];
  }
  Json& back() { return std::get<Array>(value_).back(); }
  // Of an object, or null, which becomes one: the member with this name, which
  // is added at the end.
  Json& operator[](std::string_view key);
  Json& operator[](const char* key) { return (*this)[std::string_view(key)]; }
  void update(Json other);
  void erase(std::string_view key);

  // In ASCII where `ascii`. With `indent` spaces for each level on lines of
  // their own, or on one line where it is negative. Bytes that are not UTF-8
  // are replaced, and numbers that JSON has no form for become null.
  std::string text(int indent, bool ascii) const;

 private:
  class Writer;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double,
               std::string, Array, Object>
      value_;
};

// An element of braces; a value is moved out of it.
class Json::Item {
 public:
  template <typename T>
  requires std::constructible_from<Json, T&&> Item(T&& value)
      : value_(std::forward<T>(value)) {}
  Item(std::initializer_list<Item> items) : value_(items) {}
  Json take() const { return std::move(value_); }
  bool is_member() const;

 private:
  mutable Json value_;
};

}  // namespace ruleengine
