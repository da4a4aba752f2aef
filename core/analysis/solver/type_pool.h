// TypePool: equal types as one object, in the arena of a Model, so that many
// values of one type cost one Type. Not thread-safe.
#pragma once

#include <unordered_set>

#include "core/base/arena.h"
#include "core/ir/shapes.h"
#include "core/ir/type.h"

namespace ruleengine::analysis {

class TypePool {
 public:
  explicit TypePool(Arena& arena) : arena_(&arena) {}

  // The Type equal to `type`, whose views are copied when it is new.
  const ir::Type* intern(const ir::Type& type) {
    if (const auto at = types_.find(&type); at != types_.end()) return *at;
    ir::Type copy = type;
    copy.dims = arena_->copy(type.dims);
    copy.other = arena_->copy(type.other);
    return *types_.insert(arena_->make<ir::Type>(copy)).first;
  }

 private:
  struct Hash {
    std::size_t operator()(const ir::Type* t) const {
      std::uint64_t h = static_cast<std::uint64_t>(t->elem) * 2 + t->has_shape;
      for (ir::Dim d : t->dims) {
        const auto raw = d.known() ? static_cast<std::uint64_t>(d.size())
                                   : ~static_cast<std::uint64_t>(d.id());
        h = (h ^ raw) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
      }
      for (std::byte b : t->other) h = h * 131 + static_cast<unsigned>(b);
      return h;
    }
  };
  struct Equal {
    bool operator()(const ir::Type* a, const ir::Type* b) const {
      return same_type(*a, *b);
    }
  };

  Arena* arena_;
  std::unordered_set<const ir::Type*, Hash, Equal> types_;
};

}  // namespace ruleengine::analysis
