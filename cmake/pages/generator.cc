// Writes the man page and the completions for shells from the command line's
// own definition, and the stubs of the rule language: generator TEMPLATES DOCS
// FOLDER STUBS.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/api/reference.h"
#include "bindings/cli/verbs.h"
#include "cmake/pages/described.h"
#include "core/base/version.h"

namespace {

using ruleengine::cli::Described;
using Option = Described::Option;
using Words = std::vector<std::string>;
// Of a template, by their names in it.
using Texts = std::map<std::string, std::string>;

std::span<const Described> verbs_of(const std::vector<Described>& all) {
  return std::span(all).subspan(1);
}

Words split(std::string_view text, std::string_view at) {
  Words out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(at), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Each of `characters` behind a backslash.
std::string guarded(std::string_view text, std::string_view characters) {
  std::string out;
  for (const char c : text) {
    if (characters.find(c) != characters.npos) out += '\\';
    out += c;
  }
  return out;
}

bool is_small(char c) { return c >= 'a' && c <= 'z'; }

// What shells offer for a value; see Setting::takes(). Folders with all files.
struct Offer {
  Words words, endings;  // "any": all files; "/": none
};

Offer offer_of(const std::string& takes) {
  Offer out;
  for (const std::string& part : split(takes, "| []")) {
    if (is_small(part[0])) out.words.push_back(part);
    if (part == "MODEL")
      out.endings.insert(out.endings.end(), {"onnx", "onnxtxt"});
    if (part == "RULE") out.endings.push_back("lua");
    if (part == "FOLDER") out.endings.push_back("/");
    if (part == "FILE") out.endings.push_back("any");
    if (part.starts_with("FILE.")) out.endings.push_back(part.substr(5));
  }
  return out;
}

Words flag_values(const Option& option) { return split(option.instead, "|"); }

// What is not an option; nullptr: none.
const Option* arguments_of(const Described& verb) {
  const Option& first = verb.options.front();
  return first.names.empty() ? &first : nullptr;
}

// The man page.

std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '.' && out.empty()) out += "\\&";
    if (c == '\\' || c == '-') out += '\\';
    out += c == '\\' ? "e" : c == '\'' ? "\\(aq" : std::string(1, c);
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }

// Capitals stand for something, other words for themselves.
std::string value(const std::string& takes) {
  std::string out;
  bool inside = false;  // of a word
  for (const char c : takes) {
    const bool is_part = std::string_view("|[] ,=").find(c) == takes.npos;
    if (is_part && !inside) out += is_small(c) ? "\\fB" : "\\fI";
    if (!is_part && inside) out += "\\fR";
    out += roff({&c, 1});
    inside = is_part;
  }
  return inside ? out + "\\fR" : out;
}

// What is between backquotes is bold.
std::string prose(const std::string& text) {
  std::string out;
  bool quoted = false;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '`'); quoted = !quoted) {
    out += quoted ? bold(part) : roff(part);
  }
  return out + '\n';
}

// "RULE MODEL" says how many.
bool may_be_more(const Option& option) {
  return option.takes_rest && option.takes.find(' ') == std::string::npos;
}

std::string term(const Option& option) {
  std::string out;
  for (const std::string& name : option.names) {
    if (!out.empty()) out += ", ";
    out += bold(name);
  }
  if (!option.instead.empty()) out += "[=" + value(option.instead) + "]";
  if (!option.takes.empty()) {
    out += (out.empty() ? "" : " ") + value(option.takes);
  }
  if (may_be_more(option)) out += " ...";
  if (!option.bounds.empty()) out += " (" + roff(option.bounds) + ")";
  std::string what = option.what;
  if (option.required) what += "; needed";
  return ".TP\n" + out + '\n' + prose(what);
}

std::string usage_of(const Described& verb) {
  std::string out = bold("ruleengine " + verb.name) + " [\\fIOPTIONS\\fR]";
  for (const Option& each : verb.options) {
    if (each.required)
      out += ' ' + bold(each.names[0]) + ' ' + value(each.takes);
  }
  if (const Option* const arguments = arguments_of(verb)) {
    const std::string its = value(arguments->takes);
    out += may_be_more(*arguments) ? " [" + its + " ...]" : ' ' + its;
  }
  return out + '\n';
}

// The rows of the table of exit codes: "| 2 | Wrong usage. |".
std::string exit_codes(std::istream& page) {
  std::string out, line;
  while (std::getline(page, line)) {
    const Words cells = split(line, "|");
    if (cells.size() != 2 || line.find_first_of("0123456789") != 2) continue;
    out += ".TP\n" + bold(split(cells[0], " ")[0]) + '\n' +
           prose(cells[1].substr(1, cells[1].find_last_not_of(' ')));
  }
  return out;
}

Texts man_page(const std::vector<Described>& all, std::istream& promises) {
  Texts out = {{"version", std::string(ruleengine::kVersion)},
               {"codes", exit_codes(promises)}};
  for (const Option& each : all[0].options) out["options"] += term(each);
  for (const Described& verb : verbs_of(all)) {
    std::string& synopsis = out["synopsis"];
    synopsis += (synopsis.empty() ? "" : ".br\n") + usage_of(verb);
    std::string& text = out["commands"];
    text +=
        ".SS " + verb.name + '\n' + prose(verb.what) + ".PP\n" + usage_of(verb);
    for (const Option& each : verb.options) {
      if (each.names != all[0].options[0].names) text += term(each);
    }
    text += ".PP\nExample:\n.PP\n.RS 4\n.nf\n" + roff(verb.example) +
            "\n.fi\n.RE\n";
  }
  return out;
}

// Completions.

// As one word of bash or zsh.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + '\'';
}

std::string bash_offer(const Offer& offer) {
  return fmt::format("words='{}' files='{}'", fmt::join(offer.words, " "),
                     fmt::join(offer.endings, " "));
}

// An arm for each option that has a value.
std::string bash_verb(const Described& verb) {
  std::string names, arms;
  for (const Option& each : verb.options) {
    const char* const near = each.takes.empty() ? "="
                             : each.takes_rest  ? "[\\ =.]"
                                                : "[\\ =]";
    std::string arm;
    for (const std::string& name : each.names) {
      names += name + ' ';
      for (const std::string& other : flag_values(each)) {
        names += name + '=' + other + ' ';
      }
      if (!arm.empty()) arm += '|';
      arm += name + near;
    }
    Offer offer = offer_of(each.takes);
    if (each.takes.empty()) offer.words = flag_values(each);
    if (each.names.empty() || (each.takes.empty() && offer.words.empty())) {
      continue;
    }
    arms += fmt::format("        {}) {} ;;\n", arm, bash_offer(offer));
  }
  const Option* const arguments = arguments_of(verb);
  return fmt::format(
      "    {})\n      options='{}'\n      {}\n"
      "      case $option$near in\n{}      esac ;;\n",
      verb.name, names, bash_offer(offer_of(arguments ? arguments->takes : "")),
      arms);
}

Texts bash(const std::vector<Described>& all) {
  Texts out;
  for (const Option& each : all[0].options) {
    out["verbs"] += fmt::format("{} ", fmt::join(each.names, " "));
  }
  for (const Described& verb : verbs_of(all)) {
    out["verbs"] += verb.name + ' ';
    out["arms"] += bash_verb(verb);
  }
  return out;
}

std::string zsh_action(const Option& option) {
  const Offer offer = offer_of(option.takes);
  const std::string what = guarded(option.takes, ":\\");
  if (!offer.words.empty()) {
    return fmt::format("{}:({})", what, fmt::join(offer.words, " "));
  }
  if (offer.endings.empty()) return what + ": ";
  if (offer.endings.front() == "any") return what + ":_files";
  return fmt::format("{}:_files -g \"*.{}\"", what,
                     fmt::join(offer.endings, " *."));
}

std::string zsh_specs(const Described& verb) {
  std::string out;
  for (const Option& each : verb.options) {
    const std::string what = '[' + guarded(each.what, "[]\\:") + ']';
    const bool has_value = !each.takes.empty();
    if (each.names.empty()) {
      out += " \\\n        " + in_quotes("*:" + zsh_action(each));
    }
    for (const std::string& name : each.names) {
      std::string spec = each.repeats ? "*" : "";
      if (each.names.size() > 1) {
        spec = fmt::format("({})", fmt::join(each.names, " "));
      }
      spec += name;
      if (has_value && name.starts_with("--")) spec += '=';
      if (!each.instead.empty()) spec += "=-";
      spec += what;
      if (has_value) {
        spec += (each.takes_rest ? ":*-*:" : ":") + zsh_action(each);
      }
      if (!each.instead.empty()) {
        spec += fmt::format("::value:({})", fmt::join(flag_values(each), " "));
      }
      out += " \\\n        " + in_quotes(spec);
    }
  }
  return out;
}

Texts zsh(const std::vector<Described>& all) {
  Texts out = {{"program", zsh_specs(all[0])}};
  for (const Described& verb : verbs_of(all)) {
    out["verbs"] +=
        "\n      " + in_quotes(verb.name + ':' + guarded(verb.what, ":\\"));
    out["arms"] += fmt::format("    {})\n      _arguments{} ;;\n", verb.name,
                               zsh_specs(verb));
  }
  return out;
}

// Of an option or of the arguments.
std::string fish_values(const Option& option) {
  const Offer offer = offer_of(option.takes);
  if (!offer.words.empty()) {
    return fmt::format(" -a '{}'", fmt::join(offer.words, " "));
  }
  if (offer.endings.empty()) return "";
  return fmt::format(" -a '(__ruleengine_files {})'",
                     fmt::join(offer.endings, " "));
}

std::string fish_verb(const Described& verb, const std::string& name) {
  std::string out;
  for (const Option& each : verb.options) {
    out +=
        fmt::format("complete -c ruleengine -n '__ruleengine_verb {}'", name);
    for (const std::string& its : each.names) {
      const bool is_long = its.starts_with("--");
      out += (is_long ? " -l " : " -s ") + its.substr(is_long ? 2 : 1);
    }
    if (!each.names.empty()) {
      if (!each.takes.empty()) out += " -x";
      out += " -d '" + guarded(each.what, "'\\") + '\'';
    }
    out += fish_values(each) + '\n';
    for (const std::string& other : flag_values(each)) {
      out += fmt::format(
          "complete -c ruleengine -n '__ruleengine_option {}' -a '{}={}'\n",
          name, each.names[0], other);
    }
  }
  return out;
}

Texts fish(const std::vector<Described>& all) {
  Texts out = {{"lines", fish_verb(all[0], "\"\"")}};
  for (const Described& verb : verbs_of(all)) {
    out["lines"] += fmt::format(
        "complete -c ruleengine -n '__ruleengine_verb \"\"' -a {} -d '{}'\n{}",
        verb.name, guarded(verb.what, "'\\"), fish_verb(verb, verb.name));
  }
  return out;
}

// The template with the texts in place of their names between "@"; a text that
// has the line for itself ends it.
std::string filled(std::string text, const Texts& texts) {
  for (const auto& [name, its] : texts) {
    const std::string mark = '@' + name + '@';
    const std::size_t at = text.find(mark);
    const bool ends_line = its.ends_with('\n');
    text.replace(at, mark.size() + (ends_line ? 1 : 0), its);
  }
  return text;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  ruleengine::cli::Line line;
  for (ruleengine::cli::AddVerb* add : ruleengine::cli::kVerbs) add(line);
  const std::vector<Described> all = ruleengine::cli::describe(line);
  const std::filesystem::path templates = argv[1], docs = argv[2],
                              folder = argv[3];
  std::filesystem::create_directories(folder);
  std::istringstream promises(read(docs / "promises.md"));
  const std::pair<std::string, Texts> pages[] = {
      {"ruleengine.1", man_page(all, promises)},
      {"ruleengine.bash", bash(all)},
      {"_ruleengine", zsh(all)},
      {"ruleengine.fish", fish(all)}};
  for (const auto& [name, texts] : pages) {
    std::ofstream file(folder / name, std::ios::binary);
    file << filled(read(templates / (name + ".in")), texts) << std::flush;
    if (!file) return 1;
  }
  const auto stubs = ruleengine::api::language_stubs(docs.string());
  if (!stubs) {
    fmt::print(stderr, "{}: {}\n", stubs.error().what, stubs.error().found);
    return 1;
  }
  std::ofstream file(argv[4], std::ios::binary);
  file << *stubs << std::flush;
  return file ? 0 : 1;
}
