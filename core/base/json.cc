#include "core/base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "core/base/utf8.h"

namespace ruleengine {

bool Json::Item::is_member() const {
  const auto* pair = std::get_if<Array>(&value_.value_);
  return pair != nullptr && pair->size() == 2 &&
         std::holds_alternative<std::string>(pair->front().value_);
}

Json::Json(std::initializer_list<Item> items) {
  if (!std::ranges::all_of(items, &Item::is_member)) {
    Array& array = value_.emplace<Array>();
    array.reserve(items.size());
    for (const Item& each : items) array.push_back(each.take());
    return;
  }
  Object& object = value_.emplace<Object>();
  object.reserve(items.size());
  for (const Item& each : items) {
    Json taken = each.take();
    Array& pair = std::get<Array>(taken.value_);
    object.emplace_back(std::get<std::string>(std::move(pair[0].value_)),
                        std::move(pair[1]));
  }
}

Json Json::array() {
  Json out;
  out.value_.emplace<Array>();
  return out;
}

Json Json::object() {
  Json out;
  out.value_.emplace<Object>();
  return out;
}

std::size_t Json::size() const {
  if (const auto* array = std::get_if<Array>(&value_)) return array->size();
  if (const auto* object = std::get_if<Object>(&value_)) return object->size();
  return 0;
}

void Json::push_back(Json element) {
  std::get<Array>(value_).push_back(std::move(element));
}

Json& Json::operator[](std::string_view key) {
  if (std::holds_alternative<std::monostate>(value_)) value_.emplace<Object>();
  Object& object = std::get<Object>(value_);
  const auto at = std::ranges::find(object, key, &Member::first);
  if (at != object.end()) return at->second;
  return object.emplace_back(key, Json()).second;
}

void Json::update(Json other) {
  for (auto& [key, value] : std::get<Object>(other.value_)) {
    (*this)[key] = std::move(value);
  }
}

void Json::erase(std::string_view key) {
  std::erase_if(std::get<Object>(value_),
                [&](const Member& each) { return each.first == key; });
}

class Json::Writer {
 public:
  Writer(int indent, bool ascii) : indent_(indent), ascii_(ascii) {}

  std::string text(const Json& json) {
    write(json);
    return std::move(out_);
  }

 private:
  void write(const Json& json) {
    std::visit([this](const auto& value) { put(value); }, json.value_);
  }
  void put(std::monostate) { out_ += "null"; }
  void put(bool value) { out_ += value ? "true" : "false"; }
  template <std::integral T>
  void put(T value) {
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }

  // The shortest form that reads back as the same number, and as one that is
  // not an integer.
  void put(double value) {
    if (!std::isfinite(value)) return put(std::monostate());
    char text[40];
    const double size = std::abs(value);
    const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e15);
    const auto end = std::to_chars(text, std::end(text), value,
                                   is_plain ? std::chars_format::fixed
                                            : std::chars_format::scientific)
                         .ptr;
    out_.append(text, end);
    if (is_plain && std::find(text, end, '.') == end) out_ += ".0";
  }

  void put(const std::string& text) {
    out_ += '"';
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t size = utf8_size(text, i);
      if (size == 0) {
        put_character("\xef\xbf\xbd");
        ++i;
      } else {
        put_character(std::string_view(text).substr(i, size));
        i += size;
      }
    }
    out_ += '"';
  }

  void put_character(std::string_view character) {
    static constexpr std::string_view kShort = "\"\"\\\\\bb\ff\nn\rr\tt";
    const char first = character[0];
    for (std::size_t i = 0; i < kShort.size(); i += 2) {
      if (first != kShort[i]) continue;
      out_ += '\\';
      out_ += kShort[i + 1];
      return;
    }
    const auto byte = static_cast<unsigned char>(first);
    if (byte >= 0x20 && (!ascii_ || byte < 0x7f)) {
      out_ += character;
      return;
    }
    // The bits of the first byte of a character of several, then six of each.
    std::uint32_t code =
        character.size() == 1 ? byte : byte & (0x7fu >> character.size());
    for (const char c : character.substr(1)) {
      code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
    }
    if (code < 0x10000) return put_unit(code);
    put_unit(0xd7c0 + (code >> 10));
    put_unit(0xdc00 + (code & 0x3ff));
  }
  void put_unit(std::uint32_t unit) {
    fmt::format_to(std::back_inserter(out_), "\\u{:04x}", unit);
  }

  void put(const Array& array) {
    put_all('[', array, ']', [this](const Json& each) { write(each); });
  }
  void put(const Object& object) {
    put_all('{', object, '}', [this](const Member& each) {
      put(each.first);
      out_ += indent_ < 0 ? ":" : ": ";
      write(each.second);
    });
  }
  template <typename All, typename F>
  void put_all(char open, const All& all, char close, const F& put_one) {
    out_ += open;
    ++depth_;
    bool is_first = true;
    for (const auto& each : all) {
      if (!is_first) out_ += ',';
      is_first = false;
      put_line();
      put_one(each);
    }
    --depth_;
    if (!all.empty()) put_line();
    out_ += close;
  }
  void put_line() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(indent_) * depth_, ' ');
  }

  const int indent_;
  const bool ascii_;
  std::size_t depth_ = 0;
  std::string out_;
};

std::string Json::text(int indent, bool ascii) const {
  return Writer(indent, ascii).text(*this);
}

}  // namespace ruleengine
