#include "core/base/folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <new>

namespace ruleengine {
namespace {

namespace fs = std::filesystem;

TEST_CASE("the names in a folder are sorted") {
  const fs::path folder = fs::temp_directory_path() / "ruleengine_names";
  fs::remove_all(folder);
  fs::create_directories(folder / "sub");
  std::vector<std::string> wanted = {"sub"};
  for (int i = 0; i < 40; ++i) {
    wanted.push_back(std::to_string(i * 37 % 40));
    std::ofstream(folder / wanted.back()) << i;
  }
  std::ranges::sort(wanted);
  std::error_code error;
  CHECK(names_in(folder, error) == wanted);
  CHECK(!error);
  CHECK(names_in(folder / "none", error).empty());
  CHECK(error == std::errc::no_such_file_or_directory);
  CHECK(names_in(folder / "1", error).empty());
  CHECK(error == std::errc::not_a_directory);
  fs::remove_all(folder);
}

TEST_CASE("an error that says that memory ran out is thrown") {
  check_memory({});
  check_memory(std::make_error_code(std::errc::io_error));
  CHECK_THROWS_AS(
      check_memory(std::make_error_code(std::errc::not_enough_memory)),
      std::bad_alloc);
}

}  // namespace
}  // namespace ruleengine
