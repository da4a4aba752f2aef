#include "core/io/read/file_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/base/byte_hash.h"

namespace ruleengine::io {
namespace {

constexpr std::string_view kData = ".data";

}  // namespace

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

std::string file_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string data_path(const std::string& result, unsigned number) {
  const std::string middle = number > 1 ? "." + std::to_string(number) : "";
  return result + middle + std::string(kData);
}

std::string plain_location(std::string_view location) {
  return std::filesystem::path(location).lexically_normal().string();
}

bool is_data_of(const std::string& result, std::string_view location) {
  const std::string plain = plain_location(location), file = file_of(result);
  std::string_view rest = plain;
  if (!rest.starts_with(file) || !rest.ends_with(kData) ||
      rest.size() < file.size() + kData.size()) {
    return false;
  }
  rest.remove_prefix(file.size());
  rest.remove_suffix(kData.size());
  if (rest.empty()) return true;
  return rest.size() > 1 && rest.front() == '.' &&
         std::ranges::all_of(rest.substr(1),
                             [](char c) { return c >= '0' && c <= '9'; });
}

std::string temporary_prefix(const std::string& result) {
  // A hash, since the name itself may be as long as the file system allows, so
  // that nothing can be added to it.
  return fmt::format("{}{:016x}-", kTemporaryPrefix,
                     byte_hash(file_of(result)));
}

}  // namespace ruleengine::io
