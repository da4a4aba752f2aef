// ONNX bytes to a graph. The file is mapped, never read as a whole: weights
// stay where they are, those in external files are not even opened beyond a
// look at their size. Everything that a later step relies on is checked here
// (encoding, names, order, shapes against bytes, functions, opsets); what ops
// mean is not. A model that is not accepted gives one Diagnostic of kind
// kModel. Any thread; each Model belongs to one thread at a time.
#ifndef RULEENGINE_CORE_IO_LOAD_H_
#define RULEENGINE_CORE_IO_LOAD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::io {

struct LoadOptions {
  // Where external data is looked for; load() uses the model's own folder,
  // load_bytes() accepts no external data without it.
  std::string directory;
  // When it has to be over; else it is a Diagnostic of kind kLimit.
  Deadline deadline;
  // What the standard says no to and ONNX Runtime reads all the same is read as
  // there, and noted here. May be null.
  std::vector<Diagnostic>* warnings = nullptr;
};

// The newest file format that is understood.
inline constexpr std::int64_t kNewestIrVersion = 14;

// The file must be a regular one. Keeps it mapped and open until the Model
// ends; see guard_mapping_faults() about files that are cut short meanwhile.
Result<std::unique_ptr<ir::Model>> load(const std::string& path,
                                        const LoadOptions& options = {});

// The same from memory; `bytes` moves into the Model.
Result<std::unique_ptr<ir::Model>> load_bytes(std::string bytes,
                                              const LoadOptions& options = {});

// For programs that own their process: from now on, reading what is no longer
// there of a file that somebody cut short while it was mapped gives zeros and
// is noted, where it would end the process with SIGBUS. Installs a handler,
// once, that passes on faults which are not ours.
void guard_mapping_faults();

// Whether all that was read of the model's files was really there: an error
// when one of them was cut short since load.
Status check_intact(const ir::Model& model);

// Whether the file at `path` is one that the model's external data lies in.
bool holds_data(const ir::Model& model, const std::string& path);

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_LOAD_H_
