// RuleStore: finds and reads the files of a load, on the disk or from a
// RuleTexts. It remembers folders and texts, so it is for one load. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bindings/lua/load/shipped.h"
#include "bindings/lua/rule_texts.h"
#include "core/base/result.h"

namespace ruleengine::lua {

class RuleStore {
 public:
  // `texts` may be null, and must outlive this.
  explicit RuleStore(const RuleTexts* texts)
      : texts_(texts), shipped_(shipped_places(texts)) {}

  // The text of a regular file of the disk, of at most `limit` bytes; none if
  // it does not exist.
  static Result<std::optional<std::string>> read_file(
      const std::filesystem::path& path, std::size_t limit);

  // As shipped_places().
  const std::vector<std::filesystem::path>& shipped() const { return shipped_; }
  // Whether the path is one of the texts, which there may not be.
  bool is_text(const std::filesystem::path& path) const;
  // The absolute path without links, or that of a text; none if there is no
  // such file.
  Result<std::optional<std::filesystem::path>> real(
      const std::filesystem::path& path);
  // As read_file(), of a path that real() gave.
  Result<std::optional<std::string>> read(const std::filesystem::path& real,
                                          std::size_t limit);

 private:
  Result<std::optional<std::string>>& text_of(
      const std::filesystem::path& path);

  const RuleTexts* texts_;
  std::vector<std::filesystem::path> shipped_;
  // What real() gives for folders of the disk: an error code, or a path.
  struct Folder {
    std::error_code error;
    std::filesystem::path real;
  };
  std::map<std::filesystem::path, Folder> folders_;
  std::map<std::string, Result<std::optional<std::string>>> read_;
};

}  // namespace ruleengine::lua
