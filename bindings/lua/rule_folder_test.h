// RuleFolder: a temporary folder of rule files for tests, gone with its owner.
#ifndef RULEENGINE_BINDINGS_LUA_RULE_FOLDER_TEST_H_
#define RULEENGINE_BINDINGS_LUA_RULE_FOLDER_TEST_H_

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace ruleengine::lua {

class RuleFolder {
 public:
  RuleFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "rules.XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = std::filesystem::canonical(name);
  }
  ~RuleFolder() { std::filesystem::remove_all(root_); }
  RuleFolder(const RuleFolder&) = delete;
  RuleFolder& operator=(const RuleFolder&) = delete;

  std::string path(const std::string& name) const {
    return (root_ / name).string();
  }
  // The path of the file written.
  std::string write(const std::string& name, std::string_view text) const {
    const std::filesystem::path file = root_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }

 private:
  std::filesystem::path root_;
};

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_RULE_FOLDER_TEST_H_
