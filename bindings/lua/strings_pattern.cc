#include "bindings/lua/strings_pattern.h"

#include <cctype>
#include <utility>

namespace ruleengine::lua {
namespace {

using Set = std::bitset<256>;

Diagnostic malformed(std::string what) {
  return {.kind = ErrorKind::kRule, .what = "malformed pattern: " + what};
}

// ASCII alone, whatever the locale says.
bool in_class(char letter, int c) {
  if (c > 127) return false;
  switch (letter) {
    case 'a':
      return std::isalpha(c) != 0;
    case 'c':
      return std::iscntrl(c) != 0;
    case 'd':
      return std::isdigit(c) != 0;
    case 'l':
      return std::islower(c) != 0;
    case 'p':
      return std::ispunct(c) != 0;
    case 's':
      return std::isspace(c) != 0;
    case 'u':
      return std::isupper(c) != 0;
    case 'w':
      return std::isalnum(c) != 0;
    case 'x':
      return std::isxdigit(c) != 0;
    default:
      return c == 0;  // z
  }
}

// What %LETTER stands for.
Set class_set(char letter) {
  Set set;
  const char lower =
      static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (std::string_view("acdlpsuwxz").find(lower) == std::string_view::npos) {
    set.set(static_cast<unsigned char>(letter));
    return set;
  }
  for (int c = 0; c < 256; ++c) {
    if (in_class(lower, c)) set.set(static_cast<std::size_t>(c));
  }
  return lower == letter ? set : ~set;
}

}  // namespace

class TextPatternCompiler {
 public:
  explicit TextPatternCompiler(std::string_view pattern) : text_(pattern) {}

  Result<TextPattern> compile(bool anchors) {
    if (text_.size() > TextPattern::kMaxLength) {
      return malformed("longer than 4096 bytes");
    }
    if (anchors && !text_.empty() && text_[0] == '^') {
      pattern_.anchored_ = true;
      ++at_;
    }
    while (at_ < text_.size()) {
      if (Status status = item(); !status) return status.error();
    }
    if (!open_.empty()) return malformed("a capture is not closed");
    return std::move(pattern_);
  }

 private:
  using Item = TextPattern::Item;
  using Kind = TextPattern::Kind;
  using Repeat = TextPattern::Repeat;

  bool more() const { return at_ < text_.size(); }
  char take() { return text_[at_++]; }

  Status item() {
    const char c = take();
    if (c == '(') return open();
    if (c == ')') return close();
    if (c == '$' && !more()) {
      pattern_.items_.push_back({.kind = Kind::kEnd});
      return {};
    }
    if (c == '%' && more()) {
      const char next = text_[at_];
      if (next == 'b') return balance();
      if (next == 'f') return frontier();
      if (next >= '0' && next <= '9') return back();
    }
    Item single;
    if (Status status = single_set(c, single.set); !status) return status;
    single.repeat = repeat();
    pattern_.items_.push_back(single);
    return {};
  }

  Status open() {
    if (captures_ == TextPattern::kMaxCaptures) {
      return malformed("more than 32 captures");
    }
    const bool position = more() && text_[at_] == ')';
    pattern_.items_.push_back({.kind = Kind::kOpen, .position = position});
    closed_.push_back(position);
    if (position) {
      ++at_;
    } else {
      open_.push_back(captures_);
    }
    ++captures_;
    return {};
  }

  Status close() {
    if (open_.empty()) return malformed("a ) without its (");
    closed_[static_cast<std::size_t>(open_.back())] = true;
    pattern_.items_.push_back(
        {.kind = Kind::kClose,
         .first = static_cast<unsigned char>(open_.back())});
    open_.pop_back();
    return {};
  }

  Status balance() {
    ++at_;
    if (text_.size() - at_ < 2) return malformed("%b wants two characters");
    Item item{.kind = Kind::kBalance};
    item.first = static_cast<unsigned char>(take());
    item.last = static_cast<unsigned char>(take());
    pattern_.items_.push_back(item);
    return {};
  }

  Status frontier() {
    ++at_;
    if (!more() || take() != '[') return malformed("%f wants a [set]");
    Item item{.kind = Kind::kFrontier};
    if (Status status = set(item.set); !status) return status;
    pattern_.items_.push_back(item);
    return {};
  }

  Status back() {
    const int index = take() - '1';
    if (index < 0 || index >= captures_ ||
        !closed_[static_cast<std::size_t>(index)]) {
      return malformed("a reference to a capture that is not there");
    }
    pattern_.items_.push_back(
        {.kind = Kind::kBack, .first = static_cast<unsigned char>(index)});
    return {};
  }

  Status single_set(char c, Set& into) {
    if (c == '.') {
      into.set();
      return {};
    }
    if (c == '[') return set(into);
    if (c != '%') {
      into.set(static_cast<unsigned char>(c));
      return {};
    }
    if (!more()) return malformed("it ends with %");
    into = class_set(take());
    return {};
  }

  // Behind the [.
  Status set(Set& into) {
    const bool negative = more() && text_[at_] == '^';
    if (negative) ++at_;
    for (bool first = true; true; first = false) {
      if (!more()) return malformed("a [ without its ]");
      const char c = take();
      if (c == ']' && !first) break;
      if (c == '%') {
        if (!more()) return malformed("it ends with %");
        into |= class_set(take());
      } else if (text_.size() - at_ >= 2 && text_[at_] == '-' &&
                 text_[at_ + 1] != ']') {
        const auto last = static_cast<unsigned char>(text_[at_ + 1]);
        at_ += 2;
        for (unsigned i = static_cast<unsigned char>(c); i <= last; ++i) {
          into.set(i);
        }
      } else {
        into.set(static_cast<unsigned char>(c));
      }
    }
    if (negative) into.flip();
    return {};
  }

  Repeat repeat() {
    if (!more()) return Repeat::kOnce;
    switch (text_[at_]) {
      case '*':
        ++at_;
        return Repeat::kMany;
      case '+':
        ++at_;
        return Repeat::kSome;
      case '-':
        ++at_;
        return Repeat::kFewest;
      case '?':
        ++at_;
        return Repeat::kMaybe;
      default:
        return Repeat::kOnce;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  TextPattern pattern_;
  int captures_ = 0;
  std::vector<int> open_;     // captures not closed yet, innermost last
  std::vector<bool> closed_;  // by capture
};

// One attempt after the other over one text. Recurses at choices alone, at
// most kMaxDepth deep.
class TextMatcher {
 public:
  TextMatcher(const TextPattern& pattern, std::string_view text,
              const TextPattern::Work& work)
      : items_(pattern.items_), text_(text), work_(work) {}

  // The end of a match that begins at `at`.
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

  // Items from `index` on, at `at`.
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

  // An item that fits in one way at most.
  End once(const Item& item, std::size_t at) {
    switch (item.kind) {
      case Kind::kSet:
        return fits(item, at) ? End(at + 1) : End();
      case Kind::kOpen: {
        found_.capture[static_cast<std::size_t>(found_.captures++)] = {
            at, 0, item.position, !item.position};
        return at;
      }
      case Kind::kClose: {
        TextPattern::Capture& capture = found_.capture[item.first];
        capture.size = at - capture.begin;
        capture.open = false;
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

  // A failed branch must not leave its captures behind.
  End branch(std::size_t index, std::size_t at) {
    const int captures = found_.captures;
    std::uint32_t open = 0;
    for (int i = 0; i < captures; ++i) {
      open |= std::uint32_t{found_.capture[static_cast<std::size_t>(i)].open}
              << i;
    }
    End end = rest(index, at);
    if (end) return end;
    found_.captures = captures;
    for (int i = 0; i < captures; ++i) {
      found_.capture[static_cast<std::size_t>(i)].open = (open >> i & 1) != 0;
    }
    return {};
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

Result<TextPattern> TextPattern::compile(std::string_view pattern,
                                         bool anchors) {
  return TextPatternCompiler(pattern).compile(anchors);
}

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
