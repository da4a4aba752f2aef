// For tests: RuleFolder, a temporary folder of rule files that the destructor
// deletes, and functions to load from it.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/lua/rule_file.h"

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
  // Returns the path of the file.
  std::string write(const std::string& name, std::string_view text) const {
    const std::filesystem::path file = root_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }

 private:
  std::filesystem::path root_;
};

using Loaded = Result<std::unique_ptr<RuleSet>>;

inline Loaded load(const std::vector<std::string>& paths,
                   const std::vector<SetOption>& options = {}) {
  return RuleSet::load(paths, options, {});
}

inline std::string names_of(const Loaded& set) {
  if (!set.ok()) return set.error().text();
  std::string names;
  for (const auto& rule : set.value()->rules()) {
    (names += names.empty() ? "" : " ") += rule->qualified;
  }
  return names;
}

// A rule that loads; `more` is appended to its keys.
inline std::string rule_text(const std::string& more = "") {
  return "return rule {\n"
         "  match = function(op, x, y) return op.Add(x, y):as 'sum' end,\n"
         "  rewrite = function(op, m) return m.x end,\n" +
         more + "\n}\n";
}

struct Refused {
  const char* text;
  int line;
  const char* found;  // a part of the diagnostic
};

inline void check_refused(const std::string& file, const Refused& refused) {
  const Loaded set = load({file});
  CHECK(!set.ok());
  if (set.ok()) return;
  const std::string text = set.error().text();
  CHECK(set.error().kind == ErrorKind::kRule);
  CHECK_MESSAGE(text.find(refused.found) != std::string::npos, text);
  CHECK_MESSAGE(set.error().where == file + ":" + std::to_string(refused.line),
                text);
}

}  // namespace ruleengine::lua
