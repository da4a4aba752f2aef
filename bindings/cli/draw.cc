// `ruleengine draw`: a model as a picture, with what rules match in it.

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <span>

#include "bindings/api/draw.h"
#include "bindings/api/files.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

struct DrawFlags : RuleFlags {
  std::string output;
  std::vector<std::string> rules;  // whose matches are coloured
  std::uint64_t boxes = 160;       // the most in one picture
};

std::optional<api::Form> form_of(const std::string& output) {
  const std::string form = std::filesystem::path(output).extension();
  if (form == ".svg") return api::Form::kSvg;
  if (form == ".html") return api::Form::kHtml;
  if (form == ".dot") return api::Form::kDot;
  return std::nullopt;
}

Status check_output(const std::string& model, const DrawFlags& flags) {
  Diagnostic wrong{.kind = ErrorKind::kUsage, .where = flags.output};
  if (!form_of(flags.output)) {
    wrong.what = "unknown kind of picture";
    wrong.expected = "-o FILE.svg, FILE.dot or FILE.html";
    return wrong;
  }
  std::error_code error;
  if (std::filesystem::equivalent(model, flags.output, error)) {
    wrong.what = "the picture would replace the model";
    return wrong;
  }
  return {};
}

Status draw_one(const std::string& path, const DrawFlags& flags) {
  if (auto status = check_output(path, flags); !status) return status;
  Result<api::LoadedRules> rules = api::LoadedRules();
  if (!flags.rules.empty()) rules = load_rules(flags.rules, flags);
  if (!rules) return rules.error();
  auto model = load_model(path, flags, Use::kLook);
  if (!model) return model.error();
  if (api::holds_data(**model, flags.output)) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "the picture would replace the data of the model",
                      .where = flags.output,
                      .hint = "give the picture another name"};
  }
  if (auto status = run_first(**model, flags); !status) return status;
  const auto drawn = api::draw(
      **model, rules->get(),
      {.form = *form_of(flags.output),
       .name = printable(std::filesystem::path(path).filename().string()),
       .boxes = flags.boxes,
       .run = run_options(flags)});
  if (!drawn) return drawn.error();
  api::remove_leftovers(std::span(&flags.output, 1));
  if (auto status = api::write_file(flags.output, drawn->text); !status) {
    return status;
  }
  const std::size_t nodes = (*model)->graph.live_node_count();
  std::string said = fmt::format("{} node{}", nodes, nodes == 1 ? "" : "s");
  if (!flags.rules.empty()) {
    said += fmt::format(", {} match{}", drawn->matches,
                        drawn->matches == 1 ? "" : "es");
  }
  say(fmt::format("{}: {}, {}", printable(path), said,
                  printable(flags.output)));
  return {};
}

// Paths with --rule and without are sorted by what they are.
int draw(const DrawFlags& given) {
  DrawFlags flags = given;
  flags.paths.insert(flags.paths.end(), given.rules.begin(), given.rules.end());
  auto paths = sort_paths(flags, Wants::kModelsAndRules);
  if (!paths) return fail(paths.error());
  if (paths->models.size() > 1) {
    return fail({.kind = ErrorKind::kUsage,
                 .what = "a picture shows one model only",
                 .found = std::to_string(paths->models.size()) + " models"});
  }
  flags.rules = paths->rules;
  auto status = draw_one(paths->models[0], flags);
  return status ? 0 : fail(status.error());
}

}  // namespace

void add_draw(Line& line) {
  auto [draw, flags] = line.add(
      cli::draw, "draw",
      "a model as a picture, with the matches of rules in colour",
      "ruleengine draw model.onnx -o model.html --rule rules/attention.lua");
  draw.paths("MODEL|RULE", flags,
             "a model, and rules whose matches are coloured");
  draw.option("-o", flags.output,
              "the picture, a page to explore, or the input of Graphviz, "
              "which the first two need")
      .takes("FILE.svg|FILE.html|FILE.dot")
      .required();
  draw.option("--rule", flags.rules, "more rules").takes("RULE");
  draw.first(flags);
  draw.option(
          "--boxes", flags.boxes,
          "the most boxes in one picture, beyond which groups stay closed; 160")
      .whole(4, 100'000);
  draw.rules(flags);
  draw.exact(flags);
}

}  // namespace ruleengine::cli
