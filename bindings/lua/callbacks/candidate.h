// LuaCandidate: a match that passed `where`, with what `where` put onto m. It
// holds registry references of the sandbox and must not outlive it. Internal to
// bindings/lua.
#pragma once

#include <cstdint>
#include <lua.hpp>
#include <span>
#include <string>
#include <vector>

#include "bindings/lua/rule_file.h"
#include "core/match/match.h"
#include "core/rewrite/rule.h"

namespace ruleengine::lua {

class LuaCandidate final : public rewrite::Candidate {
 public:
  LuaCandidate(Sandbox& sandbox, const match::Match& found)
      : match(found), sandbox_(sandbox) {}
  ~LuaCandidate() override {
    if (computed != 0) {
      luaL_unref(sandbox_.state(), LUA_REGISTRYINDEX, computed);
    }
  }
  LuaCandidate(const LuaCandidate&) = delete;
  LuaCandidate& operator=(const LuaCandidate&) = delete;

  const std::string& key() const override { return key_; }
  std::string& mutable_key() { return key_; }
  std::span<const rewrite::Assumption> assumptions() const override {
    return assumed;
  }

  const match::Match match;
  std::uint64_t epoch = 0;     // of the handles that `where` put onto m
  rewrite::Mentions mentions;  // by `where` and `together`
  FunctionRef computed = 0;    // the table of what `where` put onto m
  std::vector<rewrite::Assumption> assumed;

 private:
  Sandbox& sandbox_;
  std::string key_;
};

}  // namespace ruleengine::lua
