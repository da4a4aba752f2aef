// The kernels of the engine's own ops compute what the meanings of the ops say.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "core/ops/dialect.h"
#include "core/ops/op_row.h"
#include "core/text/parse.h"
#include "runtime/compare.h"
#include "runtime/drawing/input_source.h"
#include "runtime/executor.h"
#include "tests/runtime/standard_kernels.h"

namespace ruleengine::runtime {
namespace {

struct OwnCase {
  std::string op, inputs, call;  // "T" stands for each float type
  std::string outputs = "y";
};

const std::vector<OwnCase>& own_cases() {
  static const std::string kSdpa = "ruleengine.ScaledDotProductAttention";
  static const std::string kHeads = "T[2,4,5,8] q, T[2,4,7,8] k, T[2,4,7,6] v";
  static const std::string kGroups = "T[2,4,5,8] q, T[2,2,7,8] k, T[2,2,7,6] v";
  static const std::string kNorm = "tensor_cast.rms_norm";
  static const std::string kAdd = "tensor_cast.add_rms_norm2";
  static const std::string kProjection = "ruleengine.MHAInProjection";
  static const std::vector<OwnCase> kCases = {
      {kSdpa, kHeads, "<num_heads = 4> (q, k, v)"},
      {kSdpa, kHeads, "<num_heads = 4, scale = 0.5> (q, k, v)"},
      {kSdpa, kHeads, "<num_heads = 4, is_causal = 1> (q, k, v)"},
      {kSdpa, kHeads, "<num_heads = 4, softcap = 0.7> (q, k, v)"},
      {kSdpa, kHeads, "<num_heads = 4, softcap = -0.7> (q, k, v)"},
      {kSdpa, kHeads + ", bool[5,7] m", "<num_heads = 4> (q, k, v, m)"},
      {kSdpa, kHeads + ", bool[2,1,1,7] m", "<num_heads = 4> (q, k, v, m)"},
      {kSdpa, kHeads + ", bool[4,1,1] m",
       "<num_heads = 4, guarded = 1> (q, k, v, m)"},
      {kSdpa, kHeads + ", bool m", "<num_heads = 4> (q, k, v, m)"},
      {kSdpa, kHeads + ", T[1,4,5,7] m", "<num_heads = 4> (q, k, v, m)"},
      {kSdpa, kHeads + ", T[2,1,5,1] m",
       "<num_heads = 4, is_causal = 1, softcap = 2.0> (q, k, v, m)"},
      {kSdpa, kGroups, "<num_heads = 4> (q, k, v)"},
      {kSdpa, kGroups + ", T[2,4,5,7] m", "<num_heads = 4> (q, k, v, m)"},
      {kSdpa, "T[2,4,5,8] q, T[2,1,7,8] k, T[2,1,7,6] v",
       "<num_heads = 4> (q, k, v)"},
      // Rows and heads of the mask that the queries lack.
      {kSdpa, "T[1,2,1,8] q, T[1,2,7,8] k, T[1,2,7,6] v, T[3,1,4,7] m",
       "<num_heads = 2> (q, k, v, m)"},
      {kSdpa, "T[1,2,1,8] q, T[1,2,7,8] k, T[1,2,7,6] v, T[4,7] m",
       "<num_heads = 2, is_causal = 1> (q, k, v, m)"},
      {kSdpa, "T[1,1,2,8] q, T[1,1,7,8] k, T[1,1,7,6] v, T[3,2,7] m",
       "<num_heads = 1> (q, k, v, m)"},
      {kSdpa, "T[2,4,5,8] q, T[2,4,0,8] k, T[2,4,0,6] v",
       "<num_heads = 4> (q, k, v)"},
      {kSdpa, "T[0,4,5,8] q, T[0,4,7,8] k, T[0,4,7,6] v",
       "<num_heads = 4> (q, k, v)"},
      {kSdpa, "T[1,4,70,8] q, T[1,2,130,8] k, T[1,2,130,6] v",
       "<num_heads = 4, is_causal = 1> (q, k, v)"},
      {"aten.scaled_dot_product_attention", kHeads, "(q, k, v)"},
      {"aten.scaled_dot_product_attention", kGroups,
       "<enable_gqa = 1, is_causal = 1, scale = 0.25> (q, k, v)"},
      {"aten.scaled_dot_product_attention", "T[5,8] q, T[7,8] k, T[7,6] v",
       "(q, k, v)"},
      {"aten.scaled_dot_product_attention",
       "T[3,5,8] q, T[3,7,8] k, T[3,7,6] v, bool[5,7] m", "(q, k, v, m)"},
      {"aten.scaled_dot_product_attention",
       "T[2,3,2,5,8] q, T[1,3,2,7,8] k, T[2,1,2,7,6] v, T[2,1,1,5,7] m",
       "(q, k, v, m)"},
      {"aten.scaled_dot_product_attention",
       "T[2,3,2,2,5,8] q, T[2,1,2,2,7,8] k, T[2,3,2,2,7,6] v",
       "<is_causal = 1> (q, k, v)"},
      {"ruleengine.AttentionForward", kHeads, "<sm_scale = 0.3> (q, k, v)"},
      {"ruleengine.AttentionForward", kHeads + ", T[2,4,5,7] m",
       "<sm_scale = 0.3, is_causal = 1> (q, k, v, m)"},
      {kNorm, "T[3,5] x", "(x)"},
      {kNorm, "T[2,3,5] x, T[5] w", "<epsilon = 0.1> (x, w)"},
      {kNorm, "T[2,3,5] x, T[1,5] w", "(x, w)"},
      {kNorm, "T[2,3,5] x, T[3,1] w", "(x, w)"},
      {kNorm, "T[3,5] x, T[2,3,5] w", "(x, w)"},
      {kNorm, "T[3,1] x, T[5] w", "(x, w)"},
      {kNorm, "T[0,5] x, T[5] w", "(x, w)"},
      {"tensor_cast.add_rms_norm", "T[2,3,5] x, T[2,3,5] r, T[5] w",
       "(x, r, w)"},
      {"tensor_cast.add_rms_norm", "T[2,3,5] x, T[3,5] r", "(x, r)"},
      {kAdd, "T[2,3,5] x, T[2,3,5] r, T[5] w", "(x, r, w)", "y, s"},
      {kAdd, "T[3,5] x, T[2,1,5] r, T[5] w", "(x, r, w)", "y, s"},
      {kAdd, "T[3,1] x, T[1,5] r", "(x, r)", "y, s"},
      {"ruleengine.Linear", "T[2,3,8] x, T[5,8] w, T[5] b", "(x, w, b)"},
      {"ruleengine.Linear", "T[3,8] x, T[5,8] w", "(x, w)"},
      {"ruleengine.Linear", "T[8] x, T[5,8] w, T[5] b", "(x, w, b)"},
      {"ruleengine.Linear", "T[2,0] x, T[5,0] w, T[5] b", "(x, w, b)"},
      {kProjection, "T[2,3,8] x, T[24,8] w, T[24] b",
       "<num_heads = 2, head_dim = 4> (x, x, x, w, b)", "q, k, v"},
      {kProjection, "T[2,3,8] x, T[2,5,8] z, T[1,4,8] u, T[36,8] w",
       "<num_heads = 3, head_dim = 4> (x, z, u, w)", "q, k, v"},
      {kProjection, "T[2,3,8] x, T[2,5,8] z, T[36,8] w, T[36] b",
       "<num_heads = 3, head_dim = 4> (x, z, z, w, b)", "q, k, v"},
  };
  return kCases;
}

std::string typed(std::string text, const std::string& type) {
  for (std::size_t at = 0; (at = text.find("T[", at)) != text.npos; ++at) {
    text.replace(at, 1, type);
  }
  return text;
}

std::unique_ptr<ir::Model> own_model(const OwnCase& c,
                                     const std::string& type) {
  std::string outputs;
  for (std::size_t at = 0; at < c.outputs.size(); at += 3) {
    outputs += (at == 0 ? "" : ", ") + type + " " + c.outputs[at];
  }
  const std::string text =
      "<ir_version: 10, opset_import: [\"\" : 21, \"ruleengine\" : 1, "
      "\"tensor_cast\" : 1, \"aten\" : 1]> g (" +
      typed(c.inputs, type) + ") => (" + outputs + ") { " + c.outputs + " = " +
      c.op + " " + c.call + " }";
  auto parsed = text::parse_model(text);
  REQUIRE_MESSAGE(parsed.ok(), (parsed ? "" : parsed.error().text()), text);
  return *std::move(parsed);
}

Executor::Named results_of(const ir::Model& model,
                           const Executor::Named& inputs,
                           const Backend& backend) {
  auto executor = Executor::create(model, {.backends = {&backend}});
  REQUIRE_MESSAGE(executor.ok(), (executor ? "" : executor.error().text()));
  auto results = (*executor)->run(inputs);
  REQUIRE_MESSAGE(results.ok(), (results ? "" : results.error().text()));
  return *std::move(results);
}

TEST_CASE("kernels of own ops agree with the meanings of the ops") {
  std::set<std::string> left;
  for (const ir::Op& op : kernels::cpu_ops()) {
    const bool is_own =
        ops::is_own_domain(op.domain) && ops::meaning_of(op.domain, op.type);
    if (!is_own) continue;
    left.insert(std::string(op.domain) + "." + std::string(op.type));
  }
  for (const OwnCase& c : own_cases()) {
    left.erase(c.op);
    for (const char* type : {"float", "double", "float16", "bfloat16"}) {
      for (const bool hides_rows : {false, true}) {
        CAPTURE(c.op + " " + c.call + ": " + typed(c.inputs, type));
        const auto model = own_model(c, type);
        InputSource source(*model, {});
        const auto inputs =
            source.draw(source.sizes().solve(0),
                        {.integers = Integers::kBits, .hides_rows = hides_rows},
                        HostMemory::create());
        REQUIRE_MESSAGE(inputs.ok(), (inputs ? "" : inputs.error().text()));
        const auto found =
            compare_by_type(results_of(*model, *inputs, standard_kernels()),
                            results_of(*model, *inputs, kernels::cpu()));
        CHECK_MESSAGE(!found.mismatch,
                      (found.mismatch ? found.mismatch->text : ""));
      }
    }
  }
  CHECK(left.empty());
}

// What --verify asks for: the result as other runtimes run it.
TEST_CASE("functions for own ops run where they are preferred") {
  auto model = text::parse_model(
      "<ir_version: 10, opset_import: [\"\" : 21, \"tensor_cast\" : 1]> "
      "g (float[2] x) => (float[2] y) { y = tensor_cast.rms_norm(x) } "
      "<domain: \"tensor_cast\", opset_import: [\"\" : 21]> "
      "rms_norm (a) => (b) { b = Neg(a) }");
  REQUIRE_MESSAGE(model.ok(), (model ? "" : model.error().text()));
  const auto inputs = random_inputs(**model, {}, HostMemory::create());
  REQUIRE(inputs.ok());
  const float x = (*inputs)[0].second.tensor().data<float>()[0];
  for (const bool prefers : {false, true}) {
    auto executor = Executor::create(
        **model, {.backends = {&kernels::cpu()}, .prefers_functions = prefers});
    REQUIRE(executor.ok());
    const auto results = (*executor)->run(*inputs);
    REQUIRE(results.ok());
    const float y = (*results)[0].second.tensor().data<float>()[0];
    CHECK((y == -x) == prefers);
  }
}

}  // namespace
}  // namespace ruleengine::runtime
