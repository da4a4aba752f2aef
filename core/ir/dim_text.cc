#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "core/ir/polynomial.h"

namespace ruleengine::ir::dim_internal {
namespace {

bool starts_identifier(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '?' ||
         c == '.' || static_cast<unsigned char>(c) >= 0x80;
}

bool continues_identifier(char c) {
  return starts_identifier(c) || std::isdigit(static_cast<unsigned char>(c)) ||
         c == ':' || c == '[' || c == ']' || c == '#' || c == '$' || c == '@';
}

bool is_identifier(std::string_view text) {
  return !text.empty() && starts_identifier(text[0]) &&
         std::ranges::all_of(text, continues_identifier);
}

// expression := term (('+'|'-') term)*
// term       := factor (('*'|'//'|'/') factor)*      '/' where it is exact
// factor     := '-' factor | base ('**' integer)?
// base       := integer | name | `name` | '(' expression ')'
//             | ('max'|'min'|'Max'|'Min') '(' expression (',' expression)* ')'
class Parser {
 public:
  Parser(DimTable& table, Store& store, std::string_view text)
      : table_(table), store_(store), text_(text) {}

  std::optional<Dim> whole() {
    auto out = expression();
    space();
    return out && at_ == text_.size() ? out : std::nullopt;
  }

 private:
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view token) {
    space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  std::optional<Dim> expression() {
    if (++depth_ > kMaxDepth) return std::nullopt;
    auto left = term();
    while (left) {
      const bool minus = take("-");
      if (!minus && !take("+")) break;
      const auto right = term();
      if (!right) return std::nullopt;
      left = minus ? table_.sub(*left, *right) : table_.add(*left, *right);
    }
    --depth_;
    return left;
  }

  std::optional<Dim> term() {
    auto left = factor();
    while (left) {
      if (take("//")) {
        const auto right = factor();
        if (!right || *right == Dim(0)) return std::nullopt;
        left = table_.floor_div(*left, *right);
      } else if (take("/")) {
        const auto right = factor();
        left = right ? table_.exact_div(*left, *right) : std::nullopt;
      } else if (take("*")) {
        const auto right = factor();
        if (!right) return std::nullopt;
        left = table_.mul(*left, *right);
      } else {
        break;
      }
    }
    return left;
  }

  std::optional<Dim> factor() {
    int minus = 0;
    while (take("-")) ++minus;
    auto out = base();
    if (out && take("**")) {
      const auto power = integer();
      if (!power || *power < 0 || *power > kMaxDegree) return std::nullopt;
      const Dim one = *out;
      out = Dim(1);
      for (std::int64_t i = 0; i < *power; ++i) out = table_.mul(*out, one);
    }
    if (out && minus % 2 != 0) out = table_.neg(*out);
    return out;
  }

  std::optional<std::int64_t> integer() {
    space();
    std::int64_t value = 0;
    const char* end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + at_, end, value);
    if (error != std::errc() || value < 0) return std::nullopt;
    at_ = static_cast<std::size_t>(stop - text_.data());
    return value;
  }

  std::optional<Dim> base() {
    space();
    if (at_ == text_.size()) return std::nullopt;
    if (take("(")) {
      auto out = expression();
      return out && take(")") ? out : std::nullopt;
    }
    if (text_[at_] == '`') return quoted_name();
    if (starts_identifier(text_[at_])) return name();
    const auto value = integer();
    return value ? std::optional(Dim(*value)) : std::nullopt;
  }

  std::optional<Dim> quoted_name() {
    const std::size_t end = text_.find('`', at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return store_.named(name);
  }

  std::optional<Dim> name() {
    const std::size_t start = at_;
    while (at_ < text_.size() && in_name(at_)) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    const bool is_max = name == "max" || name == "Max";
    if ((is_max || name == "min" || name == "Min") && take("(")) {
      return arguments(is_max);
    }
    return store_.named(name);
  }

  // A hyphen between a letter and a letter is part of a name ("batch-size");
  // exporters put blanks around a minus.
  bool in_name(std::size_t i) const {
    if (continues_identifier(text_[i])) return true;
    const auto letter = [](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) != 0;
    };
    return text_[i] == '-' && i > 0 && i + 1 < text_.size() &&
           letter(text_[i - 1]) && letter(text_[i + 1]);
  }

  std::optional<Dim> arguments(bool is_max) {
    auto out = expression();
    while (out && take(",")) {
      const auto next = expression();
      if (!next) return std::nullopt;
      out = is_max ? table_.max(*out, *next) : table_.min(*out, *next);
    }
    return out && take(")") ? out : std::nullopt;
  }

  DimTable& table_;
  Store& store_;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<Dim> Store::parse(DimTable& table, std::string_view text) {
  if (is_identifier(text) || text.size() > 256) return std::nullopt;
  return Parser(table, *this, text).whole();
}

// `alone`: nothing stands around it, so it needs no quotes or brackets.
std::string Store::atom_text(std::uint32_t id, bool alone) const {
  const Atom& atom = *atoms_[id];
  switch (atom.kind) {
    case AtomKind::kSymbol:
      if (alone || is_identifier(atom.name)) return atom.name;
      return "`" + atom.name + "`";
    case AtomKind::kFresh:
    case AtomKind::kUnsaid:
      return "?" + std::to_string(atom.number);
    case AtomKind::kFloorDiv: {
      const std::string out =
          text(atom.arguments[0], 2) + "//" + text(atom.arguments[1], 2);
      return alone ? out : "(" + out + ")";
    }
    case AtomKind::kMin:
    case AtomKind::kMax: {
      std::vector<std::string> parts;
      for (Dim d : atom.arguments) parts.push_back(text(d, 0));
      std::ranges::sort(parts);
      return fmt::format("{}({})", atom.kind == AtomKind::kMin ? "min" : "max",
                         fmt::join(parts, ", "));
    }
  }
  return {};
}

std::string Store::term_text(const Monomial& m, std::int64_t magnitude,
                             bool alone) const {
  std::vector<std::string> parts;
  alone = alone && magnitude == 1 && m.degree == 1;
  for (const Factor& f : m.factors) {
    std::string one = atom_text(f.atom, alone);
    if (f.exponent > 1) one += "**" + std::to_string(f.exponent);
    parts.push_back(std::move(one));
  }
  std::sort(parts.begin(), parts.end(),
            [](const std::string& a, const std::string& b) {
              const bool x = a[0] == '(', y = b[0] == '(';
              return x != y ? y : a < b;
            });
  if (magnitude != 1 || parts.empty()) {
    parts.insert(parts.begin(), std::to_string(magnitude));
  }
  return fmt::format("{}", fmt::join(parts, "*"));
}

// Level 0: stands alone; 1: inside another expression; 2: an operand of //.
std::string Store::text(Dim d, int level) const {
  if (d.known()) return std::to_string(d.size());
  const Polynomial& p = *expressions_[d.id()];
  const bool alone = level == 0 && p.terms.size() == 1;
  struct Piece {
    std::uint32_t degree;
    bool minus;
    std::string text;
  };
  std::vector<Piece> pieces;
  for (const Term& t : p.terms) {
    const std::int64_t c = t.coefficient;
    pieces.push_back({t.monomial.degree, c < 0,
                      term_text(t.monomial, c < 0 ? -c : c, alone && c > 0)});
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    if (a.degree != b.degree) return a.degree > b.degree;
    return a.minus != b.minus ? b.minus : a.text < b.text;
  });
  std::string out;
  for (const Piece& piece : pieces) {
    if (out.empty()) {
      out = (piece.minus ? "-" : "") + piece.text;
    } else {
      out += (piece.minus ? " - " : " + ") + piece.text;
    }
  }
  const bool simple = p.terms.size() == 1 && p.terms[0].coefficient == 1 &&
                      p.terms[0].monomial.degree == 1;
  return level == 2 && !simple ? "(" + out + ")" : out;
}

}  // namespace ruleengine::ir::dim_internal
