// NumPy's .npz archives: tensors by name. Types that NumPy does not have are
// kept as its raw types (bfloat16 as two bytes, float8 as one); types below a
// byte have a byte for each element. The items of a sequence are NAME/0,
// NAME/1, ...; an optional without a value is left out. Errors are Diagnostics
// of kind kUsage for the file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "runtime/tensor.h"

namespace ruleengine::runtime {

using NamedData = std::vector<std::pair<std::string, Datum>>;

// In the order of the archive. Raw types of 1 and 2 bytes are kUint8 and
// kUint16 here; fit_types() says what they stand for. At most `limit` bytes are
// unpacked.
Result<NamedData> read_npz(const std::string& path, std::size_t limit);

// The bytes of an archive.
Result<std::string> npz_of(const NamedData& values);

}  // namespace ruleengine::runtime
