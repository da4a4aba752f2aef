#include "bindings/lua/load/rule_file_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <lua.hpp>
#include <system_error>
#include <utility>

#include "bindings/lua/callbacks/callback_words.h"
#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_meter.h"

namespace ruleengine::lua {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRules = 20'000;

Diagnostic wrong_at(std::string what, std::string where) {
  return {.kind = ErrorKind::kRule,
          .what = std::move(what),
          .where = std::move(where)};
}

}  // namespace

// --- files ---

Status Loader::add(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return add_folder(path);
  return add_file(path, {}, nullptr);
}

Status Loader::add_folder(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names = rule_files_in(path, error);
  if (error) {
    Diagnostic missing = wrong_at("the folder cannot be read", path);
    missing.found = error.message();
    return missing;
  }
  if (names.empty()) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "the folder has no rule file",
                      .where = path,
                      .expected = "*.lua in the folder itself"};
  }
  for (const std::string& name : names) {
    if (Status status = add_file((fs::path(path) / name).string(), {}, nullptr);
        !status) {
      return status;
    }
  }
  return {};
}

void Loader::set_member(std::size_t rule,
                        const std::optional<RuleInLoad::Member>& member) {
  if (member) {
    rules_[rule].packs.push_back(*member);
  } else {
    rules_[rule].direct = true;
  }
}

Status Loader::add_file(const std::string& path,
                        const std::optional<RuleInLoad::Member>& member,
                        const LoadedPack::Entry* entry) {
  // Errors about a member of a pack are reported at its line in the pack.
  const auto place = [&] {
    return entry == nullptr
               ? path
               : fmt::format("{}:{}", packs_[member->pack].file, entry->line);
  };
  auto found = store_.real(path);
  if (!found || !*found) {
    Diagnostic error =
        found ? wrong_at("the rule file cannot be read", path) : found.error();
    if (found) error.found = std::generic_category().message(ENOENT);
    if (entry != nullptr) {
      error.what = "no rule '" + printable(entry->path) + "'";
      error.found = path + ": " + error.found;
      error.where = place();
    }
    return error;
  }
  const fs::path& real = **found;
  if (const auto known = known_.find(real); known != known_.end()) {
    const auto [is_rule, index] = known->second;
    if (is_rule) {
      set_member(index, member);
    } else if (member) {
      return wrong_at("a pack names a pack; it may only name rules", place());
    }
    return {};
  }
  if (rules_.size() + packs_.size() >= kMaxRules) {
    return Diagnostic{.kind = ErrorKind::kLimit,
                      .what = "too many rule files",
                      .expected = fmt::format("at most {}", kMaxRules)};
  }
  Result<std::optional<std::string>> text = store_.read(real, kMaxSource);
  if (!text || !*text) {
    Diagnostic error =
        text ? wrong_at("the rule file cannot be read", path) : text.error();
    error.where = path;
    return error;
  }
  const std::size_t rules = rules_.size();
  if (Status status = run_file(path, real, std::move(**text)); !status) {
    return status;
  }
  const bool is_rule = rules_.size() > rules;
  if (!is_rule && member) {
    return wrong_at("a pack names a pack; it may only name rules", place());
  }
  known_[real] = {is_rule, is_rule ? rules : packs_.size() - 1};
  if (is_rule) set_member(rules, member);
  return {};
}

Status Loader::add_members() {
  for (std::size_t pack = 0; pack < packs_.size(); ++pack) {
    const std::vector<LoadedPack::Entry> entries = packs_[pack].entries;
    const fs::path folder = fs::path(packs_[pack].file).parent_path();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string path =
          (folder / (entries[i].path + ".lua")).lexically_normal().string();
      if (store_.is_text(packs_[pack].file) != store_.is_text(path)) {
        return wrong_at(
            "no rule '" + printable(entries[i].path) + "'",
            fmt::format("{}:{}", packs_[pack].file, entries[i].line));
      }
      Status status = add_file(path, RuleInLoad::Member{pack, i}, &entries[i]);
      if (!status) return status;
    }
  }
  for (const RuleInLoad& each : rules_) {
    if (each.changes_meaning_line == 0 || each.packs.empty()) continue;
    Diagnostic error = wrong_at(
        "a rule with `changes_meaning` cannot be in a pack",
        fmt::format("{}:{}", each.rule->file, each.changes_meaning_line));
    error.found = "it is in " + packs_[each.packs[0].pack].file;
    return error;
  }
  return {};
}

// --- running a file ---

template <int (Loader::*function)(lua_State*)>
int Loader::call(lua_State* state) {
  auto& self =
      *static_cast<Loader*>(lua_touserdata(state, lua_upvalueindex(1)));
  return (self.*function)(state);
}

Status Loader::prepare() {
  return sandbox_.protect([this](lua_State* state) {
    lua_newtable(state);
    words_.install(state);
    install_callback_words(state, words_);
    constexpr luaL_Reg kFunctions[] = {{"rule", &call<&Loader::rule>},
                                       {"pack", &call<&Loader::pack>},
                                       {"lib", &call<&Loader::lib>},
                                       {nullptr, nullptr}};
    lua_pushlightuserdata(state, this);
    luaL_setfuncs(state, kFunctions, 1);
    words_table_ = luaL_ref(state, LUA_REGISTRYINDEX);
    lua_pushlightuserdata(state, this);
    lua_pushcclosure(state, &call<&Loader::run_body>, 1);
    body_ = luaL_ref(state, LUA_REGISTRYINDEX);
  });
}

Status Loader::run_file(const std::string& file, const fs::path& real,
                        std::string text) {
  const Deadline& deadline = sandbox_.limits().deadline;
  if (deadline.is_over()) return deadline.passed(file);
  Request request{.file = file, .real = real, .text = std::move(text)};
  request.running.push_back({file, real, false});
  request_ = &request;
  lua_State* state = sandbox_.state();
  lua_rawgeti(state, LUA_REGISTRYINDEX, body_);
  Status status = sandbox_.call(0, 0, Sandbox::Budget::kLoad,
                                fmt::format("rule file '{}'", file));
  request_ = nullptr;
  luaL_unref(state, LUA_REGISTRYINDEX, request.declared);
  luaL_unref(state, LUA_REGISTRYINDEX, request.libs);
  return status;
}

SourceScan Loader::compile(lua_State* state, const std::string& file,
                           const std::string& text) {
  lua_rawgeti(state, LUA_REGISTRYINDEX, words_table_);
  Status status = sandbox_.compile(text, file, -1);
  if (!status) Sandbox::fail(state, status.error());
  lua_remove(state, -2);
  SourceScan scan(text);
  if (scan.foreign_literal_line() != 0) {
    fail_in(state, file, scan.foreign_literal_line(), "a number with a suffix",
            "a number of Lua 5.1");
  }
  return scan;
}

void Loader::run(lua_State* state) {
  Nested nested(state);
  lua_call(state, 0, 1);
}

int Loader::run_body(lua_State* state) {
  Request& request = *request_;
  lua_newtable(state);
  request.libs = luaL_ref(state, LUA_REGISTRYINDEX);
  const SourceScan scan = compile(state, request.file, request.text);
  run(state);
  if (request.word == nullptr) {
    fail_in(state, request.file, 1, "the file has no rule",
            "return rule { ... }");
  }
  lua_rawgeti(state, LUA_REGISTRYINDEX, request.declared);
  if (lua_rawequal(state, -1, -2) == 0) {
    fail_in(state, request.file, request.line,
            fmt::format("the file does not return its {}", request.word),
            fmt::format("return {} {{ ... }}", request.word));
  }
  // The error is at the end of the call; readers look at its beginning.
  const int written = scan.word_line(request.word);
  std::size_t taken = 0;
  const RuleTable table{*this,
                        request.file,
                        request.real,
                        scan,
                        written > 0 ? written : request.line,
                        &taken};
  if (std::string_view(request.word) == "rule") {
    rules_.push_back(read_rule(state, table));
  } else {
    packs_.push_back(read_pack(state, table));
  }
  return 0;
}

int Loader::declare(lua_State* state, const char* word) {
  if (request_ == nullptr) {
    return Sandbox::fail(state, fmt::format("`{}` was called after the rule "
                                            "file was loaded",
                                            word));
  }
  if (request_->running.back().is_lib) {
    return Sandbox::fail(state, fmt::format("`{}` in a lib", word));
  }
  if (request_->word != nullptr) {
    return Sandbox::fail(state, "a second rule or pack in one file");
  }
  if (lua_gettop(state) != 1 || !lua_istable(state, 1)) {
    return Sandbox::fail(state, fmt::format("`{}` takes a table", word));
  }
  request_->word = word;
  request_->line = std::max(1, Sandbox::line_of(Sandbox::here(state)));
  lua_pushvalue(state, 1);
  request_->declared = luaL_ref(state, LUA_REGISTRYINDEX);
  return 1;
}

void take_bytes(lua_State* state, const RuleTable& table, std::size_t bytes,
                int line) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  *table.taken += bytes;
  Sandbox::charge(state, bytes);
  if (*table.taken > kMost) {
    fail_at(state, table, line,
            {.what = "the rule file is too large",
             .expected = "at most 64 MiB of texts, graphs of examples "
                         "included"});
  }
}

std::string take_text(lua_State* state, const RuleTable& table, int index,
                      int line) {
  const std::string_view text = text_at(state, index);
  take_bytes(state, table, text.size() + 64, line);
  return std::string(text);
}

int fail_in(lua_State* state, const std::string& file, int line,
            std::string what, std::string expected) {
  Diagnostic error = wrong(std::move(what), std::move(expected));
  error.where = fmt::format("{}:{}", file, line);
  return Sandbox::fail(state, std::move(error));
}

int fail_at(lua_State* state, const RuleTable& table, int line,
            Diagnostic error) {
  error.kind = ErrorKind::kRule;
  error.where = fmt::format("{}:{}", table.file, line > 0 ? line : table.line);
  return Sandbox::fail(state, std::move(error));
}

}  // namespace ruleengine::lua
