// Bytes that are the same on every machine: the keys of plans, and their files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ruleengine::kernels::cuda {

class ByteWriter {
 public:
  void number(std::int64_t value);
  void text(std::string_view value);  // with its size before it
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what a ByteWriter wrote; nullopt where the bytes are too few.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  std::optional<std::int64_t> number();
  std::optional<std::string_view> text();
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace ruleengine::kernels::cuda
