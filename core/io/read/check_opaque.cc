#include "core/io/read/parts.h"

#include <vector>

#include "core/io/read/read_graph.h"

namespace ruleengine::io {
namespace {

// A level of nesting is three messages: a graph, its node, the node's
// attribute.
constexpr int kMaxDepth = 3 * kMaxNesting;

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
      if (!cursor.is_whole()) {
        return context.fail(place, "packed numbers end inside a number", "",
                            "in " + std::string(open.message->name));
      }
      if (cursor.child() == nullptr) continue;
      todo.push_back({cursor.bytes(), cursor.child(), open.depth + 1});
    }
    if (!context.finished(place, cursor)) return false;
  }
  return true;
}

bool check_field(Context& context, const Cursor& cursor, const Place& place) {
  return cursor.child() == nullptr ||
         check_opaque(context, cursor.bytes(), *cursor.child(), place);
}

}  // namespace ruleengine::io
