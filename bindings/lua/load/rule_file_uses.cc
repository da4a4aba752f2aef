// How functions of a rule file use their match, and what they compare.
#include <algorithm>

#include "bindings/lua/load/rule_file_scan.h"

namespace ruleengine::lua {

const SourceScan::Function* SourceScan::find(std::string_view key,
                                             int line) const {
  const Function* found = nullptr;
  for (const Function& function : functions_) {
    if (function.line != line) continue;
    if (function.key == key) return &function;
    found = &function;
  }
  return found;
}

const SourceScan::Function* SourceScan::function_at(std::size_t body) const {
  const auto found =
      std::ranges::lower_bound(functions_, body, {}, &Function::begin);
  return found != functions_.end() && found->begin == body ? &*found : nullptr;
}

bool SourceScan::is_assigned(std::size_t i) const {
  // Only after one of these tokens a statement begins; otherwise an expression.
  if (i > 0) {
    const Token& before = tokens_[i - 1];
    const bool keyword = before.kind == Kind::kKeyword &&
                         (before.text == "then" || before.text == "do" ||
                          before.text == "else" || before.text == "end" ||
                          before.text == "repeat" || before.text == "nil" ||
                          before.text == "true" || before.text == "false");
    const bool closed =
        is(i - 1, ")") || is(i - 1, "]") || is(i - 1, "}") || is(i - 1, ";");
    const bool value = before.kind == Kind::kName ||
                       before.kind == Kind::kNumber ||
                       before.kind == Kind::kString;
    // Further names of a list: continues at its beginning.
    if (is(i - 1, ",")) {
      std::size_t first = i - 1;
      // Lua allows at most 200 names on the left of an assignment.
      for (int names = 0; names < 200 && first >= 3 && is(first - 2, ".") &&
                          tokens_[first - 3].kind == Kind::kName;
           ++names) {
        first -= 3;
        if (first == 0 || !is(first - 1, ",")) break;
        --first;
      }
      return first + 1 < i && !is(first, ",") && is_assigned(first);
    }
    if (!keyword && !closed && !value) return false;
  }
  while (tokens_[i].kind == Kind::kName && is(i + 1, ".") &&
         i + 3 < tokens_.size()) {
    if (is(i + 3, "=")) return true;
    if (!is(i + 3, ",")) return false;
    i += 4;
  }
  return false;
}

void SourceScan::note(std::size_t i, std::size_t name, bool written,
                      Uses& uses) const {
  const Token& token = at(name);
  if (token.kind != Kind::kName && token.kind != Kind::kString) return;
  const Use use{std::string(token.text), token.line};
  if (token.text == "options") {
    if (is(name + 1, ".") && at(name + 2).kind == Kind::kName) {
      uses.options.push_back({std::string(at(name + 2).text), token.line});
    }
    return;
  }
  (written && is_assigned(i) ? uses.writes : uses.reads).push_back(use);
  if (!written) return;
  std::string field;
  std::size_t end = name + 1;
  if (is(end, ".") && at(end + 1).kind == Kind::kName) {
    field = at(end + 1).text;
    end += 2;
  }
  const bool table = (is(end, "==") || is(end, "~=")) && is(end + 1, "{");
  const std::size_t literal = compared_literal(i, end);
  if (table) uses.compared.push_back({use, field, "{"});
  if (literal != 0 && !is(literal, "nil")) {
    uses.compared.push_back({use, field, literal_text(literal)});
  }
}

SourceScan::Uses SourceScan::uses(std::string_view key, int line,
                                  std::size_t parameter, bool list) const {
  Uses uses;
  const Function* function = find(key, line);
  if (function == nullptr || parameter >= function->parameters.size()) {
    return uses;
  }
  const std::string_view name = function->parameters[parameter];
  for (std::size_t i = function->begin; i < function->end; ++i) {
    // An inner function with a parameter of that name hides ours.
    const Function* inner = function_at(i);
    if (inner != nullptr && inner != function &&
        std::ranges::find(inner->parameters, name) != inner->parameters.end()) {
      i = inner->end;
    }
    const bool member = i > 0 && (is(i - 1, ".") || is(i - 1, ":"));
    if (tokens_[i].kind != Kind::kName || tokens_[i].text != name || member) {
      continue;
    }
    if (!list && is(i + 1, ".")) note(i, i + 2, true, uses);
    if (!list && is(i + 1, "[") && at(i + 2).kind == Kind::kString &&
        is(i + 3, "]")) {
      note(i, i + 2, false, uses);
    }
    if (list && is(i + 1, "[")) {
      const std::size_t behind = skip(i + 1);
      if (is(behind, ".")) note(i, behind + 1, false, uses);
    }
    if (list && is(i + 1, ":") && at(i + 2).text == "all") {
      note(i, is(i + 3, "(") ? i + 4 : i + 3, false, uses);
    }
  }
  return uses;
}

// --- comparisons that are never true ---

// Whether a list of names that contains `i` is declared or assigned here:
// `local x, y`, `for i, x in`, `x, y = 1, 2`.
bool SourceScan::is_bound(std::size_t i, bool in_brackets) const {
  constexpr int kMostNames = 200;  // in one list of names
  std::size_t first = i, last = i;
  for (int n = 0; n < kMostNames && is(first - 1, ","); ++n) first -= 2;
  for (int n = 0; n < kMostNames && is(last + 1, ","); ++n) last += 2;
  // In brackets it is a list of values, or the key of a table.
  return is(first - 1, "local") || is(first - 1, "for") ||
         is(i - 1, "function") || (!in_brackets && is(last + 1, "="));
}

// The names that are bound again somewhere in the function, in any scope.
std::set<std::string_view> SourceScan::names_bound_in(
    const Function& function) const {
  struct OpenBody {
    std::size_t end;
    int brackets = 0;
  };
  std::set<std::string_view> names;
  std::vector<OpenBody> bodies = {{function.end}};
  for (std::size_t i = function.begin; i < function.end; ++i) {
    while (i >= bodies.back().end) bodies.pop_back();
    const Function* inner = function_at(i);
    if (inner != nullptr && inner != &function) {
      names.insert(inner->parameters.begin(), inner->parameters.end());
      bodies.push_back({inner->end});
    }
    int& brackets = bodies.back().brackets;
    if (is(i, "{") || is(i, "(") || is(i, "[")) ++brackets;
    if (is(i, "}") || is(i, ")") || is(i, "]")) --brackets;
    if (tokens_[i].kind == Kind::kName && is_bound(i, brackets > 0)) {
      names.insert(tokens_[i].text);
    }
  }
  return names;
}

// The number of tokens of a number, a text, true, false or nil, with or without
// a sign.
std::size_t SourceScan::literal(std::size_t i) const {
  if (is(i, "-") && at(i + 1).kind == Kind::kNumber) return 2;
  const Token& token = at(i);
  return token.kind == Kind::kNumber || token.kind == Kind::kString ||
                 is(i, "nil") || is(i, "true") || is(i, "false")
             ? 1
             : 0;
}

std::string SourceScan::literal_text(std::size_t i) const {
  return (is(i, "-") ? "-" + std::string(at(i + 1).text)
                     : std::string(at(i).text));
}

// Whether the tokens [begin, end), a name and its fields, are one side of a
// comparison with a literal: the position of the literal. 0: no.
std::size_t SourceScan::compared_literal(std::size_t begin,
                                         std::size_t end) const {
  // Operators with higher precedence make another value.
  const auto binds = [&](std::size_t i) {
    static constexpr std::string_view kTight[] = {
        "+", "-", "*", "/", "%", "^", "..", "#", "not", ".", ":"};
    return std::ranges::any_of(kTight, [&](auto each) { return is(i, each); });
  };
  const auto equates = [&](std::size_t i) {
    return is(i, "==") || is(i, "~=");
  };
  if (equates(end) && literal(end + 1) != 0 && !binds(begin - 1)) {
    return end + 1;
  }
  const bool ends = !binds(end) && !is(end, "(") && !is(end, "{") &&
                    !is(end, "[") && at(end).kind != Kind::kString;
  if (!ends || !equates(begin - 1) || literal(begin - 2) != 1) return 0;
  // f "x" == y is a call of f.
  const Token& before = at(begin - 3);
  const bool argument = at(begin - 2).kind == Kind::kString &&
                        (before.kind == Kind::kName || is(begin - 3, ")") ||
                         is(begin - 3, "]") || before.kind == Kind::kString);
  return argument ? 0 : begin - 2;
}

std::vector<SourceScan::Comparison> SourceScan::comparisons(
    std::string_view key, int line) const {
  std::vector<Comparison> found;
  const Function* function = find(key, line);
  if (function == nullptr || function->key != key) return found;
  std::set<std::string_view> names(function->parameters.begin(),
                                   function->parameters.end());
  names.erase(function->parameters.empty() ? "" : function->parameters[0]);
  for (std::string_view bound : names_bound_in(*function)) names.erase(bound);
  for (std::size_t i = function->begin; i < function->end; ++i) {
    const Token& token = tokens_[i];
    if (token.kind != Kind::kName || !names.contains(token.text) ||
        is(i - 1, ".") || is(i - 1, ":")) {
      continue;
    }
    if (const std::size_t literal = compared_literal(i, i + 1)) {
      found.push_back(
          {{std::string(token.text), token.line}, {}, literal_text(literal)});
    }
  }
  return found;
}

}  // namespace ruleengine::lua
