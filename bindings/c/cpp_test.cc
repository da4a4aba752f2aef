// The layer for C++ over the C interface: results, errors, runs, callbacks.
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/c/ruleengine.hpp"
#include "tests/support/c_interface.h"
#include "tests/support/cpp_interface.h"
#include "tests/support/weighted_model.h"

namespace ruleengine::c {
namespace {

static_assert(!std::is_copy_constructible_v<re::Model>);
static_assert(std::is_nothrow_move_constructible_v<re::Model>);
static_assert(std::is_nothrow_copy_constructible_v<re::Error>);

// What was thrown, if it is a runtime_error.
std::string thrown_text(const re::Error& error) {
  REQUIRE(error.thrown());
  try {
    std::rethrow_exception(error.thrown());
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

TEST_CASE("C++: a result has a thing or an error") {
  re::Result<std::string> some = std::string("a");
  REQUIRE(some);
  CHECK(*some == "a");
  CHECK(some->size() == 1);
  CHECK(some.value() == "a");
  CHECK(std::as_const(some).value() == "a");
  CHECK(*std::as_const(some) == "a");
  CHECK(std::move(some).value() == "a");
  const re::Result<std::string> none =
      re::Error(RE_ERROR_LIMIT, "too much", "less", "more");
  REQUIRE(!none);
  CHECK(none.error().kind() == RE_ERROR_LIMIT);
  CHECK(none.error().text() ==
        "error: too much\n  expected: less\n  found: more");
  CHECK_THROWS_AS(static_cast<void>(none.value()), re::Exception);
  CHECK(re::Result<void>());
  CHECK(!re::Result<void>(none.error()));
}

TEST_CASE("C++: an error has the texts of the library") {
  const re::Error error =
      failed(re::Rules::load({.packs = {"attention", "canonicl"}}));
  CHECK(error.kind() == RE_ERROR_USAGE);
  CHECK(error.expected().find("canonical") != std::string_view::npos);
  CHECK(!error.what().empty());
  CHECK(error.text().find(error.expected()) != std::string::npos);
  CHECK(!error.thrown());
  CHECK(error.report() == nullptr);
  try {
    re::Model::load("/nobody/m.onnx").value();
    CHECK(false);
  } catch (const re::Exception& e) {
    CHECK(e.error().kind() == RE_ERROR_MODEL);
    CHECK(std::string(e.what()).find("/nobody/m.onnx") != std::string::npos);
    CHECK(e.error().text() == e.what());
  }
  const re::Error copy = error;
  CHECK(copy.what().data() == error.what().data());
  CHECK(re::Error().kind() == RE_OK);
  CHECK(re::Error().what().empty());
  CHECK(re::Error().where().empty());
  CHECK(re::Error().text().empty());
}

TEST_CASE("C++: handles that are empty") {
  re::Model model = parsed(kModel);
  CHECK(model);
  const re::Model moved = std::move(model);
  CHECK(moved);
  CHECK(!model);  // NOLINT(bugprone-use-after-move)
  CHECK(failed(model.bytes()).kind() == RE_ERROR_USAGE);
  CHECK(failed(model.save("x")).kind() == RE_ERROR_USAGE);
  CHECK(model.warnings().empty());
  re::Rules rules;
  CHECK(!rules);
  CHECK(failed(rules.run(moved)).kind() == RE_ERROR_USAGE);
  CHECK(failed(loaded(kRule).run(model)).kind() == RE_ERROR_USAGE);
  CHECK(rules.warnings().size() == 0);
  CHECK(re::Report().json().empty());
  CHECK(failed(re::Report().totals()).kind() == RE_ERROR_USAGE);
  CHECK(failed(re::Session().run({})).kind() == RE_ERROR_USAGE);
  CHECK(re::Values().size() == 0);
  CHECK(re::Values()[0].kind() == RE_VALUE_ABSENT);
  CHECK(failed(re::Values()[0].tensor()).kind() == RE_ERROR_USAGE);
  CHECK(re::Walk().graphs().empty());
  CHECK(re::Walk().values().empty());
  re::Stop stop;
  stop.request();
  went_well(moved.write([](re::Bytes) { return true; }, {.stop = &stop}));
  re::Buffer buffer = got(moved.bytes());
  CHECK(!re::Buffer(std::move(buffer)).bytes().empty());
  CHECK(buffer.bytes().empty());  // NOLINT(bugprone-use-after-move)
}

TEST_CASE("C++: a run, its result and its report") {
  re::Rules rules = loaded(kRule);
  re::Model model = parsed(kModel);
  const std::string before = written(model);
  const re::Run run = got(rules.run(model));
  const re_run_totals totals = got(run.report.totals());
  CHECK(totals.rewrites == 1);
  CHECK(totals.nodes_before > totals.nodes_after);
  CHECK(run.report.json().find("memory:/mine/r.lua") != std::string_view::npos);
  CHECK(written(model) == before);
  const std::string after = written(run.model);
  CHECK(after != before);
  model = {};
  rules = {};
  CHECK(written(run.model) == after);
}

TEST_CASE("C++: questions") {
  const re::Rules rules = loaded(kRule);
  const re::Model model = parsed(kModel);
  const auto has = [](const re::Report& report, std::string_view text) {
    return report.json().find(text) != std::string_view::npos;
  };
  CHECK(has(got(rules.find_matches(model)), "\"fires\": "));
  const re::Report all = got(rules.explain(model, {.most = 2}));
  CHECK(has(all, "\"misses\""));
  CHECK(failed(all.totals()).kind() == RE_ERROR_USAGE);
  CHECK(got(rules.explain(model, {.node = "a"})).json() != all.json());
  CHECK(failed(rules.explain(model, {.node = "nobody"})).kind() ==
        RE_ERROR_USAGE);
  CHECK(has(got(rules.coverage(model)), "\"fused\": 0"));
  std::string rule = kRule;
  rule.pop_back();
  rule +=
      ", examples = { { 'one', [[(float[2] x) => (float[2] y) "
      "{ a = Neg(x)  y = Relu(a) }]], [[y = Neg(x)]] } } }";
  CHECK(has(got(re::test(options_with(rule))), "\"unsound\""));
}

TEST_CASE("C++: options of rules") {
  const std::string rule =
      "return rule { options = { on = false }, phase = 'target', "
      "when = function(_, options) return options.on end, "
      "match = function(op, x) return op.Relu(op.Neg(x)) end, "
      "rewrite = function(op, m) return op.Neg(m.x) end }";
  const re::Model model = parsed(kModel);
  struct Both : re::RulesOptions, re::RunOptions {};
  const auto run_with = [&](auto change) {
    Both options{options_with(rule), {}};
    change(options);
    const re::Result<re::Rules> rules = re::Rules::load(options);
    return rules ? rules->run(model, options)
                 : re::Result<re::Run>(rules.error());
  };
  const auto kind_with = [&](auto change) {
    return failed(run_with(change)).kind();
  };
  const auto rewrites = [](const re::Run& run) {
    return got(run.report.totals()).rewrites;
  };
  CHECK(rewrites(got(run_with([](auto&) {}))) == 0);
  const re::Run on = got(run_with([](auto& o) {
    o.settings = {{"r", "on", "true"}};
    o.target = "onnx";
    o.opset = 21;
  }));
  CHECK(rewrites(on) == 1);
  CHECK(got(on.report.totals()).opset_after == 21);
  const re::Run undone = got(run_with([](auto& o) {
    o.settings = {{"r", "on", "true"}};
    o.verify = RE_VERIFY_EDITS;
  }));
  CHECK(rewrites(undone) == 0);
  const re::Error wrong = failed(run_with([](auto& o) {
    o.settings = {{"r", "on", "true"}};
    o.verify = RE_VERIFY_RESULT;
  }));
  CHECK(wrong.kind() == RE_ERROR_VERIFY);
  CHECK(wrong.report() != nullptr);
  CHECK(kind_with([](auto& o) {
          o.settings = {{"r", "on", "7"}};
        }) == RE_ERROR_USAGE);
  CHECK(kind_with([](auto& o) { o.target = "nobody"; }) == RE_ERROR_USAGE);
  CHECK(kind_with([](auto& o) { o.callback_time = re::Seconds(-1); }) ==
        RE_ERROR_USAGE);
  CHECK(kind_with([](auto& o) { o.load_time = re::Seconds(-1); }) ==
        RE_ERROR_USAGE);
  CHECK(kind_with([](auto& o) { o.memory = 1; }) != RE_OK);
  CHECK(kind_with([](auto& o) { o.files[0].text = ""; }) == RE_ERROR_RULE);
  // A text need not end with a NUL.
  std::string longer = kRule;
  longer += "][";
  CHECK(rewrites(got(run_with([&](auto& o) {
          o.files[0].text =
              std::string_view(longer).substr(0, longer.size() - 2);
        }))) == 1);
}

TEST_CASE("C++: a callback reads rule files") {
  std::vector<std::string> asked;
  bool throws = false;
  const auto read = [&](std::string_view name, std::string& text) {
    asked.emplace_back(name);
    if (throws) throw std::runtime_error("no disk");
    if (name == "a/r.lua") {
      text = "local l = lib 'own'\n";
      text += kRule;
    } else if (name == "a/lib/own.lua") {
      text = "return { x = 1 }";
    } else {
      return RE_LOOKUP_NONE;
    }
    return RE_LOOKUP_FOUND;
  };
  CHECK(got(re::Rules::load({.paths = {"memory:/a/r.lua"}, .read = read})));
  CHECK(asked == std::vector<std::string>{"a/r.lua", "a/lib/own.lua"});
  CHECK(failed(re::Rules::load({.paths = {"memory:/a/q.lua"}, .read = read}))
            .kind() != RE_OK);
  throws = true;
  const re::Error error =
      failed(re::Rules::load({.paths = {"memory:/a/r.lua"}, .read = read}));
  CHECK(error.kind() == RE_ERROR_RULE);
  CHECK(thrown_text(error) == "no disk");
  const re::Error other =
      failed(re::test({.paths = {"memory:/a/r.lua"}, .read = read}));
  CHECK(thrown_text(other) == "no disk");
}

TEST_CASE("C++: the first exception is kept, and fails the call") {
  int count = 0;
  const re::Error error = failed(
      re::test({.paths = {"memory:/a/r.lua", "memory:/a/q.lua"},
                .read = [&](std::string_view, std::string&) -> re_lookup {
                  throw std::runtime_error(std::to_string(++count));
                }}));
  CHECK(count > 1);
  CHECK(thrown_text(error) == "1");
  // Also where the library has ended well.
  const re::Call none;
  re::detail::Calling call(none);
  call.thrown = std::make_exception_ptr(std::runtime_error("late"));
  const re::Error late = failed(call.make<re::Stop>(
      [](const re_call*, re_stop** to) { return re_stop_new(to); }));
  CHECK(late.kind() == RE_ERROR_CANCELLED);
  CHECK(late.text().find("callback") != std::string::npos);
  CHECK(thrown_text(late) == "late");
}

TEST_CASE("C++: files, and writing to a callback") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "ruleengine_cpp_test";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string path = (folder / "m.onnx").string();
  went_well(parsed(kModel).save(path));
  const re::Model model =
      got(re::Model::load(path, {.storage = RE_STORAGE_OWNED,
                                 .dimensions = {{.name = "N", .value = 7}}}));
  const re::Walk walk = got(re::Walk::make(model));
  CHECK(walk.value(walk.main().inputs()[0]).shape()[1].value == 7);
  const re::Error missing =
      failed(model.save((folder / "no" / "m.onnx").string()));
  CHECK(missing.kind() == RE_ERROR_WRITE);
  fs::remove_all(folder);

  std::string bytes;
  const auto append = [&](re::Bytes piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return true;
  };
  went_well(model.write(append));
  CHECK(bytes == written(model));
  CHECK(failed(model.write([](re::Bytes) { return false; })).kind() ==
        RE_ERROR_WRITE);
  const re::Error error = failed(
      model.write([](re::Bytes) -> bool { throw std::runtime_error("full"); }));
  CHECK(error.kind() == RE_ERROR_WRITE);
  CHECK(thrown_text(error) == "full");
}

TEST_CASE("C++: external data of the caller, shared or copied") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "ruleengine_cpp_data";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string model = model_with_weight("w.bin", true);
  const std::string data(2048, '\1');
  re::ModelOptions options = {
      .data = [&](std::string_view location, re::Bytes& bytes) {
        CHECK(location == "w.bin");
        bytes = bytes_in(data);
        return RE_LOOKUP_FOUND;
      }};
  {
    const re::Model given = got(re::Model::parse(bytes_in(model), options));
    const re::Walk walk = got(re::Walk::make(given));
    const re::Value weight = walk.value(walk.main().initializers()[0]);
    const re::Tensor tensor = got(weight.constant());
    CHECK(static_cast<const void*>(tensor.bytes().data()) == data.data() + 8);
  }
  options.data = [](std::string_view, re::Bytes&) { return RE_LOOKUP_NONE; };
  CHECK(failed(re::Model::parse(bytes_in(model), options)).kind() ==
        RE_ERROR_MODEL);
  std::ofstream(folder / "w.bin") << data;
  std::ofstream(folder / "m.onnx") << model;
  options.folder = folder.string();
  CHECK(got(re::Model::parse(bytes_in(model), options)));
  options.data = [](std::string_view, re::Bytes&) -> re_lookup {
    throw std::runtime_error("no bytes");
  };
  const re::Error error = failed(re::Model::parse(bytes_in(model), options));
  CHECK(error.kind() == RE_ERROR_MODEL);
  CHECK(thrown_text(error) == "no bytes");

  const re::Rules rules = loaded(
      "return rule { match = function(op, x) return op.Add(x, x) end, "
      "rewrite = function(op, m) return op.Sub(m.x, op.Neg(m.x)) end, "
      "phase = 'target' }");
  const re::Run run =
      got(rules.run(got(re::Model::load((folder / "m.onnx").string()))));
  for (const bool shares : {false, true}) {
    const fs::path out = folder / (shares ? "shared.onnx" : "copied.onnx");
    went_well(run.model.save(out.string(), {.share_data = shares}));
    CHECK(fs::exists(out.string() + ".data") == !shares);
  }
  fs::remove_all(folder);
}

TEST_CASE("C++: a call is stopped, or runs out of time") {
  const re::Rules rules = loaded(
      "return rule { phase = 'target', match = function(op, x) "
      "return op.Relu(x) end, rewrite = function(op, m) while true do end end "
      "}");
  const re::Model model = parsed(kModel);
  const re::Stop stop = got(re::Stop::make());
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request();
  });
  const re::Error error = failed(rules.run(model, {}, {.stop = &stop}));
  other.join();
  CHECK(error.kind() == RE_ERROR_CANCELLED);
  REQUIRE(error.report() != nullptr);
  CHECK(error.report()->json().find("\"error\"") != std::string_view::npos);
  CHECK(failed(rules.find_matches(model, {}, {.stop = &stop})).kind() ==
        RE_ERROR_CANCELLED);
  CHECK(failed(rules.run(model, {}, {.time = std::chrono::milliseconds(20)}))
            .kind() == RE_ERROR_LIMIT);
  CHECK(failed(rules.run(model, {}, {.time = re::Seconds(-1)})).kind() ==
        RE_ERROR_USAGE);
}

TEST_CASE("C++: progress, and what it throws") {
  const re::Model model =
      parsed("m (float[2] x) => (float[2] y) { a = Neg(x)  y = Neg(a) }");
  const re::Session session = got(re::Session::make(model));
  const std::array<float, 2> x = {1, 2};
  const std::array<std::int64_t, 1> two = {2};
  const re::Tensor input = re::Tensor::of("x", x, two);
  std::uint64_t at = 0;
  bool goes_on = true;
  const re::Call call = {.progress = [&](std::uint64_t done, std::uint64_t) {
    at = done;
    return goes_on;
  }};
  CHECK(got(session.run({input}, call)));
  CHECK(at == 2);
  CHECK(session.warm_up({input}, call));
  CHECK(!session.warm_up({}));
  goes_on = false;
  CHECK(failed(session.warm_up({input}, call)).kind() == RE_ERROR_CANCELLED);
  CHECK(failed(session.run({input}, call)).kind() == RE_ERROR_CANCELLED);
  // At the last node too.
  for (const std::uint64_t last : {1, 2}) {
    const re::Error error = failed(session.run(
        {input}, {.progress = [&](std::uint64_t done, std::uint64_t) -> bool {
          if (done >= last) throw std::runtime_error(std::to_string(done));
          return true;
        }}));
    CHECK(error.kind() == RE_ERROR_CANCELLED);
    CHECK(!error.what().empty());
    CHECK(thrown_text(error) == std::to_string(last));
  }
  CHECK(got(session.run({input})));
}

}  // namespace
}  // namespace ruleengine::c
