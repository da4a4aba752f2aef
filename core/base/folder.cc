#include "core/base/folder.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <string_view>

namespace ruleengine {

void check_memory(const std::error_code& error) {
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();
}

std::vector<std::string> names_in(const std::filesystem::path& folder,
                                  std::error_code& error) {
  struct Close {
    void operator()(DIR* open) const { ::closedir(open); }
  };
  std::vector<std::string> out;
  const std::unique_ptr<DIR, Close> open(::opendir(folder.c_str()));
  int failure = open == nullptr ? errno : 0;
  while (failure == 0) {
    errno = 0;
    const dirent* const entry = ::readdir(open.get());
    if (entry == nullptr) {
      failure = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") out.emplace_back(name);
  }
  error.assign(failure, std::generic_category());
  check_memory(error);
  std::ranges::sort(out);
  return out;
}

}  // namespace ruleengine
