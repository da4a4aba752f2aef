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
#include "core/io/leftovers.h"
#include "core/io/load.h"

namespace ruleengine::cli {
namespace {

std::optional<api::Form> form_of(const std::string& output) {
  const std::string form = std::filesystem::path(output).extension();
  if (form == ".svg") return api::Form::kSvg;
  if (form == ".html") return api::Form::kHtml;
  if (form == ".dot") return api::Form::kDot;
  return std::nullopt;
}

Status check_output(const std::string& model, const Options& options) {
  Diagnostic wrong{.kind = ErrorKind::kUsage, .where = options.output};
  if (!form_of(options.output)) {
    wrong.what = "unknown kind of picture";
    wrong.expected = "-o FILE.svg, FILE.dot or FILE.html";
    return wrong;
  }
  std::error_code error;
  if (std::filesystem::equivalent(model, options.output, error)) {
    wrong.what = "the picture would replace the model";
    return wrong;
  }
  return {};
}

Status draw_one(const std::string& path, const Options& options) {
  if (auto status = check_output(path, options); !status) return status;
  Result<api::LoadedRules> rules = api::LoadedRules();
  if (!options.rules.empty()) rules = load_rules(options.rules, options);
  if (!rules) return rules.error();
  auto model = load_model(path, options, Use::kLook);
  if (!model) return model.error();
  if (io::holds_data(**model, options.output)) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "the picture would replace the data of the model",
                      .where = options.output,
                      .hint = "give the picture another name"};
  }
  if (auto status = run_first(**model, options); !status) return status;
  const auto drawn = api::draw(
      **model, rules->get(),
      {.form = *form_of(options.output),
       .name = printable(std::filesystem::path(path).filename().string()),
       .boxes = options.boxes,
       .run = engine_options(options)});
  if (!drawn) return drawn.error();
  if (auto status = check_end(**model, options); !status) return status;
  io::remove_leftovers(std::span(&options.output, 1));
  if (auto status = api::write_file(options.output, drawn->text); !status) {
    return status;
  }
  const std::size_t nodes = (*model)->graph.live_node_count();
  std::string said = fmt::format("{} node{}", nodes, nodes == 1 ? "" : "s");
  if (!options.rules.empty()) {
    said += fmt::format(", {} match{}", drawn->matches,
                        drawn->matches == 1 ? "" : "es");
  }
  say(fmt::format("{}: {}, {}", printable(path), said,
                  printable(options.output)));
  return {};
}

// Paths with --rule and without are sorted by what they are.
int draw(const Options& options) {
  Options sorted = options;
  sorted.paths.insert(sorted.paths.end(), options.rules.begin(),
                      options.rules.end());
  auto paths = sort_paths(sorted, Wants::kModelsAndRules);
  if (!paths) return fail(paths.error());
  if (paths->models.size() > 1) {
    return fail({.kind = ErrorKind::kUsage,
                 .what = "a picture shows one model only",
                 .found = std::to_string(paths->models.size()) + " models"});
  }
  sorted.rules = paths->rules;
  if (auto status = draw_one(paths->models[0], sorted); !status) {
    return fail(status.error());
  }
  return 0;
}

}  // namespace

void add_draw(Line& line) {
  Options& o = line.options;
  VerbLine draw = line.add(
      cli::draw, "draw",
      "a model as a picture, with the matches of rules in colour",
      "ruleengine draw model.onnx -o model.html --rule rules/attention.lua");
  draw.option("paths", o.paths,
              "a model, and rules whose matches are coloured");
  draw.option("-o", o.output,
              "FILE.svg, FILE.html (a page to explore) or FILE.dot; "
              "the first two need Graphviz")
      .required();
  draw.option("--rule", o.rules, "more rules");
  draw.first();
  draw.option(
          "--boxes", o.boxes,
          "the most boxes in one picture, beyond which groups stay closed; 160")
      .whole(4, 100'000);
  draw.rules();
  draw.exact();
}

}  // namespace ruleengine::cli
