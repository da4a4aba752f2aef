#include "bindings/api/scratch.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "bindings/api/models.h"
#include "bindings/api/streams.h"
#include "core/io/save.h"

namespace ruleengine::api {

namespace fs = std::filesystem;

namespace {

Diagnostic cannot_write(const std::string& folder, std::string why) {
  return {.kind = ErrorKind::kWrite,
          .what = "the folder cannot be written",
          .where = folder,
          .found = std::move(why)};
}

bool is_on_stdin(const std::string& path) {
  const auto given = standard_input(path);
  return !given || given->has_value();
}

}  // namespace

ScratchFile::ScratchFile(std::string path)
    : path_(std::move(path)), doomed_(io::Doomed::temporary(path_)) {}

ScratchFile& ScratchFile::operator=(ScratchFile&& from) noexcept {
  remove();
  path_ = std::exchange(from.path_, {});
  doomed_ = std::move(from.doomed_);
  return *this;
}

void ScratchFile::remove() {
  if (path_.empty()) return;
  doomed_.drop();
  std::error_code none;
  fs::remove(path_, none);
}

Result<std::unique_ptr<Scratch>> Scratch::create() {
  const io::SignalHold hold;
  std::error_code error;
  std::string name =
      (fs::temp_directory_path(error) / "ruleengine-XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr) {
    return Diagnostic{.kind = ErrorKind::kWrite,
                      .what = "the folder for temporary files cannot be used",
                      .where = name,
                      .found = error ? error.message() : std::strerror(errno),
                      .hint = "set TMPDIR to a folder that can be written to"};
  }
  return std::unique_ptr<Scratch>(new Scratch(std::move(name)));
}

Result<std::unique_ptr<Scratch>> Scratch::create_beside(
    const std::string& path) {
  const io::SignalHold hold;
  std::string name = path + "." + std::to_string(::getpid());
  std::error_code error;
  if (fs::create_directory(name, error)) {
    return std::unique_ptr<Scratch>(new Scratch(std::move(name)));
  }
  return cannot_write(name, error ? error.message() : "it exists");
}

Status Scratch::become(const std::string& path) {
  const io::SignalHold hold;
  const std::string old = folder_ + ".old";
  std::error_code error, none;
  fs::rename(path, old, none);  // if there is one
  fs::rename(folder_, path, error);
  if (error) {
    fs::rename(old, path, none);
    return cannot_write(path, error.message());
  }
  fs::remove_all(old, none);
  doomed_.drop();
  folder_.clear();
  return {};
}

Scratch::Scratch(std::string folder)
    : folder_(std::move(folder)), doomed_(io::Doomed::folder(folder_)) {}

Scratch::~Scratch() {
  doomed_.drop();
  if (folder_.empty()) return;
  std::error_code none;
  fs::remove_all(folder_, none);
}

ScratchFile Scratch::file(std::string_view ending) {
  return ScratchFile(folder_ + "/" + std::to_string(++files_) +
                     std::string(ending));
}

Result<ModelFile> ModelFile::create(const ir::Model& model, Scratch& scratch) {
  ModelFile out;
  if (!model.changed && !model.path.empty() && !is_text_model(model.path) &&
      !is_on_stdin(model.path)) {
    std::error_code error;
    out.path_ = fs::absolute(model.path, error).string();
    return out;
  }
  out.file_ = scratch.file(".onnx");
  out.path_ = out.file_.path();
  out.data_ = ScratchFile(out.path_ + ".data");
  if (Status s = io::save(model, out.path_); !s) return s.error();
  return out;
}

}  // namespace ruleengine::api
