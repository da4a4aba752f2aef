#include "bindings/api/changes.h"

#include <sys/stat.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "bindings/api/models.h"

namespace ruleengine::api {
namespace {

namespace fs = std::filesystem;

constexpr auto kPause = std::chrono::milliseconds(100);
// Directory entries: few milliseconds for each look.
constexpr std::size_t kMostSeen = 5000;

Changes::Stamp stamp_of(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {static_cast<std::int64_t>(found.st_ino), found.st_size,
          found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

class Look {
 public:
  void add(const std::string& path) {
    stamps.emplace(path, stamp_of(path));
    if (is_model(path)) return;
    std::error_code none;
    fs::path folder = fs::absolute(path, none).lexically_normal();
    if (folder.extension() == ".lua") folder = folder.parent_path();
    add_rules(folder, 2);
    // Where `lib` looks besides.
    for (int i = 0; i < 2; ++i) {
      folder = folder.parent_path();
      add_rules(folder / "lib", 0);
    }
  }

  Changes::Stamps stamps;
  std::size_t seen = 0;

 private:
  void add_rules(const fs::path& folder, int depth) {
    std::error_code error;
    fs::recursive_directory_iterator at(
        folder, fs::directory_options::skip_permission_denied, error);
    for (; !error && at != fs::recursive_directory_iterator();
         at.increment(error)) {
      if (++seen > kMostSeen) return;
      if (at.depth() >= depth) at.disable_recursion_pending();
      if (at->path().extension() != ".lua") continue;
      const std::string path = at->path().string();
      stamps.emplace(path, stamp_of(path));
    }
  }
};

Look look_at(const std::vector<std::string>& paths) {
  Look out;
  for (const std::string& path : paths) out.add(path);
  return out;
}

// The first that differs.
std::string changed(const Changes::Stamps& before,
                    const Changes::Stamps& after) {
  for (const auto& [path, stamp] : after) {
    const auto at = before.find(path);
    if (at == before.end() || at->second != stamp) return path;
  }
  for (const auto& [path, stamp] : before) {
    if (!after.contains(path)) return path;
  }
  return "";
}

}  // namespace

Changes::Changes(std::vector<std::string> paths) : paths_(std::move(paths)) {
  Look first = look_at(paths_);
  sees_all_ = first.seen <= kMostSeen;
  seen_ = std::move(first.stamps);
}

std::string Changes::wait() {
  std::string which;
  Stamps now;
  while (which.empty()) {
    std::this_thread::sleep_for(kPause);
    now = look_at(paths_).stamps;
    which = changed(seen_, now);
  }
  // Editors write several times.
  do {
    seen_ = std::move(now);
    std::this_thread::sleep_for(kPause);
    now = look_at(paths_).stamps;
  } while (!changed(seen_, now).empty());
  return which;
}

}  // namespace ruleengine::api
