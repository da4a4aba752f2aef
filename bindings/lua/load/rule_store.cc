#include "bindings/lua/load/rule_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/folder.h"

namespace ruleengine::lua {

namespace fs = std::filesystem;

namespace {

Diagnostic unreadable(const fs::path& path, std::string found) {
  return {.kind = ErrorKind::kRule,
          .what = "the rule file cannot be read",
          .where = path.string(),
          .found = std::move(found)};
}

Diagnostic too_large(const fs::path& path, std::size_t limit) {
  return {.kind = ErrorKind::kRule,
          .what = "the file is too large",
          .where = path.string(),
          .expected = fmt::format("at most {} bytes", limit)};
}

bool is_absent(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory ||
         error == std::errc::not_a_directory;
}

}  // namespace

Result<std::optional<std::string>> RuleStore::read_file(const fs::path& path,
                                                        std::size_t limit) {
  using Text = std::optional<std::string>;
  // O_NONBLOCK: does not wait for the other end of a pipe.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return Text();
    return unreadable(path, std::generic_category().message(errno));
  }
  struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } closer{file};
  struct stat info {};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    return Diagnostic{.kind = ErrorKind::kRule,
                      .what = "this is not a regular file",
                      .where = path.string()};
  }
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t size = ::read(file, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      return unreadable(path, std::generic_category().message(errno));
    }
    if (size == 0) return Text(std::move(text));
    text.append(buffer, static_cast<std::size_t>(size));
    if (text.size() > limit) return too_large(path, limit);
  }
}

bool RuleStore::is_text(const fs::path& path) const {
  return texts_ != nullptr && path.native().starts_with(kMemoryRoot);
}

Result<std::optional<std::string>>& RuleStore::text_of(const fs::path& path) {
  const std::string name = path.string().substr(kMemoryRoot.size());
  const auto known = read_.find(name);
  if (known != read_.end()) return known->second;
  return read_.emplace(name, texts_->read(name)).first->second;
}

Result<std::optional<fs::path>> RuleStore::real(const fs::path& path) {
  using Found = std::optional<fs::path>;
  if (is_text(path)) {
    const fs::path normal = path.lexically_normal();
    if (!is_text(normal)) return Found();
    const auto& text = text_of(normal);
    if (!text) return text.error();
    return *text ? Found(normal) : Found();
  }
  const fs::path name = path.filename();
  fs::path real;
  std::error_code error;
  if (name.empty() || name == "." || name == "..") {
    real = fs::canonical(path, error);
  } else {
    // Most files lie in the same folders, and a link is looked for in each part
    // of a path.
    auto folder = folders_.find(path.parent_path());
    if (folder == folders_.end()) {
      const fs::path parent = path.parent_path();
      folder = folders_.emplace(parent, Folder()).first;
      folder->second.real =
          fs::canonical(parent.empty() ? "." : parent, folder->second.error);
    }
    error = folder->second.error;
    if (!error) {
      real = folder->second.real / name;
      const fs::file_status status = fs::symlink_status(real, error);
      if (fs::is_symlink(status)) real = fs::canonical(real, error);
    }
  }
  if (!error) return Found(std::move(real));
  if (is_absent(error)) return Found();
  check_memory(error);
  return unreadable(path, error.message());
}

Result<std::optional<std::string>> RuleStore::read(const fs::path& real,
                                                   std::size_t limit) {
  if (!is_text(real)) return read_file(real, limit);
  const auto& text = text_of(real);
  if (text && *text && (*text)->size() > limit) return too_large(real, limit);
  return text;
}

}  // namespace ruleengine::lua
