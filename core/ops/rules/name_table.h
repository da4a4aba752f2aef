// A hash table of what has the domain and the type of an op. Internal to
// core/ops.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ruleengine::ops {

template <typename T>
class NameTable {
 public:
  // At most half full, so that a search ends after a probe or two.
  static constexpr std::size_t kMost = 512;

  constexpr void set(const T& thing) {
    slots_[slot(thing.domain, thing.type)] = &thing;
  }
  // nullptr where there is none.
  constexpr const T* find(std::string_view domain,
                          std::string_view type) const {
    return slots_[slot(domain, type)];
  }

 private:
  // Where the op is, or an empty slot.
  constexpr std::size_t slot(std::string_view domain,
                             std::string_view type) const {
    std::size_t at = hash(domain, type) % slots_.size();
    while (slots_[at] != nullptr &&
           (slots_[at]->type != type || slots_[at]->domain != domain)) {
      at = (at + 1) % slots_.size();
    }
    return at;
  }
  static constexpr std::uint32_t hash(std::string_view domain,
                                      std::string_view type) {
    std::uint32_t h = 2166136261u;
    for (char c : domain) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
    h = (h ^ 0xffu) * 16777619u;
    for (char c : type) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
    return h ^ (h >> 15);
  }

  std::array<const T*, 2 * kMost> slots_ = {};
};

}  // namespace ruleengine::ops
