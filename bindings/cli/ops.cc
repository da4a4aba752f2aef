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

// The entries of a domain, of an op, or of all.
std::string entries(std::string_view name) {
  std::string text, domain;
  for (const api::OpText& op : api::described_ops()) {
    const bool is_asked = name.empty() || name == op.domain ||
                          name == op.type || name == op.domain + "." + op.type;
    if (!is_asked) continue;
    if (op.domain != domain && name != op.domain) {
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", op.domain);
    }
    domain = op.domain;
    text += folded(op.signature, 0, 2) + folded("= " + op.formula, 2, 4);
  }
  return text;
}

std::string members(const api::OpClassText& of) {
  return fmt::format("{}\n{}", of.name,
                     folded(fmt::format("{}", fmt::join(of.ops, " ")), 2, 4));
}

Diagnostic unknown(const std::string& name) {
  std::vector<std::string> known;
  for (const api::OpClassText& each : api::op_classes()) {
    known.push_back(each.name);
  }
  for (const api::OpText& op : api::described_ops()) known.push_back(op.type);
  return usage(fmt::format("no op, domain or class {}", quoted_name(name, 100)),
               "", suggestion(name, known));
}

int ops_verb(const Flags& flags) {
  const auto classes = api::op_classes();
  if (flags.paths.empty()) {
    put(entries(""));
    for (const api::OpClassText& each : classes) put("\n" + members(each));
    return 0;
  }
  for (const std::string& name : flags.paths) {
    const auto found =
        std::ranges::find(classes, name, &api::OpClassText::name);
    const std::string text =
        found == classes.end() ? entries(name) : members(*found);
    if (text.empty()) return fail(unknown(name));
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
