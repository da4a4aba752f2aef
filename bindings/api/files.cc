#include "bindings/api/files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/io/output.h"
#include "core/io/signals.h"

namespace ruleengine::api {

Result<std::string> read_text_file(const std::string& path) {
  std::error_code error;
  std::ostringstream text;
  // Opening a pipe would wait for who writes to it.
  const bool is_regular = std::filesystem::is_regular_file(path, error);
  if (is_regular) {
    const std::ifstream file(path, std::ios::binary);
    if (file && text << file.rdbuf()) return text.str();
  }
  return Diagnostic{.kind = ErrorKind::kUsage,
                    .what = "the file cannot be read",
                    .where = path,
                    .found = error        ? error.message()
                             : is_regular ? std::strerror(errno)
                                          : "no regular file"};
}

Result<io::Staged> stage_text(const std::string& path, std::string_view text) {
  const io::FileSizeSignalBlock no_signal;
  auto file = io::OutputFile::create(path);
  if (!file) return file.error();
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  if (auto status = (*file)->write(bytes); !status) return status.error();
  if (auto status = (*file)->finish(false); !status) return status.error();
  return io::Staged(std::move(*file));
}

Status write_file(const std::string& path, std::string_view text) {
  auto staged = stage_text(path, text);
  if (!staged) return staged.error();
  if (auto status = staged->commit(); !status) return status;
  staged->release();
  return {};
}

}  // namespace ruleengine::api
