#include "bindings/api/models.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "bindings/api/files.h"
#include "bindings/api/streams.h"
#include "core/text/parse.h"
#include "core/text/print.h"
#include "kernels/cpu.h"

namespace ruleengine::api {
namespace {

namespace fs = std::filesystem;

Diagnostic unreadable(const std::string& path, std::string why) {
  return {.kind = ErrorKind::kModel,
          .what = "the model cannot be read",
          .where = path,
          .found = std::move(why)};
}

std::string one_line(const Diagnostic& d) {
  std::string text = d.where + ": " + d.what;
  if (!d.found.empty()) text += ", found " + d.found;
  if (!d.expected.empty()) text += ", expected " + d.expected;
  if (!d.hint.empty()) text += "; " + d.hint;
  return text;
}

// A message of protobuf has control characters in its head: the tag of the
// ir_version is one.
bool is_text(std::string_view bytes) {
  return std::ranges::all_of(bytes.substr(0, 64), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= ' ' || byte == '\n' || byte == '\r' || byte == '\t';
  });
}

// What all models need, wherever they come from.
Result<std::unique_ptr<ir::Model>> ready(
    Result<std::unique_ptr<ir::Model>> model, const ModelOptions& options,
    const std::vector<Diagnostic>& warnings) {
  if (options.warn) {
    for (const Diagnostic& each : warnings) options.warn(one_line(each));
  }
  if (!model) return model;
  if (auto status = engine::fix_sizes(**model, options.fixed); !status) {
    return status.error();
  }
  (*model)->limit_growth(options.limits.memory);
  (*model)->evaluator = kernels::cpu_evaluator();
  return model;
}

}  // namespace

bool is_model(const std::string& path) {
  const fs::path ending = fs::path(path).extension();
  return path == "-" || ending == ".onnx" || ending == ".onnxtxt";
}

bool is_text_model(const std::string& path) {
  const auto given = standard_input(path);
  if (!given) return false;  // load_model() says why
  if (*given) return is_text(**given);
  return fs::path(path).extension() == ".onnxtxt";
}

Result<std::unique_ptr<ir::Model>> load_model(const std::string& path,
                                              const ModelOptions& options) {
  const Deadline& deadline = options.limits.deadline;
  const auto given = standard_input(path, deadline);
  if (!given) return given.error();
  if (*given) {
    return load_model({path, std::as_bytes(std::span(**given)), "."}, options);
  }
  if (is_text_model(path)) {
    const auto text = read_model_file(path, deadline);
    if (!text) return text.error();
    return load_model({path, std::as_bytes(std::span(*text)), ""}, options);
  }
  std::vector<Diagnostic> warnings;
  return ready(io::load(path, {.give_data = options.give_data,
                               .deadline = deadline,
                               .warnings = &warnings,
                               .needs_data = options.needs_data}),
               options, warnings);
}

Result<std::unique_ptr<ir::Model>> load_model(const ModelBytes& given,
                                              const ModelOptions& options) {
  const Deadline& deadline = options.limits.deadline;
  std::vector<Diagnostic> warnings;
  // Text models are written by hand. An unknown op in one may be a typing
  // error, which gets a warning and no error, since another runtime may know
  // the op.
  if (is_text_model(given.name)) {
    const std::string_view text(
        reinterpret_cast<const char*>(given.bytes.data()), given.bytes.size());
    return ready(
        text::parse_model(text, given.name,
                          {.warnings = &warnings, .deadline = deadline}),
        options, warnings);
  }
  auto model =
      io::load_borrowed(given.bytes, {.directory = given.folder,
                                      .give_data = options.give_data,
                                      .deadline = deadline,
                                      .warnings = &warnings,
                                      .needs_data = options.needs_data});
  if (model) {
    (*model)->path = given.name;
  } else if (model.error().where.empty()) {
    model.error().where = printable(given.name);
  }
  return ready(std::move(model), options, warnings);
}

Result<std::string> read_model_file(const std::string& path,
                                    const Deadline& deadline) {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return unreadable(path, error ? error.message() : "not a regular file");
  }
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return unreadable(path, error.message());
  std::ifstream file(path, std::ios::binary);
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size; at += kPiece) {
    if (Status s = deadline.check(); !s) return s.error();
    const std::size_t piece = std::min<std::size_t>(kPiece, size - at);
    if (!file.read(bytes.data() + at, static_cast<std::streamsize>(piece))) {
      return unreadable(path, "reading failed");
    }
  }
  return bytes;
}

std::shared_ptr<ir::Model> copy_of(const ir::Model& model,
                                   const Limits& limits) {
  auto copy = model.copy();
  copy->limit_growth(limits.memory);
  return copy;
}

Status check_end(const ir::Model& model, const Deadline& deadline) {
  if (auto status = io::check_intact(model); !status) return status;
  return deadline.check();
}

Result<io::Staged> stage_model(const ir::Model& model, const std::string& path,
                               bool share_data, const Deadline& deadline) {
  if (!is_text_model(path)) {
    return io::stage(model, path,
                     {.share_data = share_data, .deadline = deadline});
  }
  auto text = text::print_whole(model);
  if (text) return stage_text(path, *text);
  Diagnostic error = text.error();
  error.where = path;
  return error;
}

}  // namespace ruleengine::api
