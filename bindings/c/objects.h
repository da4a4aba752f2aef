// The handles that have an engine behind them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bindings/api/held.h"
#include "bindings/api/models.h"
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

// Says when the caller's memory is not used any more.
class Lent {
 public:
  Lent() = default;
  explicit Lent(const re_model_options& from)
      : release_(from.release), user_(from.user) {}
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() {
    if (release_ != nullptr) release_(user_);
  }
  void move_to(Lent& other) {
    other.release_ = std::exchange(release_, nullptr);
    other.user_ = user_;
  }

 private:
  re_release_fn release_ = nullptr;
  void* user_ = nullptr;
};

// What a model of the caller borrows.
struct Memory {
  Lent lent;  // destroyed last
  std::string bytes;
};

}  // namespace ruleengine::c

struct re_model : ruleengine::c::Handle {
  static constexpr const char* kType = "re_model";
  re_model() : Handle(kType) {}

  std::shared_ptr<ruleengine::api::Held> held;
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
  explicit RulesGiven(const re_rules_options* given);
  ~RulesGiven() { texts_->end(); }
  RulesGiven(const RulesGiven&) = delete;
  RulesGiven& operator=(const RulesGiven&) = delete;

  api::RewriteOptions options;

 private:
  std::shared_ptr<api::GivenTexts> texts_;
};

// A caller's list, which may not be NULL where it has entries.
template <typename T>
std::span<const T> list_of(const T* items, std::size_t count,
                           const char* what) {
  if (items == nullptr && count > 0) {
    throw misuse(std::string(what) + " is NULL", "a list",
                 std::to_string(count) + " entries");
  }
  return {items, count};
}

}  // namespace ruleengine::c
