#include "bindings/cli/output.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"

namespace ruleengine::cli {
namespace {

Diagnostic unreadable(const std::string& path) {
  return {.kind = ErrorKind::kWrite,
          .what = "the temporary file of the result cannot be read",
          .where = path};
}

}  // namespace

Result<Output> Output::create(const std::string& name,
                              const std::string& ending) {
  Output out;
  out.path_ = name;
  if (name != "-") return out;
  if (::isatty(STDOUT_FILENO) != 0) {
    return usage("the result would be written to the terminal", "-o -",
                 "redirect stdout, or give a file: -o FILE");
  }
  auto scratch = api::Scratch::create();
  if (!scratch) return scratch.error();
  out.scratch_ = *std::move(scratch);
  out.file_ = out.scratch_->file(ending);
  out.path_ = out.file_.path();
  return out;
}

Status Output::finish() const {
  if (!is_stdout()) return {};
  std::error_code error;
  const std::filesystem::directory_iterator files(scratch_->folder(), error);
  if (error) return unreadable(scratch_->folder());
  if (std::distance(begin(files), end(files)) > 1) {
    return usage("the result has external data, which stdout cannot carry", "",
                 "give a file: -o FILE");
  }
  std::ifstream file(path_, std::ios::binary);
  std::vector<char> piece(std::size_t{1} << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())),
         file.gcount() > 0) {
    const auto size = static_cast<std::size_t>(file.gcount());
    if (std::fwrite(piece.data(), 1, size, stdout) != size) break;
  }
  flush_stdout();
  return file.eof() ? Status() : Status(unreadable(path_));
}

}  // namespace ruleengine::cli
