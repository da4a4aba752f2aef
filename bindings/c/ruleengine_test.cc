// What callers of the C interface get wrong.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "core/base/version.h"
#include "tests/support/c_interface.h"

namespace ruleengine::c {
namespace {

TEST_CASE("the version") { CHECK(std::string(re_version()) == kVersion); }

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
      [&] {
        return re_run(nullptr, given.get(), nullptr, nullptr, &model, nullptr);
      },
      [&] {
        return re_run(some.get(), nullptr, nullptr, nullptr, &model, nullptr);
      },
      [&] {
        return re_run(some.get(), given.get(), nullptr, nullptr, nullptr,
                      nullptr);
      },
      [&] {
        return re_find_matches(nullptr, given.get(), nullptr, nullptr, &report);
      },
      [&] {
        return re_find_matches(some.get(), given.get(), nullptr, nullptr,
                               nullptr);
      },
      [&] { return re_report_totals(nullptr, nullptr); },
      [&] { return re_test(nullptr, nullptr, nullptr); }};
  for (const auto& each : kCalls) CHECK(kind_of(each()) == RE_ERROR_USAGE);
  CHECK(kind_of(re_model_parse(nullptr, 0, nullptr, nullptr, &model)) ==
        RE_ERROR_MODEL);
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
                       nullptr, nullptr, &model, nullptr)) == RE_ERROR_USAGE);
}

TEST_CASE("a handle that is in use") {
  const Own<re_model> model = model_of(kModel);
  struct Again {
    re_model* model;
    re_kind kind = RE_ERROR_INTERNAL;
    static int write(void* user, const void*, std::size_t) {
      auto* its = static_cast<Again*>(user);
      its->kind = kind_of(re_model_write(its->model, write, user, nullptr));
      return 0;
    }
  } again{model.get()};
  fine(re_model_write(model.get(), Again::write, &again, nullptr));
  CHECK(again.kind == RE_ERROR_USAGE);
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
                               &model)) == RE_ERROR_USAGE);
  re_model_options options = {};
  CHECK(kind_of(re_model_parse(text.data(), text.size(), &options, nullptr,
                               &model)) == RE_ERROR_USAGE);
  // An older caller's struct ended before `data`.
  options.name = "m.onnxtxt";
  options.size = offsetof(re_model_options, data);
  options.data = [](void*, const char*, const void**, std::size_t*) -> int {
    std::abort();
  };
  fine(re_model_parse(text.data(), text.size(), &options, nullptr, &model));
  re_model_free(model);
}

}  // namespace
}  // namespace ruleengine::c
