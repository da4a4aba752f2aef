// `ruleengine ops [NAME]...`: the ops that the engine knows besides the
// standard's, and the classes of ops that patterns name.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "bindings/api/ops.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/base/suggest.h"

namespace ruleengine::cli {
namespace {

// "Add", "com.microsoft.Gelu".
std::string name_of(std::string_view domain, std::string_view type) {
  return fmt::format("{}{}{}", domain, domain.empty() ? "" : ".", type);
}

// The entries of a domain, of an op, or of all.
std::string entries(std::string_view name) {
  std::string text;
  std::string_view domain;
  for (const api::OpRow* op : api::all_rows()) {
    const bool is_asked = name.empty() || name == op->domain ||
                          name == op->type ||
                          name == name_of(op->domain, op->type);
    if (!is_asked || !api::has_text(*op)) continue;
    if (op->domain != domain && name != op->domain) {
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", op->domain);
    }
    domain = op->domain;
    text += folded(api::signature(*op), 0, 2) +
            folded(fmt::format("= {}", op->formula), 2, 4);
  }
  return text;
}

std::string members(const api::OpClass& of) {
  std::string ops;
  for (const api::OpName& op : of.ops) ops += " " + name_of(op.domain, op.type);
  return fmt::format("{}\n{}", of.name, folded(ops.substr(1), 2, 4));
}

api::Failure unknown(const std::string& name) {
  std::vector<std::string_view> known;
  for (const api::OpClass& each : api::op_classes()) known.push_back(each.name);
  for (const api::OpRow* op : api::all_rows()) {
    if (api::has_text(*op)) known.push_back(op->type);
  }
  return misuse(
      fmt::format("no op, domain or class {}", quoted_name(name, 100)), "", "",
      suggestion(name, known));
}

int ops_verb(const Flags& flags) {
  const auto classes = api::op_classes();
  if (flags.paths.empty()) {
    put(entries(""));
    for (const api::OpClass& each : classes) put("\n" + members(each));
    return 0;
  }
  for (const std::string& name : flags.paths) {
    const auto found = std::ranges::find(classes, name, &api::OpClass::name);
    const std::string text =
        found == classes.end() ? entries(name) : members(*found);
    if (text.empty()) throw unknown(name);
    put(text);
  }
  return 0;
}

}  // namespace

void add_ops(Line& line) {
  auto [ops, flags] =
      line.add(ops_verb, "ops", "ops that are not the standard's",
               "ruleengine ops tensor_cast");
  ops.paths("NAME", flags, "domains, ops or classes of ops");
}

}  // namespace ruleengine::cli
