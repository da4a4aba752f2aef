// CodeRecord: the contents of a file of code, not yet checked against a model:
// values, nodes, blocks. CodeRecorder makes one by running the file. Internal
// to bindings/lua.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/lua/sandbox/sandbox.h"
#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::lua {

struct CodeValue {
  enum class Kind : std::uint8_t { kInput, kWeight, kOutput };
  Kind kind = Kind::kOutput;
  std::string name;     // in the model; for an output: its variable
  bool absent = false;  // `_`
  const ir::Literal* tensor =
      nullptr;  // for a new weight; in the model's arena
  int line = 0;
};

struct CodeAttribute {
  ir::Attribute value;  // in the model's arena; for a body: only name and kind
  bool stored = false;
  std::size_t body = 0;  // for kGraph: its block
};

inline constexpr std::size_t kNoValue = static_cast<std::size_t>(-1);

struct CodeNode {
  std::string domain, type, overload, name;
  std::vector<std::size_t> inputs;  // values; kNoValue: absent
  std::vector<std::size_t> outputs;
  std::vector<CodeAttribute> attributes;
  int line = 0;
};

struct CodeBlock {
  std::vector<CodeNode> nodes;
  std::vector<std::size_t> outputs;
  bool ended = false;
};

struct CodeRecord {
  std::vector<CodeValue> values;
  std::vector<CodeBlock> blocks;  // the main one first
};

// Runs the file; attributes go into the model's arena.
Result<CodeRecord> record_code(ir::Model& model, std::string_view code,
                               const std::string& file,
                               const SandboxLimits& limits);

}  // namespace ruleengine::lua
