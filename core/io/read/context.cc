#include "core/io/read/context.h"

#include <algorithm>
#include <utility>

namespace ruleengine::io {

std::string Context::text(const Place& place) const {
  std::string out;
  for (const Place* p = &place; p != nullptr; p = p->up) {
    if (p->kind.empty()) continue;
    std::string part(p->kind);
    if (!p->name.empty()) part += " " + quoted_name(p->name);
    out = out.empty() ? part : part + ", " + out;
  }
  if (model.path.empty()) return out;
  return printable(model.path) + (out.empty() ? "" : ": " + out);
}

bool Context::fail(const Place& place, std::string what, std::string expected,
                   std::string found, std::string hint) {
  if (error) return false;
  error = Diagnostic{ErrorKind::kModel,   std::move(what),  text(place),
                     std::move(expected), std::move(found), std::move(hint)};
  return false;
}

bool Context::too_late(const Place& place) {
  if (!error) error = deadline.passed(text(place), "the model was being read");
  return false;
}

void Context::warn(const Place& place, std::string what, std::string expected,
                   std::string found) {
  if (warnings == nullptr) return;
  const auto same = std::ranges::find(*warnings, what, &Diagnostic::what);
  if (same != warnings->end()) return;
  warnings->push_back(Diagnostic{ErrorKind::kModel, std::move(what),
                                 text(place), std::move(expected),
                                 std::move(found), ""});
}

bool Context::finished(const Place& place, const Cursor& cursor) {
  if (cursor.error() == WireError::kNone) return true;
  is_damaged = true;
  Cursor::Explanation why = cursor.explain();
  const std::byte* begin = source_.data();
  std::string hint;
  if (cursor.at() >= begin && cursor.at() <= begin + source_.size()) {
    hint = "at byte " + std::to_string(cursor.at() - begin) + " of " +
           std::to_string(source_.size());
  }
  return fail(place, std::move(why.what), std::move(why.expected),
              std::move(why.found), std::move(hint));
}

Bytes Pieces::whole(Arena& arena) const {
  if (more_.empty()) return first_;
  std::size_t size = first_.size();
  for (Bytes piece : more_) size += piece.size();
  const std::span<std::byte> whole = arena.array<std::byte>(size);
  auto end = std::ranges::copy(first_, whole.begin()).out;
  for (Bytes piece : more_) end = std::ranges::copy(piece, end).out;
  return whole;
}

bool Context::note_external(Bytes tensor) {
  const std::byte* begin = source_.data();
  if (tensor.data() < begin || tensor.data() >= begin + source_.size()) {
    return false;
  }
  external->note_use(tensor);
  return true;
}

}  // namespace ruleengine::io
