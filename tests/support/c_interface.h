// What tests of the C interface share: handles that free themselves, calls that
// must not fail, and a small model and rule.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "bindings/c/ruleengine.h"

namespace ruleengine::c {

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

inline void fine(re_error* error) {
  const Own<re_error> own(error);
  REQUIRE_MESSAGE(error == nullptr, std::string(re_error_text(error)));
}

inline re_kind kind_of(re_error* error) {
  const Own<re_error> own(error);
  return re_error_kind(error);
}

// A rule that takes a Relu away, which changes the results.
inline constexpr const char* kModel =
    "m (float[2,N] x) => (float[2,N] y) { a = Identity(x)  b = Neg(a) "
    "y = Relu(b) }";
inline constexpr const char* kRule =
    "return rule { match = function(op, x) return op.Relu(op.Neg(x)) end,\n"
    "  rewrite = function(op, m) return op.Neg(m.x) end, phase = 'target' }";

// A model with a body, a function, an input that is left out, and constants.
inline constexpr const char* kLayered =
    "<ir_version: 8, opset_import: [\"\" : 17, \"own\" : 1]>\n"
    "m (float[2,N] x, bool c) => (float[M,K] y)\n"
    "<float[2] w = {1, 2}> {\n"
    "  s = own.twice(x)\n"
    "  t = Concat <axis = 1> (s, x)\n"
    "  y = If (c) <then_branch = a () => (float[M,K] p) { p = Neg(t) },\n"
    "              else_branch = b () => (float[M,K] q) { q = Abs(t) }>\n"
    "  k = Constant <value_strings = [\"one\", \"two\"]> ()\n"
    "  i = Constant <value_ints = [3, 4]> ()\n"
    "  f = Constant <value_floats = [0.5]> ()\n"
    "  z = Clip (x, , hi)\n"
    "  hi = Constant <value = float {3.0}> ()\n"
    "}\n"
    "<domain: \"own\", opset_import: [\"\" : 17]>\n"
    "twice (v) => (r) { r = Add(v, v) }\n";

inline Own<re_model> model_of(const char* text,
                              re_storage storage = RE_STORAGE_SHARED) {
  re_model_options options = RE_OPTIONS(re_model_options);
  options.name = "m.onnxtxt";
  options.storage = storage;
  re_model* model = nullptr;
  fine(re_model_parse(text, std::string(text).size(), &options, nullptr,
                      &model));
  return Own<re_model>(model);
}

// Options for one rule in memory, which must outlive them.
class OneRule {
 public:
  explicit OneRule(const char* rule)
      : file_{"mine/r.lua", rule, RE_TERMINATED} {
    options.paths = &path_;
    options.path_count = 1;
    options.files = &file_;
    options.file_count = 1;
  }
  OneRule(const OneRule&) = delete;
  OneRule& operator=(const OneRule&) = delete;

  re_rules_options options = RE_OPTIONS(re_rules_options);

 private:
  const char* path_ = "memory:/mine/r.lua";
  re_file file_;
};

inline Own<re_rules> rules_with(const re_rules_options& options) {
  re_rules* rules = nullptr;
  fine(re_rules_load(&options, nullptr, &rules));
  return Own<re_rules>(rules);
}

inline Own<re_rules> rules_of(const char* rule) {
  return rules_with(OneRule(rule).options);
}

inline Own<re_stop> new_stop() {
  re_stop* stop = nullptr;
  fine(re_stop_new(&stop));
  return Own<re_stop>(stop);
}

// The result of a run that succeeds.
inline Own<re_model> result_of(const Own<re_rules>& rules,
                               const Own<re_model>& model) {
  re_model* result = nullptr;
  fine(re_run(rules.get(), model.get(), nullptr, nullptr, &result, nullptr));
  return Own<re_model>(result);
}

inline std::string bytes_of(re_model* model) {
  void* data = nullptr;
  std::size_t size = 0;
  fine(re_model_bytes(model, nullptr, &data, &size));
  std::string out(static_cast<const char*>(data), size);
  re_bytes_free(data);
  return out;
}

}  // namespace ruleengine::c
