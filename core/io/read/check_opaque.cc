#include "core/io/read/check_opaque.h"

#include <vector>

#include "core/io/read/read_graph.h"
#include "core/io/read/read_tensor.h"

namespace ruleengine::io {
namespace {

// A level of nesting is three messages: a graph, its node, the node's
// attribute.
constexpr int kMaxDepth = 3 * kMaxNesting;

const schema::Message* child_of(const schema::Message& message,
                                std::uint32_t field) {
  return field < message.fields.size() ? message.fields[field].child : nullptr;
}

bool check_packed(Context& context, const Cursor& cursor,
                  const schema::Message& message, const Place& place) {
  const schema::Shape shape = message.shape(cursor.field());
  if (!cursor.is_length()) return true;
  const Bytes packed = cursor.bytes();
  bool ok = true;
  if (shape == schema::kFloats) ok = packed.size() % 4 == 0;
  if (shape == schema::kDoubles) ok = packed.size() % 8 == 0;
  if (shape == schema::kVarints) {
    const std::byte* at = packed.data();
    const std::byte* end = at + packed.size();
    std::uint64_t value;
    while (ok && at != end) {
      ok = read_varint(at, end, value) == WireError::kNone;
    }
  }
  return ok || context.fail(place, "packed numbers end inside a number", "",
                            "in " + std::string(message.name));
}

}  // namespace

bool check_opaque(Context& context, Bytes proto, const schema::Message& message,
                  const Place& place) {
  struct Open {
    Bytes bytes;
    const schema::Message* message;
    int depth;
  };
  std::vector<Open> todo{{proto, &message, 0}};
  while (!todo.empty()) {
    const Open open = todo.back();
    todo.pop_back();
    if (open.depth > kMaxDepth) {
      return context.fail(place, "messages are nested too deep",
                          "at most " + std::to_string(kMaxDepth) + " levels",
                          "more");
    }
    const ir::Literal* tensor;
    std::string_view name;
    if (open.message == &schema::kTensor) {
      if (!read_tensor(context, open.bytes, place, tensor, name)) return false;
      continue;
    }
    if (open.message == &schema::kSparseTensor) {
      if (!check_sparse(context, open.bytes, place, name)) return false;
      continue;
    }
    Cursor cursor(open.bytes, *open.message);
    while (cursor.next()) {
      if (!check_packed(context, cursor, *open.message, place)) return false;
      const auto* child = child_of(*open.message, cursor.field());
      if (child == nullptr) continue;
      todo.push_back({cursor.bytes(), child, open.depth + 1});
    }
    if (!context.finished(place, cursor)) return false;
  }
  return true;
}

bool check_field(Context& context, const Cursor& cursor,
                 const schema::Message& message, const Place& place) {
  const schema::Message* child = child_of(message, cursor.field());
  return child == nullptr ||
         check_opaque(context, cursor.bytes(), *child, place);
}

}  // namespace ruleengine::io
