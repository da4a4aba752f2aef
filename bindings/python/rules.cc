#include "bindings/api/rules.h"

#include "bindings/api/draw_run.h"
#include "bindings/api/examples.h"
#include "bindings/api/questions.h"
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

void take_limits(api::Limits& limits, double callback_seconds,
                 double load_seconds, std::size_t memory) {
  if (!(callback_seconds > 0) || !(load_seconds > 0)) {
    throw misuse("a time is not positive", "seconds");
  }
  limits.callback_seconds = callback_seconds;
  limits.load_seconds = load_seconds;
  limits.memory = memory;
}

std::unique_ptr<Rules> load_rules(const Paths& paths, const Texts& packs,
                                  const nb::dict& files,
                                  const Settings& settings,
                                  const nb::bytes& shipped,
                                  double callback_seconds, double load_seconds,
                                  std::size_t memory, Seconds seconds) {
  auto how = options_of(paths, packs, files, settings, shipped);
  take_limits(how.limits, callback_seconds, load_seconds, memory);
  Call call(seconds, nb::none());
  auto out = std::make_unique<Rules>();
  how.limits.deadline = Deadline().or_of_call(out->term);
  *out->term = call.deadline();
  call.run(
      {}, [&] { out->rewriter = take(api::Rewriter::create(std::move(how))); });
  return out;
}

// How a model is rewritten, or asked about.
struct How {
  std::string target;
  std::int64_t opset = 0;
  bool exact = false, keep_ir_version = false, keep_all = false;
  std::string verify;  // "", "result" or "edits"
  std::size_t tensors = 0;
};

api::RewriteOptions options_of(const How& given) {
  api::RewriteOptions how;
  how.run.target = given.target;
  how.run.opset = given.opset;
  how.run.exact = given.exact;
  how.run.keep_ir_version = given.keep_ir_version;
  how.run.keep_all = given.keep_all;
  how.verifies = given.verify == "result";
  how.verifies_edits = given.verify == "edits";
  how.limits.tensors = given.tensors;
  return how;
}

void configure(Rules& rules, const How& given) {
  check(rules.rewriter->configure(options_of(given)));
}

nb::tuple rewrite(Rules& rules, Model& model, const How& given, Seconds seconds,
                  nb::object progress) {
  Call call(seconds, std::move(progress));
  auto out = std::make_unique<Model>();
  out->loaded = std::make_shared<Loaded>();
  out->loaded->base = model.loaded;
  out->loaded->name = model.loaded->name;
  const std::string report = call.run({&rules.busy, &model.busy}, [&] {
    *rules.term = call.deadline();
    configure(rules, given);
    engine::FileReport made;
    auto done = rules.rewriter->rewrite(
        model.loaded->model,
        {.model = model.loaded->name, .progress = call.progress()}, made);
    if (!done) made.error = done.error();
    std::string json = engine::json_text(engine::to_json(made));
    if (!done) throw Failure(done.error(), std::move(json));
    out->loaded->model = *std::move(done);
    return json;
  });
  return nb::make_tuple(nb::cast(std::move(out)), text(report));
}

// A page that shows the run.
nb::str draw_run(Rules& rules, Model& model, const How& given,
                 std::size_t boxes, Seconds seconds) {
  Call call(seconds, nb::none());
  return text(call.run({&rules.busy, &model.busy}, [&] {
    *rules.term = call.deadline();
    api::DrawOptions how;
    how.name = model.loaded->name;
    how.boxes = boxes;
    how.run.limits.deadline = call.deadline();
    return take(api::draw_run(model.loaded->model, *rules.rewriter,
                              options_of(given), how))
        .text;
  }));
}

// Questions edit a model, and undo it; what they learn stays with the copy.
// `ask` gives JSON.
template <typename Ask>
nb::str answer(Rules& rules, Model& model, const How& given, Seconds seconds,
               Ask&& ask) {
  Call call(seconds, nb::none());
  return text(call.run({&rules.busy, &model.busy}, [&] {
    *rules.term = call.deadline();
    configure(rules, given);
    const auto copy = api::copy_of(*model.loaded->model,
                                   rules.rewriter->model_options().limits);
    const Json json = ask(*rules.rewriter, *copy, model.loaded->name);
    return engine::json_text(json);
  }));
}

nb::str match(Rules& rules, Model& model, const How& given, Seconds seconds) {
  return answer(
      rules, model, given, seconds,
      [](const api::Rewriter& its, ir::Model& m, const std::string& name) {
        return api::to_json(
            name, take(api::match(m, its.rules(), its.run_options())));
      });
}

nb::str explain(Rules& rules, Model& model, const std::string& node,
                std::size_t most, const How& given, Seconds seconds) {
  return answer(
      rules, model, given, seconds,
      [&](const api::Rewriter& its, ir::Model& m, const std::string& name) {
        return api::to_json(
            name, m.graph,
            take(api::explain(m, its.rules(), node, its.run_options(), most)));
      });
}

nb::str coverage(Rules& rules, Model& model, const How& given,
                 Seconds seconds) {
  return answer(
      rules, model, given, seconds,
      [](const api::Rewriter& its, ir::Model& m, const std::string& name) {
        return engine::to_json(
            name, take(api::coverage(m, its.rules(), its.run_options())));
      });
}

nb::str collectives(Rules& rules, Model& model, const How& given,
                    Seconds seconds) {
  return answer(
      rules, model, given, seconds,
      [](const api::Rewriter& its, ir::Model& m, const std::string& name) {
        return engine::to_json(
            name, take(api::collectives(m, its.rules(), its.run_options())));
      });
}

// The report on the examples of rules. The error of a file has that of the
// others.
nb::str test(const Paths& paths, const Texts& packs, const nb::dict& files,
             const Settings& settings, const nb::bytes& shipped,
             double callback_seconds, double load_seconds, std::size_t memory,
             std::size_t mutants, std::uint64_t seed, Seconds seconds) {
  auto from = options_of(paths, packs, files, settings, shipped);
  take_limits(from.limits, callback_seconds, load_seconds, memory);
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
    std::string json = engine::json_text(api::report_json(tested));
    if (!tested.errors_of_files.empty()) {
      throw Failure(tested.errors_of_files[0], std::move(json));
    }
    return json;
  }));
}

}  // namespace

void add_rules(nb::module_& m) {
  using nb::arg;
  nb::class_<How>(m, "How")
      .def(nb::init<>())
      .def_rw("target", &How::target)
      .def_rw("opset", &How::opset)
      .def_rw("exact", &How::exact)
      .def_rw("keep_ir_version", &How::keep_ir_version)
      .def_rw("keep_all", &How::keep_all)
      .def_rw("verify", &How::verify)
      .def_rw("tensors", &How::tensors);
  nb::class_<Rules>(m, "Rules")
      .def_static("load", &load_rules, arg("paths"), arg("packs"), arg("files"),
                  arg("settings"), arg("shipped"), arg("callback_seconds"),
                  arg("load_seconds"), arg("memory"), arg("seconds").none())
      .def("rewrite", &rewrite, arg("model"), arg("how"), arg("seconds").none(),
           arg("progress").none())
      .def("draw", &draw_run, arg("model"), arg("how"), arg("boxes"),
           arg("seconds").none())
      .def("match", &match, arg("model"), arg("how"), arg("seconds").none())
      .def("explain", &explain, arg("model"), arg("node"), arg("most"),
           arg("how"), arg("seconds").none())
      .def("coverage", &coverage, arg("model"), arg("how"),
           arg("seconds").none())
      .def("collectives", &collectives, arg("model"), arg("how"),
           arg("seconds").none())
      .def_prop_ro("warnings",
                   [](const Rules& its) {
                     nb::list out;
                     for (const auto& each : its.rewriter->warnings()) {
                       out.append(text(each));
                     }
                     return out;
                   })
      // (name, file) of each, in the order in which they run.
      .def_prop_ro("rules", [](const Rules& its) {
        nb::list out;
        for (const auto* each : its.rewriter->rules().rules()) {
          out.append(nb::make_tuple(text(each->name()), text(each->file())));
        }
        return out;
      });
  m.def("test", &test, arg("paths"), arg("packs"), arg("files"),
        arg("settings"), arg("shipped"), arg("callback_seconds"),
        arg("load_seconds"), arg("memory"), arg("mutants"), arg("seed"),
        arg("seconds").none());
}

}  // namespace ruleengine::python
