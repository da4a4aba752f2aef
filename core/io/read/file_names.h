// The names of files beside a result OUT: its data file is OUT.data, or, while
// another file has that name, OUT.2.data, OUT.3.data and so on; an unfinished
// file is .ruleengine-<hash of OUT's name>-<anything>.tmp. Pure text.
#pragma once

#include <string>
#include <string_view>

namespace ruleengine::io {

std::string folder_of(const std::string& path);  // ends with a slash
std::string file_of(const std::string& path);    // what follows the last one

// The name of data file `number`, from 1 on.
std::string data_path(const std::string& result, unsigned number);
// Whether `location`, as given by a model at `result`, is one of those data
// files.
bool is_data_of(const std::string& result, std::string_view location);
// A location in its normal form: no "." or "..", no repeated slashes.
std::string plain_location(std::string_view location);

// The prefix of the temporary names of a result, without the folder.
std::string temporary_prefix(const std::string& result);
inline constexpr std::string_view kTemporaryPrefix = ".ruleengine-";

}  // namespace ruleengine::io
