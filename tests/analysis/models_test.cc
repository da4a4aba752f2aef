// Every export of ../shared/models: how many types are known, as a table, and
// our rules against the ONNX library's. Skipped if the folder is absent.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "core/analysis/inference.h"
#include "core/io/load.h"
#include "kernels/cpu.h"
#include "tests/support/agreement.h"

namespace ruleengine::analysis {
namespace {

std::vector<std::string> models() {
  std::vector<std::string> out;
  const auto folder =
      std::filesystem::path(RULEENGINE_SOURCE_DIR).parent_path() / "shared" /
      "models";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".onnx") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Known {
  std::size_t values = 0, ranked = 0, axes_known = 0;
  std::size_t reshapes = 0, reshapes_known = 0;
};

Known count(ir::Graph& g, Inference& facts) {
  Known out;
  const ir::DimTable& dims = g.model().dims;
  for (std::size_t n = 0; n < g.node_count(); ++n) {
    for (ir::ValueId v : g.outputs(ir::NodeId(n))) {
      if (!v) continue;
      ++out.values;
      const bool reshape = g.op(ir::NodeId(n)).standard("Reshape");
      out.reshapes += reshape;
      const ir::Type* t = facts.type(v);
      if (t == nullptr || !t->is_tensor() || !t->has_shape) continue;
      ++out.ranked;
      const bool all =
          std::none_of(t->dims.begin(), t->dims.end(),
                       [&](ir::Dim d) { return dims.is_fresh(d); });
      out.axes_known += all;
      out.reshapes_known += all && reshape;
    }
  }
  return out;
}

TEST_CASE("every value of real exports has a rank, and nearly all axes") {
  const auto files = models();
  if (files.empty()) {
    MESSAGE("no ../shared/models: skipped");
    return;
  }
  Known all;
  for (const std::string& file : files) {
    CAPTURE(file);
    auto model = io::load(file);
    REQUIRE(model.ok());
    (*model)->evaluator = kernels::cpu_evaluator();
    Inference facts((*model)->graph);
    const Known k = count((*model)->graph, facts);
    CHECK(k.ranked == k.values);
    CHECK(k.reshapes_known == k.reshapes);
    CHECK(facts.take_warnings().empty());
    if (k.axes_known != k.values) {
      std::printf("  %-32s values %5zu  rank %5zu  every axis %5zu\n",
                  std::filesystem::path(file).stem().c_str(), k.values,
                  k.ranked, k.axes_known);
    }
    all.values += k.values;
    all.ranked += k.ranked;
    all.axes_known += k.axes_known;
  }
  std::printf("  %zu exports: values %zu, rank known %zu, every axis %zu\n",
              files.size(), all.values, all.ranked, all.axes_known);
  CHECK(all.axes_known * 1000 >= all.values * 999);
}

TEST_CASE("our rules and the ONNX library's agree on real exports") {
  Agreement found;
  for (const std::string& file : models()) {
    auto model = io::load(file);
    REQUIRE(model.ok());
    (*model)->evaluator = kernels::cpu_evaluator();
    Solver solver((*model)->graph, {});
    const std::size_t before = found.wrong.size() + found.weaker.size();
    agree(solver, found);
    if (found.wrong.size() + found.weaker.size() != before) {
      MESSAGE("in ", file);
    }
  }
  for (const auto& line : found.wrong) FAIL_CHECK(line);
  for (const auto& line : found.weaker) FAIL_CHECK("weaker: ", line);
  std::printf("  %zu outputs compared\n", found.compared);
}

}  // namespace
}  // namespace ruleengine::analysis
