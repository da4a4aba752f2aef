// The files of a rule set, their order, options and libs.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "bindings/lua/rule_file.h"
#include "tests/support/rule_folder.h"

namespace ruleengine::lua {
namespace {

// --- files -------------------------------------------------------------------

TEST_CASE("paths that are not rule files") {
  const RuleFolder folder;
  const auto error_of = [&](const std::string& name) {
    const Loaded set = load({folder.path(name)});
    REQUIRE(!set.ok());
    CHECK(set.error().where.find(folder.path(name)) == 0);
    return set.error();
  };
  CHECK(error_of("none.lua").what == "the rule file cannot be read");
  std::filesystem::create_directory(folder.path("empty"));
  CHECK(error_of("empty").kind == ErrorKind::kUsage);
  REQUIRE(::mkfifo(folder.path("pipe.lua").c_str(), 0600) == 0);
  CHECK(error_of("pipe.lua").what == "this is not a regular file");
  folder.write("large.lua", "--" + std::string((1 << 20) + 1, 'x'));
  CHECK(error_of("large.lua").what == "the file is too large");
  folder.write("code.lua", "\x1bLJ\x02");
  CHECK(error_of("code.lua").what == "bytecode is not loaded");
  std::filesystem::create_symlink(folder.path("loop.lua"),
                                  folder.path("loop.lua"));
  CHECK(error_of("loop.lua").kind == ErrorKind::kRule);
}

TEST_CASE("a folder gives the rule files directly in it, each once") {
  const RuleFolder folder;
  folder.write("b/two.lua", rule_text());
  folder.write("b/one.lua", rule_text());
  folder.write("b/deeper/three.lua", rule_text());
  folder.write("b/readme.md", "no rule");
  std::filesystem::create_symlink(folder.path("b/one.lua"),
                                  folder.path("link.lua"));
  CHECK(names_of(load({folder.path("b"), folder.path("b/one.lua"),
                       folder.path("b/../b/one.lua"),
                       folder.path("link.lua")})) == "b/one b/two");
}

TEST_CASE("two rules of one name") {
  const RuleFolder folder;
  const std::string a = folder.write("x/a/r.lua", rule_text());
  const std::string b = folder.write("y/a/r.lua", rule_text());
  const Loaded set = load({a, b});
  REQUIRE(!set.ok());
  CHECK(set.error().what == "two rules have the name 'a/r'");
  CHECK(names_of(load({a, folder.write("y/b/r.lua", rule_text())})) ==
        "a/r b/r");
}

// --- packs -------------------------------------------------------------------

TEST_CASE("a pack keeps its order, whatever the order of the paths") {
  const RuleFolder folder;
  const std::string pack = folder.write(
      "my.lua", "return pack { doc = [[d]], 'g/two', 'g/one', 'g/one' }");
  folder.write("g/one.lua", rule_text());
  folder.write("g/two.lua", rule_text());
  const std::string other = folder.write("g/zero.lua", rule_text());
  CHECK(names_of(load({pack})) == "g/two g/one");
  const std::string both = names_of(load({pack, other}));
  CHECK(both == names_of(load({other, pack, folder.path("g/one.lua")})));
  CHECK(both == "g/zero g/two g/one");
}

TEST_CASE("errors in a pack") {
  const RuleFolder folder;
  const Refused kPacks[] = {
      {"return pack {}", 1, "has no rule"},
      {"return pack {\n3}", 2, "an element of a pack"},
      {"return pack {\n'g/one',\n'../g/one'}", 3, "no rule '../g/one'"},
      {"return pack {'/etc/passwd'}", 1, "from the pack's folder"},
      {"return pack {'g/one.lua'}", 1, "from the pack's folder"},
      {"return pack {\n'g/non'}", 2, "no rule 'g/non'"},
      {"return pack {'inner'}", 1, "a pack names a pack"},
      {"return pack {'r'}", 1, "a pack names a pack"},
      {"return pack {name = 'x', 'g/one'}", 1, "no key 'name'"},
      {"return pack {'g/one',\noptions = {a = 1}}", 2,
       "none of its rules has an option"},
      {"return pack {'g/opt', options = {flag = 1}}", 1, "a number here"},
  };
  folder.write("g/one.lua", rule_text());
  folder.write("g/opt.lua", rule_text("options = {flag = true}"));
  folder.write("inner.lua", "return pack {'g/one'}");
  for (const Refused& refused : kPacks) {
    CAPTURE(std::string(refused.text));
    check_refused(folder.write("r.lua", refused.text), refused);
  }
  folder.write("g/edit.lua", rule_text("changes_meaning = true"));
  CHECK(load({folder.path("g/edit.lua")}).ok());
  const Loaded set = load({folder.write("p.lua", "return pack {'g/edit'}")});
  REQUIRE(!set.ok());
  CHECK(set.error().where == folder.path("g/edit.lua") + ":4");
}

OptionValue option_of(const Loaded& set, const std::string& rule,
                      const std::string& option) {
  REQUIRE_MESSAGE(set.ok(), (set ? "" : set.error().text()));
  for (const auto& each : set.value()->rules()) {
    if (each->name == rule) return each->options.at(option);
  }
  return {};
}

TEST_CASE("options: defaults of the rule, of the pack, then settings") {
  const RuleFolder folder;
  const std::string pack = folder.write(
      "sp.lua", "return pack {'sp/p1', 'sp/p2', options = {enable = false}}");
  const std::string p1 =
      folder.write("sp/p1.lua", rule_text("options = {enable = true}"));
  folder.write("sp/p2.lua", rule_text("options = {enable = true, n = 1, "
                                      "s = 'a', none = {'number'}}"));
  // Disabled in the pack, enabled by itself, whatever other path reaches it.
  CHECK(option_of(load({pack}), "p1", "enable") == OptionValue(false));
  CHECK(option_of(load({p1}), "p1", "enable") == OptionValue(true));
  for (const auto& paths : {std::vector{pack, p1}, std::vector{p1, pack}}) {
    CHECK(option_of(load(paths), "p1", "enable") == OptionValue(true));
    CHECK(option_of(load(paths), "p2", "enable") == OptionValue(false));
  }
  const SetOption on{"sp", "enable", "true"};
  CHECK(option_of(load({pack}, {on}), "p2", "enable") == OptionValue(true));
  CHECK(option_of(load({pack}, {on, {"p2", "enable", "false"}}), "p2",
                  "enable") == OptionValue(false));
  CHECK(option_of(load({pack}, {{"sp/p2", "n", "-2.5"}}), "p2", "n") ==
        OptionValue(-2.5));
  CHECK(option_of(load({pack}, {{"p2", "s", "b=c.d"}}), "p2", "s") ==
        OptionValue(std::string("b=c.d")));
  CHECK(option_of(load({pack}, {{"p2", "none", "8"}}), "p2", "none") ==
        OptionValue(8.0));
}

TEST_CASE("an invalid setting is a usage error") {
  const RuleFolder folder;
  const std::string file = folder.write(
      "my_rule.lua", rule_text("options = {flag = true, factor = 1}"));
  const std::pair<SetOption, const char*> kWrong[] = {
      {{"my_rule", "flags", "true"}, "did you mean 'flag'?"},
      {{"my_rule", "flag", "maybe"}, "a boolean"},
      {{"my_rule", "flag", "1"}, "a boolean"},
      {{"my_rule", "factor", "1x"}, "a number"},
      {{"my_rule", "factor", ""}, "a number"},
      {{"my_rule", "factor", "nan"}, "a number"},
      {{"my_rule", "factor", "1e999"}, "a number"},
  };
  for (const auto& [set, found] : kWrong) {
    const Loaded loaded = load({file}, {set});
    REQUIRE(!loaded.ok());
    CHECK(loaded.error().kind == ErrorKind::kUsage);
    CHECK_MESSAGE(loaded.error().text().find(found) != std::string::npos,
                  loaded.error().text());
  }
}

TEST_CASE("a setting of a rule that is not loaded is ignored") {
  const RuleFolder folder;
  const std::string file =
      folder.write("my_rule.lua", rule_text("options = {flag = true}"));
  const Loaded loaded = load({file}, {{"my_rul", "flag", "true"}});
  REQUIRE(loaded.ok());
  REQUIRE((*loaded)->unclaimed().size() == 1);
  const auto& [setting, error] = (*loaded)->unclaimed()[0];
  CHECK(setting == "my_rul.flag=true");
  CHECK(error.kind == ErrorKind::kUsage);
  CHECK(error.text().find("no rule 'my_rul' is loaded") != std::string::npos);
  CHECK(error.text().find("did you mean 'my_rule'?") != std::string::npos);
}

// --- order -------------------------------------------------------------------

TEST_CASE("phases, then `after`, then names") {
  const RuleFolder folder;
  const auto write = [&](const char* name, const char* more) {
    return folder.write(name, rule_text(more));
  };
  const std::vector<std::string> paths = {
      write("g/a.lua", "after = 'c'"),
      write("g/b.lua", "after = {'g/a'}"),
      write("g/c.lua", ""),
      write("canonical/z.lua", "after = 'a'"),
      write("linear/d.lua", "after = {'not_loaded'}"),
      write("g/e.lua", "phase = 'target'"),
      write("g/d.lua", "")};
  const std::string order = "canonical/z g/c g/d g/a g/b linear/d g/e";
  CHECK(names_of(load(paths)) == order);
  CHECK(names_of(load({paths.rbegin(), paths.rend()})) == order);
  const Loaded set =
      load({write("h/a.lua", "after = 'b'"), write("h/b.lua", "after = 'a'")});
  REQUIRE(!set.ok());
  CHECK(set.error().what == "rule 'h/a' runs after itself");
  CHECK(set.error().kind == ErrorKind::kRule);
  const std::string file = write("i/a.lua", "after = 'i/a'");
  const Loaded own = load({file});
  REQUIRE(!own.ok());
  CHECK(own.error().what == "rule 'i/a' runs after itself");
  CHECK(own.error().where == file + ":1");
}

TEST_CASE("`after` with a name similar to that of a loaded rule") {
  const RuleFolder folder;
  const auto warnings = [&](const char* after) {
    const Loaded set =
        load({folder.write("g/a.lua", rule_text(after)),
              folder.write("g/fuse_all.lua", rule_text("")),
              folder.write("g/p1.lua", rule_text("")),
              folder.write("linear/merge_linears.lua", rule_text(""))});
    REQUIRE_MESSAGE(set.ok(), (set.ok() ? "" : set.error().text()));
    std::vector<std::string> said = (*set)->warnings();
    std::erase_if(said, [](const std::string& each) {
      return each.find("has `after`") == each.npos;
    });
    return said;
  };
  folder.write("g/fuse_al.lua", rule_text(""));
  folder.write("h/fuse_ail.lua", rule_text(""));
  const auto found = warnings("after = {'fuze_all', 'p1'}");
  REQUIRE(found.size() == 1);
  CHECK(found[0].starts_with(
      "rule 'g/a' has `after` 'fuze_all', but no "
      "loaded rule has that name; did you mean 'fuse_all'? "
      "("));
  REQUIRE(warnings("after = 'g/fuse_alll'").size() == 1);
  REQUIRE(warnings("after = 'fuze_alll'").size() == 1);  // two letters
  // Rules that are not loaded, that are similar, or that have another phase.
  for (const char* silent :
       {"after = 'fuse_al'", "after = 'g/fuse_al'", "after = 'fuse_ail'",
        "after = 'p2'", "after = 'something'", "after = 'fuse_one'",
        "after = 'merge_linear'", "after = 'merge_linears'"}) {
    CAPTURE(silent);
    CHECK(warnings(silent).empty());
  }
}

TEST_CASE("a rule that is always preempted is warned about") {
  const RuleFolder folder;
  const auto write = [&](const char* name, const char* pattern,
                         const char* more = "") {
    return folder.write(
        name, std::string("return rule {\n  match = function(op, x) return ") +
                  pattern +
                  " end,\n  rewrite = function(op, m) return m.x end,"
                  "\n" +
                  more + "}");
  };
  const auto warnings = [](const std::vector<std::string>& paths) {
    const Loaded set = load(paths);
    REQUIRE_MESSAGE(set.ok(), (set.ok() ? "" : set.error().text()));
    return (*set)->warnings();
  };
  const std::string special = write("g/b.lua", "op.Neg(op.Relu(x))");
  const std::string general = write("g/a.lua", "op.Neg(x)");
  const std::vector<std::string> found = warnings({special, general});
  REQUIRE(found.size() == 1);
  CHECK(found[0] ==
        "rule 'g/b' is preempted: 'g/a' of the same phase runs first "
        "and matches everywhere it does (" +
            special + ":1, " + general + ":1)");
  CHECK(warnings({special}).empty());
  // No warning if the other rule runs later, by name or by `after`, is in
  // another phase, or may reject.
  CHECK(warnings({special, write("g/c.lua", "op.Neg(x)")}).empty());
  CHECK(warnings({special, write("g/a.lua", "op.Neg(x)", "after = 'b'")})
            .empty());
  CHECK(warnings({special, write("g/a.lua", "op.Neg(x)", "phase = 'linear'")})
            .empty());
  for (const char* more :
       {"where = function(m) end", "when = function() return true end",
        "together = function(m) return 'a' end"}) {
    CHECK(warnings({special, write("g/a.lua", "op.Neg(x)", more)}).empty());
  }
  CHECK(
      warnings(
          {special,
           folder.write(
               "g/a.lua",
               "return rule {match = function(op, x) return op.Neg(x) end,\n"
               "rewrite = function(op, m) need(false, 'no') return m.x end}")})
          .empty());
}

// --- libs --------------------------------------------------------------------

std::string user_of(const std::string& lib) {
  return "local f = lib '" + lib +
         "'\nreturn rule {name = f(), "
         "match = function(op, x) return op.Relu(x) end,\n"
         "rewrite = function(op, m) return m.x end}";
}

TEST_CASE("lib searches the folder of the rule, then its parents") {
  const RuleFolder folder;
  const auto lib = [&](const char* name, const char* answer) {
    folder.write(name,
                 std::string("return function() return '") + answer + "' end");
  };
  lib("lib/near.lua", "top");
  lib("lib/far.lua", "top");
  lib("a/lib/near.lua", "folder");
  lib("a/b/lib/mine.lua", "own");
  const auto name_of = [&](const char* which) {
    return names_of(load({folder.write("a/b/r.lua", user_of(which))}));
  };
  CHECK(name_of("mine") == "b/own");
  CHECK(name_of("near") == "b/folder");
  CHECK(name_of("far") == "b/top");
  // A lib searches its own folder first.
  folder.write("lib/next.lua", "return lib 'near'");
  CHECK(name_of("next") == "b/top");
}

TEST_CASE("errors in a lib") {
  const RuleFolder folder;
  folder.write("lib/circle.lua", "return lib 'round'");
  folder.write("lib/round.lua", "\nreturn lib 'circle'");
  folder.write("lib/nothing.lua", "local x = 1");
  folder.write("lib/broken.lua", "\n\nreturn +");
  folder.write("lib/throws.lua", "\nerror('no')");
  folder.write("lib/rules.lua", "return rule {}");
  folder.write("lib/global.lua", "shared = 1");
  const std::pair<const char*, const char*> kWrong[] = {
      {"circle", "uses itself"},          {"nothing", "returns nothing"},
      {"broken", "lib/broken.lua:3"},     {"throws", "lib/throws.lua:2"},
      {"rules", "`rule` in a lib"},       {"global", "assigned as a global"},
      {"brokn", "did you mean 'broken'?"}};
  for (const auto& [name, found] : kWrong) {
    const Loaded set = load({folder.write("r.lua", user_of(name))});
    REQUIRE(!set.ok());
    CHECK_MESSAGE(set.error().text().find(found) != std::string::npos,
                  set.error().text());
  }
}

TEST_CASE("each rule file has its own copy of a lib") {
  const RuleFolder folder;
  folder.write("lib/count.lua",
               "local n = 0 return function() n = n + 1 "
               "return 'r' .. n end");
  const std::string once =
      "local f = lib 'count' local g = lib 'count' assert(f == g) " +
      user_of("count");
  CHECK(names_of(load({folder.write("a/one.lua", once),
                       folder.write("b/two.lua", once)})) == "a/r1 b/r1");
}

TEST_CASE("many rules in one set cost little") {
  const RuleFolder folder;
  for (int i = 0; i < 300; ++i) {
    folder.write("many/r" + std::to_string(i) + ".lua", rule_text());
  }
  const Loaded set = load({folder.path("many")});
  REQUIRE(set.ok());
  CHECK(set.value()->rules().size() == 300);
  CHECK(set.value()->sandbox().bytes() < (4u << 20));
}

// --- texts -------------------------------------------------------------------

class Texts final : public RuleTexts {
 public:
  explicit Texts(std::map<std::string, std::string> files)
      : files_(std::move(files)) {}

  Result<std::optional<std::string>> read(
      const std::string& path) const override {
    asked.push_back(path);
    if (path.ends_with("broken.lua")) {
      return Diagnostic{.kind = ErrorKind::kLimit, .what = "no connection"};
    }
    const auto it = files_.find(path);
    return it == files_.end() ? std::optional<std::string>() : it->second;
  }

  mutable std::vector<std::string> asked;

 private:
  std::map<std::string, std::string> files_;
};

TEST_CASE("rules, packs and libs from memory") {
  const Texts texts({{"p.lua", "return pack { doc = 'p', 'a/one', 'b/two' }"},
                     {"a/one.lua", user_of("name")},
                     {"b/two.lua", rule_text()},
                     {"lib/name.lua", "return function() return 'named' end"}});
  const Loaded set = RuleSet::load({"memory:/p.lua"}, {}, {}, &texts);
  REQUIRE_MESSAGE(set.ok(), set.error().text());
  CHECK(names_of(set) == "a/named b/two");
  CHECK(set.value()->rules()[0]->file == "memory:/a/one.lua");
  CHECK(texts.asked == std::vector<std::string>{"p.lua", "a/one.lua",
                                                "a/lib/name.lua",
                                                "lib/name.lua", "b/two.lua"});
}

TEST_CASE("texts in memory reach no file of the disk but the shipped libs") {
  // What a path that leaves the memory would mean.
  const RuleFolder disk;
  disk.write("r.lua", rule_text());
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(disk.path(""));
  const Texts texts(
      {{"up.lua", "return pack { doc = 'p', '../r' }"},
       {"a/shipped.lua", "local heads = lib 'heads' " + rule_text()},
       {"none.lua", "local x = lib 'no_such_lib' " + rule_text()},
       {"large.lua", std::string((1 << 20) + 1, ' ')},
       {"broken_lib.lua", "local x = lib 'broken' " + rule_text()}});
  const auto error_of = [&](const std::string& name) {
    const Loaded set = RuleSet::load({"memory:/" + name}, {}, {}, &texts);
    REQUIRE(!set.ok());
    return set.error();
  };
  CHECK(error_of("up.lua").what.starts_with("no rule"));
  CHECK(error_of("large.lua").what == "the file is too large");
  CHECK(error_of("none.lua").what == "no lib 'no_such_lib'");
  CHECK(error_of("broken.lua").kind == ErrorKind::kLimit);
  CHECK(error_of("broken_lib.lua").what == "no connection");
  CHECK(error_of("missing.lua").found == "No such file or directory");
  CHECK(error_of("../r.lua").what == "the rule file cannot be read");
  const Loaded shipped =
      RuleSet::load({"memory:/a/shipped.lua"}, {}, {}, &texts);
  REQUIRE_MESSAGE(shipped.ok(), shipped.error().text());
  // Without texts the prefix has no meaning.
  CHECK(!load({"memory:/b/two.lua"}).ok());
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace ruleengine::lua
