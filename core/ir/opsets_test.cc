#include "core/ir/opsets.h"

#include <doctest/doctest.h>

#include <string>

namespace ruleengine::ir {
namespace {

TEST_CASE("imports are found by their domain, in lists of any length") {
  for (const std::size_t count : {3u, 8u, 9u, 100u}) {
    OpsetImports imports;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string domain = i == 1 ? "ai.onnx" : "d" + std::to_string(i);
      imports.push_back({domain, static_cast<std::int64_t>(i + 1)});
    }
    imports.push_back({"d0", 77});  // the first one counts
    CHECK(imports.size() == count + 1);
    CHECK(imports.find("d0") == 0);
    CHECK(imports.find("") == 1);
    CHECK(imports.version("ai.onnx") == 2);
    CHECK(imports.version("d2") == 3);
    CHECK(imports.find("nobody") == imports.size());
    CHECK(imports.version("nobody") == 0);
    imports.set_version(2, 40);
    CHECK(imports.version("d2") == 40);
    imports.erase_if(1, [](const OpsetImport& i) { return i.domain == "d2"; });
    CHECK(imports.version("d2") == 0);
    CHECK(imports.version("") == 2);
    CHECK(imports.size() == count);
    imports = {};
    CHECK(imports.empty());
    CHECK(imports.version("d0") == 0);
  }
}

}  // namespace
}  // namespace ruleengine::ir
