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
  bool run = false;                // shows a run of the rules
  std::string target = "auto";     // of the run
};

std::optional<api::Form> form_of(const std::string& output) {
  if (output == "-") return api::Form::kSvg;
  const std::string form = std::filesystem::path(output).extension();
  if (form == ".svg") return api::Form::kSvg;
  if (form == ".html") return api::Form::kHtml;
  if (form == ".dot") return api::Form::kDot;
  return std::nullopt;
}

void check_output(const std::string& model, const DrawFlags& flags) {
  Diagnostic wrong{.kind = ErrorKind::kUsage, .where = flags.output};
  std::error_code error;
  if (!form_of(flags.output)) {
    wrong.what = "unknown kind of picture";
    wrong.expected = "-o FILE.svg, FILE.dot, FILE.html, or - for SVG";
  } else if (std::filesystem::equivalent(model, flags.output, error)) {
    wrong.what = "the picture would replace the model";
  } else {
    return;
  }
  throw api::Failure(wrong);
}

// Writes the picture, and says what it shows.
void write_picture(const std::string& path, const DrawFlags& flags,
                   const std::string& text, const std::string& what) {
  if (flags.output == "-") {
    put(text);
    return;
  }
  api::remove_leftovers(std::span(&flags.output, 1));
  check(api::write_file(flags.output, text));
  say(fmt::format("{}: {}, {}", printable(path), what,
                  printable(flags.output)));
}

std::unique_ptr<ir::Model> model_to_draw(const std::string& path,
                                         const DrawFlags& flags, Use use) {
  auto model = load_model(path, flags, use);
  if (api::holds_data(*model, flags.output)) {
    throw api::Failure(
        {.kind = ErrorKind::kUsage,
         .what = "the picture would replace the data of the model",
         .where = flags.output,
         .hint = "give the picture another name"});
  }
  run_first(*model, flags);
  return model;
}

api::DrawOptions draw_options(const std::string& path, const DrawFlags& flags) {
  return {.form = *form_of(flags.output),
          .name = printable(std::filesystem::path(path).filename().string()),
          .boxes = flags.boxes,
          .run = run_options(flags)};
}

void draw_run(const std::string& path, const DrawFlags& flags) {
  if (form_of(flags.output) != api::Form::kHtml) {
    throw misuse("a run is shown as a page", "-o FILE.html",
                 printable(flags.output));
  }
  auto options = rule_options(flags);
  api::RewriteOptions how{.rules = flags.rules,
                          .sets = std::move(options.sets),
                          .run = run_options(flags),
                          .limits = options.limits};
  how.run.target = flags.target;
  const auto rewriter = take(api::Rewriter::create(how));
  const std::shared_ptr<ir::Model> model =
      model_to_draw(path, flags, Use::kWhole);
  const auto drawn =
      take(api::draw_run(model, *rewriter, how, draw_options(path, flags)));
  write_picture(path, flags, drawn.text, counted(drawn.matches, "rewrite"));
}

void draw_one(const std::string& path, const DrawFlags& flags) {
  check_output(path, flags);
  if (flags.run) return draw_run(path, flags);
  api::LoadedRules rules;
  if (!flags.rules.empty()) rules = load_rules(flags.rules, flags);
  const auto model = model_to_draw(path, flags, Use::kLook);
  const auto drawn =
      take(api::draw(*model, rules.get(), draw_options(path, flags)));
  std::string said = counted(model->graph.live_node_count(), "node");
  if (!flags.rules.empty()) {
    said += ", " + counted(drawn.matches, "match", "matches");
  }
  write_picture(path, flags, drawn.text, said);
}

// Paths with --rule and without are sorted by what they are.
int draw(const DrawFlags& given) {
  DrawFlags flags = given;
  flags.paths.insert(flags.paths.end(), given.rules.begin(), given.rules.end());
  const auto paths = sort_paths(flags, Wants::kModelsAndRules);
  if (paths.models.size() > 1) {
    throw misuse("a picture shows one model only", "",
                 std::to_string(paths.models.size()) + " models");
  }
  flags.rules = paths.rules;
  draw_one(paths.models[0], flags);
  return 0;
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
              "the picture (- for stdout), a page to explore, or the input of "
              "Graphviz, which the first two need")
      .takes("FILE.svg|FILE.html|FILE.dot")
      .required();
  draw.option("--rule", flags.rules, "more rules").takes("RULE");
  draw.flag("--run", flags.run,
            "show a run of the rules: each rewrite, before and after, by rule");
  draw.option("--target", flags.target,
              "the form of the result of the run; auto")
      .takes("TARGET");
  draw.first(flags);
  draw.option(
          "--boxes", flags.boxes,
          "the most boxes in one picture, beyond which groups stay closed; 160")
      .whole(4, 100'000);
  draw.rules(flags);
}

}  // namespace ruleengine::cli
