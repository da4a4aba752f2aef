// Bodies of ops of the user's own: what such an op computes, as a rule file
// says it. Rules see a node of the op and nothing else; when they have run, a
// model can be given functions for these nodes. Borrow the rules that they come
// from. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/verify.h"
#include "core/ir/facts.h"
#include "core/ir/model.h"
#include "core/rewrite/portable.h"

namespace ruleengine::engine {

// One body; bindings/lua implements it.
class OpBody {
 public:
  OpBody(std::string domain, std::string type, std::string place)
      : domain_(std::move(domain)),
        type_(std::move(type)),
        place_(std::move(place)) {}
  virtual ~OpBody() = default;

  const std::string& domain() const { return domain_; }
  const std::string& type() const { return type_; }
  const std::string& place() const { return place_; }  // "file.lua:12"
  std::string name() const { return domain_ + "." + type_; }

  // Whether all calls of one opset have the same function, whatever their types
  // and attributes are.
  virtual bool is_shared() const = 0;
  // Why the node is no call of this op, of kind kRule; found without its types.
  virtual Status check(const ir::Graph& graph, ir::NodeId call) const = 0;
  // Adds the function of this call to the model, as `op`. An error of kind
  // kRule is a mistake of the body; of kind kModel: this call has no body.
  virtual Result<ir::Function*> add(ir::Graph& graph, ir::Facts& facts,
                                    ir::NodeId call,
                                    const ir::Op& op) const = 0;

  // A mistake of the body, at its place.
  Diagnostic wrong(std::string what, std::string expected = {},
                   std::string found = {}, std::string hint = {}) const;

 private:
  std::string domain_, type_, place_;
};

// The bodies of a run, with different ops.
class OpBodies {
 public:
  OpBodies() = default;
  explicit OpBodies(std::vector<const OpBody*> all) : all_(std::move(all)) {}

  bool empty() const { return all_.empty(); }
  const OpBody* find(const ir::Op& op) const;

  // Notes which functions of the model say what such an op means: rules then
  // see their calls as ops (ir::Function::is_op).
  void mark(ir::Model& model) const;

  struct Options {
    // Whether functions are told apart by overloads, or each by its name.
    bool overloads = true;
    // For the executor: all nodes of these ops get a body, not only those that
    // rules made, and a body may have another opset than the model.
    bool runs = false;
  };
  // Gives a function to the nodes of these ops that have none, and those within
  // bodies; says where there is none. An error, of kind kRule, is a mistake of
  // a body.
  Result<std::vector<rewrite::Bare>> write(ir::Model& model,
                                           const Options& options) const;

  // Compares models as they compute with the bodies. The bodies outlive it.
  CompareModels compare_with(CompareModels compare) const;

 private:
  std::vector<const OpBody*> all_;
};

}  // namespace ruleengine::engine
