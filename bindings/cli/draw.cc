// `ruleengine draw`: a model as a picture, with what rules match in it.

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <span>

#include "bindings/api/draw.h"
#include "bindings/api/draw_run.h"
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

Status check_output(const std::string& model, const DrawFlags& flags) {
  Diagnostic wrong{.kind = ErrorKind::kUsage, .where = flags.output};
  if (!form_of(flags.output)) {
    wrong.what = "unknown kind of picture";
    wrong.expected = "-o FILE.svg, FILE.dot, FILE.html, or - for SVG";
    return wrong;
  }
  std::error_code error;
  if (std::filesystem::equivalent(model, flags.output, error)) {
    wrong.what = "the picture would replace the model";
    return wrong;
  }
  return {};
}

// Writes the picture, and says what it shows.
Status write_picture(const std::string& path, const DrawFlags& flags,
                     const std::string& text, const std::string& what) {
  if (flags.output == "-") {
    put(text);
    return {};
  }
  api::remove_leftovers(std::span(&flags.output, 1));
  if (auto s = api::write_file(flags.output, text); !s) return s;
  say(fmt::format("{}: {}, {}", printable(path), what,
                  printable(flags.output)));
  return {};
}

Result<std::unique_ptr<ir::Model>> model_to_draw(const std::string& path,
                                                 const DrawFlags& flags,
                                                 Use use) {
  auto model = load_model(path, flags, use);
  if (model && api::holds_data(**model, flags.output)) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "the picture would replace the data of the model",
                      .where = flags.output,
                      .hint = "give the picture another name"};
  }
  return model;
}

api::DrawOptions draw_options(const std::string& path, const DrawFlags& flags) {
  return {.form = *form_of(flags.output),
          .name = printable(std::filesystem::path(path).filename().string()),
          .boxes = flags.boxes,
          .run = run_options(flags)};
}

Status draw_run(const std::string& path, const DrawFlags& flags) {
  if (form_of(flags.output) != api::Form::kHtml) {
    Diagnostic wrong =
        usage("a run is shown as a page", printable(flags.output));
    wrong.expected = "-o FILE.html";
    return wrong;
  }
  auto options = rule_options(flags);
  if (!options) return options.error();
  api::RewriteOptions how{.rules = flags.rules,
                          .sets = std::move(options->sets),
                          .run = run_options(flags),
                          .limits = options->limits};
  how.run.target = flags.target;
  auto rewriter = api::Rewriter::create(how);
  if (!rewriter) return rewriter.error();
  auto model = model_to_draw(path, flags, Use::kWhole);
  if (!model) return model.error();
  if (auto status = run_first(**model, flags); !status) return status;
  const auto drawn =
      api::draw_run(std::shared_ptr<ir::Model>(*std::move(model)), **rewriter,
                    how, draw_options(path, flags));
  if (!drawn) return drawn.error();
  return write_picture(path, flags, drawn->text,
                       fmt::format("{} rewrite{}", drawn->matches,
                                   drawn->matches == 1 ? "" : "s"));
}

Status draw_one(const std::string& path, const DrawFlags& flags) {
  if (auto status = check_output(path, flags); !status) return status;
  if (flags.run) return draw_run(path, flags);
  Result<api::LoadedRules> rules = api::LoadedRules();
  if (!flags.rules.empty()) rules = load_rules(flags.rules, flags);
  if (!rules) return rules.error();
  auto model = model_to_draw(path, flags, Use::kLook);
  if (!model) return model.error();
  if (auto status = run_first(**model, flags); !status) return status;
  const auto drawn =
      api::draw(**model, rules->get(), draw_options(path, flags));
  if (!drawn) return drawn.error();
  const std::size_t nodes = (*model)->graph.live_node_count();
  std::string said = fmt::format("{} node{}", nodes, nodes == 1 ? "" : "s");
  if (!flags.rules.empty()) {
    said += fmt::format(", {} match{}", drawn->matches,
                        drawn->matches == 1 ? "" : "es");
  }
  return write_picture(path, flags, drawn->text, said);
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
  draw.exact(flags);
}

}  // namespace ruleengine::cli
