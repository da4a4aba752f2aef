// `ruleengine new NAME`: a rule file to start from; with --from one that is
// written from nodes of a model.

#include <fmt/format.h>

#include <filesystem>

#include "bindings/api/draft.h"
#include "bindings/api/files.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

namespace fs = std::filesystem;

struct NewFlags : RuleFlags {
  std::vector<std::string> from;  // a model, then nodes
};

// NAME, which may end with .lua and have a folder in front.
fs::path file_of(const NewFlags& flags) {
  if (flags.paths.size() != 1) {
    throw misuse("expected one name of a rule", "", "", flags.example);
  }
  fs::path file = flags.paths[0];
  if (file.extension() != ".lua") file += ".lua";
  take(api::op_of_rule(file.stem().string()));
  std::error_code none;
  if (fs::exists(fs::symlink_status(file, none))) {
    throw misuse("the file is there already", "", file.string(),
                 "give the rule another name, or remove the file");
  }
  return file;
}

// Says what the rule is shown to do. The exit code is 1 if its example fails,
// or if it does not fire.
int tell(const std::string& file, const std::string& model,
         const api::Drafted& drafted) {
  const lua::ExampleResult& example = drafted.example;
  if (example.verdict != lua::Verdict::kOk) {
    show("{}: written, but its example is {}: {}\n{}", file,
         lua::verdict_name(example.verdict), printable(example.detail, 2000),
         indented(example.notes, 2));
    return kAnswerIsNo;
  }
  show("{}: written; its example passes{}\n", file,
       example.not_executed.empty()
           ? ""
           : ", not executed: " + printable(example.not_executed, 200));
  show("{}: {}{}\n", printable(model),
       counted(drafted.matches, "match", "matches"),
       drafted.fires_there ? ", one at these nodes" : ", none at these nodes");
  return drafted.fires_there ? 0 : kAnswerIsNo;
}

int make(const NewFlags& flags) {
  const fs::path file = file_of(flags);
  if (flags.from.empty()) {
    if (!flags.first.empty() || !flags.sets.empty() || flags.run.exact) {
      throw misuse("these options are about the model of --from", "", "",
                   flags.example);
    }
    check(api::write_file(file.string(), api::first_rule()));
    show("{}: written\n", file.string());
    return 0;
  }
  NewFlags of_model = flags;
  of_model.paths = {flags.from[0]};
  const auto models = sort_paths(of_model, Wants::kModels).models;
  const std::vector<std::string> nodes(flags.from.begin() + 1,
                                       flags.from.end());
  if (nodes.empty()) {
    throw misuse("no nodes given", "", "--from " + flags.from[0],
                 "`ruleengine report MODEL` lists them");
  }
  const auto model = load_after_first(models[0], of_model);
  const auto drafted = take(api::draft_rule(*model, nodes, file.stem().string(),
                                            limits_of(of_model)));
  check(api::write_file(file.string(), drafted.text));
  return tell(file.string(), models[0], drafted);
}

}  // namespace

void add_new(Line& line) {
  auto [made, flags] = line.add(
      make, "new", "write a rule file to start from",
      "ruleengine new my_rule --from model.onnx /layer/Mul /layer/Sigmoid");
  made.paths("NAME", flags, "the rule, which may have a folder in front");
  made.option("--from", flags.from,
              "a model and nodes of it, by name or by an output: the rule "
              "writes them as one op")
      .takes("MODEL NODE...");
  made.first(flags);
  made.rules(flags);
}

}  // namespace ruleengine::cli
