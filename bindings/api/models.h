// Models from files, and back.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "bindings/api/limits.h"
#include "core/base/result.h"
#include "core/engine/fixed_sizes.h"
#include "core/io/load.h"
#include "core/io/save.h"
#include "core/io/staged.h"
#include "core/ir/model.h"

namespace ruleengine::api {

struct ModelOptions {
  Limits limits;
  engine::FixedSizes fixed;  // sizes that named dimensions get
  io::GiveData give_data;    // as in io::LoadOptions
  // False: external data may be missing, for models that are only looked at.
  bool needs_data = true;
  Warn warn;
};

bool is_model(const std::string& path);  // by its name; "-" is stdin's
bool is_text_model(const std::string& path);  // *.onnxtxt, or text on stdin

// The model of a file, or that of stdin (streams.h); it may grow by
// limits.memory.
Result<std::unique_ptr<ir::Model>> load_model(const std::string& path,
                                              const ModelOptions& options);

// A model in memory.
struct ModelBytes {
  std::string name;                  // in messages; its ending tells text
  std::span<const std::byte> bytes;  // they outlive the model
  std::string folder;                // of external data; "": none
};
Result<std::unique_ptr<ir::Model>> load_model(const ModelBytes& given,
                                              const ModelOptions& options);

// The bytes of a model's file.
Result<std::string> read_model_file(const std::string& path,
                                    const Deadline& deadline);

// A copy to rewrite, of the graph alone; the model must outlive it.
std::shared_ptr<ir::Model> copy_of(const ir::Model& model,
                                   const Limits& limits);

// To call before anything about a model is told or written: fails if its file
// has changed, or if the deadline has passed.
Status check_end(const ir::Model& model, const Deadline& deadline);

// A model as ONNX or, by the ending of the path, as text: written but not yet
// renamed into place. Fails if text cannot express everything in the model.
Result<io::Staged> stage_model(const ir::Model& model, const std::string& path,
                               bool share_data = false,
                               const Deadline& deadline = {});

// The same without a file.
using io::stream, io::stream_apart;

}  // namespace ruleengine::api
