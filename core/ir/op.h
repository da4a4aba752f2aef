// Ops: (domain, type, overload) interned per Model as dense OpIds. The standard
// domain is "" ("ai.onnx" is normalized to it).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/arena.h"
#include "core/base/id.h"

namespace ruleengine::ir {

using OpId = Id<struct OpTag>;

// "" for "ai.onnx", both of which name the standard domain.
inline std::string_view normalized(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

struct Op {
  std::string_view domain;
  std::string_view type;
  std::string_view overload;

  bool is(std::string_view d, std::string_view t) const {
    return type == t && domain == d;
  }
  bool standard(std::string_view t) const {
    return domain.empty() && type == t;
  }
  // "Add", "com.microsoft::Gelu".
  std::string text() const;

  bool operator==(const Op&) const = default;
  struct Hash {
    std::size_t operator()(const Op& op) const;
  };
};

class OpTable {
 public:
  OpTable() = default;
  // The same ids; the texts stay those of `other`, which must outlive this.
  OpTable(const OpTable& other) : ops_(other.ops_), ids_(other.ids_) {}
  OpTable& operator=(const OpTable&) = delete;

  OpId intern(std::string_view domain, std::string_view type,
              std::string_view overload = {});
  OpId find(std::string_view domain, std::string_view type,
            std::string_view overload = {}) const;
  const Op& operator[](OpId id) const { return ops_[id.index()]; }
  std::size_t size() const { return ops_.size(); }
  std::size_t bytes() const {  // about
    return arena_.bytes() + ops_.size() * 4 * sizeof(Op);
  }

 private:
  Arena arena_;
  std::vector<Op> ops_;
  std::unordered_map<Op, OpId, Op::Hash> ids_;
};

}  // namespace ruleengine::ir
