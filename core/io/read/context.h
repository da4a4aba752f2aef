// Context: what all readers of one load share: the model that is being filled,
// the first error, and the places for diagnostics. Readers return false after
// they called fail(); the first failure is kept. Lives for one load on one
// thread; views that it returns live as long as the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/diagnostic.h"
#include "core/io/read/external.h"
#include "core/io/read/mapping.h"
#include "core/ir/model.h"
#include "core/wire/wire.h"

namespace ruleengine::io {

// The place of a reader, as a linked list on the stack, such as "node 'Add_3'",
// "attribute 'axis'"; the outermost is last.
struct Place {
  const Place* up = nullptr;
  std::string_view kind;  // "node"; "" is left out of the text
  std::string_view name;
};

// A singular message field while it is read. If it occurs several times,
// protobuf merges the messages, which equals reading their encodings joined.
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
  // A view if there is one piece; else the pieces joined in `arena`.
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
  ExternalFiles* external = nullptr;  // null: external data is rejected
  bool in_function = false;
  Deadline deadline;
  std::optional<Diagnostic> error;
  std::vector<Diagnostic>* warnings = nullptr;  // null: not wanted

  // By op: the number of the graph reader that last found the op's domain
  // imported. And the number of graph readers so far.
  std::vector<std::uint32_t> op_checked;
  std::uint32_t graph_readers = 0;

  // Scratch buffers for readers of lists.
  std::vector<std::int64_t> ints;
  std::vector<float> floats;

  bool fail(const Place& place, std::string what, std::string expected = {},
            std::string found = {}, std::string hint = {});
  // True while there is time; checks the clock now and then.
  bool in_time(const Place& place) {
    return looks_++ % 64 != 0 || !deadline.is_over() || too_late(place);
  }
  // Reports a fault that does not prevent reading. Many of one kind are
  // reported once.
  void warn(const Place& place, std::string what, std::string expected,
            std::string found);
  // Fails on an encoding that every reader of protobuf rejects.
  bool damaged(const Place& place, std::string what) {
    is_damaged = true;
    return fail(place, std::move(what));
  }
  bool is_damaged = false;
  // True when the cursor reached the end of its message without an error.
  bool finished(const Place& place, const Cursor& cursor);

  // Records a tensor with external data, for save. False when its encoding was
  // joined from pieces: save could not find it in the file.
  bool note_external(Bytes tensor);

  Bytes source() const { return source_; }

 private:
  std::string text(const Place& place) const;
  bool too_late(const Place& place);

  Bytes source_;
  std::uint32_t looks_ = 0;
};

// "'name'", printable.

}  // namespace ruleengine::io
