// The table of the words of rule files. The types are LuaCATS; what the words
// mean stands in the pages under docs/. A test compares the table with what the
// sandbox has.

#include "bindings/lua/load/shipped.h"
#include "bindings/lua/reference.h"
#include "bindings/lua/sandbox/sandbox.h"

namespace ruleengine::lua {
namespace {

// re.Term: what stands for a value in a pattern.
// re.Operand: what stands for a value in `rewrite`.
// re.Captured: what a name of `match` stands for in `where` and `rewrite`.
constexpr WordClass kClasses[] = {
    {"", "Words|Pattern and replacement as two functions|The rule", "", ""},
    {"re.Pattern", "Words", "", ""},
    {"re.Any", "Words", ": re.Pattern",
     "---@overload fun(name: string): re.Pattern"},
    {"re.Value", "A value, `m.x`|In rules", "", ""},
    {"re.Shape", "A value, `m.x`", "",
     "---@field [integer] integer|re.Dim\n---@overload fun(value: re.Value, "
     "letters: string): boolean"},
    {"re.Dim", "Dimensions", ": integer", ""},
    {"re.Node", "A node, `m.step`|In rules", "", ""},
    {"re.Values", "", "",
     "---@field [integer] re.Value\n---@field [string] re.Value"},
    {"re.Graph", "The graph|In rules", "", ""},
    {"re.Match", "Words", "", "---@field [string] re.Captured"},
    {"re.Matches", "Words", "", "---@field [integer] re.Match"},
    {"re.Found", "Pattern and replacement as two functions", "", ""},
    {"re.Rule", "Keys of a rule", "", ""},
    {"re.Example", "Keys of an example", "", "---@field [integer] string"},
    {"re.Pack", "Packs and libs", "", "---@field [integer] string"}};

constexpr Word kWords[] = {
    {"", "rule", "fun(rule: re.Rule): re.Rule"},
    {"", "pack", "fun(pack: re.Pack): re.Pack"},
    {"", "lib", "fun(name: string): any"},
    {"", "either",
     "fun(first: re.Term|fun(): re.Pattern, ...: re.Term|fun(): re.Pattern): "
     "re.Pattern"},
    {"", "maybe",
     "fun(present: re.Term|fun(): re.Pattern, otherwise?: re.Term|fun(): "
     "re.Pattern): re.Pattern"},
    {"", "many",
     "fun(step: (fun(value: re.Pattern): re.Pattern), start: re.Term): "
     "re.Pattern"},
    {"", "context", "fun(pattern: re.Pattern): re.Pattern"},
    {"", "never", "fun(pattern: re.Pattern): re.Pattern"},
    {"", "any", "re.Any"},
    {"", "rest", "fun(name: string): re.Pattern"},
    {"", "need",
     "fun<T>(value: T?, reason?: string, culprit?: re.Captured, size?: "
     "integer|re.Dim, other?: integer|re.Dim): T"},
    {"", "refuse",
     "fun(condition: any, reason: string, node?: re.Captured, allowed?: "
     "boolean)"},
    {"", "assume", "fun(text: string, culprit?: re.Captured)"},
    {"", "float", "fun(number: number|number[]): any"},
    {"", "attempt", "fun(node: re.Node, edit: fun())"},
    {"", "replace_pattern",
     "fun(graph: re.Graph, pattern: (fun(op: re.MatchOps, ...: re.Pattern): "
     "re.Pattern), replacement: (fun(op: re.MatchOps, ...: re.Pattern): "
     "re.Pattern)): re.Found[]"},
    {"", "here", "fun(): string"},
    {"", "mistake",
     "fun(what: {what: string, place?: string, expected?: string, found?: "
     "string, hint?: string})"},
    {"", "blame", "fun(place: string?, f: function, ...: any): any"},
    {"", "known_ops", "fun(): string[]"},

    {"re.Pattern", "shape",
     "fun(self: re.Pattern, letters: string): re.Pattern"},
    {"re.Pattern", "rank", "fun(self: re.Pattern, axes: integer): re.Pattern"},
    {"re.Pattern", "dim",
     "fun(self: re.Pattern, axis: integer, size: string|integer): re.Pattern"},
    {"re.Pattern", "type",
     "fun(self: re.Pattern, ...: re.ElementType): re.Pattern"},
    {"re.Pattern", "const",
     "fun(self: re.Pattern, letters?: string): re.Pattern"},
    {"re.Pattern", "fits",
     "fun(self: re.Pattern, letters: string): re.Pattern"},
    {"re.Pattern", "as", "fun(self: re.Pattern, name: string): re.Pattern"},
    {"re.Pattern", "T", "re.Pattern"},

    {"re.Value", "shape", "re.Shape"},
    {"re.Value", "rank",
     "fun(self: re.Value): integer? | fun(self: re.Value, axes: integer): "
     "boolean"},
    {"re.Value", "dim",
     "fun(self: re.Value, axis: integer): (integer|re.Dim)? | fun(self: "
     "re.Value, axis: integer, size: string|integer): boolean"},
    {"re.Value", "fits", "fun(self: re.Value, letters: string): boolean"},
    {"re.Value", "dtype", "re.ElementType?"},
    {"re.Value", "type",
     "fun(self: re.Value): re.ElementType? | fun(self: re.Value, ...: "
     "re.ElementType): boolean"},
    {"re.Value", "const", "fun(self: re.Value, letters?: string): boolean"},
    {"re.Value", "scalar", "fun(self: re.Value): number?"},
    {"re.Value", "constant", "fun(self: re.Value): number[]?"},
    {"re.Value", "among", "fun(self: re.Value, ...: number): boolean"},
    {"re.Value", "dims", "fun(self: re.Value): (integer|re.Dim)[]?"},
    {"re.Value", "known", "fun(self: re.Value): re.Value?"},
    {"re.Value", "producer", "re.Node?"},
    {"re.Value", "users", "re.Node[]"},
    {"re.Value", "name", "string"},
    {"re.Value", "is_output", "boolean"},
    {"re.Value", "T", "re.Value"},
    {"re.Value", "layout",
     "{placement: \"replicated\"|\"partial\"|\"sharded\", ranks: integer[], "
     "axis?: integer}|nil"},
    {"re.Value", "replicated",
     "fun(self: re.Value, ranks: integer[]): boolean"},
    {"re.Value", "token_axis", "integer?"},
    {"re.Value", "replace_with", "fun(self: re.Value, value: re.Operand)"},

    {"re.Dim", "name", "string?"},
    {"re.Dim", "computed", "boolean"},
    {"re.Dim", "unknown", "boolean"},
    {"re.Dim", "rounded", "boolean"},

    {"re.Node", "op", "string"},
    {"re.Node", "domain", "string"},
    {"re.Node", "name", "string"},
    {"re.Node", "meta", "table<string, string>"},
    {"re.Node", "inputs", "re.Values"},
    {"re.Node", "outputs", "re.Values"},
    {"re.Node", "attrs", "table<string, any>"},
    {"re.Node", "attribute_names", "string[]"},
    {"re.Node", "with",
     "fun(self: re.Node, ...: re.Operand?): re.Value, ...: re.Value | "
     "fun(self: re.Node, node: table): re.Value, ...: re.Value"},
    {"re.Node", "replace_input",
     "fun(self: re.Node, old: re.Value, new: re.Operand): re.Value, ...: "
     "re.Value"},
    {"re.Node", "inline", "fun(self: re.Node): re.Value, ...: re.Value"},
    {"re.Node", "pruned", "fun(self: re.Node): re.Value?, ...: re.Value?"},
    {"re.Node", "along", "fun(self: re.Node, axis: integer): integer[]?"},

    {"re.Graph", "inputs", "re.Value[]"},
    {"re.Graph", "outputs", "re.Value[]"},
    {"re.Graph", "nodes",
     "fun(self: re.Graph, of?: string|{op?: string, domain?: string}): "
     "re.Node[]"},
    {"re.Graph", "equal_weights",
     "fun(self: re.Graph): {first: re.Value, second: re.Value}[]"},
    {"re.Graph", "known_values", "fun(self: re.Graph): re.Value[]"},
    {"re.Graph", "twins",
     "fun(self: re.Graph): {first: re.Node, second: re.Node}[]"},
    {"re.Graph", "calls", "fun(self: re.Graph): re.Node[]"},
    {"re.Graph", "single_calls", "fun(self: re.Graph): re.Node[]"},
    {"re.Graph", "residual_chains",
     "fun(self: re.Graph, options?: {slices?: boolean}): table[]"},

    {"re.Match", "options", "table<string, any>"},
    {"re.Match", "graph", "re.Graph"},

    {"re.Matches", "options", "table<string, any>"},
    {"re.Matches", "graph", "re.Graph"},
    {"re.Matches", "all", "fun(self: re.Matches, name: string): re.Captured[]"},

    {"re.Found", "anchor", "re.Node"},
    {"re.Found", "nodes", "re.Node[]|table<string, re.Node>"},
    {"re.Found", "values", "table<string, re.Value>"},

    {"re.Rule", "doc", "string?"},
    {"re.Rule", "match",
     "(fun(op: re.MatchOps, ...: re.Pattern): re.Pattern?, ...: re.Pattern?)?"},
    {"re.Rule", "where", "(fun(m: re.Match, op: re.BuildOps))?"},
    {"re.Rule", "rewrite", "(fun(op: re.BuildOps, m: any): any, ...: any)?"},
    {"re.Rule", "replace",
     "(fun(op: re.MatchOps, ...: re.Pattern): re.Pattern?, ...: re.Pattern?)?"},
    {"re.Rule", "lint", "boolean?"},
    {"re.Rule", "together", "(fun(m: re.Match): any, ...: any)?"},
    {"re.Rule", "pass",
     "(fun(graph: re.Graph, op: re.BuildOps, options: table<string, any>))?"},
    {"re.Rule", "body", "table<string, string|function>?"},
    {"re.Rule", "examples", "re.Example[]?"},
    {"re.Rule", "options", "table<string, boolean|number|string|string[]>?"},
    {"re.Rule", "name", "string?"},
    {"re.Rule", "phase", "re.Phase?"},
    {"re.Rule", "after", "string|string[]|nil"},
    {"re.Rule", "when",
     "(fun(graph: re.Graph, options: table<string, any>): boolean?)?"},
    {"re.Rule", "meta", "table<string, string>?"},
    {"re.Rule", "changes_meaning", "true|{abs?: number, rel?: number}|nil"},

    {"re.Example", "rejected", "string?"},
    {"re.Example", "warned", "string?"},
    {"re.Example", "matches", "boolean?"},
    {"re.Example", "assumed", "string?"},
    {"re.Example", "file", "string?"},
    {"re.Example", "options", "table<string, boolean|number|string>?"},
    {"re.Example", "changes_meaning", "true?"},

    {"re.Pack", "doc", "string?"},
    {"re.Pack", "options", "table<string, boolean|number|string>?"}};

}  // namespace

std::span<const WordClass> word_classes() { return kClasses; }
std::span<const Word> words() { return kWords; }

std::span<const std::string_view> reference_pages() {
  static constexpr std::string_view kPages[] = {"language.md", "tree.md",
                                                "ranks.md"};
  return kPages;
}

Result<std::filesystem::path> shipped_folder(const std::string& name) {
  std::error_code error;
  std::string all;
  for (const std::filesystem::path& rules : shipped_places(nullptr)) {
    const auto folder = (rules.parent_path() / name).lexically_normal();
    if (std::filesystem::is_directory(folder, error)) return folder;
    all += (all.empty() ? "" : ", ") + folder.string();
  }
  return Diagnostic{.kind = ErrorKind::kUsage,
                    .what = "a part of the installation is missing",
                    .expected = "the folder " + all};
}

}  // namespace ruleengine::lua
