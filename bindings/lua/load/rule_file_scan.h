// Scan: facts about the text of a rule file that Lua does not keep when it
// runs: the line of a key, the names that a callback reads from its match,
// literals that rule code must not have. The text was compiled before, so it is
// well-formed. A plain value; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ruleengine::lua {

class SourceScan {
 public:
  explicit SourceScan(std::string_view text);

  // The line of the first literal that LuaJIT has and Lua does not (1LL, 2i);
  // 0: none.
  int foreign_literal_line() const { return foreign_literal_line_; }

  // Whether the name occurs anywhere, as a variable or a field.
  bool mentions(std::string_view name) const;

  // The line where `word` (rule, pack) is called; 0: none.
  int word_line(std::string_view word) const;
  // The line of `key = ` directly inside the table of `word` (rule, pack); 0:
  // none.
  int key_line(std::string_view word, std::string_view key) const;
  // The lines of the elements of the list at that key (with an empty key: of
  // the table itself).
  std::vector<int> element_lines(std::string_view word,
                                 std::string_view key) const;

  // The line of `["name"] = ` in the table at that key; 0: none.
  int entry_line(std::string_view word, std::string_view key,
                 std::string_view name) const;

  // For each element of that list: where in the text the last of its own
  // elements is written, with the quotes, if it is one string; else {0, 0}.
  using Place = std::pair<std::size_t, std::size_t>;
  std::vector<Place> last_strings(std::string_view word,
                                  std::string_view key) const;

  struct Use {
    std::string name;
    int line = 0;
  };
  // NAME == LITERAL or NAME.FIELD == LITERAL, or ~=, in either order.
  struct Comparison : Use {
    std::string field, literal;  // "{": a table
  };
  struct Uses {
    std::vector<Use> reads, writes;
    std::vector<Use> options;  // m.options.NAME
    // Comparisons with a literal other than nil, or with a table on the right.
    std::vector<Comparison> compared;
  };
  // How the function `key = function(...)`, or else the only one that begins on
  // `line`, uses its parameter number `parameter` (from 0). `list`: the
  // parameter is a list of matches (`ms[1].x`, `ms:all "x"`).
  Uses uses(std::string_view key, int line, std::size_t parameter,
            bool list) const;

  // The comparisons of parameters (except the first) with literals in the
  // function `key = function(...)` on that line. Skips names that are bound
  // again anywhere in it.
  std::vector<Comparison> comparisons(std::string_view key, int line) const;

  // A call of an op, with a list in parentheses or with a table.
  struct Call {
    std::string domain, type;
    int line = 0;
    std::vector<Use> attributes;  // keys that are plain names
  };
  // The ops that `key = function(...)` on that line calls through its first
  // parameter, unless its name is bound again.
  std::vector<Call> calls(std::string_view key, int line) const;

 private:
  enum class Kind : char { kName, kKeyword, kNumber, kString, kSymbol, kEnd };
  struct Token {
    Kind kind = Kind::kEnd;
    std::string_view text;  // for a string: without the quotes
    int line = 0;
    std::uint32_t quotes = 0;  // bytes of a string's quotes, on each side
    // Of an opening bracket, or of `function`: the token after its end.
    std::size_t after = 0;
  };
  struct Function {
    std::size_t word = 0;            // the token `function`
    std::size_t begin = 0, end = 0;  // tokens of the body
    int line = 0;
    std::vector<std::string_view> parameters;
    std::string_view key;  // `key = function`
  };

  friend class SourceReader;
  void find_functions();
  void link_brackets();
  const Token& at(std::size_t i) const {
    return tokens_[i < tokens_.size() ? i : tokens_.size() - 1];
  }
  // Files are scanned at each start, so the first letter is compared first.
  bool is(std::size_t i, std::string_view symbol) const {
    const Token& token = at(i);
    return (token.kind == Kind::kSymbol || token.kind == Kind::kKeyword) &&
           token.text.front() == symbol.front() && token.text == symbol;
  }
  std::size_t table_of(std::string_view word) const;
  // The first token in the table that is a list; 0: none.
  std::size_t list_of(std::string_view word, std::string_view key) const;
  // The first token of each element of that list.
  std::vector<std::size_t> elements(std::string_view word,
                                    std::string_view key) const;
  Place last_string(std::size_t table) const;
  std::size_t key_value(std::string_view word, std::string_view key) const;
  const Function* find(std::string_view key, int line) const;
  const Function* function_at(std::size_t body) const;
  bool is_bound(std::size_t i, bool in_brackets) const;
  std::set<std::string_view> names_bound_in(const Function& function) const;
  std::size_t literal(std::size_t i) const;
  std::string literal_text(std::size_t i) const;
  std::size_t compared_literal(std::size_t begin, std::size_t end) const;
  // The token after `i`, or after the brackets or the function there.
  std::size_t skip(std::size_t i) const {
    return tokens_[i].after != 0 ? tokens_[i].after : i + 1;
  }
  Call call_at(std::size_t i) const;
  // The position of the `=` after the list of names that begins at `i`; 0:
  // none.
  bool is_assigned(std::size_t i) const;
  void note(std::size_t i, std::size_t name, bool written, Uses& uses) const;

  std::string_view text_;
  std::vector<Token> tokens_;  // ends with a kEnd
  std::vector<Function> functions_;
  int foreign_literal_line_ = 0;
};

}  // namespace ruleengine::lua
