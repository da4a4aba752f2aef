// Host: what C++ keeps beside a Lua state: the session of the callback that is
// running (its graph, match and transaction, and how it ends) and the
// metatables of handles. One per state, owned by the state (collected with it);
// every C function of callbacks gets it as its first upvalue. A body that fails
// says why in the Session and returns kFailed; entry() raises for it. A
// rejection (`need`) ends the whole callback, past every pcall of rule code.
// Internal to bindings/lua; one state, one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <lua.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/lua/sandbox/sandbox.h"
#include "core/match/match.h"
#include "core/ops/op_facts.h"
#include "core/ops/upgrade.h"
#include "core/rewrite/edit.h"
#include "core/rewrite/rule.h"

namespace ruleengine::lua {

struct LoadedRule;  // bindings/lua/rule_file.h

// What one rule needs at every call; made once by make_rules.
struct RuleFrame {
  const LoadedRule* rule = nullptr;
  const pattern::Pattern* pattern = nullptr;  // nullptr: it has none
  FunctionRef names = 0;    // table: variable's name -> its VariableId + 1
  FunctionRef options = 0;  // the read-only object m.options
};

// One match the callback works on.
struct Member {
  const match::Match* match = nullptr;
  // Registry reference of what `where` computed onto m; 0: nothing yet. Owned
  // by the candidate.
  FunctionRef* computed = nullptr;
};

enum class Stage : std::uint8_t {
  kNone,  // no callback: rule files are being loaded
  kWhen,
  kWhere,
  kTogether,
  kRewrite,
  kPass,
};

// The fields that a session starts with; the others change while it runs.
struct SessionStart {
  Stage stage = Stage::kNone;
  const RuleFrame* frame = nullptr;
  ir::Graph* graph = nullptr;
  ir::Facts* facts = nullptr;
  rewrite::Edit* edit = nullptr;  // only where something may be built
  rewrite::Transactions* transactions = nullptr;  // of a pass
  std::vector<rewrite::Warning>* warnings = nullptr;
  std::vector<rewrite::Assumption>* assumed = nullptr;  // without an edit
  rewrite::Mentions* mentions = nullptr;  // where there is no edit
};

// What ends with a session.
struct SessionCourse {
  // How it ends.
  std::optional<rewrite::Rejection> rejection;  // `need`
  std::optional<rewrite::Rejection> refusal;    // `refuse`: when `where` ends
  std::optional<Diagnostic> error;    // details of the error being raised
  std::optional<Diagnostic> failure;  // of a transaction: the run is over
  bool attempting = false;            // a pass is in a part of its own
  bool changed = false;               // a pass replaced something
  bool has_cache = false;             // handles of this session are being kept
  // What `where` computes of constants is built here and undone at the end. Its
  // values and nodes begin at these indices.
  std::unique_ptr<rewrite::Edit> aside;
  std::size_t first_value = 0, first_node = 0;
  // The last symbolic dimension pushed, and whether there were different ones.
  std::optional<ir::Dim> symbol;
  bool several_symbols = false;
  std::optional<ops::Upgrades> upgrades;  // made by the first read_node()
};

struct Session : SessionStart, SessionCourse {
  std::vector<Member> members;
  // Handles carry the epoch they were made in; these are alive. Ascending, the
  // last one is the session's own. The first is that of `aside`, if it is set.
  std::vector<std::uint64_t> epochs;
  ops::NewestForm form;
  // Names of variables read and found not taken, to name in errors.
  std::vector<std::string_view> not_taken;

  // The rule looks at this node.
  void see(ir::NodeId node) {
    if (edit != nullptr) return edit->mentions().add_node(node);
    if (mentions != nullptr) mentions->add_node(node);
  }
  // The rule read this attribute, or gives it another value.
  void hear(ir::NodeId node, std::string_view attribute) {
    if (edit != nullptr) return edit->mentions().add(node, attribute);
    if (mentions != nullptr) mentions->add(node, attribute);
  }
};

// A metatable of ours: its reference in the registry, and its lua_topointer.
struct Metatable {
  int reference = 0;
  const void* id = nullptr;
};

// Of a callback: a body gets `op`, the inputs and the attributes of a call.
inline constexpr int kMostArguments = 34;

class Host {
 public:
  // The state's Host, which make() made. make() may raise a Lua memory error:
  // call it under protection.
  static Host& of(lua_State* state);
  static Host& make(lua_State* state);

  Session session;
  std::uint64_t last_epoch = 0;  // the one before it is that of `aside`
  Metatable metatables[16];      // by handle kind
  Metatable lists, floats, shapes, inputs;
  int nodes_of_inputs = 0;  // by table of inputs
  int builders = 0;         // the `op` that rewrite gets
  int unknown_ops = 0;      // builders of unknown ops made so far
  int cache = 0;            // registry slot of the session's table of handles
  // Registry slots where arguments of a call wait.
  int arguments[kMostArguments] = {};
  // A C function that runs *task on its arguments.
  int runner = 0;
  const std::function<void(lua_State*)>* task = nullptr;

  bool alive(std::uint64_t epoch) const;
};

// Begins a session with a new epoch and ends it when it goes out of scope. From
// then on handles of the session are invalid.
class SessionScope {
 public:
  SessionScope(Host& host, const SessionStart& start);
  ~SessionScope();
  SessionScope(const SessionScope&) = delete;
  SessionScope& operator=(const SessionScope&) = delete;

  std::uint64_t epoch() const { return epoch_; }

 private:
  Host& host_;
  std::uint64_t epoch_;
};

// --- How a C function ends ---------------------------------------------------

constexpr int kFailed = -1;
// The same as the result of what returns bool or a pointer.
struct Failed {
  operator int() const { return kFailed; }
  operator bool() const { return false; }
  template <typename T>
  operator T*() const {
    return nullptr;
  }
};

// A rule's mistake; Sandbox::fail adds the place.
Failed fail(Host& host, std::string what, std::string expected = {},
            std::string found = {}, std::string hint = {});
Failed fail(Host& host, Diagnostic error);
// The match is rejected, which is not an error. The first rejection counts.
Failed reject(Host& host, rewrite::Rejection why);
Failed reject(Host& host, std::string reason, std::string value = {});

// The same where `what` ("arithmetic", "num_heads") needs a number and the
// dimension is only known by name.
Failed reject_dim(Host& host, std::string_view what, ir::Dim dim);

// Raises the rejection or error of the session; never returns.
int raise(lua_State* state, Host& host);

using Body = int (*)(Host&, lua_State*);

// Runs the body; ends the whole call if it exceeded the memory limit.
int bounded(Body body, Host& host, lua_State* state);

template <Body body>
int entry(lua_State* state) {
  auto& host = *static_cast<Host*>(lua_touserdata(state, lua_upvalueindex(1)));
  const int results =
      host.session.rejection ? kFailed : bounded(body, host, state);
  return results >= 0 && !host.session.rejection ? results : raise(state, host);
}

// Pushes a closure of entry<body>; `upvalues` values on top of the stack become
// upvalues 2 and up.
void push_function(lua_State* state, Host& host, lua_CFunction function,
                   int upvalues = 0);
// Puts it into the table below the upvalues, as `name`.
void set_function(lua_State* state, Host& host, const char* name,
                  lua_CFunction function, int upvalues = 0);

// --- The names of the match

// The pattern of the rule; nullptr: none.
const pattern::Pattern* pattern_of(const Host& host);
// The VariableId of the name at `index`; none when it is not declared.
std::optional<std::uint32_t> find_variable(Host& host, lua_State* state,
                                           int index);
// The dimension that a letter stands for in the session's only match; none when
// there is no such match or the letter is not bound.
std::optional<ir::Dim> bound_dim(Host& host, lua_State* state,
                                 std::string_view letter);

// "a number", "a table", "a value": for `found` in errors.
std::string kind_of(lua_State* state, int index);

}  // namespace ruleengine::lua
