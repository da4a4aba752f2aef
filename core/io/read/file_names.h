// The names that stand beside a result OUT: its data file is OUT.data, or, as
// long as another file has that name, OUT.2.data, OUT.3.data and so on; what is
// not whole yet is .ruleengine-<hash of OUT's name>-<anything>.tmp. Pure text.
#ifndef RULEENGINE_CORE_IO_READ_FILE_NAMES_H_
#define RULEENGINE_CORE_IO_READ_FILE_NAMES_H_

#include <string>
#include <string_view>

namespace ruleengine::io {

std::string folder_of(const std::string& path);  // ends with a slash
std::string file_of(const std::string& path);    // what follows the last one

// The name of data file `number`, from 1 on.
std::string data_path(const std::string& result, unsigned number);
// Whether a model at `result` that names its data `location` means one of
// those.
bool is_data_of(const std::string& result, std::string_view location);
// How a location is written without detours.
std::string plain_location(std::string_view location);

// What the temporary names of a result begin with, without the folder.
std::string temporary_prefix(const std::string& result);
inline constexpr std::string_view kTemporary = ".ruleengine-";

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_READ_FILE_NAMES_H_
