// Opens files that a model names, inside the model's own folder only. The
// policy is that of the onnx library: a relative path without "..", no symbolic
// link in any component, a regular file with one hard link. The kernel checks
// the path (openat2) where it can; elsewhere each component is opened without
// following links. Creates and reads nothing. Thread-safe.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/io/descriptor.h"

namespace ruleengine::io {

// The identity of a file, independent of its name.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

struct OpenFile {
  Descriptor descriptor;
  FileId id;
  std::uint64_t size = 0;
};

// Who resolves the path: the kernel where it can, or this code (for tests).
enum class Walk : std::uint8_t { kKernel, kSteps };

// Opens `location` for reading below `folder` (a descriptor of a directory).
// The Diagnostic has no place: the caller knows the tensor.
Result<OpenFile> open_confined(int folder, std::string_view location,
                               Walk walk = Walk::kKernel);

// What is wrong with `location`; "" if nothing.
std::string location_fault(std::string_view location);

}  // namespace ruleengine::io
