// The one form of every error and warning: what is wrong, where, what was
// expected, what was found, and a hint. A Diagnostic is a plain value. Safe on
// any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ruleengine {

enum class ErrorKind {
  kUsage,
  kModel,
  kRule,
  kLimit,
  kVerify,
  kWrite,
  kCancelled,  // the caller stopped the run
  kInternal,   // a bug in the engine
};

// What the caller can change so that it works. Each adapter adds how to say it
// there.
enum class Remedy {
  kNone,
  kTime,      // a higher limit of the time of the run
  kMemory,    // ... of the memory of Lua
  kTensors,   // ... of the memory of tensors
  kRewrites,  // ... of the number of rewrites
  kCallback,  // ... of the time of a callback
  kLoad,      // ... of the time to load a rule file
  kFolder,    // a folder for the results
  kInputs,    // other sizes of inputs, or arrays
  kRanks,     // a run on several ranks
  kDevice     // the CPU instead of a device
};

struct Diagnostic {
  ErrorKind kind = ErrorKind::kModel;
  std::string what;      // one clause, no full stop
  std::string where;     // "file.lua:12", "model.onnx: node 'Add_3'"; may be ""
  std::string expected;  // "" when there is nothing to compare
  std::string found;
  std::string hint;
  Remedy remedy = Remedy::kNone;

  // Several lines, the empty parts left out:
  //   error: WHAT
  //     where:    ...
  //     expected: ...
  //     found:    ...
  //     hint:     ...
  // No newline at the end. Control characters from models and rules are
  // escaped, so that hostile names cannot forge a line.
  std::string text() const;
};

// `text` with control characters and bytes that are not UTF-8 written as \xNN,
// cut after about `limit` bytes with "...".
std::string printable(std::string_view text, std::size_t limit = 200);
// The same between single quotes: a name in a message.
std::string quoted_name(std::string_view name, std::size_t limit = 200);

// `text` itself, cut between two characters after at most `limit` bytes, with
// "...". For names in messages and reports: a file may have names of any
// length, and a report repeats them for each node.
std::string shortened(std::string_view text, std::size_t limit = 1000);

}  // namespace ruleengine
