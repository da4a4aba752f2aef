#include "core/base/json.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace ruleengine {
namespace {

std::string line(const Json& json) { return json.text(-1, false); }

TEST_CASE("braces") {
  CHECK(line({{"a", 1}, {"b", {1.5, "x"}}}) == R"({"a":1,"b":[1.5,"x"]})");
  CHECK(line({1, 2}) == "[1,2]");
  CHECK(line({{1, 2}, {3, 4}}) == "[[1,2],[3,4]]");
  CHECK(line({{"a", {{"b", nullptr}}}}) == R"({"a":{"b":null}})");
  Json moved = Json::array();
  moved.push_back({{"k", "v"}});
  CHECK(line({{"all", std::move(moved)}}) == R"({"all":[{"k":"v"}]})");
}

TEST_CASE("ranges") {
  CHECK(line(std::vector<std::string>{"a", "b"}) == R"(["a","b"])");
  CHECK(line(std::map<std::string, int>{{"x", 1}}) == R"({"x":1})");
  CHECK(line(std::vector<int>{}) == "[]");
  CHECK(line(std::string("text")) == "\"text\"");
}

TEST_CASE("members") {
  Json json;
  json["b"] = 1;
  json["a"]["c"] = true;
  json["b"] = 2;
  json.update({{"a", 0}, {"d", Json::array()}});
  CHECK(line(json) == R"({"b":2,"a":0,"d":[]})");
  json.erase("a");
  CHECK(json.size() == 2);
}

TEST_CASE("numbers") {
  const std::map<double, std::string> kTexts = {{0.0, "0.0"},
                                                {0.1, "0.1"},
                                                {1e-4, "0.0001"},
                                                {1e-5, "1e-05"},
                                                {1e-7, "1e-07"},
                                                {-2.5e20, "-2.5e+20"},
                                                {1e14, "100000000000000.0"},
                                                {123.0, "123.0"}};
  for (const auto& [number, text] : kTexts) CHECK(line(number) == text);
  CHECK(line(std::nan("")) == "null");
  CHECK(line(HUGE_VAL) == "null");
  CHECK(line(-1) == "-1");
  CHECK(line(~std::uint64_t{0}) == "18446744073709551615");
}

TEST_CASE("texts") {
  CHECK(Json("\"\\\n\x01\x7f").text(-1, true) == R"("\"\\\n\u0001\u007f")");
  CHECK(Json("\xc3\xa4\xe2\x82\xac").text(-1, true) == R"("\u00e4\u20ac")");
  CHECK(Json("\xf0\x9f\x98\x80").text(-1, true) == R"("\ud83d\ude00")");
  CHECK(Json("\xf0\x9f\x98\x80").text(-1, false) == "\"\xf0\x9f\x98\x80\"");
  CHECK(Json("a\xff").text(-1, true) == R"("a\ufffd")");
}

TEST_CASE("lines") {
  const Json json = {{"a", {1, {{"b", 2}}}}, {"c", Json::object()}};
  CHECK(json.text(2, true) == R"({
  "a": [
    1,
    {
      "b": 2
    }
  ],
  "c": {}
})");
}

}  // namespace
}  // namespace ruleengine
