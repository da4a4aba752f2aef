#include "bindings/cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "bindings/api/streams.h"
#include "bindings/cli/terminal.h"

namespace ruleengine::cli {
namespace {

api::Failure unreadable(const std::string& path) {
  return api::Failure(
      {.kind = ErrorKind::kWrite,
       .what = "the temporary file of the result cannot be read",
       .where = path});
}

bool is_on_stdin(const Paths& paths) {
  return std::ranges::find(paths.models, "-") != paths.models.end();
}

// A model from stdin goes to stdout.
bool goes_to_stdout(const Paths& paths, const RunFlags& flags) {
  return !flags.dry_run &&
         (flags.output == "-" || (is_on_stdin(paths) && flags.output.empty()));
}

}  // namespace

Output::Output(const std::string& name, const std::string& ending)
    : path_(name) {
  if (name != "-") return;
  if (::isatty(STDOUT_FILENO) != 0) {
    throw misuse("the result would be written to the terminal", "", "-o -",
                 "redirect stdout, or give a file: -o FILE");
  }
  scratch_ = take(api::Scratch::create());
  file_ = scratch_->file(ending);
  path_ = file_.path();
}

void Output::finish() const {
  if (!is_stdout()) return;
  std::error_code error;
  const std::filesystem::directory_iterator files(scratch_->folder(), error);
  if (error) throw unreadable(scratch_->folder());
  if (std::distance(begin(files), end(files)) > 1) {
    throw misuse("the result has external data, which stdout cannot carry", "",
                 "", "give a file: -o FILE");
  }
  std::ifstream file(path_, std::ios::binary);
  std::vector<char> piece(std::size_t{1} << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())),
         file.gcount() > 0) {
    const auto size = static_cast<std::size_t>(file.gcount());
    if (std::fwrite(piece.data(), 1, size, stdout) != size) break;
  }
  flush_stdout();
  if (!file.eof()) throw unreadable(path_);
}

void check_streams(const Paths& paths, const RunFlags& flags) {
  if (paths.models.size() > 1 && (is_on_stdin(paths) || flags.output == "-")) {
    throw misuse("stdin and stdout are for one model", "",
                 std::to_string(paths.models.size()) + " models",
                 "name the models, and -o FOLDER/");
  }
  std::error_code none;
  if (is_on_stdin(paths) &&
      (flags.output.ends_with('/') ||
       std::filesystem::is_directory(flags.output, none))) {
    throw misuse("the model on stdin has no name for a folder", "",
                 flags.output, "name the result: -o FOLDER/NAME.onnx");
  }
  if (!goes_to_stdout(paths, flags)) return;
  if (flags.report == "-") {
    throw misuse("stdout gets the result or the report", "", "--report -",
                 "give one of them a file");
  }
  if (flags.share_data) {
    throw misuse("a result on stdout cannot share data", "", "--share-data",
                 "give a file beside the model: -o FILE");
  }
}

Output output_of(const Paths& paths, const RunFlags& flags) {
  const std::string& model = paths.models.front();
  take(api::standard_input(model, limits_of(flags).deadline));
  if (!goes_to_stdout(paths, flags)) {
    return {flags.output == "-" ? "" : flags.output, ""};
  }
  return {"-", api::is_text_model(model) ? ".onnxtxt" : ".onnx"};
}

}  // namespace ruleengine::cli
