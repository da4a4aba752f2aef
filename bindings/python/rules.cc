#include "bindings/api/rules.h"

#include <fmt/format.h>

#include "bindings/api/draw.h"
#include "bindings/api/examples.h"
#include "bindings/api/report_text.h"
#include "bindings/api/run_files.h"
#include "bindings/python/objects.h"

namespace ruleengine::python {
namespace {

using Texts = std::vector<std::string>;
using Paths = std::vector<nb::bytes>;
using Settings = std::vector<std::tuple<std::string, std::string, std::string>>;

// What to load: `paths` and `packs` that ship, files in memory, options of
// rules, and the folder of the rules that ship.
api::RewriteOptions options_of(const Paths& paths, const Texts& packs,
                               const nb::dict& files, const Settings& settings,
                               const nb::bytes& shipped) {
  api::RewriteOptions out;
  auto texts = std::make_shared<api::GivenTexts>(path_of(shipped));
  for (const auto& [name, its] : files) {
    check(texts->add(nb::cast<std::string>(name), nb::cast<std::string>(its)));
  }
  for (const nb::bytes& each : paths) out.rules.push_back(path_of(each));
  for (const std::string& each : packs) {
    out.rules.push_back(take(api::shipped_pack(each, texts.get())));
  }
  out.texts = std::move(texts);
  for (const auto& [rule, option, value] : settings) {
    out.sets.push_back({rule, option, value});
  }
  return out;
}

// What rules may take; None: the usual limit.
struct RuleLimits {
  std::optional<double> callback_seconds, load_seconds;
  std::optional<std::size_t> memory;

  void set(api::Limits& limits) const {
    for (const auto& each : {callback_seconds, load_seconds}) {
      if (each && !(*each > 0)) throw misuse("a time is not positive");
    }
    limits.callback_seconds =
        callback_seconds.value_or(limits.callback_seconds);
    limits.load_seconds = load_seconds.value_or(limits.load_seconds);
    limits.memory = memory.value_or(limits.memory);
  }
};

std::unique_ptr<Rules> load_rules(const Paths& paths, const Texts& packs,
                                  const nb::dict& files,
                                  const Settings& settings,
                                  const nb::bytes& shipped,
                                  const RuleLimits& limits, Seconds seconds) {
  auto how = options_of(paths, packs, files, settings, shipped);
  limits.set(how.limits);
  Call call(seconds, nb::none());
  auto out = std::make_unique<Rules>();
  how.limits.deadline = Deadline().or_of_call(out->term);
  *out->term = call.deadline();
  call.run(
      {}, [&] { out->rewriter = take(api::Rewriter::create(std::move(how))); });
  return out;
}

// How a model is rewritten, or asked about.
struct RunOptions : engine::RunOptions {
  std::string verify;  // "", "result" or "local"
  std::size_t tensors = 0;
};

api::RewriteOptions options_of(const RunOptions& given) {
  api::RewriteOptions how;
  how.run = given;
  how.verifies = given.verify == "result";
  how.verifies_edits = given.verify == "local";
  if (!given.verify.empty() && !how.verifies && !how.verifies_edits) {
    throw misuse("there is no such way to verify", "result or local",
                 given.verify);
  }
  how.limits.tensors = given.tensors;
  return how;
}

void configure(Rules& rules, const RunOptions& given) {
  check(rules.rewriter->configure(options_of(given)));
}

// Throws the error of a run, with its report.
void check_run(const Status& status, engine::FileReport& report) {
  if (status) return;
  report.error = status.error();
  throw Failure(status.error(), engine::json_text(engine::to_json(report)));
}

// See api::Spell.
std::string spelled(std::string_view option, std::string_view value) {
  if (option == "verbose") return "report.rule(NAME).rejected";
  if (option == "explain") return "result.why_not(RULE)";
  if (option == "keep-ir-version") return "keep_ir_version=True";
  if (option == "exact") return "exact=True";
  if (option == "opset") return fmt::format("opset={}", value);
  if (option != "dims" || value.empty()) {
    return value.empty() ? std::string(option)
                         : fmt::format("{}=\"{}\"", option, value);
  }
  const std::size_t equals = value.find('=');
  return fmt::format("dims={{\"{}\": \"{}\"}}", value.substr(0, equals),
                     value.substr(equals + 1));
}

// As JSON, and in it as text.
std::string report_of(const engine::FileReport& report) {
  Json json = engine::to_json(report);
  json["text"] = api::text_of(report, spelled, false);
  return engine::json_text(json);
}

nb::tuple rewrite(Rules& rules, Model& model, const RunOptions& given,
                  Seconds seconds, nb::object progress) {
  Call call(seconds, std::move(progress));
  auto out = std::make_unique<Model>();
  const std::string report = call.run({&rules.busy, &model.busy}, [&] {
    *rules.term = call.deadline();
    configure(rules, given);
    engine::FileReport made;
    auto done =
        api::rewrite(*rules.rewriter, model.held, call.progress(), made);
    check_run(done ? Status() : Status(done.error()), made);
    out->held = *std::move(done);
    return report_of(made);
  });
  return nb::make_tuple(nb::cast(std::move(out)), text(report));
}

// From file to file, as the command line does it; "" is its usual name. The
// path of the result, the report, and warnings about the model.
nb::tuple rewrite_file(Rules& rules, const nb::bytes& path,
                       const nb::bytes& output, const Dims& dims,
                       bool share_data, const RunOptions& given,
                       Seconds seconds, nb::object progress) {
  Call call(seconds, std::move(progress));
  api::Job job{
      .model = path_of(path), .output = {}, .progress = call.progress()};
  const std::string report = call.run({&rules.busy}, [&] {
    *rules.term = call.deadline();
    api::RewriteOptions how = options_of(given);
    how.fixed = dims;
    how.share_data = share_data;
    check(rules.rewriter->configure(how));
    const auto results = take(api::prepare_files(
        {.models = {job.model}, .output = path_of(output)}, how.limits));
    job.output = results[0];
    api::Rewritten out;
    check_run(rules.rewriter->rewrite(job, out), out.report);
    check(out.result.commit());
    out.result.release();
    return report_of(out.report);
  });
  return nb::make_tuple(nb::bytes(job.output.data(), job.output.size()),
                        text(report));
}

// A page that shows the run.
nb::str draw_run(Rules& rules, Model& model, const RunOptions& given,
                 std::size_t boxes, Seconds seconds) {
  Call call(seconds, nb::none());
  return text(call.run({&rules.busy, &model.busy}, [&] {
    *rules.term = call.deadline();
    api::DrawOptions how;
    how.name = model.held->name;
    how.boxes = boxes;
    how.run.limits.deadline = call.deadline();
    return take(api::draw_run(model.held->model, *rules.rewriter,
                              options_of(given), how))
        .text;
  }));
}

// A question about a model: `ask` gives JSON.
template <typename Ask>
nb::str answer(Rules& rules, Model& model, const RunOptions& given,
               Seconds seconds, Ask&& ask) {
  Call call(seconds, nb::none());
  return text(call.run({&rules.busy, &model.busy}, [&] {
    *rules.term = call.deadline();
    configure(rules, given);
    return engine::json_text(take(ask(*rules.rewriter, *model.held)));
  }));
}

template <Result<Json> (*kAsk)(const api::Rewriter&, const api::Held&)>
nb::str question(Rules& rules, Model& model, const RunOptions& given,
                 Seconds seconds) {
  return answer(rules, model, given, seconds, kAsk);
}

nb::str explain(Rules& rules, Model& model, const std::string& node,
                std::size_t most, const RunOptions& given, Seconds seconds) {
  return answer(rules, model, given, seconds,
                [&](const auto& its, const api::Held& held) {
                  return api::explain_json(its, held, node, most);
                });
}

// The report on the examples of rules. Where a file cannot be loaded, the error
// has the report on the other files.
nb::str test(const Paths& paths, const Texts& packs, const nb::dict& files,
             const Settings& settings, const nb::bytes& shipped,
             const RuleLimits& limits, std::size_t mutants, std::uint64_t seed,
             Seconds seconds) {
  auto from = options_of(paths, packs, files, settings, shipped);
  limits.set(from.limits);
  Call call(seconds, nb::none());
  api::TestOptions how;
  how.sets = from.sets;
  how.texts = from.texts;
  how.limits = from.limits;
  how.limits.deadline = call.deadline();
  how.fuzz.mutants = mutants;
  how.fuzz.seed = seed;
  return text(call.run({}, [&] {
    check(api::add_shipped(from.rules, from.texts.get()));
    const api::Tested tested = api::test(from.rules, how);
    Json report = api::report_json(tested);
    report["text"] = api::text_of(tested);
    std::string json = engine::json_text(report);
    if (!tested.errors_of_files.empty()) {
      throw Failure(tested.errors_of_files[0], std::move(json));
    }
    return json;
  }));
}

}  // namespace

void add_rules(nb::module_& m) {
  using nb::arg;
  nb::class_<RuleLimits>(m, "RuleLimits")
      .def(nb::init<>())
      .def_rw("callback_seconds", &RuleLimits::callback_seconds, arg().none())
      .def_rw("load_seconds", &RuleLimits::load_seconds, arg().none())
      .def_rw("memory", &RuleLimits::memory, arg().none());
  nb::class_<RunOptions>(m, "RunOptions")
      .def(nb::init<>())
      .def_rw("target", &RunOptions::target)
      .def_rw("opset", &RunOptions::opset)
      .def_rw("exact", &RunOptions::exact)
      .def_rw("keep_ir_version", &RunOptions::keep_ir_version)
      .def_rw("keep_all", &RunOptions::keep_all)
      .def_rw("verify", &RunOptions::verify)
      .def_rw("tensors", &RunOptions::tensors);
  nb::class_<Rules>(m, "Rules")
      .def_static("load", &load_rules, arg("paths"), arg("packs"), arg("files"),
                  arg("settings"), arg("shipped"), arg("limits"),
                  arg("seconds").none())
      .def("rewrite", &rewrite, arg("model"), arg("how"), arg("seconds").none(),
           arg("progress").none())
      .def("rewrite_file", &rewrite_file, arg("path"), arg("output"),
           arg("dims"), arg("share_data"), arg("how"), arg("seconds").none(),
           arg("progress").none())
      .def("draw", &draw_run, arg("model"), arg("how"), arg("boxes"),
           arg("seconds").none())
      .def("match", &question<api::match_json>, arg("model"), arg("how"),
           arg("seconds").none())
      .def("explain", &explain, arg("model"), arg("node"), arg("most"),
           arg("how"), arg("seconds").none())
      .def("coverage", &question<api::coverage_json>, arg("model"), arg("how"),
           arg("seconds").none())
      .def("collectives", &question<api::collectives_json>, arg("model"),
           arg("how"), arg("seconds").none())
      .def_prop_ro(
          "warnings",
          [](const Rules& its) { return list_of(its.rewriter->warnings()); })
      // (name, file) of each, in the order in which they run.
      .def_prop_ro("rules", [](const Rules& its) {
        nb::list out;
        for (const auto* each : its.rewriter->rules().rules()) {
          out.append(nb::make_tuple(text(each->name()), text(each->file())));
        }
        return out;
      });
  m.def("test", &test, arg("paths"), arg("packs"), arg("files"),
        arg("settings"), arg("shipped"), arg("limits"), arg("mutants"),
        arg("seed"), arg("seconds").none());
}

}  // namespace ruleengine::python
