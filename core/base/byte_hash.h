// A hash of bytes that is the same on every machine and in every version:
// FNV-1a. For names of files and seeds, not against attackers.
#pragma once

#include <cstdint>
#include <string_view>

namespace ruleengine {

constexpr std::uint64_t byte_hash(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace ruleengine
