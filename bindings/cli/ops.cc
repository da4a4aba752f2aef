// `ruleengine ops [NAME]...`: the ops that the engine knows besides the
// standard's, and the classes of ops that patterns name.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/base/suggest.h"
#include "core/ops/row_text.h"

namespace ruleengine::cli {
namespace {

constexpr std::size_t kWidth = 116;

// Breaks at blanks into lines of at most kWidth; further lines are indented by
// two more.
std::string folded(std::string_view text, std::size_t indent) {
  std::string out;
  std::string line(indent, ' ');
  bool is_empty = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!is_empty && line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line.assign(indent + 2, ' ');
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + std::string(word);
    is_empty = false;
  }
  return out + line + "\n";
}

std::string entry(const ops::OpRow& row) {
  return folded(ops::signature(row), 0) +
         folded("= " + std::string(row.formula), 2);
}

std::string full_name(std::string_view domain, std::string_view type) {
  return domain.empty() ? std::string(type)
                        : fmt::format("{}.{}", domain, type);
}

// The entries of a domain, of an op, or of all.
std::string entries(std::string_view name) {
  std::string text, domain;
  for (const ops::OpRow* row : ops::all_rows()) {
    const bool is_asked = name.empty() || name == row->domain ||
                          name == row->type ||
                          name == full_name(row->domain, row->type);
    if (!ops::has_text(*row) || !is_asked) continue;
    if (row->domain != domain && name != row->domain) {
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", row->domain);
    }
    domain = row->domain;
    text += entry(*row);
  }
  return text;
}

std::string members(const ops::OpClass& of) {
  std::vector<std::string> names;
  for (const ops::OpName& op : of.ops) {
    names.push_back(full_name(op.domain, op.type));
  }
  return fmt::format("{}\n{}", of.name,
                     folded(fmt::format("{}", fmt::join(names, " ")), 2));
}

Diagnostic unknown(const std::string& name) {
  std::vector<std::string> known;
  for (const ops::OpClass& each : ops::op_classes())
    known.emplace_back(each.name);
  for (const ops::OpRow* row : ops::all_rows()) {
    if (ops::has_text(*row)) known.emplace_back(row->type);
  }
  return usage(fmt::format("no op, domain or class {}", quoted_name(name, 100)),
               "", suggestion(name, known));
}

int ops_verb(const Options& options) {
  if (options.paths.empty()) {
    put(entries(""));
    for (const ops::OpClass& each : ops::op_classes())
      put("\n" + members(each));
    return 0;
  }
  for (const std::string& name : options.paths) {
    const ops::OpClass* found = ops::find_op_class(name);
    const std::string text = found == nullptr ? entries(name) : members(*found);
    if (text.empty()) return fail(unknown(name));
    put(text);
  }
  return 0;
}

}  // namespace

void add_ops(Line& line) {
  VerbLine ops = line.add(ops_verb, "ops", "ops that are not the standard's",
                          "ruleengine ops tensor_cast");
  ops.option("NAME", line.options.paths, "domains, ops or classes of ops");
}

}  // namespace ruleengine::cli
