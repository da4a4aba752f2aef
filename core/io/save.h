// Writes a graph as ONNX bytes. The result appears whole or not at all: the
// data file first, the model last, both by rename; on failure nothing is left
// and existing files are intact. What did not change is streamed from the
// source.
//
// An unchanged model is written byte for byte. Its external data is not touched
// when the result is in the model's own folder (the same bytes name the same
// files). For another folder the data files are copied under the names in the
// model, if those are plain names that no other file there has; else the data
// goes into OUT.data, and only the references differ.
//
// A changed model with external data gets its own copy of what it still uses in
// OUT.data, beside large new tensors; with share_data OUT.data has only the new
// ones. A model without external data keeps everything inside, except that a
// result over protobuf's 2 GiB, from a source below it, has large initializers
// in OUT.data. Thread-safe; the model must not change meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/io/staged.h"
#include "core/ir/model.h"

namespace ruleengine::io {

struct SaveOptions {
  // Refer to the model's own data files instead of copying them. The result
  // must then be in the same folder (else kUsage).
  bool share_data = false;
  // Wait for the disk before the files get their names.
  bool sync = false;
  // Looked at between pieces.
  Deadline deadline;
};

// Error kinds: kUsage when `path` is the model itself or one of its data files,
// kWrite when it cannot be written, kModel when the source was cut short.
Status save(const ir::Model& model, const std::string& path,
            const SaveOptions& options = {});

// Like save, but without the final names: everything is written, and appears
// with Staged::commit().
Result<Staged> stage(const ir::Model& model, const std::string& path,
                     const SaveOptions& options = {});

// Receives the size of a message, and then its bytes, in pieces. An error of
// either ends the writing.
struct SizedSink {
  std::function<Status(std::uint64_t size)> size;
  std::function<Status(std::span<const std::byte>)> bytes;
};

// The ModelProto in pieces; external data stays where it is. kWrite where rules
// made it larger than a message of protobuf may be.
Status stream(const ir::Model& model, const SizedSink& sink);
// The same, but new tensors of more than 1 KiB are apart: the message refers to
// them as external data at `location`, and `data` receives them, if there are
// any.
Status stream_apart(const ir::Model& model, const std::string& location,
                    const SizedSink& message, const SizedSink& data);
// The message of stream() as one string.
Result<std::string> serialize(const ir::Model& model);

}  // namespace ruleengine::io
