#include "core/io/read/data_users.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "core/base/folder.h"
#include "core/io/descriptor.h"
#include "core/io/read/file_names.h"
#include "core/io/read/mapping.h"
#include "core/wire/wire.h"

namespace ruleengine::io {
namespace {

namespace fs = std::filesystem;

// The key of the entry that gives the file of external data.
constexpr std::string_view kLocation = "location";
constexpr int kDeepest = 1000;  // of subgraphs in subgraphs

// Calls `visit(location)` for each location in a message; false when the
// message is damaged.
template <typename Visit>
class Search {
 public:
  explicit Search(Visit visit) : visit_(visit) {}

  bool message(Bytes bytes, const schema::Message& kind, int depth = 0) {
    if (depth > kDeepest) return false;
    Cursor cursor(bytes, kind);
    bool whole = true;
    while (cursor.next()) {
      if (!cursor.is_length()) continue;
      if (&kind == &schema::kTensor) {
        if (cursor.field() == tensor_field::kExternalData) {
          const StringEntry entry = read_entry(cursor.bytes());
          if (entry.key == kLocation) visit_(entry.value);
        }
      } else if (leads_to_tensors(cursor.child())) {
        whole &= message(cursor.bytes(), *cursor.child(), depth + 1);
      }
    }
    return whole && cursor.error() == WireError::kNone;
  }

 private:
  static bool leads_to_tensors(const schema::Message* kind) {
    using namespace schema;
    constexpr std::array kKinds = {&kGraph,       &kNode,     &kAttribute,
                                   &kTensor,      &kFunction, &kTrainingInfo,
                                   &kSparseTensor};
    return std::ranges::count(kKinds, kind) > 0;
  }

  Visit visit_;
};

struct Opened {
  Descriptor file;
  std::unique_ptr<Mapping> mapping;
  int error = 0;
};

// Opens regular files only.
Opened open_to_read(const std::string& path) {
  Opened out;
  out.file =
      Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (!out.file.valid() || ::fstat(out.file.get(), &info) != 0) {
    out.error = errno;
  } else if (S_ISREG(info.st_mode)) {
    auto mapping =
        Mapping::map(out.file.get(), static_cast<std::uint64_t>(info.st_size));
    if (mapping) out.mapping = std::move(*mapping);
  }
  return out;
}

bool mentions(Bytes bytes, std::string_view name) {
  return as_text(bytes).find(name) != std::string_view::npos;
}

bool is_used_by(const std::string& path, const std::string& name) {
  const Opened model = open_to_read(path);
  if (model.error == EACCES || model.error == EPERM) return true;
  if (model.mapping == nullptr) return false;
  bool found = false;
  Search search([&](std::string_view location) {
    found |= plain_location(location) == name;
  });
  const Bytes bytes = model.mapping->bytes();
  const bool is_model = search.message(bytes, schema::kModel);
  if (found || is_model) return found;
  const std::string kind = fs::path(path).extension();
  return (kind == ".onnx" || kind == ".onnxtxt") && mentions(bytes, name);
}

}  // namespace

std::vector<std::string> data_locations(const std::string& path) {
  // For files up to this size a text search is faster than decoding them.
  constexpr std::size_t kSmall = 16 << 20;
  std::vector<std::string> out;
  const Opened model = open_to_read(path);
  if (model.mapping == nullptr) return out;
  const Bytes bytes = model.mapping->bytes();
  if (bytes.size() <= kSmall && !mentions(bytes, kLocation)) return out;
  Search search([&](std::string_view location) { out.emplace_back(location); });
  search.message(bytes, schema::kModel);
  std::ranges::sort(out);
  const auto twice = std::ranges::unique(out);
  out.erase(twice.begin(), twice.end());
  return out;
}

bool is_used_in(const std::string& folder, const std::string& name) {
  std::error_code error;
  for (const std::string& file : names_in(folder, error)) {
    // Live runs lock the data of their temporary files themselves.
    if (file == name || file.starts_with(kTemporaryPrefix)) continue;
    if (is_used_by(folder + file, name)) return true;
  }
  return bool(error);
}

}  // namespace ruleengine::io
