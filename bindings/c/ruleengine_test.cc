// The C interface, as a program sees it.
#include "bindings/c/ruleengine.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/version.h"

namespace ruleengine::c {
namespace {

namespace fs = std::filesystem;

struct Free {
  void operator()(re_error* e) const { re_error_free(e); }
  void operator()(re_rules* r) const { re_rules_free(r); }
  void operator()(re_model* m) const { re_model_free(m); }
  void operator()(re_report* r) const { re_report_free(r); }
  void operator()(re_stop* s) const { re_stop_free(s); }
  void operator()(re_session* s) const { re_session_free(s); }
  void operator()(re_values* v) const { re_values_free(v); }
  void operator()(re_walk* w) const { re_walk_free(w); }
};
template <typename T>
using Own = std::unique_ptr<T, Free>;

void fine(re_error* error) {
  const Own<re_error> own(error);
  REQUIRE_MESSAGE(error == nullptr, std::string(re_error_text(error)));
}

re_kind kind_of(re_error* error) {
  const Own<re_error> own(error);
  return re_error_kind(error);
}

constexpr const char* kModel =
    "m (float[2,N] x) => (float[2,N] y) { a = Identity(x)  b = Neg(a) "
    "y = Relu(b) }";
constexpr const char* kRule =
    "return rule { match = function(op, x) return op.Relu(op.Neg(x)) end,\n"
    "  rewrite = function(op, m) return op.Neg(m.x) end, phase = 'target' }";

Own<re_model> model_of(const char* text, re_storage storage = RE_MAP) {
  re_model_options options = RE_OPTIONS(re_model_options);
  options.name = "m.onnxtxt";
  options.storage = storage;
  re_model* model = nullptr;
  fine(re_model_parse(text, std::string(text).size(), &options, nullptr,
                      &model));
  return Own<re_model>(model);
}

re_error* load_text(const char* rule, re_rules** rules,
                    const re_call* call = nullptr) {
  const char* path = "memory:/mine/r.lua";
  const re_file file = {"mine/r.lua", rule, 0};
  re_rules_options options = RE_OPTIONS(re_rules_options);
  options.paths = &path;
  options.path_count = 1;
  options.files = &file;
  options.file_count = 1;
  return re_rules_load(&options, call, rules);
}

Own<re_rules> rules_of(const char* rule) {
  re_rules* rules = nullptr;
  fine(load_text(rule, &rules));
  return Own<re_rules>(rules);
}

std::string bytes_of(re_model* model) {
  void* data = nullptr;
  std::size_t size = 0;
  fine(re_model_bytes(model, nullptr, &data, &size));
  std::string out(static_cast<const char*>(data), size);
  re_bytes_free(data);
  return out;
}

TEST_CASE("the version") { CHECK(std::string(re_version()) == kVersion); }

TEST_CASE("a run from memory to memory leaves the model as it is") {
  const Own<re_rules> rules = rules_of(kRule);
  Own<re_model> model = model_of(kModel, RE_READ);
  const std::string before = bytes_of(model.get());
  re_model* result = nullptr;
  re_report* report = nullptr;
  fine(re_run(rules.get(), model.get(), nullptr, &result, &report));
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
    fine(re_run(rules.get(), model.get(), nullptr, &result, nullptr));
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
  CHECK(re_error_kind(error.get()) == RE_USAGE);
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
      if (its->fails) return RE_FAILED;
      std::string rule;
      if (std::string(name) == "a/r.lua") {
        rule = "local l = lib 'own'\n";
        rule += kRule;
      } else if (std::string(name) == "a/lib/own.lua") {
        rule = "return { x = 1 }";
      } else {
        return RE_NONE;
      }
      return re_buffer_append(to, rule.data(), rule.size()) == 0 ? RE_FOUND
                                                                 : RE_FAILED;
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
  CHECK(kind_of(re_rules_load(&options, nullptr, &rules)) == RE_RULE);
}

TEST_CASE("files, and writing to a callback") {
  const fs::path folder = fs::temp_directory_path() / "ruleengine_c_test";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string path = (folder / "m.onnx").string();
  Own<re_model> model = model_of(kModel);
  fine(re_model_save(model.get(), path.c_str(), nullptr, nullptr));
  for (const re_storage storage : {RE_MAP, RE_READ}) {
    re_model_options options = RE_OPTIONS(re_model_options);
    options.storage = storage;
    const re_dimension n = {"N", 7, nullptr};
    options.dimensions = &n;
    options.dimension_count = 1;
    re_model* loaded = nullptr;
    fine(re_model_load(path.c_str(), &options, nullptr, &loaded));
    const Own<re_model> own(loaded);
    struct Sink {
      std::size_t size = 0;
      std::string bytes;
      bool fails = false;
      static int write(void* user, const void* data, std::size_t size) {
        auto* its = static_cast<Sink*>(user);
        if (data == nullptr) {
          its->size = size;
        } else {
          its->bytes.append(static_cast<const char*>(data), size);
        }
        return its->fails ? 1 : 0;
      }
    } sink;
    fine(re_model_write(loaded, Sink::write, &sink, nullptr));
    CHECK(sink.size == sink.bytes.size());
    CHECK(sink.bytes == bytes_of(loaded));
    sink.fails = true;
    CHECK(kind_of(re_model_write(loaded, Sink::write, &sink, nullptr)) ==
          RE_WRITE);
    CHECK(kind_of(re_model_save(loaded, (folder / "no" / "m.onnx").c_str(),
                                nullptr, nullptr)) == RE_WRITE);
  }
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
    CHECK(kind_of(re_report_totals(report, nullptr)) == RE_USAGE);
    return std::string(re_report_json(report));
  };
  CHECK(json_of([&](re_report** to) {
          return re_match(rules.get(), model.get(), nullptr, to);
        }).find("\"fires\": ") != std::string::npos);
  CHECK(json_of([&](re_report** to) {
          return re_explain(rules.get(), model.get(), nullptr, 2, nullptr, to);
        }).find("\"misses\"") != std::string::npos);
  CHECK(json_of([&](re_report** to) {
          return re_coverage(rules.get(), model.get(), nullptr, to);
        }).find("\"fused\": 0") != std::string::npos);
  CHECK(bytes_of(model.get()) == before);
  re_report* none = nullptr;
  CHECK(kind_of(re_explain(rules.get(), model.get(), "nobody", 0, nullptr,
                           &none)) == RE_USAGE);
}

TEST_CASE("examples of rules in memory") {
  std::string rule = kRule;
  rule.pop_back();
  rule +=
      ", examples = { { 'one', [[(float[2] x) => (float[2] y) "
      "{ a = Neg(x)  y = Relu(a) }]], [[y = Neg(x)]] } } }";
  const char* path = "memory:/r.lua";
  const re_file file = {"r.lua", rule.c_str(), rule.size()};
  re_rules_options options = RE_OPTIONS(re_rules_options);
  options.paths = &path;
  options.path_count = 1;
  options.files = &file;
  options.file_count = 1;
  re_report* report = nullptr;
  fine(re_test(&options, nullptr, &report));
  // The rule is wrong, and executing its example shows it.
  CHECK(std::string(re_report_json(report)).find("\"unsound\"") !=
        std::string::npos);
  re_report_free(report);
}

TEST_CASE("a call that is stopped") {
  const Own<re_rules> rules = rules_of(kRule);
  const Own<re_model> model = model_of(kModel);
  re_stop* stop = nullptr;
  fine(re_stop_new(&stop));
  const Own<re_stop> own(stop);
  re_call call = RE_OPTIONS(re_call);
  call.stop = stop;
  re_model* result = nullptr;
  fine(re_run(rules.get(), model.get(), &call, &result, nullptr));
  re_model_free(result);
  re_stop_request(stop);
  re_report* report = nullptr;
  CHECK(kind_of(re_run(rules.get(), model.get(), &call, &result, &report)) ==
        RE_CANCELLED);
  CHECK(result == nullptr);
  CHECK(std::string(re_report_json(report)).find("\"error\"") !=
        std::string::npos);
  re_report_free(report);
  // The handles are as good as before.
  fine(re_run(rules.get(), model.get(), nullptr, &result, nullptr));
  re_model_free(result);
  call.stop = nullptr;
  call.seconds = 1e-9;
  CHECK(kind_of(re_run(rules.get(), model.get(), &call, &result, nullptr)) ==
        RE_LIMIT);
  re_rules* none = nullptr;
  CHECK(kind_of(load_text(kRule, &none, &call)) == RE_LIMIT);
}

TEST_CASE("a rule that never ends") {
  const Own<re_rules> rules = rules_of(
      "return rule { phase = 'target', match = function(op, x) "
      "return op.Relu(x) end, rewrite = function(op, m) while true do end end "
      "}");
  const Own<re_model> model = model_of(kModel);
  re_stop* stop = nullptr;
  fine(re_stop_new(&stop));
  const Own<re_stop> own(stop);
  re_call call = RE_OPTIONS(re_call);
  call.stop = stop;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    re_stop_request(stop);
  });
  re_model* result = nullptr;
  CHECK(kind_of(re_run(rules.get(), model.get(), &call, &result, nullptr)) ==
        RE_CANCELLED);
  other.join();
}

TEST_CASE("a model and its results are used at once, in any order") {
  Own<re_rules> rules = rules_of(kRule);
  Own<re_model> model = model_of(kModel);
  std::vector<Own<re_model>> results;
  for (int i = 0; i < 3; ++i) {
    re_model* result = nullptr;
    fine(re_run(rules.get(), results.empty() ? model.get() : results[0].get(),
                nullptr, &result, nullptr));
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
        fine(re_match(own.get(), each, nullptr, &report));
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
    fine(re_run(rules.get(), model.get(), nullptr, &result, nullptr));
    const Own<re_model> own(result);
    return bytes_of(result);
  };
  const std::string before = result_of();
  for (int i = 0; i < 20; ++i) {
    re_report* report = nullptr;
    fine(re_match(rules.get(), model.get(), nullptr, &report));
    re_report_free(report);
    fine(re_explain(rules.get(), model.get(), "y", 1, nullptr, &report));
    re_report_free(report);
  }
  CHECK(result_of() == before);
}

TEST_CASE("a wrong rule is found where the options ask for it") {
  const std::string wrong =
      "return rule { match = function(op, x) return op.Relu(op.Neg(x)) end, "
      "rewrite = function(op, m) return op.Neg(m.x) end, phase = 'target' }";
  for (const re_verify verify :
       {RE_VERIFY_NOTHING, RE_VERIFY_RESULT, RE_VERIFY_EDITS}) {
    const char* path = "memory:/r.lua";
    const re_file file = {"r.lua", wrong.c_str(), 0};
    re_rules_options options = RE_OPTIONS(re_rules_options);
    options.paths = &path;
    options.path_count = 1;
    options.files = &file;
    options.file_count = 1;
    options.verify = verify;
    re_rules* loaded = nullptr;
    fine(re_rules_load(&options, nullptr, &loaded));
    const Own<re_rules> rules(loaded);
    const Own<re_model> model = model_of(kModel);
    re_model* result = nullptr;
    const re_kind kind =
        kind_of(re_run(loaded, model.get(), nullptr, &result, nullptr));
    CHECK(kind == (verify == RE_VERIFY_RESULT ? RE_VERIFY : RE_OK));
    if (verify == RE_VERIFY_EDITS)
      CHECK(bytes_of(result) == bytes_of(model.get()));
    re_model_free(result);
  }
  re_rules_options options = RE_OPTIONS(re_rules_options);
  options.verify = 9;
  re_rules* none = nullptr;
  CHECK(kind_of(re_rules_load(&options, nullptr, &none)) == RE_USAGE);
}

TEST_CASE("settings of rules") {
  const std::string rule =
      "return rule { options = { on = false }, phase = 'target', "
      "when = function(m) return m.options.on end, "
      "match = function(op, x) return op.Relu(op.Neg(x)) end, "
      "rewrite = function(op, m) return op.Neg(m.x) end }";
  const char* path = "memory:/r.lua";
  const re_file file = {"r.lua", rule.c_str(), 0};
  re_setting setting = {"r", "on", "true"};
  re_rules_options options = RE_OPTIONS(re_rules_options);
  options.paths = &path;
  options.path_count = 1;
  options.files = &file;
  options.file_count = 1;
  options.settings = &setting;
  options.setting_count = 1;
  re_rules* loaded = nullptr;
  fine(re_rules_load(&options, nullptr, &loaded));
  re_rules_free(loaded);
  for (const re_setting& wrong :
       {re_setting{"r", "of", "true"}, re_setting{"r", "on", "7"},
        re_setting{"q", "on", "true"}, re_setting{nullptr, "on", "true"}}) {
    setting = wrong;
    CHECK(kind_of(re_rules_load(&options, nullptr, &loaded)) == RE_USAGE);
  }
}

// --- sessions ----------------------------------------------------------------

Own<re_session> session_of(re_model* model) {
  re_session* session = nullptr;
  fine(re_session_new(model, nullptr, nullptr, &session));
  return Own<re_session>(session);
}

TEST_CASE("a session runs many times, on data that stays where it is") {
  Own<re_model> model = model_of(
      "m (float[2,N] x) => (float[2,N] y, float[2,N] same) "
      "{ y = Neg(x)  same = Identity(x) }");
  const Own<re_session> session = session_of(model.get());
  model.reset();
  for (std::int64_t n = 0; n < 4; ++n) {
    const std::int64_t shape[] = {2, n};
    std::vector<float> x(2 * static_cast<std::size_t>(n), 3);
    re_tensor input = {.name = "x",
                       .type = 1,
                       .rank = 2,
                       .shape = shape,
                       .data = x.data(),
                       .size = x.size() * sizeof(float)};
    re_values* values = nullptr;
    fine(re_session_run(session.get(), &input, 1, nullptr, &values));
    const Own<re_values> own(values);
    REQUIRE(re_values_count(values) == 2);
    re_tensor y, same;
    fine(re_values_tensor(values, 0, 0, &y));
    fine(re_values_tensor(values, 1, 0, &same));
    CHECK(std::string(y.name) == "y");
    CHECK(y.type == 1);
    REQUIRE(y.rank == 2);
    CHECK(y.shape[1] == n);
    CHECK(y.size == input.size);
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(static_cast<const float*>(y.data)[i] == -3);
      CHECK(x[i] == 3);
    }
    // Outputs outlive the inputs.
    if (n > 0) CHECK(same.data != x.data());
    std::fill(x.begin(), x.end(), 0.0f);
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(static_cast<const float*>(same.data)[i] == 3);
    }
  }
}

TEST_CASE("inputs that do not fit") {
  const Own<re_model> model =
      model_of("m (float[2] x) => (float[2] y) { y = Neg(x) }");
  const Own<re_session> session = session_of(model.get());
  const float data[4] = {1, 2, 3, 4};
  const std::int64_t two = 2, three = 3, negative = -2, huge = INT64_MAX;
  const re_tensor fits = {"x", 1, 1, &two, data, 8};
  const auto kind_with = [&](re_tensor given, std::size_t count = 1) {
    re_values* values = nullptr;
    const re_kind kind =
        kind_of(re_session_run(session.get(), &given, count, nullptr, &values));
    re_values_free(values);
    return kind;
  };
  const auto changed = [&](auto change) {
    re_tensor out = fits;
    change(out);
    return kind_with(out);
  };
  CHECK(kind_with(fits) == 0);
  CHECK(kind_with(fits, 0) == RE_MODEL);
  CHECK(changed([](re_tensor& t) { t.name = "z"; }) == RE_USAGE);
  CHECK(changed([](re_tensor& t) { t.name = nullptr; }) == RE_USAGE);
  CHECK(changed([](re_tensor& t) { t.type = 99; }) == RE_USAGE);
  CHECK(changed([](re_tensor& t) { t.type = 8; }) == RE_USAGE);
  CHECK(changed([](re_tensor& t) { t.type = 6; }) == RE_MODEL);
  CHECK(changed([](re_tensor& t) { t.size = 12; }) == RE_USAGE);
  CHECK(changed([&](re_tensor& t) { t.shape = &three; }) == RE_USAGE);
  CHECK(changed([&](re_tensor& t) { t.shape = &negative; }) == RE_USAGE);
  CHECK(changed([&](re_tensor& t) { t.shape = &huge; }) == RE_USAGE);
  CHECK(changed([](re_tensor& t) { t.shape = nullptr; }) == RE_USAGE);
  CHECK(changed([](re_tensor& t) { t.data = nullptr; }) == RE_USAGE);
  CHECK(changed([&](re_tensor& t) {  // not aligned
          t.data = reinterpret_cast<const char*>(data) + 1;
        }) == 0);
  CHECK(kind_of(re_session_run(session.get(), nullptr, 1, nullptr, nullptr)) ==
        RE_USAGE);
}

TEST_CASE("strings and sequences") {
  const Own<re_model> model = model_of(
      "m (string[2] x) => (string[2] y, seq(string[2]) z) "
      "{ y = Identity(x)  z = SequenceConstruct(x, y) }");
  const Own<re_session> session = session_of(model.get());
  const re_text texts[] = {{"a", 1}, {"b\0c", 3}};
  const std::int64_t two = 2;
  const re_tensor input = {"x", 8, 1, &two, texts, sizeof(texts)};
  re_values* values = nullptr;
  fine(re_session_run(session.get(), &input, 1, nullptr, &values));
  const Own<re_values> own(values);
  CHECK(re_values_kind(values, 0) == RE_TENSOR);
  CHECK(re_values_kind(values, 1) == RE_SEQUENCE);
  CHECK(re_values_kind(values, 2) == RE_ABSENT);
  REQUIRE(re_values_items(values, 1) == 2);
  for (const auto& [i, item] : {std::pair{0, 0}, {1, 0}, {1, 1}}) {
    re_tensor y;
    fine(re_values_tensor(values, static_cast<std::size_t>(i),
                          static_cast<std::size_t>(item), &y));
    REQUIRE(y.size == sizeof(texts));
    const auto* found = static_cast<const re_text*>(y.data);
    CHECK(std::string(found[1].data, found[1].size) == std::string("b\0c", 3));
  }
  re_tensor none;
  CHECK(kind_of(re_values_tensor(values, 1, 2, &none)) == RE_USAGE);
  CHECK(kind_of(re_values_tensor(values, 5, 0, &none)) == RE_USAGE);
}

TEST_CASE("comparing models") {
  const Own<re_model> one = model_of(kModel), same = model_of(kModel);
  const Own<re_model> other =
      model_of("m (float[2,N] x) => (float[2,N] y) { y = Neg(x) }");
  re_report* report = nullptr;
  fine(re_compare(one.get(), same.get(), nullptr, nullptr, &report));
  CHECK(std::string(re_report_json(report)).find("\"difference\": \"\"") !=
        std::string::npos);
  re_report_free(report);
  CHECK(kind_of(re_compare(one.get(), other.get(), nullptr, nullptr,
                           &report)) == RE_VERIFY);
  CHECK(std::string(re_report_json(report)).find("shown_by") !=
        std::string::npos);
  re_report_free(report);
  fine(re_compare(one.get(), one.get(), nullptr, nullptr, nullptr));
  re_compare_options loose = RE_OPTIONS(re_compare_options);
  loose.absolute = 1e30;
  fine(re_compare(one.get(), other.get(), &loose, nullptr, nullptr));
  loose.absolute = -1;
  CHECK(kind_of(re_compare(one.get(), other.get(), &loose, nullptr, nullptr)) ==
        RE_USAGE);
}

// --- walks -------------------------------------------------------------------

constexpr const char* kWalked =
    "<ir_version: 8, opset_import: [\"\" : 17, \"own\" : 1]>\n"
    "m (float[2,N] x, bool c) => (float[M,K] y)\n"
    "<float[2] w = {1, 2}> {\n"
    "  s = own.twice(x)\n"
    "  t = Concat <axis = 1> (s, x)\n"
    "  y = If (c) <then_branch = a () => (float[M,K] p) { p = Neg(t) },\n"
    "              else_branch = b () => (float[M,K] q) { q = Abs(t) }>\n"
    "  k = Constant <value_strings = [\"one\", \"two\"]> ()\n"
    "  z = Clip (x, , hi)\n"
    "  hi = Constant <value = float {3.0}> ()\n"
    "}\n"
    "<domain: \"own\", opset_import: [\"\" : 17]>\n"
    "twice (v) => (r) { r = Add(v, v) }\n";

std::string of(const re_text& text) { return {text.data, text.size}; }

struct Walked {
  Own<re_walk> own;

  re_graph graph(std::size_t i) const {
    re_graph out = RE_OPTIONS(re_graph);
    fine(re_walk_graph(own.get(), i, &out));
    return out;
  }
  re_node node(std::size_t g, std::size_t i) const {
    re_node out = RE_OPTIONS(re_node);
    fine(re_walk_node(own.get(), g, i, &out));
    return out;
  }
  re_value value(std::int64_t i) const {
    re_value out = RE_OPTIONS(re_value);
    fine(re_walk_value(own.get(), static_cast<std::size_t>(i), &out));
    return out;
  }
  re_attribute attribute(std::size_t g, std::size_t n, std::size_t i) const {
    re_attribute out = RE_OPTIONS(re_attribute);
    fine(re_walk_attribute(own.get(), g, n, i, &out));
    return out;
  }
  // The place of a node in the main graph.
  std::size_t find(const char* type) const {
    for (std::size_t i = 0; i < graph(0).node_count; ++i) {
      if (of(node(0, i).type) == type) return i;
    }
    REQUIRE_MESSAGE(false, std::string(type));
    return 0;
  }
};

Walked walk_of(re_model* model) {
  re_walk* walk = nullptr;
  fine(re_walk_new(model, nullptr, &walk));
  return {Own<re_walk>(walk)};
}

TEST_CASE("a walk shows graphs, nodes and values") {
  Own<re_model> model = model_of(kWalked);
  const Walked walk = walk_of(model.get());
  model.reset();
  REQUIRE(re_walk_graphs(walk.own.get()) == 4);
  const re_graph main = walk.graph(0);
  CHECK(main.kind == RE_MAIN);
  CHECK(of(main.name) == "m");
  REQUIRE(main.input_count == 2);
  REQUIRE(main.initializer_count == 1);
  const re_value x = walk.value(main.inputs[0]);
  CHECK(of(x.name) == "x");
  CHECK(x.origin == RE_INPUT);
  CHECK(x.type == 1);
  REQUIRE(x.rank == 2);
  CHECK(x.shape[0].value == 2);
  CHECK(x.shape[1].value == RE_NOTHING);
  CHECK(of(x.shape[1].name) == "N");
  CHECK(x.readers == 3);

  const std::size_t concat = walk.find("Concat");
  const re_value t = walk.value(walk.node(0, concat).outputs[0]);
  CHECK(t.origin == RE_COMPUTED);
  CHECK(t.graph == 0);
  CHECK(static_cast<std::size_t>(t.node) == concat);
  CHECK(of(t.shape[1].name) == "2*N");  // inferred, through the function

  const std::size_t call = walk.find("twice");
  const auto function = walk.node(0, call).function;
  REQUIRE(function == 3);
  const re_graph body = walk.graph(static_cast<std::size_t>(function));
  CHECK(body.kind == RE_FUNCTION);
  CHECK(of(body.domain) == "own");
  CHECK(of(body.type) == "twice");
  CHECK(body.node_count == 1);
  CHECK(walk.node(0, concat).function == RE_NOTHING);

  const std::size_t branch = walk.find("If");
  REQUIRE(walk.node(0, branch).attribute_count == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const re_attribute a = walk.attribute(0, branch, i);
    CHECK(a.kind == 5);
    REQUIRE(a.count == 1);
    const re_graph each = walk.graph(static_cast<std::size_t>(a.graphs[0]));
    CHECK(each.kind == RE_BODY);
    CHECK(each.parent == 0);
    CHECK(static_cast<std::size_t>(each.parent_node) == branch);
    CHECK(each.node_count == 1);
    CHECK(of(each.name) == (of(a.name) == "then_branch" ? "a" : "b"));
  }
  const re_node clip = walk.node(0, walk.find("Clip"));
  REQUIRE(clip.input_count == 3);
  CHECK(clip.inputs[1] == RE_NOTHING);
  // Constants come before what reads them, wherever the file has them.
  CHECK(walk.value(clip.inputs[2]).node <
        static_cast<std::int64_t>(walk.find("Clip")));
}

TEST_CASE("a walk shows attributes and tensors where they are") {
  const Own<re_model> text = model_of(kWalked);
  const std::string bytes = bytes_of(text.get());
  re_model* parsed = nullptr;
  fine(re_model_parse(bytes.data(), bytes.size(), nullptr, nullptr, &parsed));
  const Own<re_model> model(parsed);
  const Walked walk = walk_of(parsed);
  const re_graph main = walk.graph(0);
  re_tensor w;
  fine(re_walk_constant(walk.own.get(),
                        static_cast<std::size_t>(main.initializers[0]), &w));
  CHECK(w.type == 1);
  REQUIRE(w.rank == 1);
  CHECK(w.shape[0] == 2);
  float numbers[2];
  REQUIRE(w.size == sizeof(numbers));
  std::memcpy(numbers, w.data, sizeof(numbers));
  CHECK(numbers[1] == 2);
  re_tensor again;
  fine(re_walk_constant(
      walk.own.get(), static_cast<std::size_t>(main.initializers[0]), &again));
  CHECK(again.data == w.data);
  CHECK(kind_of(re_walk_constant(
            walk.own.get(), static_cast<std::size_t>(main.inputs[0]), &w)) ==
        RE_USAGE);
  std::size_t strings = 0, tensors = 0;
  for (std::size_t i = 0; i < main.node_count; ++i) {
    for (std::size_t a = 0; a < walk.node(0, i).attribute_count; ++a) {
      const re_attribute its = walk.attribute(0, i, a);
      if (its.kind == 8) {
        ++strings;
        REQUIRE(its.count == 2);
        CHECK(of(its.strings[1]) == "two");
      }
      if (its.kind == 4) {
        ++tensors;
        re_tensor tensor;
        fine(re_walk_tensor(walk.own.get(), 0, i, a, 0, &tensor));
        CHECK(tensor.rank == 0);
        CHECK(kind_of(re_walk_tensor(walk.own.get(), 0, i, a, 1, &tensor)) ==
              RE_USAGE);
      }
      if (of(its.name) == "axis") CHECK(its.i == 1);
    }
  }
  CHECK(strings == 1);
  CHECK(tensors == 1);
}

TEST_CASE("numbers that a walk does not have") {
  const Own<re_model> model = model_of(kModel);
  const Walked walk = walk_of(model.get());
  re_graph graph = RE_OPTIONS(re_graph);
  re_node node = RE_OPTIONS(re_node);
  re_value value = RE_OPTIONS(re_value);
  re_attribute attribute = RE_OPTIONS(re_attribute);
  re_walk* its = walk.own.get();
  CHECK(kind_of(re_walk_graph(its, 1, &graph)) == RE_USAGE);
  CHECK(kind_of(re_walk_node(its, 1, 0, &node)) == RE_USAGE);
  CHECK(kind_of(re_walk_node(its, 0, 3, &node)) == RE_USAGE);
  CHECK(kind_of(re_walk_value(its, SIZE_MAX, &value)) == RE_USAGE);
  CHECK(kind_of(re_walk_attribute(its, 0, 0, 0, &attribute)) == RE_USAGE);
  CHECK(kind_of(re_walk_graph(nullptr, 0, &graph)) == RE_USAGE);
  CHECK(kind_of(re_walk_graph(its, 0, nullptr)) == RE_USAGE);
  graph.size = 0;
  CHECK(kind_of(re_walk_graph(its, 0, &graph)) == RE_USAGE);
  // An older caller's struct is shorter.
  node.size = offsetof(re_node, inputs);
  node.attribute_count = 77;
  fine(re_walk_node(its, 0, 0, &node));
  CHECK(of(node.type) == "Identity");
  CHECK(node.attribute_count == 77);
}

TEST_CASE("pointers that are NULL") {
  re_model* model = nullptr;
  re_rules* rules = nullptr;
  re_report* report = nullptr;
  const Own<re_rules> some = rules_of(kRule);
  const Own<re_model> given = model_of(kModel);
  const std::function<re_error*()> kCalls[] = {
      [&] { return re_stop_new(nullptr); },
      [&] { return re_rules_load(nullptr, nullptr, nullptr); },
      [&] { return re_model_load("m", nullptr, nullptr, nullptr); },
      [&] { return re_model_load(nullptr, nullptr, nullptr, &model); },
      [&] { return re_model_parse(nullptr, 1, nullptr, nullptr, &model); },
      [&] { return re_model_parse("", 0, nullptr, nullptr, nullptr); },
      [&] { return re_model_save(nullptr, "x", nullptr, nullptr); },
      [&] { return re_model_save(given.get(), nullptr, nullptr, nullptr); },
      [&] { return re_model_write(given.get(), nullptr, nullptr, nullptr); },
      [&] { return re_model_bytes(given.get(), nullptr, nullptr, nullptr); },
      [&] { return re_run(nullptr, given.get(), nullptr, &model, nullptr); },
      [&] { return re_run(some.get(), nullptr, nullptr, &model, nullptr); },
      [&] {
        return re_run(some.get(), given.get(), nullptr, nullptr, nullptr);
      },
      [&] { return re_match(nullptr, given.get(), nullptr, &report); },
      [&] { return re_match(some.get(), given.get(), nullptr, nullptr); },
      [&] { return re_report_totals(nullptr, nullptr); },
      [&] { return re_test(nullptr, nullptr, nullptr); }};
  for (const auto& each : kCalls) CHECK(kind_of(each()) == RE_USAGE);
  CHECK(kind_of(re_model_parse(nullptr, 0, nullptr, nullptr, &model)) ==
        RE_MODEL);
  const std::vector<const char*> texts = {
      re_error_what(nullptr), re_error_text(nullptr), re_report_json(nullptr),
      re_rules_warning(nullptr, 0), re_model_warning(nullptr, 3)};
  for (const char* each : texts) CHECK(std::string(each).empty());
  re_error_free(nullptr);
  re_rules_free(nullptr);
  re_model_free(nullptr);
  re_report_free(nullptr);
  re_stop_free(nullptr);
  re_stop_request(nullptr);
  re_bytes_free(nullptr);
  CHECK(re_buffer_append(nullptr, "x", 1) == -1);
  CHECK(rules == nullptr);
}

TEST_CASE("handles of another type") {
  const Own<re_rules> rules = rules_of(kRule);
  re_model* model = nullptr;
  CHECK(kind_of(re_run(rules.get(), reinterpret_cast<re_model*>(rules.get()),
                       nullptr, &model, nullptr)) == RE_USAGE);
}

TEST_CASE("a handle that is in use") {
  const Own<re_model> model = model_of(kModel);
  struct Again {
    re_model* model;
    re_kind kind = RE_INTERNAL;
    static int write(void* user, const void*, std::size_t) {
      auto* its = static_cast<Again*>(user);
      its->kind = kind_of(re_model_write(its->model, write, user, nullptr));
      return 0;
    }
  } again{model.get()};
  fine(re_model_write(model.get(), Again::write, &again, nullptr));
  CHECK(again.kind == RE_USAGE);
  CHECK(!bytes_of(model.get()).empty());
}

TEST_CASE("sizes of options") {
  struct {
    re_model_options known;
    char more[16];
  } newer{};
  const std::string text = kModel;
  newer.known.size = sizeof(newer);
  newer.known.name = "m.onnxtxt";
  re_model* model = nullptr;
  fine(re_model_parse(text.data(), text.size(), &newer.known, nullptr, &model));
  re_model_free(model);
  newer.more[3] = 1;
  CHECK(kind_of(re_model_parse(text.data(), text.size(), &newer.known, nullptr,
                               &model)) == RE_USAGE);
  re_model_options options = {};
  CHECK(kind_of(re_model_parse(text.data(), text.size(), &options, nullptr,
                               &model)) == RE_USAGE);
  // An older caller's struct ended before `data`.
  options.name = "m.onnxtxt";
  options.size = offsetof(re_model_options, data);
  options.data = [](void*, const char*, const void**, std::size_t*) -> int {
    std::abort();
  };
  fine(re_model_parse(text.data(), text.size(), &options, nullptr, &model));
  re_model_free(model);
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
        fine(re_run(rules.get(), model.get(), nullptr, &result, nullptr));
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
