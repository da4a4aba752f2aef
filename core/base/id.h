// Strong 32-bit ids. An Id<Tag> indexes one dense array of its owner and is
// never a pointer; two tags never mix. Trivially copyable, no ownership, safe
// on any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace ruleengine {

template <typename Tag>
class Id {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t index) : index_(index) {}
  constexpr explicit Id(std::size_t index)
      : index_(static_cast<std::uint32_t>(index)) {}

  constexpr std::uint32_t index() const { return index_; }
  constexpr bool valid() const { return index_ != kNone; }
  constexpr explicit operator bool() const { return valid(); }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  std::uint32_t index_ = kNone;
};

// A string interned in a base::Names table.
using Name = Id<struct NameTag>;

}  // namespace ruleengine

template <typename Tag>
struct std::hash<ruleengine::Id<Tag>> {
  std::size_t operator()(ruleengine::Id<Tag> id) const noexcept {
    return id.index();
  }
};
