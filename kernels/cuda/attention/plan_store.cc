#include "kernels/cuda/attention/plan_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/byte_hash.h"
#include "core/base/folder.h"
#include "kernels/cuda/attention/bytes.h"

namespace ruleengine::kernels::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "ruleengine plan file 1";
constexpr std::string_view kEnding = ".plan";
constexpr std::uint64_t kMostOfFile = std::uint64_t{1} << 26;

class File {
 public:
  File(const fs::path& path, int flags)
      : number_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600)) {}
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return number_ >= 0; }
  // All of it, if no other user can have written it.
  std::optional<std::string> content() const {
    struct stat about = {};
    if (!is_open() || ::fstat(number_, &about) != 0) return std::nullopt;
    const bool is_ours = S_ISREG(about.st_mode) &&
                         about.st_uid == ::geteuid() &&
                         (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    if (!is_ours || static_cast<std::uint64_t>(about.st_size) > kMostOfFile) {
      return std::nullopt;
    }
    std::string out(static_cast<std::size_t>(about.st_size), '\0');
    return whole(out.data(), out.size(), ::read) ? std::optional(out)
                                                 : std::nullopt;
  }
  bool write(const std::string& bytes) const {
    return is_open() && whole(bytes.data(), bytes.size(), ::write);
  }

 private:
  template <typename Byte, typename F>
  bool whole(Byte* at, std::size_t size, F step) const {
    while (size > 0) {
      const ssize_t done = step(number_, at, size);
      if (done <= 0) return false;
      at += done;
      size -= static_cast<std::size_t>(done);
    }
    return true;
  }

  int number_;
};

// Whether a file of that name is one of a store: 16 hexadecimal digits and the
// ending; behind that the numbers of a writer, while it writes.
bool is_own(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  constexpr std::string_view kHex = "0123456789abcdef";
  if (name.find_first_not_of(kHex) != kDigits) return false;
  name.remove_prefix(kDigits);
  if (!name.starts_with(kEnding)) return false;
  name.remove_prefix(kEnding.size());
  return name.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string packed(std::string_view key, const StoredPlan& plan) {
  ByteWriter body;
  body.text(kFormat);
  body.text(key);
  body.number(plan.is_refusal);
  body.text(plan.bytes);
  std::string bytes = body.take();
  ByteWriter check;
  check.number(static_cast<std::int64_t>(byte_hash(bytes)));
  return bytes + check.take();
}

std::optional<StoredPlan> unpacked(std::string_view key,
                                   std::string_view bytes) {
  ByteReader in(bytes);
  const auto format = in.text();
  const auto found = in.text();
  const auto is_refusal = in.number();
  const auto plan = in.text();
  if (format != kFormat || found != key || !plan) return std::nullopt;
  StoredPlan out{.is_refusal = is_refusal == 1, .bytes = std::string(*plan)};
  // The same bytes, with their hash: nothing is damaged.
  if (packed(key, out) != bytes) return std::nullopt;
  return out;
}

}  // namespace

PlanStore::PlanStore(fs::path folder, std::uint64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {
  std::error_code error;
  if (!fs::create_directories(folder_, error)) return;
  fs::permissions(folder_, fs::perms::owner_all, error);
}

fs::path PlanStore::path_of(std::string_view key) const {
  return folder_ / fmt::format("{:016x}{}", byte_hash(key), kEnding);
}

std::optional<StoredPlan> PlanStore::read(std::string_view key) const {
  const auto bytes = File(path_of(key), O_RDONLY | O_NONBLOCK).content();
  if (!bytes) return std::nullopt;
  return unpacked(key, *bytes);
}

bool PlanStore::write(std::string_view key, const StoredPlan& plan) const {
  static std::atomic<unsigned> count = 0;
  const std::string bytes = packed(key, plan);
  if (bytes.size() > std::min(most_bytes_, kMostOfFile)) return false;
  const fs::path path = path_of(key);
  const fs::path part =
      fmt::format("{}.{}.{}", path.string(), ::getpid(), ++count);
  const bool is_written = File(part, O_WRONLY | O_CREAT | O_EXCL).write(bytes);
  if (!is_written || ::rename(part.c_str(), path.c_str()) != 0) {
    ::unlink(part.c_str());
    return false;
  }
  remove_oldest();
  return true;
}

void PlanStore::remove_oldest() const {
  struct Kept {
    fs::file_time_type time;
    std::string name;
    std::uint64_t size = 0;
  };
  std::vector<Kept> files;
  std::uint64_t total = 0;
  std::error_code error;
  for (std::string& name : names_in(folder_, error)) {
    // Parts of writers that ended early count and go as well.
    if (!is_own(name)) continue;
    const fs::path path = folder_ / name;
    const std::uint64_t size = fs::file_size(path, error);
    if (error) continue;
    const auto time = fs::last_write_time(path, error);
    if (error) continue;
    total += size;
    files.push_back({time, std::move(name), size});
  }
  std::ranges::sort(files, {},
                    [](const Kept& k) { return std::tie(k.time, k.name); });
  for (const Kept& oldest : files) {
    if (total <= most_bytes_) return;
    fs::remove(folder_ / oldest.name, error);
    total -= oldest.size;
  }
}

}  // namespace ruleengine::kernels::cuda
