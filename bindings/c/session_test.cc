// Running and comparing models through the C interface.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/c_interface.h"

namespace ruleengine::c {
namespace {

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

TEST_CASE("a session tells its progress, and can be cancelled by it") {
  const Own<re_model> model = model_of(
      "m (float[2] x) => (float[2] y) { a = Neg(x)  b = Abs(a)  y = Neg(b) }");
  const Own<re_session> session = session_of(model.get());
  struct Heard {
    std::uint64_t done = 0, total = 0;
    bool cancels = false;
    static int hear(void* user, std::uint64_t done, std::uint64_t total) {
      auto* its = static_cast<Heard*>(user);
      its->done = done;
      its->total = total;
      return its->cancels ? 1 : 0;
    }
  } heard;
  const float x[] = {1, 2};
  const std::int64_t two = 2;
  const re_tensor input = {"x", 1, 1, &two, x, sizeof(x)};
  re_call call = RE_OPTIONS(re_call);
  call.progress = Heard::hear;
  call.user = &heard;
  re_values* values = nullptr;
  fine(re_session_run(session.get(), &input, 1, &call, &values));
  re_values_free(values);
  CHECK(heard.done == 3);
  CHECK(heard.total == 3);
  heard.cancels = true;
  CHECK(kind_of(re_session_run(session.get(), &input, 1, &call, &values)) ==
        RE_ERROR_CANCELLED);
  fine(re_session_run(session.get(), &input, 1, nullptr, &values));
  re_values_free(values);
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
  CHECK(kind_with(fits, 0) == RE_ERROR_MODEL);
  CHECK(changed([](re_tensor& t) { t.name = "z"; }) == RE_ERROR_USAGE);
  CHECK(changed([](re_tensor& t) { t.name = nullptr; }) == RE_ERROR_USAGE);
  CHECK(changed([](re_tensor& t) { t.type = 99; }) == RE_ERROR_USAGE);
  CHECK(changed([](re_tensor& t) { t.type = 8; }) == RE_ERROR_USAGE);
  CHECK(changed([](re_tensor& t) { t.type = 6; }) == RE_ERROR_MODEL);
  CHECK(changed([](re_tensor& t) { t.size = 12; }) == RE_ERROR_USAGE);
  CHECK(changed([&](re_tensor& t) { t.shape = &three; }) == RE_ERROR_USAGE);
  CHECK(changed([&](re_tensor& t) { t.shape = &negative; }) == RE_ERROR_USAGE);
  CHECK(changed([&](re_tensor& t) { t.shape = &huge; }) == RE_ERROR_USAGE);
  CHECK(changed([](re_tensor& t) { t.shape = nullptr; }) == RE_ERROR_USAGE);
  CHECK(changed([](re_tensor& t) { t.data = nullptr; }) == RE_ERROR_USAGE);
  CHECK(changed([&](re_tensor& t) {  // not aligned
          t.data = reinterpret_cast<const char*>(data) + 1;
        }) == 0);
  CHECK(kind_of(re_session_run(session.get(), nullptr, 1, nullptr, nullptr)) ==
        RE_ERROR_USAGE);
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
  CHECK(re_values_kind(values, 0) == RE_VALUE_TENSOR);
  CHECK(re_values_kind(values, 1) == RE_VALUE_SEQUENCE);
  CHECK(re_values_kind(values, 2) == RE_VALUE_ABSENT);
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
  CHECK(kind_of(re_values_tensor(values, 1, 2, &none)) == RE_ERROR_USAGE);
  CHECK(kind_of(re_values_tensor(values, 5, 0, &none)) == RE_ERROR_USAGE);
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
                           &report)) == RE_ERROR_VERIFY);
  CHECK(std::string(re_report_json(report)).find("shown_by") !=
        std::string::npos);
  re_report_free(report);
  fine(re_compare(one.get(), one.get(), nullptr, nullptr, nullptr));
  re_compare_options loose = RE_OPTIONS(re_compare_options);
  loose.absolute = 1e30;
  fine(re_compare(one.get(), other.get(), &loose, nullptr, nullptr));
  loose.absolute = -1;
  CHECK(kind_of(re_compare(one.get(), other.get(), &loose, nullptr, nullptr)) ==
        RE_ERROR_USAGE);
}

TEST_CASE("comparing to the last bit") {
  const Own<re_model> model = model_of(
      "m (float[99] x) => (float[99] y) { a = Exp(x)  b = Add(a, x)  "
      "y = Add(b, x) }");
  const Own<re_model> other = model_of(
      "m (float[99] x) => (float[99] y) { a = Exp(x)  b = Add(x, x)  "
      "y = Add(a, b) }");
  re_compare_options options = RE_OPTIONS(re_compare_options);
  fine(re_compare(model.get(), other.get(), &options, nullptr, nullptr));
  options.exact = 1;
  CHECK(kind_of(re_compare(model.get(), other.get(), &options, nullptr,
                           nullptr)) == RE_ERROR_VERIFY);
  fine(re_compare(model.get(), model.get(), &options, nullptr, nullptr));
  options.absolute = 1;
  CHECK(kind_of(re_compare(model.get(), model.get(), &options, nullptr,
                           nullptr)) == RE_ERROR_USAGE);
}

TEST_CASE("ops with a body of a rule") {
  const char* own =
      "return rule { match = function(op, x) return op.Relu(op.Relu(x)) end, "
      "rewrite = function(op, m) return op.mine.Halved(m.x) end, "
      "body = { ['mine.Halved'] = [[(x) => (y) { two = Constant <value = float "
      "{2.0}> ()  y = Div(x, two) }]] } }";
  const Own<re_rules> rules = rules_of(own);
  const Own<re_model> model = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17, \"mine\" : 1]>\n"
      "m (float[2] x) => (float[2] y) { y = mine.Halved(x) }");
  const Own<re_model> same = model_of(
      "m (float[2] x) => (float[2] y) "
      "{ half = Constant <value = float {0.5}> ()  y = Mul(x, half) }");
  re_session* session = nullptr;
  CHECK(kind_of(re_session_new(model.get(), nullptr, nullptr, &session)) !=
        RE_OK);
  re_session_options options = RE_OPTIONS(re_session_options);
  options.rules = rules.get();
  fine(re_session_new(model.get(), &options, nullptr, &session));
  re_session_free(session);
  re_compare_options how = RE_OPTIONS(re_compare_options);
  CHECK(kind_of(re_compare(model.get(), same.get(), &how, nullptr, nullptr)) ==
        RE_ERROR_VERIFY);
  how.rules = rules.get();
  fine(re_compare(model.get(), same.get(), &how, nullptr, nullptr));
}

TEST_CASE("a session on a device that is there or not") {
  const Own<re_model> model = model_of(
      "m (float[2] x) => (float[2] y) "
      "{ y = Neg(x) }");
  re_session_options options = RE_OPTIONS(re_session_options);
  options.device = "tpu";
  re_session* session = nullptr;
  CHECK(kind_of(re_session_new(model.get(), &options, nullptr, &session)) ==
        RE_ERROR_USAGE);
  options.device = "cuda";
  options.tf32 = 1;
  const bool has_gpu = kind_of(re_session_new(model.get(), &options, nullptr,
                                              &session)) == RE_OK;
  re_session_free(session);
  options.device = "auto";
  fine(re_session_new(model.get(), &options, nullptr, &session));
  const Own<re_session> own(session);
  CHECK(re_session_warning_count(session) == (has_gpu ? 0 : 1));
  if (!has_gpu) {
    CHECK(std::string(re_session_warning(session, 0))
              .starts_with("the CPU runs the model: "));
  }
  CHECK(std::string(re_session_warning(session, 1)).empty());
  CHECK(re_session_warning_count(nullptr) == 0);
  const std::int64_t shape[] = {2};
  const float x[] = {3, 4};
  const re_tensor input = {.name = "x",
                           .type = 1,
                           .rank = 1,
                           .shape = shape,
                           .data = x,
                           .size = sizeof(x)};
  re_values* values = nullptr;
  fine(re_session_run(session, &input, 1, nullptr, &values));
  re_values_free(values);
}

TEST_CASE("a stop at any time of a comparison shows no difference") {
  const Own<re_model> model = model_of(
      "m (float[96,96] x) => (float[96,96] y) "
      "{ a = MatMul(x, x)  b = MatMul(a, x)  y = MatMul(b, x) }");
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  fine(re_compare(model.get(), model.get(), nullptr, nullptr, nullptr));
  const auto whole = Clock::now() - begun;
  constexpr int kRounds = 60;
  for (int i = 0; i < kRounds; ++i) {
    const Own<re_stop> own = new_stop();
    re_stop* const stop = own.get();
    std::thread other([&] {
      std::this_thread::sleep_for(whole * i / kRounds);
      re_stop_request(stop);
    });
    re_call call = RE_OPTIONS(re_call);
    call.stop = stop;
    const re_kind kind =
        kind_of(re_compare(model.get(), model.get(), nullptr, &call, nullptr));
    other.join();
    CHECK((kind == RE_OK || kind == RE_ERROR_CANCELLED));
  }
}

}  // namespace
}  // namespace ruleengine::c
