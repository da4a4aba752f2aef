// GroupQueryAttention on the GPU: prompts, steps over a cache, packed inputs.
#include <doctest/doctest.h>

#include <string>

#include "tests/cuda/backend/support.h"

namespace ruleengine::kernels {
namespace {

struct GroupedText {
  std::string type;
  std::int64_t rows = 1, past = 0, total = 1;
  std::string last;        // the last key of both sequences
  std::string attributes;  // beside the numbers of heads
  std::string more_inputs, more = {};
  bool is_packed = false;
};

// 4 heads of queries, 2 of keys, each of 16.
std::string text_of(const GroupedText& g) {
  const auto tensor = [&](const std::string& dims, const std::string& name) {
    return g.type + "[" + dims + "] " + name;
  };
  const std::string rows = "2," + std::to_string(g.rows) + ",";
  const std::string cache = std::to_string(g.past) + ",16";
  const std::string all = std::to_string(std::max(g.past, g.total)) + ",16";
  std::string out = "(" + tensor(rows + (g.is_packed ? "128" : "64"), "q");
  if (!g.is_packed) out += "," + tensor(rows + "32", "k");
  if (!g.is_packed) out += "," + tensor(rows + "32", "v");
  if (g.past > 0) out += "," + tensor("2,2," + cache, "pk");
  if (g.past > 0) out += "," + tensor("2,2," + cache, "pv");
  out += g.more_inputs + ") => (" + tensor(rows + "64", "y") + "," +
         tensor("2,2," + all, "ak") + "," + tensor("2,2," + all, "av") +
         ") <int32[2] last = {" + g.last + "}, int32 total = {" +
         std::to_string(g.total) + "}> { y, ak, av =" +
         " com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2" +
         g.attributes + ">(q, ";
  out += g.is_packed ? ", , " : "k, v, ";
  out += g.past > 0 ? "pk, pv, " : ", , ";
  return out + "last, total" + g.more + ") }";
}

// `T[` in the text of inputs stands for the type.
void check_grouped(const GroupedText& text) {
  for (const std::string type : {"float", "float16", "bfloat16"}) {
    GroupedText g = text;
    g.type = type;
    std::string& inputs = g.more_inputs;
    for (std::size_t at = 0; (at = inputs.find(" T[", at)) != inputs.npos;) {
      inputs.replace(at + 1, 1, type);
    }
    CAPTURE(text_of(g));
    CHECK(check_runs(*model_of(text_of(g)), 4).calls == kOneLaunch);
  }
}

constexpr const char* kAngles = ", T[32,8] cos, T[32,8] sin";

TEST_CASE("a first prompt of several lengths") {
  check_grouped({.rows = 5, .total = 5, .last = "4, 2"});
  check_grouped({.rows = 5,
                 .total = 5,
                 .last = "4, 2",
                 .attributes = ", do_rotary = 1",
                 .more_inputs = kAngles,
                 .more = ", cos, sin",
                 .is_packed = true});
}

TEST_CASE("a prompt of no sequence") {
  check_runs(
      *model_of("(float16[0,3,64] q, float16[0,3,32] k, float16[0,3,32] v,"
                " int32[0] last) => (float16[0,3,64] y, float16[0,2,3,16] ak,"
                " float16[0,2,3,16] av) <int32 total = {3}> { y, ak, av ="
                " com.microsoft.GroupQueryAttention<num_heads = 4,"
                " kv_num_heads = 2>(q, k, v, , , last, total) }"),
      4);
}

TEST_CASE("a step over a cache with room") {
  check_grouped({.rows = 1, .past = 8, .total = 7, .last = "6, 3"});
  check_grouped({.rows = 1,
                 .past = 8,
                 .total = 9,
                 .last = "8, 3",
                 .attributes = ", do_rotary = 1, softcap = 2.0",
                 .more_inputs = kAngles,
                 .more = ", cos, sin"});
}

TEST_CASE("several rows behind a past, in a window") {
  check_grouped({.rows = 3,
                 .past = 8,
                 .total = 8,
                 .last = "7, 4",
                 .attributes = ", local_window_size = 3, scale = 0.3"});
  check_grouped({.rows = 3,
                 .past = 8,
                 .total = 8,
                 .last = "7, 4",
                 .attributes = ", do_rotary = 1, rotary_interleaved = 1",
                 .more_inputs = kAngles,
                 .more = ", cos, sin",
                 .is_packed = true});
}

TEST_CASE("sinks, a bias and positions that are told") {
  check_grouped({.rows = 3,
                 .past = 8,
                 .total = 8,
                 .last = "7, 4",
                 .attributes = ", smooth_softmax = 1"});
  check_grouped({.rows = 3,
                 .past = 8,
                 .total = 8,
                 .last = "7, 4",
                 .more_inputs = ", T[2,1,3,8] b, T[4] s",
                 .more = ", , , , b, s"});
}

TEST_CASE("lengths that do not fit end the run with an error") {
  for (const char* last : {"8, 3", "6, -1"}) {
    const auto model = model_of(text_of(
        {.type = "float", .rows = 1, .past = 8, .total = 8, .last = last}));
    const auto on_gpu = executor_of(*model, true);
    const auto inputs =
        runtime::random_inputs(*model, {}, runtime::HostMemory::create());
    REQUIRE(inputs.ok());
    const auto out = on_gpu->run(*inputs);
    REQUIRE(!out.ok());
    CHECK(out.error().text().find("a length does not fit the cache") !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace ruleengine::kernels
