// Rules, models and runs through the C interface.
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/c_interface.h"
#include "tests/support/weighted_model.h"

namespace ruleengine::c {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a run from memory to memory leaves the model as it is") {
  const Own<re_rules> rules = rules_of(kRule);
  Own<re_model> model = model_of(kModel, RE_STORAGE_OWNED);
  const std::string before = bytes_of(model.get());
  re_model* result = nullptr;
  re_report* report = nullptr;
  fine(re_run(rules.get(), model.get(), nullptr, nullptr, &result, &report));
  const Own<re_model> own(result);
  const Own<re_report> told(report);
  re_run_totals totals = RE_OPTIONS(re_run_totals);
  fine(re_report_totals(report, &totals));
  CHECK(totals.rewrites == 1);
  CHECK(totals.nodes_before > totals.nodes_after);
  CHECK(std::string(re_report_json(report)).find("memory:/mine/r.lua") !=
        std::string::npos);
  CHECK(bytes_of(model.get()) == before);
  const std::string after = bytes_of(result);
  CHECK(after != before);
  model.reset();  // the result keeps what it borrows
  CHECK(bytes_of(result) == after);
}

TEST_CASE("rules are used for many models, and give the same bytes") {
  const Own<re_rules> rules = rules_of(kRule);
  std::string first;
  for (int i = 0; i < 5; ++i) {
    const Own<re_model> model = model_of(kModel);
    re_model* result = nullptr;
    fine(re_run(rules.get(), model.get(), nullptr, nullptr, &result, nullptr));
    const Own<re_model> own(result);
    if (i == 0) first = bytes_of(result);
    CHECK(bytes_of(result) == first);
  }
}

TEST_CASE("packs that ship, by name") {
  const char* packs[] = {"attention", "canonical"};
  re_rules_options options = RE_OPTIONS(re_rules_options);
  options.packs = packs;
  options.pack_count = 2;
  re_rules* rules = nullptr;
  fine(re_rules_load(&options, nullptr, &rules));
  re_rules_free(rules);
  packs[1] = "canonicl";
  const Own<re_error> error(re_rules_load(&options, nullptr, &rules));
  REQUIRE(error);
  CHECK(re_error_kind(error.get()) == RE_ERROR_USAGE);
  CHECK(std::string(re_error_expected(error.get())).find("canonical") !=
        std::string::npos);
  CHECK(rules == nullptr);
}

TEST_CASE("libs and rules that a callback reads") {
  struct Texts {
    std::vector<std::string> asked;
    bool fails = false;
    static int read(void* user, const char* name, re_buffer* to) {
      auto* its = static_cast<Texts*>(user);
      its->asked.emplace_back(name);
      if (its->fails) return RE_LOOKUP_FAILED;
      std::string rule;
      if (std::string(name) == "a/r.lua") {
        rule = "local l = lib 'own'\n";
        rule += kRule;
      } else if (std::string(name) == "a/lib/own.lua") {
        rule = "return { x = 1 }";
      } else {
        return RE_LOOKUP_NONE;
      }
      return re_buffer_append(to, rule.data(), rule.size()) == 0
                 ? RE_LOOKUP_FOUND
                 : RE_LOOKUP_FAILED;
    }
  } texts;
  const char* path = "memory:/a/r.lua";
  re_rules_options options = RE_OPTIONS(re_rules_options);
  options.paths = &path;
  options.path_count = 1;
  options.read = Texts::read;
  options.read_user = &texts;
  re_rules* rules = nullptr;
  fine(re_rules_load(&options, nullptr, &rules));
  re_rules_free(rules);
  CHECK(texts.asked == std::vector<std::string>{"a/r.lua", "a/lib/own.lua"});
  texts.fails = true;
  CHECK(kind_of(re_rules_load(&options, nullptr, &rules)) == RE_ERROR_RULE);
}

TEST_CASE("files, and writing to a callback") {
  const fs::path folder = fs::temp_directory_path() / "ruleengine_c_test";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string path = (folder / "m.onnx").string();
  Own<re_model> model = model_of(kModel);
  fine(re_model_save(model.get(), path.c_str(), nullptr, nullptr));
  for (const re_storage storage : {RE_STORAGE_SHARED, RE_STORAGE_OWNED}) {
    re_model_options options = RE_OPTIONS(re_model_options);
    options.storage = storage;
    const re_dimension n = {"N", 7, nullptr};
    options.dimensions = &n;
    options.dimension_count = 1;
    re_model* loaded = nullptr;
    fine(re_model_load(path.c_str(), &options, nullptr, &loaded));
    const Own<re_model> own(loaded);
    struct Sink {
      std::string bytes;
      bool fails = false;
      static int write(void* user, const void* data, std::size_t size) {
        auto* its = static_cast<Sink*>(user);
        its->bytes.append(static_cast<const char*>(data), size);
        return its->fails ? 1 : 0;
      }
    } sink;
    fine(re_model_write(loaded, Sink::write, &sink, nullptr));
    CHECK(sink.bytes == bytes_of(loaded));
    sink.fails = true;
    CHECK(kind_of(re_model_write(loaded, Sink::write, &sink, nullptr)) ==
          RE_ERROR_WRITE);
    CHECK(kind_of(re_model_save(loaded, (folder / "no" / "m.onnx").c_str(),
                                nullptr, nullptr)) == RE_ERROR_WRITE);
  }
  fs::remove_all(folder);
}

TEST_CASE("external data is copied, shared, or given by the caller") {
  const fs::path folder = fs::temp_directory_path() / "ruleengine_c_data";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string path = (folder / "m.onnx").string();
  std::ofstream(path) << model_with_weight("w.bin", true);
  std::ofstream(folder / "w.bin") << std::string(2048, '\7');
  const Own<re_rules> rules = rules_of(
      "return rule { match = function(op, x) return op.Add(x, x) end, "
      "rewrite = function(op, m) return op.Sub(m.x, op.Neg(m.x)) end, "
      "phase = 'target' }");
  for (const bool shares : {false, true}) {
    re_model* model = nullptr;
    fine(re_model_load(path.c_str(), nullptr, nullptr, &model));
    const Own<re_model> own(model);
    re_model* result = nullptr;
    fine(re_run(rules.get(), model, nullptr, nullptr, &result, nullptr));
    const Own<re_model> own_result(result);
    re_save_options options = RE_OPTIONS(re_save_options);
    options.share_data = shares ? 1 : 0;
    const fs::path out = folder / (shares ? "shared.onnx" : "copied.onnx");
    fine(re_model_save(result, out.c_str(), &options, nullptr));
    CHECK(fs::exists(out.string() + ".data") == !shares);
    fine(re_compare(model, result, nullptr, nullptr, nullptr));
  }
  struct Data {
    std::string bytes = std::string(2048, '\1');
    int found = RE_LOOKUP_FOUND;
    static int give(void* user, const char* location, const void** data,
                    std::size_t* size) {
      auto* its = static_cast<Data*>(user);
      CHECK(std::string(location) == "w.bin");
      *data = its->bytes.data();
      *size = its->bytes.size();
      return its->found;
    }
    int released = 0;
    static void release(void* user) { ++static_cast<Data*>(user)->released; }
  } data;
  const std::string bytes = model_with_weight("w.bin", true);
  const auto kind_with = [&](int found, const char* in) {
    data.found = found;
    re_model_options options = RE_OPTIONS(re_model_options);
    options.folder = in;
    options.data = Data::give;
    options.user = &data;
    options.release = Data::release;
    re_model* model = nullptr;
    const re_kind kind = kind_of(
        re_model_parse(bytes.data(), bytes.size(), &options, nullptr, &model));
    CHECK(data.released == (model == nullptr ? 1 : 0));
    re_model_free(model);
    CHECK(std::exchange(data.released, 0) == 1);
    return kind;
  };
  CHECK(kind_with(RE_LOOKUP_FOUND, nullptr) == RE_OK);
  CHECK(kind_with(RE_LOOKUP_NONE, folder.c_str()) == RE_OK);
  CHECK(kind_with(RE_LOOKUP_NONE, nullptr) == RE_ERROR_MODEL);
  CHECK(kind_with(RE_LOOKUP_FAILED, folder.c_str()) == RE_ERROR_MODEL);
  CHECK(kind_with(77, folder.c_str()) == RE_ERROR_MODEL);
  fs::remove_all(folder);
}

TEST_CASE("questions") {
  const Own<re_rules> rules = rules_of(kRule);
  const Own<re_model> model = model_of(kModel);
  const std::string before = bytes_of(model.get());
  const auto json_of = [&](auto ask) {
    re_report* report = nullptr;
    fine(ask(&report));
    const Own<re_report> own(report);
    CHECK(kind_of(re_report_totals(report, nullptr)) == RE_ERROR_USAGE);
    return std::string(re_report_json(report));
  };
  CHECK(json_of([&](re_report** to) {
          return re_find_matches(rules.get(), model.get(), nullptr, nullptr,
                                 to);
        }).find("\"fires\": ") != std::string::npos);
  CHECK(json_of([&](re_report** to) {
          return re_explain(rules.get(), model.get(), nullptr, nullptr, to);
        }).find("\"misses\"") != std::string::npos);
  CHECK(json_of([&](re_report** to) {
          return re_coverage(rules.get(), model.get(), nullptr, nullptr, to);
        }).find("\"fused\": 0") != std::string::npos);
  CHECK(bytes_of(model.get()) == before);
  re_report* none = nullptr;
  re_explain_options what = RE_OPTIONS(re_explain_options);
  what.node = "nobody";
  CHECK(kind_of(re_explain(rules.get(), model.get(), &what, nullptr, &none)) ==
        RE_ERROR_USAGE);
}

TEST_CASE("examples of rules in memory") {
  std::string rule = kRule;
  rule.pop_back();
  rule +=
      ", examples = { { 'one', [[(float[2] x) => (float[2] y) "
      "{ a = Neg(x)  y = Relu(a) }]], [[y = Neg(x)]] } } }";
  const OneRule given(rule.c_str());
  re_report* report = nullptr;
  fine(re_test(&given.options, nullptr, &report));
  // The rule is wrong, and executing its example shows it.
  CHECK(std::string(re_report_json(report)).find("\"unsound\"") !=
        std::string::npos);
  re_report_free(report);
}

TEST_CASE("a call that is stopped") {
  const Own<re_rules> rules = rules_of(kRule);
  const Own<re_model> model = model_of(kModel);
  const Own<re_stop> own = new_stop();
  re_stop* const stop = own.get();
  re_call call = RE_OPTIONS(re_call);
  call.stop = stop;
  re_model* result = nullptr;
  fine(re_run(rules.get(), model.get(), nullptr, &call, &result, nullptr));
  re_model_free(result);
  re_stop_request(stop);
  re_report* report = nullptr;
  CHECK(kind_of(re_run(rules.get(), model.get(), nullptr, &call, &result,
                       &report)) == RE_ERROR_CANCELLED);
  CHECK(result == nullptr);
  CHECK(std::string(re_report_json(report)).find("\"error\"") !=
        std::string::npos);
  re_report_free(report);
  // The handles are as good as before.
  fine(re_run(rules.get(), model.get(), nullptr, nullptr, &result, nullptr));
  re_model_free(result);
  call.stop = nullptr;
  call.seconds = 1e-9;
  CHECK(kind_of(re_run(rules.get(), model.get(), nullptr, &call, &result,
                       nullptr)) == RE_ERROR_LIMIT);
  re_rules* none = nullptr;
  CHECK(kind_of(re_rules_load(nullptr, &call, &none)) == RE_ERROR_LIMIT);
}

TEST_CASE("a rule that never ends") {
  const Own<re_rules> rules = rules_of(
      "return rule { phase = 'target', match = function(op, x) "
      "return op.Relu(x) end, rewrite = function(op, m) while true do end end "
      "}");
  const Own<re_model> model = model_of(kModel);
  const Own<re_stop> own = new_stop();
  re_stop* const stop = own.get();
  re_call call = RE_OPTIONS(re_call);
  call.stop = stop;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    re_stop_request(stop);
  });
  re_model* result = nullptr;
  CHECK(kind_of(re_run(rules.get(), model.get(), nullptr, &call, &result,
                       nullptr)) == RE_ERROR_CANCELLED);
  other.join();
}

TEST_CASE("a model and its results are used at once, in any order") {
  Own<re_rules> rules = rules_of(kRule);
  Own<re_model> model = model_of(kModel);
  std::vector<Own<re_model>> results;
  for (int i = 0; i < 3; ++i) {
    re_model* result = nullptr;
    fine(re_run(rules.get(), results.empty() ? model.get() : results[0].get(),
                nullptr, nullptr, &result, nullptr));
    results.emplace_back(result);
  }
  rules.reset();
  std::vector<std::thread> threads;
  for (re_model* each :
       {model.get(), results[0].get(), results[1].get(), results[2].get()}) {
    threads.emplace_back([each] {
      const Own<re_rules> own = rules_of(kRule);
      for (int i = 0; i < 3; ++i) {
        re_report* report = nullptr;
        fine(re_find_matches(own.get(), each, nullptr, nullptr, &report));
        re_report_free(report);
        CHECK(!bytes_of(each).empty());
      }
    });
  }
  for (std::thread& each : threads) each.join();
  const std::string last = bytes_of(results[2].get());
  results[0].reset();
  model.reset();
  CHECK(bytes_of(results[2].get()) == last);
}

TEST_CASE("questions leave no trace in later runs") {
  const Own<re_rules> rules = rules_of(kRule);
  const Own<re_model> model = model_of(kModel);
  const auto result_of = [&] {
    re_model* result = nullptr;
    fine(re_run(rules.get(), model.get(), nullptr, nullptr, &result, nullptr));
    const Own<re_model> own(result);
    return bytes_of(result);
  };
  const std::string before = result_of();
  for (int i = 0; i < 20; ++i) {
    re_report* report = nullptr;
    fine(re_find_matches(rules.get(), model.get(), nullptr, nullptr, &report));
    re_report_free(report);
    re_explain_options what = RE_OPTIONS(re_explain_options);
    what.node = "y";
    what.most = 1;
    fine(re_explain(rules.get(), model.get(), &what, nullptr, &report));
    re_report_free(report);
  }
  CHECK(result_of() == before);
}

TEST_CASE("a wrong rule is found where the options ask for it") {
  const Own<re_rules> rules = rules_of(kRule);
  re_run_options options = RE_OPTIONS(re_run_options);
  for (const re_verify verify :
       {RE_VERIFY_NOTHING, RE_VERIFY_RESULT, RE_VERIFY_EDITS}) {
    options.verify = verify;
    const Own<re_model> model = model_of(kModel);
    re_model* result = nullptr;
    const re_kind kind = kind_of(
        re_run(rules.get(), model.get(), &options, nullptr, &result, nullptr));
    CHECK(kind == (verify == RE_VERIFY_RESULT ? RE_ERROR_VERIFY : RE_OK));
    if (verify == RE_VERIFY_EDITS)
      CHECK(bytes_of(result) == bytes_of(model.get()));
    re_model_free(result);
  }
  const Own<re_model> model = model_of(kModel);
  re_model* none = nullptr;
  options.verify = 9;
  CHECK(kind_of(re_run(rules.get(), model.get(), &options, nullptr, &none,
                       nullptr)) == RE_ERROR_USAGE);
}

TEST_CASE("rules that were loaded once run for several targets") {
  const Own<re_rules> rules = rules_of(kRule);
  const Own<re_model> model = model_of(kModel);
  for (const char* target : {"portable", "onnx", "auto", "nobody"}) {
    re_run_options options = RE_OPTIONS(re_run_options);
    options.target = target;
    re_model* result = nullptr;
    re_report* report = nullptr;
    const re_kind kind = kind_of(
        re_run(rules.get(), model.get(), &options, nullptr, &result, &report));
    const std::string json = re_report_json(report);
    re_model_free(result);
    re_report_free(report);
    const bool is_known = std::string(target) != "nobody";
    CHECK(kind == (is_known ? RE_OK : RE_ERROR_USAGE));
    CHECK((json.find("\"target\": \"" + std::string(target)) !=
           std::string::npos) == (is_known && std::string(target) != "auto"));
  }
}

TEST_CASE("rules work again after a run that had too little memory") {
  OneRule given(
      "return rule { match = function(op, x) return op.Relu(x) end,\n"
      "phase = 'target', where = function(m) m.n = m.x:dim(0) end,\n"
      "rewrite = function(op, m) local y = m.x\n"
      "for i = 1, m.n == 2 and 1 or 1e6 do y = op.Neg(y) end return y end }");
  given.options.memory = 32 << 20;
  const Own<re_rules> rules = rules_with(given.options);
  const auto kind_with = [&](const char* text) {
    const Own<re_model> model = model_of(text);
    re_model* result = nullptr;
    const re_kind kind = kind_of(
        re_run(rules.get(), model.get(), nullptr, nullptr, &result, nullptr));
    re_model_free(result);
    return kind;
  };
  for (int i = 0; i < 3; ++i) {
    CHECK(kind_with("m (float[2] x) => (float[2] y) { y = Relu(x) }") == RE_OK);
    CHECK(kind_with("m (float[3] x) => (float[3] y) { y = Relu(x) }") ==
          RE_ERROR_LIMIT);
  }
}

TEST_CASE("garbage of earlier runs is none of the next") {
  OneRule given(
      "return rule { pass = function(graph, op) local t = {} "
      "for i = 1, 1e6 do t[i] = i end end }");
  given.options.memory = 64 << 20;
  const Own<re_rules> rules = rules_with(given.options);
  const Own<re_model> model = model_of(kModel);
  for (int i = 0; i < 20; ++i) result_of(rules, model);
}

TEST_CASE("a stop that came before, and a time that is over, end every call") {
  const Own<re_rules> rules = rules_of(kRule);
  const Own<re_model> model = model_of(kModel);
  const Own<re_stop> own = new_stop();
  re_stop* const stop = own.get();
  re_stop_request(stop);
  re_call stopped = RE_OPTIONS(re_call), late = RE_OPTIONS(re_call);
  stopped.stop = stop;
  late.seconds = 1e-9;
  const std::string text = kModel;
  re_model_options how = RE_OPTIONS(re_model_options);
  how.name = "m.onnxtxt";
  const std::string path =
      fs::temp_directory_path() / "ruleengine_c_late.onnxtxt";
  fs::remove(path);
  const auto ignore = [](void*, const void*, std::size_t) { return 0; };
  for (const re_call* call : {&stopped, &late}) {
    re_model* made = nullptr;
    re_report* report = nullptr;
    re_session* session = nullptr;
    re_walk* walk = nullptr;
    const re_kind kind = call == &late ? RE_ERROR_LIMIT : RE_ERROR_CANCELLED;
    CHECK(kind_of(re_model_parse(text.data(), text.size(), &how, call,
                                 &made)) == kind);
    CHECK(kind_of(re_model_save(model.get(), path.c_str(), nullptr, call)) ==
          kind);
    CHECK(kind_of(re_model_write(model.get(), ignore, nullptr, call)) == kind);
    CHECK(kind_of(re_run(rules.get(), model.get(), nullptr, call, &made,
                         nullptr)) == kind);
    CHECK(kind_of(re_coverage(rules.get(), model.get(), nullptr, call,
                              &report)) == kind);
    CHECK(kind_of(re_compare(model.get(), model.get(), nullptr, call,
                             nullptr)) == kind);
    CHECK(kind_of(re_session_new(model.get(), nullptr, call, &session)) ==
          kind);
    CHECK(kind_of(re_walk_new(model.get(), call, &walk)) == kind);
  }
  CHECK(!fs::exists(path));
}

TEST_CASE("a text of NULL fails the load, and so does a name of no file") {
  re_rules_options options = RE_OPTIONS(re_rules_options);
  const char* path = "memory:/r.lua";
  options.paths = &path;
  options.path_count = 1;
  options.read = [](void*, const char*, re_buffer* text) {
    CHECK(re_buffer_append(text, nullptr, 5) == -1);
    CHECK(re_buffer_append(text, kRule, std::strlen(kRule)) == 0);
    return static_cast<int>(RE_LOOKUP_FOUND);
  };
  re_rules* rules = nullptr;
  CHECK(kind_of(re_rules_load(&options, nullptr, &rules)) == RE_ERROR_USAGE);
  const re_file file = {"a//r.lua", kRule, RE_TERMINATED};
  options.read = nullptr;
  options.files = &file;
  options.file_count = 1;
  CHECK(kind_of(re_rules_load(&options, nullptr, &rules)) == RE_ERROR_USAGE);
  re_model_options sizes = RE_OPTIONS(re_model_options);
  const re_dimension n = {"N", INT64_MIN, nullptr};
  sizes.name = "m.onnxtxt";
  sizes.dimensions = &n;
  sizes.dimension_count = 1;
  re_model* model = nullptr;
  CHECK(kind_of(re_model_parse(kModel, std::strlen(kModel), &sizes, nullptr,
                               &model)) == RE_ERROR_USAGE);
}

TEST_CASE("explaining without assumptions") {
  const Own<re_rules> rules = rules_of(
      "return rule { match = function(op, x) return op.Relu(x) end,\n"
      "where = function(m) assume('all is well', m.x) end,\n"
      "rewrite = function(op, m) return op.Neg(m.x) end }");
  const Own<re_model> model = model_of(kModel);
  for (const std::int64_t exact : {0, 1}) {
    re_explain_options what = RE_OPTIONS(re_explain_options);
    what.exact = exact;
    re_report* report = nullptr;
    fine(re_explain(rules.get(), model.get(), &what, nullptr, &report));
    const Own<re_report> own(report);
    const std::string fires =
        exact != 0 ? "\"fires\": false" : "\"fires\": true";
    CHECK(std::string(re_report_json(report)).find(fires) != std::string::npos);
  }
}

TEST_CASE("settings of rules") {
  const std::string rule =
      "return rule { options = { on = false }, phase = 'target', "
      "when = function(m) return m.options.on end, "
      "match = function(op, x) return op.Relu(op.Neg(x)) end, "
      "rewrite = function(op, m) return op.Neg(m.x) end }";
  re_setting setting = {"r", "on", "true"};
  OneRule given(rule.c_str());
  given.options.settings = &setting;
  given.options.setting_count = 1;
  re_rules* loaded = nullptr;
  fine(re_rules_load(&given.options, nullptr, &loaded));
  re_rules_free(loaded);
  for (const re_setting& wrong :
       {re_setting{"r", "of", "true"}, re_setting{"r", "on", "7"},
        re_setting{"q", "on", "true"}, re_setting{nullptr, "on", "true"}}) {
    setting = wrong;
    CHECK(kind_of(re_rules_load(&given.options, nullptr, &loaded)) ==
          RE_ERROR_USAGE);
  }
}

TEST_CASE("models with handles of their own run at once") {
  std::vector<std::thread> threads;
  std::vector<std::string> results(4);
  for (std::string& each : results) {
    threads.emplace_back([&each] {
      const Own<re_rules> rules = rules_of(kRule);
      for (int i = 0; i < 5; ++i) {
        const Own<re_model> model = model_of(kModel);
        re_model* result = nullptr;
        fine(re_run(rules.get(), model.get(), nullptr, nullptr, &result,
                    nullptr));
        each = bytes_of(result);
        re_model_free(result);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (const std::string& each : results) CHECK(each == results[0]);
}

}  // namespace
}  // namespace ruleengine::c
