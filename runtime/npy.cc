#include "runtime/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/base/diagnostic.h"
#include "runtime/failure.h"
#include "runtime/memory.h"

namespace ruleengine::runtime {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Code {
  std::string_view code;
  DataType type;
};
// Little-endian, as every machine of ours is. What NumPy does not have comes
// last and is only written.
constexpr Code kCodes[] = {
    {"<f4", DataType::kFloat},          {"<f8", DataType::kDouble},
    {"<f2", DataType::kFloat16},        {"|b1", DataType::kBool},
    {"|i1", DataType::kInt8},           {"|u1", DataType::kUint8},
    {"<i2", DataType::kInt16},          {"<u2", DataType::kUint16},
    {"<i4", DataType::kInt32},          {"<u4", DataType::kUint32},
    {"<i8", DataType::kInt64},          {"<u8", DataType::kUint64},
    {"<c8", DataType::kComplex64},      {"<c16", DataType::kComplex128},
    {"|V2", DataType::kUint16},         {"<V2", DataType::kUint16},
    {"|V1", DataType::kUint8},          {"<V1", DataType::kUint8},
    {"|V2", DataType::kBfloat16},       {"|V1", DataType::kFloat8E4M3FN},
    {"|V1", DataType::kFloat8E4M3FNUZ}, {"|V1", DataType::kFloat8E5M2},
    {"|V1", DataType::kFloat8E5M2FNUZ}, {"|V1", DataType::kFloat8E8M0}};

[[noreturn]] void no_array(std::string what) {
  fail("the array cannot be read: " + std::move(what));
}

// The text behind 'key': in the header, up to the end of its value.
std::string_view field(std::string_view header, std::string_view key) {
  const std::size_t at = header.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos) no_array("its header is damaged");
  std::string_view rest = header.substr(at + key.size() + 2);
  rest.remove_prefix(std::min(rest.size(), rest.find(':') + 1));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest;
}

Dims shape_of(std::string_view header) {
  std::string_view rest = field(header, "shape");
  const std::size_t end = rest.find(')');
  if (!rest.starts_with('(') || end == std::string_view::npos) {
    no_array("its shape is damaged");
  }
  rest = rest.substr(1, end - 1);
  Dims out;
  while (!rest.empty()) {
    std::int64_t size = 0;
    const auto [next, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), size);
    if (error != std::errc() || size < 0) break;
    out.push_back(size);
    rest.remove_prefix(static_cast<std::size_t>(next - rest.data()));
    while (rest.starts_with(',') || rest.starts_with(' ') ||
           rest.starts_with('L')) {
      rest.remove_prefix(1);
    }
  }
  if (!rest.empty()) no_array("its shape is damaged");
  return out;
}

void append_utf8(String& out, std::uint32_t c) {
  const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  const std::uint32_t mark = more == 0 ? 0 : 0xff00u >> (more + 1);
  out += static_cast<char>(mark | c >> (6 * more));
  for (int i = more; i-- > 0;) {
    out += static_cast<char>(0x80 | (c >> (6 * i) & 63));
  }
}

// Code points of UTF-8; bytes that are not part of any stand for themselves.
std::vector<std::uint32_t> code_points(std::string_view text) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const auto more =
        static_cast<std::size_t>(std::clamp(std::countl_one(first), 1, 4) - 1);
    if (more == 0 || i + more >= text.size()) {
      out.push_back(first);
      ++i;
      continue;
    }
    std::uint32_t c = first & (0x3fu >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      c = c << 6 | (static_cast<unsigned char>(text[i + k]) & 63u);
    }
    out.push_back(c);
    i += more + 1;
  }
  return out;
}

constexpr std::uint32_t kLastCharacter = 0x10ffff;

Tensor strings_of(std::string_view code, std::string_view bytes, Shape dims,
                  HostMemory& memory) {
  std::size_t length = 0;
  const auto [stop, error] =
      std::from_chars(code.data() + 2, code.data() + code.size(), length);
  const auto count = static_cast<std::size_t>(count_of(dims));
  if (error != std::errc() || (length > bytes.size() && count > 0)) {
    no_array("its element type is damaged");
  }
  if (count == 0) length = 0;
  const bool is_unicode = code[1] == 'U';
  const std::size_t width = length * (is_unicode ? 4 : 1);
  if (width != 0 && bytes.size() / width < count) no_array("it is cut short");
  auto strings = memory.strings(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view from = bytes.substr(i * width, width);
    String& to = (*strings)[i];
    if (!is_unicode) {
      to = from.substr(0, from.find_last_not_of('\0') + 1);
      continue;
    }
    std::size_t end = 0;  // zeros after the last character are padding
    for (std::size_t k = 0; k < length; ++k) {
      std::uint32_t c;
      std::memcpy(&c, from.data() + 4 * k, 4);
      if (c > kLastCharacter) no_array("a character is not in Unicode");
      if (c == 0) continue;
      to.append(k - end, '\0');
      append_utf8(to, c);
      end = k + 1;
    }
  }
  return {dims, std::move(strings)};
}

// Elements that lie column by column, as if the shape were reversed.
void copy_columns(const char* from, std::byte* to, Shape dims,
                  std::size_t width) {
  Dims at(dims.size(), 0);
  const auto count = static_cast<std::size_t>(count_of(dims));
  Dims strides(dims.size(), 1);
  for (std::size_t i = 1; i < dims.size(); ++i) {
    strides[i] = strides[i - 1] * dims[i - 1];
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t place = 0;
    for (std::size_t k = 0; k < dims.size(); ++k) place += at[k] * strides[k];
    std::memcpy(to + i * width, from + static_cast<std::size_t>(place) * width,
                width);
    for (std::size_t k = dims.size(); k-- > 0;) {
      if (++at[k] < dims[k]) break;
      at[k] = 0;
    }
  }
}

std::string header_of(const std::string& code, Shape dims) {
  std::string shape;
  for (const std::int64_t d : dims) shape += std::to_string(d) + ",";
  std::string text = "{'descr': '" + code +
                     "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The elements start at a multiple of 64.
  const std::size_t before = kMagic.size() + 4;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(text.size() & 255);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

constexpr std::size_t kMostStringBytes = std::size_t{1} << 32;

std::string strings_npy(const Tensor& t) {
  std::size_t longest = 1;
  for (const String& each : t.strings()) {
    longest = std::max(longest, code_points(each).size());
  }
  const std::size_t count = t.strings().size();
  if (count > kMostStringBytes / 4 / longest) {
    fail_limit(Remedy::kNone,
               "an array of NumPy holds strings at the length of the longest",
               std::to_string(kMostStringBytes) + " bytes at most",
               std::to_string(count) + " of " + std::to_string(longest) +
                   " characters");
  }
  std::string out = header_of("<U" + std::to_string(longest), t.dims());
  out.reserve(out.size() + 4 * count * longest);
  for (const String& each : t.strings()) {
    auto characters = code_points(each);
    characters.resize(longest, 0);
    out.append(reinterpret_cast<const char*>(characters.data()), longest * 4);
  }
  return out;
}

}  // namespace

Tensor read_npy(std::string_view bytes, HostMemory& memory) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) {
    no_array("it is not in NumPy's format");
  }
  const bool is_old = bytes[6] == 1;
  std::size_t size = 0;
  for (std::size_t i = 0; i < (is_old ? 2u : 4u); ++i) {
    size |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[8 + i]))
            << (8 * i);
  }
  const std::size_t start = is_old ? 10 : 12;
  if (size > bytes.size() - start) no_array("it is cut short");
  const std::string_view header = bytes.substr(start, size);
  const std::string_view data = bytes.substr(start + size);
  std::string_view code = field(header, "descr");
  if (!code.starts_with('\'')) no_array("it has several fields");
  code = code.substr(1, code.find('\'', 1) - 1);
  const bool columns = field(header, "fortran_order").starts_with("True");
  const Dims dims = shape_of(header);
  if (code.starts_with("<U") || code.starts_with("|S")) {
    if (columns && dims.size() > 1) no_array("strings lie column by column");
    return strings_of(code, data, dims, memory);
  }
  const auto known = std::ranges::find(kCodes, code, &Code::code);
  if (known == std::end(kCodes)) {
    no_array("element type " + printable(code, 20));
  }
  const std::size_t wanted = bytes_of(known->type, count_of(dims));
  if (data.size() < wanted) no_array("it is cut short");
  auto block = memory.allocate(wanted);
  if (columns && dims.size() > 1) {
    copy_columns(data.data(), block.get(), dims, bytes_of(known->type, 1));
  } else {
    std::memcpy(block.get(), data.data(), wanted);
  }
  return {known->type, dims, std::move(block)};
}

std::string npy_of(const Tensor& t) {
  if (t.is_string()) return strings_npy(t);
  const auto code = std::ranges::find(kCodes, t.dtype(), &Code::type);
  if (code == std::end(kCodes)) {
    fail("an .npz file cannot hold the type", "a type of NumPy", t.text());
  }
  std::string out = header_of(std::string(code->code), t.dims());
  out.append(reinterpret_cast<const char*>(t.bytes().data()), t.byte_size());
  return out;
}

}  // namespace ruleengine::runtime
