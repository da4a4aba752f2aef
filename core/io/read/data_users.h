// Which data files a model refers to, found without loading it: whatever else
// is wrong with it, and whether its data is there. Only the bytes that lead to
// a reference are read. Thread-safe.
#ifndef RULEENGINE_CORE_IO_READ_DATA_USERS_H_
#define RULEENGINE_CORE_IO_READ_DATA_USERS_H_

#include <string>
#include <vector>

namespace ruleengine::io {

// As the model at `path` spells them, in no order that means something; what is
// no model refers to nothing.
std::vector<std::string> data_locations(const std::string& path);

// Whether a file in `folder` (which ends with a slash) refers to `name` there.
// One that is named as a model and cannot be read as one does when it mentions
// the name at all, and one that may not be read does.
bool is_used_in(const std::string& folder, const std::string& name);

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_READ_DATA_USERS_H_
