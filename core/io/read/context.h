// Context: what every reader of one load shares: the model that is being
// filled, the first error, and the places of messages for diagnostics. Readers
// return false after they called fail(); the first failure wins. Lives for one
// load on one thread; views handed out live as long as the model.
#ifndef RULEENGINE_CORE_IO_READ_CONTEXT_H_
#define RULEENGINE_CORE_IO_READ_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/diagnostic.h"
#include "core/io/read/external.h"
#include "core/io/read/mapping.h"
#include "core/io/wire/wire.h"
#include "core/ir/model.h"

namespace ruleengine::io {

// Where a reader is, as a chain on the stack: "node 'Add_3'", "attribute
// 'axis'", outermost last.
struct Place {
  const Place* up = nullptr;
  std::string_view kind;  // "node"; "" is left out of the text
  std::string_view name;
};

// A singular message field as it is read. It may come again: protobuf reads all
// of it as one message, which the encodings one behind the other say.
class Pieces {
 public:
  void add(Bytes piece) {
    if (first_.empty()) {
      first_ = piece;
    } else if (!piece.empty()) {
      more_.push_back(piece);
    }
  }
  void clear() {
    first_ = {};
    more_.clear();
  }
  // A view where there is one piece, else put together in `arena`.
  Bytes whole(Arena& arena) const;

 private:
  Bytes first_;
  std::vector<Bytes> more_;
};

class Context {
 public:
  Context(ir::Model& m, Bytes source)
      : model(m), passage(m.source.get()), source_(source) {}

  ir::Model& model;
  Passage passage;
  ExternalFiles* external = nullptr;  // null: no folder to look in
  bool in_function = false;
  Deadline deadline;
  std::optional<Diagnostic> error;
  std::vector<Diagnostic>* warnings = nullptr;  // null: nobody asked

  // The reader of a graph that last found an op's domain imported, by op; how
  // many readers there were.
  std::vector<std::uint32_t> op_checked;
  std::uint32_t graph_readers = 0;

  // Scratch that readers of lists fill and clear.
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string_view> texts;

  bool fail(const Place& place, std::string what, std::string expected = {},
            std::string found = {}, std::string hint = {});
  // True while there is time; looks at the clock now and then.
  bool in_time(const Place& place) {
    return looks_++ % 64 != 0 || !deadline.is_over() || too_late(place);
  }
  // What is wrong and read all the same; many of one kind are told once.
  void warn(const Place& place, std::string what, std::string expected,
            std::string found);
  // What no reader of protobuf takes, whoever needs it.
  bool damaged(const Place& place, std::string what) {
    is_damaged = true;
    return fail(place, std::move(what));
  }
  bool is_damaged = false;
  // True when the cursor came to a good end.
  bool finished(const Place& place, const Cursor& cursor);

  // Notes a tensor whose data lies outside, for save. False when its encoding
  // was put together of pieces, since it could not be found again.
  bool note_external(Bytes tensor);

  Bytes source() const { return source_; }

 private:
  std::string text(const Place& place) const;
  bool too_late(const Place& place);

  Bytes source_;
  std::uint32_t looks_ = 0;
};

// "'name'", printable.
std::string quoted(std::string_view name);

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_READ_CONTEXT_H_
