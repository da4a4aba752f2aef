// What stays behind of results, and who may take it away: temporary names of
// runs that died, results that a newer one replaced, and the data files that
// nothing refers to any more. A file goes only when its name is one that we
// give beside that very result (file_names.h), no live run holds it (hold.h),
// and, of data, no model in the folder uses it. What cannot be told stays.
// Best effort: nothing here fails. Thread-safe.
#ifndef RULEENGINE_CORE_IO_LEFTOVERS_H_
#define RULEENGINE_CORE_IO_LEFTOVERS_H_

#include <span>
#include <string>

namespace ruleengine::io {

// What dead runs left of these results. Lists each of their folders once.
void remove_leftovers(std::span<const std::string> results);

// What `result` replaced, and waits under the name `temporary`, with the data
// that it alone used.
void remove_replaced(const std::string& temporary, const std::string& result);

// A data file, unless somebody uses it.
enum class Removal { kGone, kUsed, kHeld };
Removal remove_unused(const std::string& data);

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_LEFTOVERS_H_
