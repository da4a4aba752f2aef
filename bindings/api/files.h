// Small files beside models: reports, measurements, traces.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/io/leftovers.h"
#include "core/io/load.h"
#include "core/io/staged.h"

namespace ruleengine::api {

using io::commit_all, io::holds_data, io::remove_leftovers;

// What a regular file holds; `found` of the error says why it cannot be read.
Result<std::string> read_text_file(const std::string& path);

// A file, written but not yet renamed into place.
Result<io::Staged> stage_text(const std::string& path, std::string_view text);

// Replaces the file as a whole.
Status write_file(const std::string& path, std::string_view text);

}  // namespace ruleengine::api
