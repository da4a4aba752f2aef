// What std::filesystem does not survive: memory that runs out. Its
// directory_iterator ends the process there.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace ruleengine {

// Throws std::bad_alloc for an error that says that memory ran out.
void check_memory(const std::error_code& error);

// The names in a folder, sorted, without "." and "..". Throws std::bad_alloc.
std::vector<std::string> names_in(const std::filesystem::path& folder,
                                  std::error_code& error);

}  // namespace ruleengine
