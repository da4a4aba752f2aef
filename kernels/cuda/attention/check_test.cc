#include "kernels/cuda/attention/check.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace ruleengine::kernels::cuda {
namespace {

using D = AttentionDescription;

constexpr std::int64_t kVersion = 91900;
const Chip kHopper{.name = "H", .capability = 900};

D attention() {
  D d{.batch = 2, .q_heads = 4, .kv_heads = 4, .q_length = 16};
  d.kv_length = 32;
  d.q = d.o = strides_by_length(4, 16, 64);
  d.k = d.v = strides_by_length(4, 32, 64);
  return d;
}

// Why it is refused, or "".
std::string reason(const std::function<void(D&)>& change,
                   std::int64_t version = kVersion,
                   const Chip& chip = kHopper) {
  D d = attention();
  change(d);
  return check(d, chip, version).value_or("");
}

TEST_CASE("what cuDNN can compute passes") {
  CHECK(reason([](D&) {}) == "");
  CHECK(reason([](D& d) { d.band.right = 0; }) == "");
  CHECK(reason([](D& d) { d.kv_heads = 1; }) == "");
}

TEST_CASE("sizes") {
  CHECK(reason([](D& d) { d.qk_size = 60; }) ==
        "head sizes are multiples of 8 up to 256, not 60");
  CHECK(reason([](D& d) { d.v_size = 264; }) != "");
  CHECK(reason([](D& d) { d.kv_heads = 3; }) ==
        "4 heads of queries do not share 3 heads of keys");
  CHECK(reason([](D& d) { d.batch = 65536; }) != "");
  CHECK(reason([](D& d) { d.q_length = 0; }) != "");
  CHECK(reason([](D& d) { d.q[3] = 2; }) == "the elements of a head lie apart");
  CHECK(reason([](D& d) { d.k[2] = 65; }) ==
        "a stride is no multiple of 8: 65");
  CHECK(reason([](D& d) { d.element = DataType::kDouble; }) ==
        "elements are float16 or bfloat16, not double");
  CHECK(reason([](D&) {}, kVersion, {.capability = 750}) ==
        "a chip before sm_80: sm_75");
}

TEST_CASE("masks") {
  CHECK(reason([](D& d) {
          d.q_length = 1;
          d.band.right = 0;
        }) == "cuDNN is wrong where a mask is causal and there is one query");
  CHECK(reason([](D& d) { d.band.left = -1; }) ==
        "a window cannot end -1 keys from the diagonal");
  const auto more_queries = [](D& d) { d.q_length = 64; };
  CHECK(reason([&](D& d) {
          more_queries(d);
          d.band.left = 3;
        }) == "a window has more queries than keys");
  CHECK(reason([&](D& d) {
          more_queries(d);
          d.band = {.diagonal = Diagonal::kBottomRight, .right = 0};
        }) == "the last of more queries than keys meets the last key");
  CHECK(reason([&](D& d) {
          more_queries(d);
          d.band = {.diagonal = Diagonal::kBottomRight, .left = 3, .right = 0};
          d.has_lengths = true;
        }) == "");
}

TEST_CASE("biases") {
  const Bias shared{.dims = {1, 1, 16, 32}, .strides = {512, 512, 32, 1}};
  CHECK(reason([&](D& d) { d.bias = shared; }) == "");
  CHECK(reason([&](D& d) {
          d.bias = shared;
          d.bias->dims[1] = 2;
        }) == "dim 1 of the bias is neither 1 nor 4");
  CHECK(reason([&](D& d) {
          d.bias = shared;
          d.bias->element = DataType::kBool;
        }) == "a bias is no bool");
  CHECK(reason([&](D& d) {
          d.bias = shared;
          d.band = {.diagonal = Diagonal::kBottomRight, .right = 0};
        }) == "a bias is beside a diagonal at the last key");
}

TEST_CASE("pages, ragged sequences, and sinks") {
  const Paging paging{.page_size = 16, .pages = 4, .table_length = 2};
  CHECK(reason([&](D& d) { d.paging = paging; }) ==
        "sequences in pages have no lengths");
  const auto with = [&](const std::function<void(Paging&)>& change) {
    return reason([&](D& d) {
      d.has_lengths = true;
      d.paging = paging;
      change(*d.paging);
    });
  };
  CHECK(with([](Paging&) {}) == "");
  CHECK(with([](Paging& p) { p.page_size = 48; }) ==
        "the size of a page is no power of two: 48");
  CHECK(with([](Paging& p) { p.table_length = 1; }) ==
        "a table has too few pages for its sequence");
  CHECK(reason([](D& d) { d.is_ragged = true; }) ==
        "ragged sequences have no lengths");
  CHECK(reason([](D& d) {
          d.has_sink = true;
          d.q_length = 1;
        }) == "a sink is beside one query");
}

TEST_CASE("versions that are known to be wrong") {
  CHECK(reason([](D&) {}, 91001) == "scores are known to be wrong");
  CHECK(reason([](D&) {}, 91002) == "");
  const auto window = [](D& d) {
    d.band.left = 3;
    d.kv_length = 2048;
  };
  CHECK(reason(window, 91400) ==
        "a window that is not causal hides other keys");
  CHECK(reason(window, 91401) == "");
  CHECK(reason(
            [&](D& d) {
              window(d);
              d.band.right = 0;
            },
            91400) == "");
  const auto ragged = [](D& d) { d.is_ragged = d.has_lengths = true; };
  CHECK(reason(ragged, 91800, {.capability = 800}) != "");
  CHECK(reason(ragged, 91801, {.capability = 800}) == "");
  CHECK(reason(ragged, 91800) == "");
}

TEST_CASE("a list of versions") {
  const auto parse = [](std::string_view text) {
    return BlockedVersions::parse(text, "list");
  };
  const auto list = parse("# all\n\n9.1.0- | any | late\r\n-9.0.5|cap|early");
  REQUIRE(list);
  CHECK(list->size() == 2);
  CHECK(list->reason(attention(), kHopper, 90100) == "late");
  CHECK_FALSE(list->reason(attention(), kHopper, 90005));
  D capped = attention();
  capped.has_cap = true;
  CHECK(list->reason(capped, kHopper, 90005) == "early");
  CHECK(BlockedVersions::built_in().size() > 0);
  CHECK_FALSE(BlockedVersions::read("/no/such/file"));
}

TEST_CASE("a bad line of the list is told") {
  const auto what = [](std::string_view line) {
    const auto list = BlockedVersions::parse(
        "9.1.0 | any | fine\n" + std::string(line), "list");
    REQUIRE_FALSE(list);
    CHECK(list.error().where == "list:2");
    return list.error().what;
  };
  CHECK(what("9.1 | any | x") == "these are no versions");
  CHECK(what("9.2.0-9.1.0 | any | x") == "these are no versions");
  CHECK(what("- | any | x") == "these are no versions");
  CHECK(what("9.1.0 | any") == "a part of the line is missing");
  CHECK(what("9.1.0 | hot | x") == "no condition has this");
  CHECK(what("9.1.0 | keys> | x") == "a number is missing in a condition");
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "9.1.0|any|x\n";
  CHECK_FALSE(BlockedVersions::parse(many, "list"));
  CHECK_FALSE(BlockedVersions::parse(std::string(70000, '#'), "list"));
}

}  // namespace
}  // namespace ruleengine::kernels::cuda
