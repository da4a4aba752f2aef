#include "core/ops/dialect.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/ops/op_row.h"
#include "core/ops/row_text.h"

namespace ruleengine::ops {
namespace {

TEST_CASE("the signature of an op agrees with its row") {
  CHECK(signature(*find_row("ruleengine", "Linear")) ==
        "Linear * (x, weight, bias?) -> Y");
  CHECK(signature(*find_row("tensor_cast", "all_gather")) ==
        "all_gather <dim, rank?, rank_group?> (X) -> Y");
  for (const OpRow* row : all_rows()) {
    CAPTURE(row->type);
    if (has_text(*row)) CHECK_FALSE(row->formula.empty());
  }
}

TEST_CASE("all ops that rules build have a meaning, except collectives") {
  const std::set<std::string_view> sources = {"MultiheadAttention",
                                              "ShiftedWindowAttention"};
  for (const OpRow* row : all_rows()) {
    const bool closed = std::ranges::find(dialect::kClosed, row->domain) !=
                        std::end(dialect::kClosed);
    if (!closed) continue;
    CAPTURE(row->type);
    CHECK((row->meaning != nullptr) ==
          (!row->roles.collective && !sources.contains(row->type)));
  }
}

}  // namespace
}  // namespace ruleengine::ops
