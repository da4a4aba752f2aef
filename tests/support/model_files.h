// The models that tests run: the exports that the clone has, and the shared
// collection where it is there.
#pragma once

#include <algorithm>
#include <filesystem>
#include <vector>

namespace ruleengine {

// In order. `root`: of the clone.
inline std::vector<std::filesystem::path> model_files(
    const std::filesystem::path& root) {
  std::vector<std::filesystem::path> out;
  for (const auto& folder : {root / "tests" / "data" / "models",
                             root.parent_path() / "shared" / "models"}) {
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".onnx") out.push_back(entry.path());
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace ruleengine
