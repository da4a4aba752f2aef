// Lua patterns, bounded: a pattern is compiled into items and matched by
// backtracking with a step limit and a depth limit, so that no pattern and no
// text can run away. Knows nothing of lua_State: whoever matches is told of the
// work through a callback, which may end it by raising.
#ifndef RULEENGINE_BINDINGS_LUA_SANDBOX_STRINGS_PATTERN_H_
#define RULEENGINE_BINDINGS_LUA_SANDBOX_STRINGS_PATTERN_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
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
    bool position = false;  // "()": `begin` is the answer
    bool open = false;
  };
  struct Found {
    std::size_t begin = 0, end = 0;
    int captures = 0;
    std::array<Capture, kMaxCaptures> capture;
  };

  // `anchors`: a leading ^ is one (else it is a character, as in gmatch).
  static Result<TextPattern> compile(std::string_view pattern, bool anchors);

  // The first match at `from` or behind. `work` is told of steps now and then.
  // An error: the pattern takes too many steps on this text.
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
    bool position = false;              // kOpen
    unsigned char first = 0, last = 0;  // kBalance; kBack: first is the index
    Set set;
  };

  bool anchored_ = false;
  std::vector<Item> items_;
};

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_SANDBOX_STRINGS_PATTERN_H_
