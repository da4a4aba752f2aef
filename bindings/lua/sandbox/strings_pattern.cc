// Matching, by backtracking over the items.
#include "bindings/lua/sandbox/strings_pattern.h"

namespace ruleengine::lua {

// Attempts at successive positions of a text. Recurses only at choices, at most
// kMaxDepth deep.
class TextMatcher {
 public:
  TextMatcher(const TextPattern& pattern, std::string_view text,
              const TextPattern::Work& work)
      : items_(pattern.items_), text_(text), work_(work) {}

  // The end of the match that begins at `at`.
  std::optional<std::size_t> match(std::size_t at) {
    found_.captures = 0;
    depth_ = 0;
    return rest(0, at);
  }
  bool gave_up() const { return gave_up_; }
  const TextPattern::Found& found() const { return found_; }

 private:
  using Item = TextPattern::Item;
  using Kind = TextPattern::Kind;
  using Repeat = TextPattern::Repeat;
  using End = std::optional<std::size_t>;

  bool step() {
    ++steps_;
    if (steps_ % 4096 == 0 && work_) work_(4096 * 4);
    if (steps_ > TextPattern::kMaxSteps) gave_up_ = true;
    return !gave_up_;
  }

  bool fits(const Item& item, std::size_t at) const {
    return at < text_.size() &&
           item.set.test(static_cast<unsigned char>(text_[at]));
  }

  // Matches the items from `index` on, at `at`.
  End rest(std::size_t index, std::size_t at) {
    if (++depth_ > TextPattern::kMaxDepth) gave_up_ = true;
    End end;
    while (true) {
      if (!step()) break;
      if (index == items_.size()) {
        end = at;
        break;
      }
      const Item& item = items_[index];
      if (item.kind == Kind::kSet && item.repeat != Repeat::kOnce) {
        end = repeated(item, index, at);
        break;
      }
      const End next = once(item, at);
      if (!next) break;
      at = *next;
      ++index;
    }
    --depth_;
    return end;
  }

  // Matches an item with at most one way to match.
  End once(const Item& item, std::size_t at) {
    switch (item.kind) {
      case Kind::kSet:
        return fits(item, at) ? End(at + 1) : End();
      case Kind::kOpen: {
        found_.capture[static_cast<std::size_t>(found_.captures++)] = {
            at, 0, item.position};
        return at;
      }
      case Kind::kClose: {
        TextPattern::Capture& capture = found_.capture[item.first];
        capture.size = at - capture.begin;
        return at;
      }
      case Kind::kBack:
        return back(found_.capture[item.first], at);
      case Kind::kBalance:
        return balance(item, at);
      case Kind::kFrontier: {
        const auto c = [&](std::size_t i) {
          return i < text_.size() ? static_cast<unsigned char>(text_[i])
                                  : std::size_t{0};
        };
        const std::size_t before = at == 0 ? 0 : c(at - 1);
        return !item.set.test(before) && item.set.test(c(at)) ? End(at) : End();
      }
      case Kind::kEnd:
        return at == text_.size() ? End(at) : End();
    }
    return {};
  }

  End back(const TextPattern::Capture& capture, std::size_t at) {
    if (capture.position) return {};
    steps_ += capture.size / 16;
    const std::string_view text = text_.substr(capture.begin, capture.size);
    if (text_.substr(at, capture.size) != text) return {};
    return at + capture.size;
  }

  End balance(const Item& item, std::size_t at) {
    if (at >= text_.size() ||
        static_cast<unsigned char>(text_[at]) != item.first) {
      return {};
    }
    std::size_t open = 1;
    for (std::size_t i = at + 1; i < text_.size(); ++i) {
      if (!step()) return {};
      const auto c = static_cast<unsigned char>(text_[i]);
      if (c == item.last) {
        if (--open == 0) return i + 1;
      } else if (c == item.first) {
        ++open;
      }
    }
    return {};
  }

  // A failed branch must not leave captures behind.
  End branch(std::size_t index, std::size_t at) {
    const int captures = found_.captures;
    const End end = rest(index, at);
    if (!end) found_.captures = captures;
    return end;
  }

  End repeated(const Item& item, std::size_t index, std::size_t at) {
    const std::size_t least = item.repeat == Repeat::kSome ? 1 : 0;
    if (item.repeat == Repeat::kFewest) {
      for (; step(); ++at) {
        if (End end = branch(index + 1, at)) return end;
        if (!fits(item, at)) return {};
      }
      return {};
    }
    std::size_t count = 0;
    const std::size_t most = item.repeat == Repeat::kMaybe ? 1 : text_.size();
    while (count < most && fits(item, at + count)) {
      if (!step()) return {};
      ++count;
    }
    for (; count + 1 > least && !gave_up_; --count) {
      if (End end = branch(index + 1, at + count)) return end;
      if (count == 0) break;
    }
    return {};
  }

  const std::vector<Item>& items_;
  std::string_view text_;
  const TextPattern::Work& work_;
  TextPattern::Found found_;
  std::uint64_t steps_ = 0;
  int depth_ = 0;
  bool gave_up_ = false;
};

Result<std::optional<TextPattern::Found>> TextPattern::find(
    std::string_view text, std::size_t from, const Work& work) const {
  TextMatcher matcher(*this, text, work);
  for (std::size_t at = from; at <= text.size(); ++at) {
    if (std::optional<std::size_t> end = matcher.match(at)) {
      Found found = matcher.found();
      found.begin = at;
      found.end = *end;
      return std::optional<Found>(found);
    }
    if (matcher.gave_up()) {
      return Diagnostic{.kind = ErrorKind::kLimit,
                        .what = "the string pattern is too complex",
                        .expected = "at most 2^22 steps and 180 open choices"};
    }
    if (anchored_) break;
  }
  return std::optional<Found>();
}

}  // namespace ruleengine::lua
