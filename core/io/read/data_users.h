// Which data files a model refers to, found without loading it: it works for
// invalid models and for missing data. Only the bytes that lead to a reference
// are read. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace ruleengine::io {

// The locations as the model at `path` spells them, in no particular order;
// none for a file that is not a model.
std::vector<std::string> data_locations(const std::string& path);

// Whether a file in `folder` (which ends with a slash) refers to the file
// `name` there. In doubt, yes: for a file that must not be read, and for one
// that is named like a model, cannot be read as one and contains the name.
bool is_used_in(const std::string& folder, const std::string& name);

}  // namespace ruleengine::io
