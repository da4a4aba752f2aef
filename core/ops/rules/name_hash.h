// The hash of an op's name, for tables of ops. Internal to core/ops.
#pragma once

#include <cstdint>
#include <string_view>

namespace ruleengine::ops {

constexpr std::uint32_t name_hash(std::string_view domain,
                                  std::string_view type) {
  std::uint32_t h = 2166136261u;
  for (char c : domain) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  h = (h ^ 0xffu) * 16777619u;
  for (char c : type) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return h ^ (h >> 15);
}

}  // namespace ruleengine::ops
