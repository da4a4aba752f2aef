#include "runtime/drawing/input_uses.h"

#include <doctest/doctest.h>

#include "core/text/parse.h"
#include "runtime/drawing/input_source.h"

namespace ruleengine::runtime {
namespace {

InputUse first_use(std::string_view text) {
  const auto model = text::parse_model(text);
  REQUIRE_MESSAGE(model.ok(), (model ? "" : model.error().text()));
  InputSource source(**model, {});
  return source.uses()[0];
}

TEST_CASE("a table through a line and a function") {
  const InputUse use = first_use(
      "<ir_version: 10, opset_import: [\"\" : 21, \"me\" : 1]>"
      " g (int64[3] i, float[9,2] x) => (float[3,2] y) {"
      " two = Constant <value = int64 {2}> () k = Add(i, two)"
      " t = Relu(x) y = me.Look(t, k) }"
      " <domain: \"me\", opset_import: [\"\" : 21]>"
      " Look (a, b) => (c) { d = Identity(b) c = Gather(a, d) }");
  REQUIRE(use.tables.size() == 1);
  CHECK(use.tables[0].data);
  CHECK(use.tables[0].takes_negative);
  CHECK(use.tables[0].line.inverse(2) == 0);
}

TEST_CASE("numbers, masks and sizes") {
  CHECK(first_use("g (int64[3] x) => (float[3] y) {"
                  " y = Cast <to = 1> (x) }")
            .is_mask == false);
  CHECK(first_use("g (int64[3] x) => (bool[3] y) { y = Cast <to = 9> (x) }")
            .is_mask);
  CHECK(first_use("g (int64[2] x, float z) => (float[?,?] y) {"
                  " y = Expand(z, x) }")
            .is_size);
  const InputUse met = first_use(
      "g (int64[3] x) => (bool[3] y) <int64 c = {10}> {"
      " m = Neg(x) y = Less(m, c) }");
  CHECK(met.met == std::vector<double>{-10});
}

}  // namespace
}  // namespace ruleengine::runtime
