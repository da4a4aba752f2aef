#include "bindings/lua/example_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "bindings/lua/code/code_literal.h"
#include "bindings/lua/load/rule_file_scan.h"
#include "core/text/equivalent.h"
#include "core/text/lines.h"
#include "core/text/parse.h"
#include "core/text/print.h"
#include "core/text/words.h"

namespace ruleengine::lua {
namespace {

constexpr text::PrintOptions kWhole{
    .max_elements = std::numeric_limits<std::int64_t>::max()};
constexpr std::size_t kLongestLine = 80;

// The constants that the rule made, and the nodes, a line each or several.
std::string nodes_of(const ir::Model& before, const ir::Model& found) {
  std::string out;
  const ir::Graph& graph = found.graph;
  std::set<std::string_view> known;
  for (const ir::ValueId v :
       before.graph.block(ir::Graph::main_block()).initializers) {
    known.insert(before.graph.name(v));
  }
  for (const ir::ValueId v :
       graph.block(ir::Graph::main_block()).initializers) {
    const ir::Value& value = graph.value(v);
    if (value.removed || value.tensor == nullptr) continue;
    if (known.contains(graph.name(v))) continue;
    out += fmt::format("{} = Constant <value = {}> ()\n",
                       text::name_text(graph.name(v)),
                       text::tensor_text(*value.tensor, nullptr, kWhole));
  }
  // Names that new nodes got say nothing in an example.
  const auto nameless = found.copy();
  for (const ir::NodeId node : nameless->graph.live_nodes()) {
    nameless->graph.mutable_node(node).name = {};
  }
  const std::string all = text::print(*nameless, kWhole);
  std::string_view rest = all;
  rest.remove_prefix(std::min(rest.find(" {\n"), rest.size() - 3) + 3);
  rest = rest.substr(0, rest.find("\n}") + 1);
  while (!rest.empty()) {
    std::string_view line = text::take_line(rest);
    if (line.starts_with("  ")) line.remove_prefix(2);
    out += std::string(line) + "\n";
  }
  return out;
}

// How the text stands in Lua, in a line that is indented so far.
std::string literal_of(std::string_view lines, std::size_t indent) {
  std::string joined;
  bool is_simple = true;
  for (std::string_view rest = lines; !rest.empty();) {
    const std::string_view line = text::take_line(rest);
    is_simple = is_simple && !line.starts_with(' ');
    joined += (joined.empty() ? "" : " ") + std::string(line);
  }
  if (is_simple && joined.size() <= kLongestLine &&
      joined.find_first_of("\"\\") == std::string::npos) {
    return '"' + joined + '"';
  }
  const std::string margin(indent, ' ');
  std::string out = "\n";
  for (std::string_view rest = lines; !rest.empty();) {
    const std::string_view line = text::take_line(rest);
    out += margin + "  " + std::string(line) + "\n";
  }
  return code_long_text(out + margin);
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string option_text(const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return in_quotes(*text);
  if (const auto* flag = std::get_if<bool>(&value)) {
    return *flag ? "true" : "false";
  }
  return fmt::format("{:.17g}", std::get<double>(value));
}

std::size_t indent_at(std::string_view source, std::size_t at) {
  const std::size_t line = source.rfind('\n', at) + 1;
  return std::min(source.find_first_not_of(' ', line), at) - line;
}

}  // namespace

std::optional<std::string> expected_text(const ir::Model& before,
                                         std::string_view before_text,
                                         const ir::Model& found) {
  const auto says_it = [&](std::string_view nodes) {
    const auto again =
        text::parse_after(before, before_text, nodes, {}, {.check_ops = true});
    return again && !text::difference(**again, found);
  };
  if (std::string nodes = nodes_of(before, found); says_it(nodes)) return nodes;
  auto whole = text::print_whole(found);
  if (whole && says_it(*whole)) return *std::move(whole);
  return std::nullopt;
}

std::string left_alone_example(
    std::string_view title, std::string_view before,
    const std::map<std::string, OptionValue>& options, bool is_lint) {
  std::string out =
      fmt::format("{{ {}, {},\n", in_quotes(title), literal_of(before, 2));
  if (!options.empty()) {
    out += "  options = {";
    for (const auto& [name, value] : options) {
      out += fmt::format("[{}] = {}, ", in_quotes(name), option_text(value));
    }
    out += "},\n";
  }
  return out +
         (is_lint ? "  matches = false },\n" : "  rejected = \"why\" },\n");
}

std::string with_new_texts(std::string_view source,
                           std::vector<NewText>& texts) {
  std::ranges::sort(texts, {}, &NewText::example);
  const auto places = SourceScan(source).last_strings("rule", "examples");
  std::string out;
  std::size_t done = 0;
  for (NewText& each : texts) {
    if (each.example >= places.size()) continue;
    const auto [begin, end] = places[each.example];
    if (begin == end) continue;
    out += source.substr(done, begin - done);
    out += literal_of(each.text, indent_at(source, begin));
    done = end;
    each.written = true;
  }
  return out.append(source.substr(done));
}

}  // namespace ruleengine::lua
