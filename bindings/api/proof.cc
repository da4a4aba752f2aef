#include "bindings/api/proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "bindings/api/cuts.h"
#include "bindings/api/files.h"
#include "bindings/api/models.h"
#include "bindings/api/scratch.h"
#include "core/base/folder.h"
#include "core/engine/verify.h"
#include "core/io/save.h"

namespace ruleengine::api {
namespace {

namespace fs = std::filesystem;
using Within = std::optional<rewrite::Deviation>;

bool is_edit(const rewrite::Rule& rule) {
  return rule.changes_meaning().has_value();
}

bool is_unbounded_edit(const rewrite::Rule& rule) {
  return is_edit(rule) && !rule.changes_meaning()->is_bounded();
}

constexpr std::string_view kTitle =
    "A counterexample of ruleengine: a rewrite changes what a model computes.";
constexpr const char* kReadme = "README.txt";
constexpr const char* kPart = "part_";

std::string entry(std::string_view name) {
  return fmt::format("\n  {}: ", printable(name));
}

// Whether an earlier run wrote it, and nobody has put anything into it since.
bool is_counterexample(const fs::path& folder) {
  std::error_code error;
  const bool is_folder =
      fs::symlink_status(folder, error).type() == fs::file_type::directory;
  if (!is_folder) return false;
  const auto text = read_text_file((folder / kReadme).string());
  if (!text || !text->starts_with(kTitle)) return false;
  const auto names = names_in(folder, error);
  return !error && std::ranges::all_of(names, [&](const std::string& name) {
    return name == kReadme || text->find(entry(name)) != std::string::npos;
  });
}

std::string_view meaning_of(std::string_view name) {
  if (name == "inputs.npz") return "the inputs that show it";
  if (name == "before.onnx") return "the model before the rewrite";
  if (name == "after.onnx") return "the model after it";
  if (name == "part_inputs.npz") return "the inputs of its part";
  if (name == "part_before.onnx") return "the part that the rewrite changes";
  if (name == "part_after.onnx") return "the part after it";
  return "data of these models";
}

std::string commands(std::string_view prefix) {
  return fmt::format(
      "\n  ruleengine exec {0}before.onnx --inputs {0}inputs.npz\n"
      "  ruleengine exec {0}after.onnx --inputs {0}inputs.npz\n",
      prefix);
}

// Counterexamples: pairs of models and the inputs on which they differ, as a
// folder for a person to look at: inputs.npz, before.onnx, after.onnx, and a
// README.txt that says what is wrong and how to see it. Where few nodes show
// it, the same of those: part_inputs.npz and so on.
//
// The folder appears whole, by finish(), or not at all. One that an earlier run
// wrote is replaced; any other folder or file of that name stays, which is an
// error (kWrite).
class Counterexample {
 public:
  struct Pair {
    const ir::Model& before;
    const ir::Model& after;
    const runtime::NamedData& inputs;
  };

  explicit Counterexample(std::string folder) : folder_(std::move(folder)) {}

  // The models whole.
  Status add(const Pair& pair) { return add("", pair); }
  // The few nodes.
  Status add_part(const Pair& pair) {
    has_part_ = true;
    return add(kPart, pair);
  }

  struct Text {
    std::string model;    // the name of the model that was rewritten
    std::string rewrite;  // the rule and its place; "": unknown
    std::string differs;  // how the outputs differ
  };
  Status finish(const Text& text) {
    if (auto status = start(); !status) return status;
    const auto path = fs::path(scratch_->folder()) / kReadme;
    auto status = write_file(path.string(), readme(text));
    return status ? scratch_->become(folder_) : status;
  }

 private:
  Status start() {
    if (scratch_) return {};
    std::error_code error;
    if (fs::exists(fs::symlink_status(folder_, error)) &&
        !is_counterexample(folder_)) {
      return Diagnostic{.kind = ErrorKind::kWrite,
                        .what = "it would replace what no run wrote",
                        .where = folder_};
    }
    auto scratch = Scratch::create_beside(folder_);
    if (!scratch) return scratch.error();
    scratch_ = *std::move(scratch);
    return {};
  }

  Status add(const std::string& prefix, const Pair& pair) {
    if (auto status = start(); !status) return status;
    const auto path = [&](const char* name) {
      return (fs::path(scratch_->folder()) / (prefix + name)).string();
    };
    const auto inputs = runtime::npz_of(pair.inputs);
    if (!inputs) return inputs.error();
    auto status = write_file(path("inputs.npz"), *inputs);
    if (status) status = io::save(pair.before, path("before.onnx"));
    if (status) status = io::save(pair.after, path("after.onnx"));
    return status;
  }

  std::string readme(const Text& text) const {
    std::string out = fmt::format("{}\n\nmodel:   {}\n", kTitle,
                                  printable(text.model, std::string::npos));
    if (!text.rewrite.empty()) out += "rewrite: " + text.rewrite + "\n";
    out += "differs: " + text.differs + "\n\nFiles:\n";
    std::error_code none;
    for (const std::string& name : names_in(scratch_->folder(), none)) {
      out += std::string_view(entry(name)).substr(1);
      out.append(meaning_of(name)).append("\n");
    }
    out += "\nTo see it, in this folder:\n" + commands("");
    if (has_part_) out += "\nIn few nodes:\n" + commands(kPart);
    return out;
  }

  std::string folder_;
  std::unique_ptr<Scratch> scratch_;  // nullptr: nothing was added yet
  bool has_part_ = false;
};

class Proof {
 public:
  Proof(engine::Engine& engine, const ir::Model& model,
        const ProofOptions& options, engine::FileReport& report)
      : engine_(engine),
        model_(model),
        options_(options),
        report_(report),
        shown_by_(std::make_shared<runtime::NamedData>()),
        compare_(engine.bodies().compare_with(
            compare_by_kernels(options.how, shown_by_))) {}

  Status run(const ir::Model& result) {
    Within within;
    bool has_edits = false;
    for (const rewrite::RuleReport& rule : report_.run.rewrites.rules) {
      if (rule.rewrites == 0 || !rule.changes_meaning) continue;
      has_edits = true;
      if (rule.changes_meaning->is_bounded()) {
        if (!within) within = {.abs = 0, .rel = 0};
        within->abs = std::max(within->abs, rule.changes_meaning->abs);
        within->rel = std::max(within->rel, rule.changes_meaning->rel);
      } else {
        warn(fmt::format(
            "rule '{}' changes the meaning of the model, so its {} {} not "
            "verified",
            rule.name, rule.rewrites,
            rule.rewrites == 1 ? "rewrite is" : "rewrites are"));
      }
    }
    if (!has_edits) return compare(result, report_.run, {}, {});
    auto status = compare_without(is_edit, {});
    if (status && within) status = compare_without(is_unbounded_edit, within);
    if (status && !report_.verified && report_.unverified.empty()) {
      warn("nothing else was rewritten, so nothing is verified");
    }
    return status;
  }

 private:
  using Part = engine::Engine::Part;

  void warn(std::string message) {
    report_.run.rewrites.warnings.push_back({.message = std::move(message)});
  }

  Result<engine::Prefix> make(const Part& part) {
    auto result = copy_of(model_, options_.how.limits);
    auto done = engine_.run_part(*result, part);
    if (!done) return done.error();
    return engine::Prefix{std::move(result), *std::move(done)};
  }

  // The model beside its result without these rules.
  Status compare_without(bool (*left_out)(const rewrite::Rule&),
                         const Within& within) {
    const Part part{.leaves_out = left_out};
    const auto made = make(part);
    if (!made) return made.error();
    if (made->report.is_untouched()) return {};
    return compare(*made->model, made->report, part, within);
  }

  Status compare(const ir::Model& result, const engine::RunReport& run,
                 const Part& part, const Within& within) {
    auto found = compare_(
        model_, result,
        {.assumes = !run.rewrites.assumptions.empty(), .within = within});
    if (!found) return found.error();
    if (!found->unverified.empty()) {
      report_.unverified = found->unverified;
      if (!options_.lenient) {
        return engine::unverified_error(report_.model, *found);
      }
      warn("the result was not verified: " + found->unverified);
      return {};
    }
    for (std::string& note : found->notes) warn(std::move(note));
    if (!found->difference.empty()) return blame(result, part, within, *found);
    report_.verified = std::move(found->verified);
    return {};
  }

  // The error that names the rewrite at fault.
  Status blame(const ir::Model& result, Part part, const Within& within,
               const engine::Finding& whole) {
    const auto prefix = [&](std::uint64_t rewrites) {
      part.first = rewrites;
      return make(part);
    };
    const auto culprit = engine::find_culprit(compare_, model_, prefix, within);
    if (!culprit) return culprit.error();
    auto error = engine::mismatch_error(report_.model, *culprit, whole);
    if (const auto most = tolerance_of(options_.how, {.within = within})) {
      error.expected = fmt::format(
          "outputs that differ by at most {:g} + {:g} times their "
          "size",
          most->abs, most->rel);
    }
    if (options_.counterexample.empty()) return error;
    if (auto saved = save(result, *culprit, part, within, error); !saved) {
      const Diagnostic& why = saved.error();
      warn(fmt::format("the models that show it are not saved: {}{}{}",
                       why.what, why.where.empty() ? "" : ": ", why.where));
      return error;
    }
    if (!error.hint.empty()) error.hint += "; ";
    error.hint +=
        "the models before and after it, and inputs that show it, "
        "are in " +
        options_.counterexample;
    return error;
  }

  Status save(const ir::Model& result, const engine::Culprit& culprit,
              Part part, const Within& within, const Diagnostic& error) {
    Counterexample example(options_.counterexample);
    Counterexample::Text text{.model = report_.model, .differs = error.found};
    if (culprit.number == 0) {
      auto status = example.add({model_, result, *shown_by_});
      return status ? example.finish(text) : status;
    }
    text.rewrite = error.where;
    part.first = culprit.number - 1;
    const auto before = make(part);
    if (!before) return before.error();
    Status status;
    part.first = culprit.number;
    part.judge = [&, edits = std::uint64_t{0}](
                     const rewrite::Rule&,
                     const rewrite::Region& region) mutable {
      if (++edits != culprit.number) return std::optional<std::string>();
      const auto shown =
          smallest_part(region, {.assumes = region.assumes, .within = within},
                        options_.how, engine_.bodies());
      if (shown) {
        status =
            example.add_part({*shown->before, *shown->after, shown->inputs});
      }
      return std::optional<std::string>();
    };
    const auto after = make(part);
    if (!after) return after.error();
    if (status) {
      status = example.add({*before->model, *after->model, *shown_by_});
    }
    return status ? example.finish(text) : status;
  }

  engine::Engine& engine_;
  const ir::Model& model_;
  const ProofOptions& options_;
  engine::FileReport& report_;
  std::shared_ptr<runtime::NamedData> shown_by_;  // of the last difference
  engine::CompareModels compare_;
};

}  // namespace

Status prove(engine::Engine& engine, const ir::Model& model,
             const ir::Model& result, const ProofOptions& options,
             engine::FileReport& report) {
  return Proof(engine, model, options, report).run(result);
}

}  // namespace ruleengine::api
