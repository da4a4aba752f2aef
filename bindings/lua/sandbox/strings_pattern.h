// Lua patterns, bounded: a pattern is compiled into items and matched by
// backtracking with limits on steps and depth, so that matching always ends
// soon. Independent of lua_State: a callback is told about the work and may
// raise to end it.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace ruleengine::lua {

class TextPattern {
 public:
  static constexpr std::size_t kMaxLength = 4096;
  static constexpr int kMaxCaptures = 32;
  static constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 22;
  static constexpr int kMaxDepth = 180;

  struct Capture {
    std::size_t begin = 0;
    std::size_t size = 0;
    bool position = false;  // "()": the capture is the position `begin`
  };
  struct Found {
    std::size_t begin = 0, end = 0;
    int captures = 0;
    std::array<Capture, kMaxCaptures> capture;
  };

  // `anchors`: a leading ^ is an anchor (else a character, as in gmatch).
  static Result<TextPattern> compile(std::string_view pattern, bool anchors);

  // The first match at or after `from`. Calls `work` with the number of steps
  // from time to time. An error if the pattern takes too many steps on this
  // text.
  using Work = std::function<void(std::size_t steps)>;
  Result<std::optional<Found>> find(std::string_view text, std::size_t from,
                                    const Work& work) const;

  bool anchored() const { return anchored_; }

 private:
  friend class TextPatternCompiler;
  friend class TextMatcher;

  using Set = std::bitset<256>;
  enum class Kind : std::uint8_t {
    kSet,
    kOpen,
    kClose,
    kBack,
    kBalance,
    kFrontier,
    kEnd,
  };
  enum class Repeat : std::uint8_t { kOnce, kMany, kSome, kFewest, kMaybe };
  struct Item {
    Kind kind = Kind::kSet;
    Repeat repeat = Repeat::kOnce;
    bool position = false;  // kOpen
    unsigned char first = 0,
                  last = 0;  // kBalance; for kBack first is the index
    Set set;
  };

  bool anchored_ = false;
  std::vector<Item> items_;
};

}  // namespace ruleengine::lua
