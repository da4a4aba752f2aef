// string.format: width and precision have at most two digits, %p is not
// allowed, and integers are checked before the cast. string.rep.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <lua.hpp>
#include <string>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_globals.h"
#include "bindings/lua/sandbox/sandbox_meter.h"

namespace ruleengine::lua {
namespace {

// A %-directive, at most "%-+ #099.99" and a letter.
struct Directive {
  std::string flags;  // with width and precision
  bool precise = false;
  char letter = 0;
};

void take_digits(std::string_view format, std::size_t& at, std::string& flags) {
  for (int i = 0;
       i < 2 && at < format.size() && format[at] >= '0' && format[at] <= '9';
       ++i) {
    flags += format[at++];
  }
}

Directive take(lua_State* state, std::string_view format, std::size_t& at) {
  Directive directive;
  while (at < format.size() && directive.flags.size() < 5 &&
         std::string_view("-+ #0").find(format[at]) != std::string_view::npos) {
    directive.flags += format[at++];
  }
  take_digits(format, at, directive.flags);
  if (at < format.size() && format[at] == '.') {
    directive.precise = true;
    directive.flags += format[at++];
    take_digits(format, at, directive.flags);
  }
  if (at == format.size() ||
      std::string_view("cdiuoxXeEfgGaAqs").find(format[at]) ==
          std::string_view::npos) {
    luaL_error(state, "invalid option to 'format'");
  }
  directive.letter = format[at++];
  return directive;
}

std::string print_integer(lua_State* state, const Directive& directive,
                          int argument) {
  const double number = luaL_checknumber(state, argument);
  if (!(std::fabs(number) < 9.2e18)) {
    luaL_argerror(state, argument, "the number is not an integer");
  }
  const char letter = directive.letter == 'i' ? 'd' : directive.letter;
  const std::string format = "%" + directive.flags + "ll" + letter;
  char text[160];
  const int size = std::snprintf(text, sizeof text, format.c_str(),
                                 static_cast<long long>(number));
  return std::string(text, static_cast<std::size_t>(size));
}

std::string print_float(lua_State* state, const Directive& directive,
                        int argument) {
  const double number = luaL_checknumber(state, argument);
  const std::string format = "%" + directive.flags + directive.letter;
  char text[512];  // 309 digits, a point and 99 more at most
  const int size = std::snprintf(text, sizeof text, format.c_str(), number);
  return std::string(text, static_cast<std::size_t>(size));
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      (result += '\\') += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\0') {
      result += "\\000";
    } else {
      result += c;
    }
  }
  return result + '"';
}

// %s, %q and %c: the text, cut or padded.
std::string print_text(const Directive& directive, std::string_view text) {
  if (directive.flags.empty()) return std::string(text);
  const bool left = directive.flags.find('-') != std::string::npos;
  const std::size_t dot = directive.flags.find('.');
  if (dot != std::string::npos) {
    const std::string digits = directive.flags.substr(dot + 1);
    text = text.substr(0, digits.empty() ? 0 : std::stoul(digits));
  }
  const std::string head = directive.flags.substr(0, dot);
  const std::size_t digit = head.find_first_of("123456789");
  const std::size_t width =
      digit == std::string::npos ? 0 : std::stoul(head.substr(digit));
  const std::string padding(width > text.size() ? width - text.size() : 0, ' ');
  return left ? std::string(text) + padding : padding + std::string(text);
}

std::string print(lua_State* state, const Directive& directive, int argument) {
  luaL_checkany(state, argument);
  switch (directive.letter) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      return print_integer(state, directive, argument);
    case 'c': {
      const int code = static_cast<int>(luaL_checkinteger(state, argument));
      return print_text(directive, std::string(1, static_cast<char>(code)));
    }
    case 'q':
      return quoted(check_text(state, argument));
    case 's': {
      push_text(state, argument);
      std::string result = print_text(directive, text_at(state, -1));
      lua_pop(state, 1);
      return result;
    }
    default:
      return print_float(state, directive, argument);
  }
}

}  // namespace

int format_string(lua_State* state) {
  const std::string_view format = check_text(state, 1);
  std::string result;
  int argument = 1;
  for (std::size_t at = 0; at < format.size();) {
    const char c = format[at++];
    if (c != '%') {
      result += c;
    } else if (at < format.size() && format[at] == '%') {
      result += format[at++];
    } else {
      const Directive directive = take(state, format, at);
      result += print(state, directive, ++argument);
    }
    if (result.size() > kMaxBlock) return too_long(state);
  }
  Sandbox::charge(state, result.size() + format.size());
  return push(state, result);
}

int repeat_string(lua_State* state) {
  const std::string_view text = check_text(state, 1);
  const double times = luaL_checknumber(state, 2);
  std::string result(text);
  result += lua_isnoneornil(state, 3) ? "" : check_text(state, 3);
  const std::size_t piece = result.size();
  if (!(times >= 1) || piece == 0) return push(state, "");
  if (times * static_cast<double>(piece) > static_cast<double>(kMaxBlock)) {
    return too_long(state);
  }
  // By doubling, instead of copying a single letter a million times.
  const std::size_t whole =
      static_cast<std::size_t>(times) * piece - (piece - text.size());
  result.reserve(whole);
  while (result.size() < whole) {
    result.append(result, 0, std::min(result.size(), whole - result.size()));
  }
  result.resize(whole);
  Sandbox::charge(state, result.size());
  return push(state, result);
}

}  // namespace ruleengine::lua
