// `ruleengine report MODEL`: the graph as a table, one row for each node in
// computation order, then the weights in use and the number of nodes of each
// op; or all of it as JSON.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bindings/api/contents.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

using api::Contents;
using Strings = std::vector<std::string>;

std::string joined(const Strings& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string readers_text(const Strings& readers) {
  constexpr std::ptrdiff_t kMost = 4;
  if (std::ssize(readers) <= kMost) return joined(readers);
  return fmt::format("{} and {} more",
                     fmt::join(readers.begin(), readers.begin() + kMost, ", "),
                     std::ssize(readers) - kMost);
}

// "x float[2,3], y float[N]".
std::string interface_text(const Contents& contents,
                           const std::vector<Contents::Value>& values) {
  Strings out;
  for (const Contents::Value& each : values) {
    out.push_back(each.name + " " + api::type_text(contents, each));
  }
  return printable(joined(out), 2000);
}

std::string nodes_text(const Contents& contents) {
  std::vector<Strings> rows = {
      {"op", "name", "inputs", "outputs", "attributes", "shapes"}};
  for (const Contents::Node& each : contents.nodes) {
    Strings outputs, shapes;
    for (const Contents::Value& value : each.outputs) {
      outputs.push_back(value.name.empty() ? "-" : value.name);
      shapes.push_back(api::type_text(contents, value));
    }
    rows.push_back({each.op, each.name, joined(each.inputs), joined(outputs),
                    joined(api::attribute_texts(contents, each)),
                    joined(shapes)});
  }
  return table(rows, columns_of_stdout());
}

std::string weights_text(const std::vector<Contents::Weight>& weights) {
  std::vector<Strings> rows = {
      {"weight", "dtype", "shape", "bytes", "readers"}};
  std::int64_t bytes = 0;
  for (const Contents::Weight& each : weights) {
    bytes += each.bytes;
    rows.push_back({each.name, each.dtype,
                    fmt::format("[{}]", fmt::join(each.shape, ",")),
                    std::to_string(each.bytes), readers_text(each.readers)});
  }
  return fmt::format("{}{}, {} bytes\n", table(rows),
                     counted(weights.size(), "weight"), bytes);
}

void print_contents(const Contents& contents) {
  show("inputs: {}\noutputs: {}\n\n{}\n",
       interface_text(contents, contents.inputs),
       interface_text(contents, contents.outputs), nodes_text(contents));
  if (!contents.weights.empty()) show("{}\n", weights_text(contents.weights));
  std::vector<Strings> rows = {{"op", "count"}};
  for (const auto& [op, count] : contents.ops) {
    rows.push_back({op, std::to_string(count)});
  }
  put(table(rows));
}

int report(const RuleFlags& flags) {
  const auto models = sort_paths(flags, Wants::kModels).models;
  const bool several = models.size() > 1;
  Json json = Json::array();
  for (const std::string& path : models) {
    const auto model = load_after_first(path, flags, Use::kLook);
    const auto contents = take(api::contents(*model, limits_of(flags)));
    if (flags.json) {
      json.push_back(api::to_json(path, contents));
      continue;
    }
    if (several) show("{}\n", printable(path));
    print_contents(contents);
  }
  if (flags.json) put(engine::json_text(several ? json : json[0]));
  return 0;
}

}  // namespace

void add_report(Line& line) {
  auto [report, flags] =
      line.add(cli::report, "report",
               "a model as a table of nodes, then its weights and ops",
               "ruleengine report model.onnx --first rules/canonical.lua");
  report.paths("MODEL", flags, "models");
  report.first(flags);
  report.flag("--json", flags.json, "as JSON");
  report.rules(flags);
}

}  // namespace ruleengine::cli
