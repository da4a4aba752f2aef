#include "bindings/cli/watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <system_error>
#include <thread>

#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"

namespace ruleengine::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto kPause = std::chrono::milliseconds(100);
// Enough for all rules of a person, and little to look at ten times a second.
constexpr std::size_t kMostFiles = 5000;

// What changes when a file is written or replaced; zeros for a missing one.
using Stamp = std::array<std::int64_t, 4>;
using Stamps = std::map<std::string, Stamp>;

Stamp stamp_of(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {static_cast<std::int64_t>(found.st_ino), found.st_size,
          found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

void add_rules_below(const fs::path& folder, Stamps& out) {
  std::error_code error;
  fs::recursive_directory_iterator at(
      folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator();
       at.increment(error)) {
    if (out.size() >= kMostFiles) return;
    if (at->path().extension() != ".lua") continue;
    const std::string path = at->path().string();
    out.emplace(path, stamp_of(path));
  }
}

Stamps stamps_of(const std::vector<std::string>& paths) {
  Stamps out;
  for (const std::string& path : paths) {
    out.emplace(path, stamp_of(path));
    if (is_model(path)) continue;
    std::error_code none;
    const bool is_folder = fs::is_directory(path, none);
    fs::path folder = fs::absolute(path, none).lexically_normal();
    if (!is_folder) folder = folder.parent_path();
    add_rules_below(folder, out);
    // Where `lib` looks besides.
    for (int i = 0; i < 2; ++i) {
      folder = folder.parent_path();
      add_rules_below(folder / "lib", out);
    }
  }
  return out;
}

// The first that differs.
std::string changed(const Stamps& before, const Stamps& after) {
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

Diagnostic watch(const std::vector<std::string>& paths,
                 const std::function<void()>& once) {
  if (std::ranges::find(paths, "-") != paths.end()) {
    return usage("--watch waits for changes of files", "the model -",
                 "name a file");
  }
  Stamps seen = stamps_of(paths);
  while (true) {
    once();
    if (std::fflush(stdout) != 0) {
      throw std::system_error(errno, std::generic_category());
    }
    say("waiting for changes; Ctrl-C ends");
    std::string which;
    while (which.empty()) {
      std::this_thread::sleep_for(kPause);
      which = changed(seen, stamps_of(paths));
    }
    // Editors write several times.
    Stamps now = stamps_of(paths);
    do {
      seen = std::move(now);
      std::this_thread::sleep_for(kPause);
      now = stamps_of(paths);
    } while (!changed(seen, now).empty());
    std::error_code none;
    say("\nchanged: " + printable(fs::proximate(which, none).string()));
  }
}

}  // namespace ruleengine::cli
