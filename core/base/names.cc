#include "core/base/names.h"

#include <bit>
#include <functional>

namespace ruleengine {
namespace {

std::uint32_t hash_of(std::string_view text) {
  const std::size_t h = std::hash<std::string_view>{}(text);
  return static_cast<std::uint32_t>(h ^ (h >> 32));
}

}  // namespace

Names::Names() : slots_(64) {}

std::size_t Names::probe(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].index != Name::kNone &&
         (slots_[at].hash != hash || texts_[slots_[at].index] != text)) {
    at = (at + 1) & mask;
  }
  return at;
}

Name Names::insert(std::size_t slot, std::string_view text,
                   std::uint32_t hash) {
  const auto index = static_cast<std::uint32_t>(texts_.size());
  slots_[slot] = {hash, index};
  texts_.push_back(text);
  if (texts_.size() * 2 > slots_.size()) rehash(slots_.size() * 2);
  return Name(index);
}

void Names::reserve(std::size_t count) {
  texts_.reserve(count);
  const std::size_t slots = std::bit_ceil(2 * count);
  if (slots > slots_.size()) rehash(slots);
}

void Names::rehash(std::size_t slots) {
  std::vector<Slot> old(slots);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.index == Name::kNone) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].index != Name::kNone) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

Name Names::intern_view(std::string_view text) {
  const std::uint32_t hash = hash_of(text);
  const std::size_t slot = probe(text, hash);
  if (slots_[slot].index != Name::kNone) return Name(slots_[slot].index);
  return insert(slot, text, hash);
}

Name Names::intern(std::string_view text) {
  const std::uint32_t hash = hash_of(text);
  const std::size_t slot = probe(text, hash);
  if (slots_[slot].index != Name::kNone) return Name(slots_[slot].index);
  return insert(slot, arena_.copy(text), hash);
}

Name Names::find(std::string_view text) const {
  return Name(slots_[probe(text, hash_of(text))].index);
}

}  // namespace ruleengine
