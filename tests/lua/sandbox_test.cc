// Every script of tests/lua/attacks must end with the error that its first line
// expects, within its limits, and leave the sandbox usable. (A script that ends
// with "has no rule" tests by its asserts.)
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bindings/lua/rule_file.h"

namespace ruleengine::lua {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> scripts() {
  std::vector<fs::path> found;
  const fs::path folder =
      fs::path(RULEENGINE_SOURCE_DIR) / "tests" / "lua" / "attacks";
  for (const fs::directory_entry& each : fs::directory_iterator(folder)) {
    if (each.path().extension() == ".lua") found.push_back(each.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string expected_of(const fs::path& script) {
  std::ifstream file(script);
  std::string line;
  std::getline(file, line);
  constexpr std::string_view kMark = "-- expect: ";
  REQUIRE(line.starts_with(kMark));
  return line.substr(kMark.size());
}

// Errors with exit code 5; all others are errors of the rule file.
constexpr std::string_view kLimits[] = {"ran longer", "more memory",
                                        "too complex", "is too long"};

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

TEST_CASE("attacks end with their error and within their limits") {
  const std::vector<fs::path> all = scripts();
  CHECK(all.size() > 80);
  SandboxLimits limits;
  limits.load_bytes = std::size_t{64} << 20;
  for (const fs::path& script : all) {
    CAPTURE(script.filename().string());
    const std::string expected = expected_of(script);
    limits.load_seconds = expected == "ran longer" ? 0.2 : 20;
    std::string text;
    const double seconds = seconds_of([&] {
      auto set = RuleSet::load({script.string()}, {}, limits);
      REQUIRE(!set.ok());
      text = set.error().text();
      const ErrorKind kind = set.error().kind;
      const bool limit =
          std::ranges::find(kLimits, expected) != std::end(kLimits);
      CHECK(kind == (limit ? ErrorKind::kLimit : ErrorKind::kRule));
      CHECK(set.error().where.starts_with(script.string() + ":"));
    });
    CHECK_MESSAGE(text.find(expected) != std::string::npos, text);
    // Allows for sanitizers and a busy machine; unbounded work never ends.
    CHECK(seconds < 15);
  }
}

}  // namespace
}  // namespace ruleengine::lua
