// Waiting for changes of rules and models.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ruleengine::api {

// Looks at the files of these paths, at rule files beside a rule and two
// folders below it, and at libs in the folders where rules look for them; not
// at external data.
class Changes {
 public:
  // What changes when a file is written or replaced; zeros for a missing one.
  using Stamp = std::array<std::int64_t, 4>;
  using Stamps = std::map<std::string, Stamp>;

  explicit Changes(std::vector<std::string> paths);

  // False: there are very many files, of which only the first are looked at.
  bool sees_all() const { return sees_all_; }
  // Waits until files differ from what they were when it last returned, and
  // have rested for a moment. Returns the path of the first.
  std::string wait();

 private:
  std::vector<std::string> paths_;
  Stamps seen_;
  bool sees_all_ = true;
};

}  // namespace ruleengine::api
