// Scratch: a folder of temporary files, for the user alone. The destructor
// removes it, and so does a signal.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/io/signals.h"
#include "core/ir/model.h"

namespace ruleengine::api {

// A file of a Scratch; removed in the same cases.
class ScratchFile {
 public:
  ScratchFile() = default;
  explicit ScratchFile(std::string path);
  ~ScratchFile() { remove(); }
  ScratchFile(ScratchFile&& from) noexcept
      : path_(std::exchange(from.path_, {})),
        doomed_(std::move(from.doomed_)) {}
  ScratchFile& operator=(ScratchFile&& from) noexcept;

  const std::string& path() const { return path_; }

 private:
  void remove();

  std::string path_;
  io::Doomed doomed_;
};

class Scratch {
 public:
  // In the system's folder for temporary files.
  static Result<std::unique_ptr<Scratch>> create();
  // In the folder of `path`, with the permissions of other new folders.
  static Result<std::unique_ptr<Scratch>> create_beside(
      const std::string& path);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // A new name with this ending; no file has it yet.
  ScratchFile file(std::string_view ending);
  const std::string& folder() const { return folder_; }
  // Gives the folder a lasting name; a folder of that name is removed.
  Status become(const std::string& path);

 private:
  explicit Scratch(std::string folder);

  std::string folder_;
  io::Doomed doomed_;
  int files_ = 0;
};

// A model as a file: its own if nothing changed it, else a new one.
class ModelFile {
 public:
  static Result<ModelFile> create(const ir::Model& model, Scratch& scratch);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  ScratchFile file_, data_;
};

}  // namespace ruleengine::api
