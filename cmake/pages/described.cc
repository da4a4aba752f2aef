#include "cmake/pages/described.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace ruleengine::cli {
namespace {

Described::Option described(const CLI::Option& option) {
  Described::Option out;
  for (const auto& each : option.get_snames()) out.names.push_back("-" + each);
  for (const auto& each : option.get_lnames()) out.names.push_back("--" + each);
  const std::string type =
      option.get_items_expected_max() == 0 ? "" : option.get_type_name();
  const std::size_t colon = type.find(":[");
  out.takes = out.names.empty() ? option.get_name(true) : type.substr(0, colon);
  if (colon != type.npos) out.bounds = type.substr(colon + 2);
  if (!out.bounds.empty()) out.bounds.pop_back();
  out.instead = option.get_option_text();
  out.required = option.get_required();
  out.repeats =
      option.get_expected_max() == CLI::detail::expected_max_vector_size;
  out.takes_rest = out.repeats && option.get_allow_extra_args();
  out.what = option.get_description();
  return out;
}

Described described(const CLI::App& app) {
  Described out{.name = app.get_name(), .what = app.get_description()};
  const std::string footer = app.get_footer();
  if (footer.starts_with(Line::kExample)) {
    out.example = footer.substr(Line::kExample.size());
  }
  for (const CLI::Option* each : app.get_options()) {
    out.options.push_back(described(*each));
  }
  std::ranges::stable_partition(out.options, [](const Described::Option& each) {
    return each.names.empty();
  });
  return out;
}

}  // namespace

std::vector<Described> describe(const Line& line) {
  const CLI::App& app = line.app();
  std::vector<Described> out = {described(app)};
  for (const CLI::App* each : app.get_subcommands({})) {
    out.push_back(described(*each));
  }
  return out;
}

}  // namespace ruleengine::cli
