// Names: interned strings of one model. The text of a name is a view: either
// into memory that the caller promises to outlive the table (the mapped model
// file), or copied into the table. Ids are dense, in order of first interning,
// so iteration over them is deterministic. Not thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/arena.h"
#include "core/base/id.h"

namespace ruleengine {

class Names {
 public:
  Names();
  // The same ids; the texts stay those of `other`, which must outlive this.
  Names(const Names& other) : texts_(other.texts_), slots_(other.slots_) {}
  Names& operator=(const Names&) = delete;

  // The id of `text`, whose bytes must outlive this table.
  Name intern_view(std::string_view text);
  // The id of `text`, copied when it is new.
  Name intern(std::string_view text);
  // The id of `text` if it was interned, else an invalid one.
  Name find(std::string_view text) const;

  std::string_view text(Name name) const { return texts_[name.index()]; }
  std::size_t size() const { return texts_.size(); }
  std::size_t bytes() const {  // approximate
    return arena_.bytes() +
           texts_.size() * (sizeof(std::string_view) + 2 * sizeof(Slot));
  }
  // Makes room for `count` names in all.
  void reserve(std::size_t count);

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t index = Name::kNone;
  };

  std::size_t probe(std::string_view text, std::uint32_t hash) const;
  Name insert(std::size_t slot, std::string_view text, std::uint32_t hash);
  void rehash(std::size_t slots);

  std::vector<std::string_view> texts_;
  std::vector<Slot> slots_;  // open addressing, power of two, load <= 1/2
  Arena arena_;
};

}  // namespace ruleengine
