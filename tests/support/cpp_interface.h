// What tests of the layer for C++ share: results that must be there or not, and
// models and rules of text.
#pragma once

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/c/ruleengine.hpp"

namespace ruleengine::c {

// The thing of a result, which must have one.
template <typename T>
T got(re::Result<T> result) {
  REQUIRE_MESSAGE(result, result.error().text());
  return *std::move(result);
}
inline void went_well(const re::Result<void>& result) {
  REQUIRE_MESSAGE(result, result.error().text());
}
// The error of a result, which must have one.
template <typename T>
re::Error failed(const re::Result<T>& result) {
  REQUIRE(!result);
  return result.error();
}
inline re::Bytes bytes_in(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline re::Model parsed(std::string_view text) {
  return got(re::Model::parse(bytes_in(text), {.name = "m.onnxtxt"}));
}
inline re::RulesOptions options_with(std::string_view rule) {
  return {.paths = {"memory:/mine/r.lua"},
          .files = {{.name = "mine/r.lua", .text = rule}}};
}
inline re::Rules loaded(std::string_view rule) {
  return got(re::Rules::load(options_with(rule)));
}
inline std::string written(const re::Model& model) {
  const re::Buffer buffer = got(model.bytes());
  const re::Bytes bytes = buffer;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ruleengine::c
