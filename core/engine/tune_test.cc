#include "core/engine/tune.h"

#include <doctest/doctest.h>

namespace ruleengine::engine {
namespace {

TEST_CASE("the choice about the smallest part decides") {
  const rewrite::Site site{.rule = "a", .value = "y", .kind = "Add float"};
  const Part rule{"a", {}, {}}, kind{"a", "Add float", {}},
      value{"a", "Add float", "y"};
  CHECK(!leaves_out({"ort", {}}, site));
  CHECK(leaves_out({"ort", {{rule, false}}}, site));
  CHECK(!leaves_out({"ort", {{rule, false}, {value, true}}}, site));
  CHECK(!leaves_out({"ort", {{value, true}, {rule, false}}}, site));
  CHECK(leaves_out({"ort", {{kind, false}, {rule, true}}}, site));
  CHECK(leaves_out({"ort", {{rule, true}, {rule, false}}}, site));
  CHECK(!leaves_out({"ort",
                     {{{"b", {}, {}}, false},
                      {{"a", "Add half", {}}, false},
                      {{"a", "Add float", "z"}, false}}},
                    site));
}

}  // namespace
}  // namespace ruleengine::engine
