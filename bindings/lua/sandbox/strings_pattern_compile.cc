// Compiles a Lua pattern into items.
#include <cctype>
#include <utility>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/strings_pattern.h"

namespace ruleengine::lua {
namespace {

using Set = std::bitset<256>;

Diagnostic malformed(std::string what) {
  return wrong("malformed pattern: " + what);
}

// ASCII only, independent of the locale.
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

// The characters that %LETTER stands for.
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
    if (text_.size() - at_ < 2) return malformed("%b needs two characters");
    Item item{.kind = Kind::kBalance};
    item.first = static_cast<unsigned char>(take());
    item.last = static_cast<unsigned char>(take());
    pattern_.items_.push_back(item);
    return {};
  }

  Status frontier() {
    ++at_;
    if (!more() || take() != '[') return malformed("%f needs a [set]");
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

  // Reads a set, after its "[".
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
    constexpr std::string_view kMarks = "*+-?";  // in the order of Repeat
    const std::size_t mark = more() ? kMarks.find(text_[at_]) : kMarks.npos;
    if (mark == kMarks.npos) return Repeat::kOnce;
    ++at_;
    return static_cast<Repeat>(mark + 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  TextPattern pattern_;
  int captures_ = 0;
  std::vector<int> open_;     // open captures, innermost last
  std::vector<bool> closed_;  // by capture
};

Result<TextPattern> TextPattern::compile(std::string_view pattern,
                                         bool anchors) {
  return TextPatternCompiler(pattern).compile(anchors);
}

}  // namespace ruleengine::lua
