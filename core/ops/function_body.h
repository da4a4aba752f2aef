// FunctionBody: the meaning of a call as a model-local function that all calls
// with the same answers (core/ops/call_site.h) share, whatever their shapes.
// Nothing of the model changes before add_to(). Borrows graph and facts.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/ir/facts.h"
#include "core/ir/model.h"
#include "core/ops/body.h"
#include "core/ops/op_row.h"

namespace ruleengine::ops {

class FunctionBody final : public Body {
 public:
  // What the body is for: a file that any runtime reads, in which the engine's
  // own ops within a meaning are written out; or the executor, for which they
  // stay calls.
  enum class Use : std::uint8_t { kFile, kRun };

  // Writes the meaning of `call`, which has one, at this opset of the standard.
  FunctionBody(const ir::Graph& host, ir::Facts& facts, ir::NodeId call,
               std::int64_t opset, Use use = Use::kFile);
  // The same with the op in another version, and its meaning there.
  FunctionBody(const ir::Graph& host, ir::Facts& facts, ir::NodeId call,
               std::int64_t opset, const OpFacts& op, Meaning meaning,
               Use use = Use::kFile);

  // The answers; equal for calls that can share the body. A body that was
  // refused has none.
  std::string variant() const;

  // Adds the function as `op`. On an error, of kind kModel, the opset cannot
  // say it, and nothing was added.
  Status add_to(ir::Model& model, const ir::Op& op) const;

  Values nodes(std::string_view type, Values inputs,
               const std::vector<std::string>& names,
               Attributes attributes) override;
  Values call(std::string_view domain, std::string_view type, Values inputs,
              Attributes attributes) override;
  std::int64_t opset() const override { return opset_; }
  bool is_shared() const override { return true; }
  bool runs_here() const override { return use_ == Use::kRun; }
  bool same(ir::ValueId a, ir::ValueId b) const override {
    return host_value(a) == host_value(b);
  }
  const ir::Type* type(ir::ValueId value) override;
  std::optional<std::vector<std::int64_t>> elements(ir::ValueId) override {
    return std::nullopt;
  }
  ir::NodeId producer(ir::ValueId value) override;
  const ir::Graph& host() const override { return host_; }
  void set_rank(ir::ValueId value, std::size_t rank) override;
  void note(const std::string& answer) override;

 protected:
  ir::ValueId constant(const ir::Literal& tensor,
                       std::string_view name) override;
  Arena& arena() override { return arena_; }
  std::string describe(ir::ValueId value) override;

 private:
  // Values are numbered as they come: the inputs of the op first.
  struct Node {
    std::string_view domain, type;
    Values inputs, outputs;
    Attributes attributes;
  };
  class Known;
  class Writer;

  ir::ValueId value(std::string_view name);
  // The value of the host; invalid for one of the body.
  ir::ValueId host_value(ir::ValueId value) const;

  const ir::Graph& host_;
  ir::Facts& facts_;
  ir::NodeId call_;
  const OpFacts& op_;
  std::size_t input_count_;
  std::int64_t opset_;
  Use use_;
  Arena arena_;
  std::vector<std::string> names_;  // by value
  std::vector<Node> nodes_;
  Values outputs_;
  std::unordered_map<ir::ValueId, const ir::Type*> types_;  // that were said
  std::vector<std::string> answers_;                        // each once
};

}  // namespace ruleengine::ops
