// Removes what earlier runs left behind: temporary files of runs that died,
// results that were replaced, and data files that no model refers to any more.
// A file is removed only when its name is one that we make for that result
// (file_names.h), no live run holds it (descriptor.h), and, for data, no model
// in the folder uses it. In doubt it stays. Best effort: nothing here fails.
// Thread-safe.
#pragma once

#include <span>
#include <string>

namespace ruleengine::io {

// Removes what dead runs left of these results. Lists each of their folders
// once.
void remove_leftovers(std::span<const std::string> results);

// Removes the file that `result` replaced, now named `temporary`, and the data
// that only it used.
void remove_replaced(const std::string& temporary, const std::string& result);

// Removes a data file, unless it is in use.
enum class Removal { kGone, kUsed, kHeld };
Removal remove_unused(const std::string& data);

}  // namespace ruleengine::io
