#include "core/io/load.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/io/output.h"
#include "core/io/read/external.h"
#include "core/io/read/mapping.h"
#include "core/io/read/read_model.h"

namespace ruleengine::io {
namespace {

Diagnostic fault(const std::string& path, std::string what,
                 std::string expected = {}, std::string found = {}) {
  return {.what = std::move(what),
          .where = printable(path),
          .expected = std::move(expected),
          .found = std::move(found)};
}

const FileSource* source_of(const ir::Model& model) {
  return dynamic_cast<const FileSource*>(model.source.get());
}

const ExternalFiles* files_of(const ir::Model& model) {
  return dynamic_cast<const ExternalFiles*>(model.external.get());
}

std::string folder_to_open(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<std::shared_ptr<FileSource>> open_source(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return fault(path, "the path of the model contains a NUL byte");
  }
  OpenFile file;
  file.descriptor = Descriptor(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat info;
  if (!file.descriptor.valid() || ::fstat(file.descriptor.get(), &info) != 0) {
    return fault(path,
                 std::string("cannot open the model: ") + std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    return fault(path, "the model is not a regular file",
                 "a file of ONNX bytes",
                 S_ISDIR(info.st_mode) ? "a folder" : "a device");
  }
  file.id = {info.st_dev, info.st_ino};
  file.size = static_cast<std::uint64_t>(info.st_size);
  Result<std::unique_ptr<Mapping>> mapping =
      Mapping::map(file.descriptor.get(), file.size);
  if (!mapping) return fault(path, mapping.error().what);
  return std::make_shared<FileSource>(std::move(file), std::move(*mapping));
}

Result<std::unique_ptr<ir::Model>> read(const std::string& path,
                                        std::shared_ptr<FileSource> source,
                                        const std::string& directory,
                                        const LoadOptions& options) {
  if (source->bytes().empty()) return fault(path, "the model is empty");
  auto model = std::make_unique<ir::Model>();
  model->path = path;
  model->source = source;
  std::unique_ptr<ExternalFiles> external;
  if (!directory.empty() || options.give_data) {
    auto opened = ExternalFiles::open(directory, options.give_data);
    if (!opened) return opened.error();
    external = std::move(*opened);
    external->needs_files(options.needs_data);
  }
  Context context(*model, source->bytes());
  context.external = external.get();
  context.deadline = options.deadline;
  context.warnings = options.warnings;
  const bool ok = read_model(context);
  if (source->faulted()) {
    return fault(path, "the model was cut short while it was read");
  }
  if (!ok) return *std::move(context.error);
  if (external && external->any_use()) {
    external->sort_uses();
    for (const std::string_view location : external->missing()) {
      if (options.warnings == nullptr) break;
      options.warnings->push_back(
          fault(path, "external data is missing, and counts as not known", "",
                quoted_name(location)));
    }
    model->external = std::move(external);
  }
  return model;
}

}  // namespace

Result<std::unique_ptr<ir::Model>> load(const std::string& path,
                                        const LoadOptions& options) {
  auto source = open_source(path);
  if (!source) return source.error();
  return read(path, std::move(*source), folder_to_open(path), options);
}

Result<std::unique_ptr<ir::Model>> load_bytes(std::string bytes,
                                              const LoadOptions& options) {
  return read("", std::make_shared<FileSource>(std::move(bytes)),
              options.directory, options);
}

Result<std::unique_ptr<ir::Model>> load_borrowed(Bytes bytes,
                                                 const LoadOptions& options) {
  return read("", std::make_shared<FileSource>(bytes), options.directory,
              options);
}

Result<ir::Function*> add_function(ir::Model& model, std::string_view proto,
                                   ir::Op op) {
  const Bytes bytes = as_bytes(model.arena.copy(proto));
  Context context(model, bytes);
  Scope scope;
  if (!read_function(context, bytes, scope)) return *std::move(context.error);
  ir::Function& added = *model.functions.back();
  added.domain = op.domain;
  added.name = op.type;
  added.overload = op.overload;
  return &added;
}

Status check_intact(const ir::Model& model) {
  const FileSource* source = source_of(model);
  const ExternalFiles* external = files_of(model);
  if (source != nullptr && source->faulted()) {
    return fault(model.path, "the model was cut short while it was in use");
  }
  if (external != nullptr && external->faulted()) {
    return fault(model.path, "external data was cut short while it was in use");
  }
  return {};
}

void release_memory(const ir::Model& model) {
  if (const FileSource* source = source_of(model)) source->release();
  if (const ExternalFiles* files = files_of(model)) files->release();
}

bool holds_data(const ir::Model& model, const std::string& path) {
  const ExternalFiles* files = files_of(model);
  const auto there = existing(path);
  return files != nullptr && there && files->owns(there->id);
}

}  // namespace ruleengine::io
