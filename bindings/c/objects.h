// The handles that have an engine behind them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/api/models.h"
#include "bindings/api/rewrite.h"
#include "bindings/c/handle.h"

struct re_rules : ruleengine::c::Handle {
  static constexpr const char* kType = "re_rules";
  re_rules() : Handle(kType) {}

  // When the last call with the rules ends, or had to.
  std::shared_ptr<ruleengine::Deadline> term =
      std::make_shared<ruleengine::Deadline>();
  std::unique_ptr<ruleengine::api::Rewriter> rewriter;
};

namespace ruleengine::c {

// A model with all that it borrows; results share that of their models.
struct Loaded {
  std::shared_ptr<const Loaded> base;
  std::string bytes;
  std::string name;  // in reports
  std::shared_ptr<ir::Model> model;
};

}  // namespace ruleengine::c

struct re_model : ruleengine::c::Handle {
  static constexpr const char* kType = "re_model";
  re_model() : Handle(kType) {}

  std::shared_ptr<ruleengine::c::Loaded> loaded;
  std::vector<std::string> warnings;
};

struct re_report {
  std::string json;
  bool is_run = false;
  re_run_totals totals{};
};

namespace ruleengine::c {

// The options of a load. The callback of the caller is called while this
// exists, and not later.
class RulesGiven {
 public:
  static Result<std::unique_ptr<RulesGiven>> of(const re_rules_options* given);
  ~RulesGiven();

  api::RewriteOptions options;
  bool says_how = false;  // whether options of a run are set

 private:
  RulesGiven() = default;
};

// A caller's list, which may not be NULL where it has entries.
template <typename T>
Result<std::span<const T>> list_of(const T* items, std::size_t count,
                                   const char* what) {
  if (items == nullptr && count > 0) {
    return misuse(std::string(what) + " is NULL", "a list",
                  std::to_string(count) + " entries");
  }
  return std::span<const T>(items, count);
}

}  // namespace ruleengine::c
