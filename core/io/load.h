// ONNX bytes to a graph. The file is mapped, never read as a whole: weights
// stay where they are, and of external files only the size is checked.
// Everything that later steps rely on is checked here (encoding, names, order,
// shapes against bytes, functions, opsets); the meaning of ops is not. A model
// that is rejected gives one Diagnostic of kind kModel. Thread-safe; each Model
// belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::io {

// The bytes of the file of external data with this location, which live as long
// as the model; none: the caller does not have it.
using GiveData =
    std::function<Result<std::optional<std::span<const std::byte>>>(
        std::string_view location)>;

struct LoadOptions {
  // The folder of external data; load() uses the model's own folder.
  std::string directory;
  // Asked once for each location, before the folder; may be empty. A model from
  // memory that has neither has no external data.
  GiveData give_data;
  // When loading must end; a later end is a Diagnostic of kind kLimit.
  Deadline deadline;
  // What the standard forbids but ONNX Runtime accepts is read as ONNX Runtime
  // reads it, and reported here. May be null.
  std::vector<Diagnostic>* warnings = nullptr;
  // False: files of external data may be missing, with a warning for each. What
  // they hold is then not known. Such a model cannot be saved.
  bool needs_data = true;
};

// The newest file format that the engine reads.
inline constexpr std::int64_t kNewestIrVersion = 14;

// The file must be a regular one. It stays mapped and open until the Model is
// destroyed; see guard_mapping_faults() about files that are cut short
// meanwhile.
Result<std::unique_ptr<ir::Model>> load(const std::string& path,
                                        const LoadOptions& options = {});

// The same from memory; `bytes` moves into the Model.
Result<std::unique_ptr<ir::Model>> load_bytes(std::string bytes,
                                              const LoadOptions& options = {});
// The same from memory that outlives the Model.
Result<std::unique_ptr<ir::Model>> load_borrowed(
    std::span<const std::byte> bytes, const LoadOptions& options = {});

// Adds the function of an encoded FunctionProto under the name of `op`, and
// returns it.
Result<ir::Function*> add_function(ir::Model& model, std::string_view proto,
                                   ir::Op op);

// For programs that own their process. If a mapped file is cut short, a read
// past its end would end the process with SIGBUS; after this call it returns
// zeros and is recorded. Installs a signal handler, once; it passes on other
// faults.
void guard_mapping_faults();

// An error when a file of the model was cut short after load, so that some of
// what was read was not there.
Status check_intact(const ir::Model& model);

// Releases the memory of what was read of the model's files. They still have
// it; a later access loads it again.
void release_memory(const ir::Model& model);

// Whether the file at `path` holds external data of the model.
bool holds_data(const ir::Model& model, const std::string& path);

}  // namespace ruleengine::io
