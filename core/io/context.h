// Context: what every reader of one load shares: the model that is being
// filled, the first error, and the places of messages for diagnostics. Readers
// return false after they called fail(); the first failure wins. Lives for one
// load on one thread; views handed out live as long as the model.
#ifndef RULEENGINE_CORE_IO_CONTEXT_H_
#define RULEENGINE_CORE_IO_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/io/external.h"
#include "core/io/mapping.h"
#include "core/io/wire.h"
#include "core/ir/model.h"

namespace ruleengine::io {

// Where a reader is, as a chain on the stack: "node 'Add_3'", "attribute
// 'axis'", outermost last.
struct Place {
  const Place* up = nullptr;
  std::string_view kind;  // "node"; "" is left out of the text
  std::string_view name;
};

class Context {
 public:
  Context(ir::Model& m, Bytes source)
      : model(m), passage(m.source.get()), source_(source) {}

  ir::Model& model;
  Passage passage;
  ExternalFiles* external = nullptr;  // null: no folder to look in
  bool in_function = false;
  std::optional<Diagnostic> error;
  std::vector<Diagnostic>* warnings = nullptr;  // null: nobody asked

  // Scratch that readers of lists fill and clear.
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string_view> texts;

  bool fail(const Place& place, std::string what, std::string expected = {},
            std::string found = {}, std::string hint = {});
  // What is wrong and read all the same; many of one kind are told once.
  void warn(const Place& place, std::string what, std::string expected,
            std::string found);
  // True when the cursor came to a good end.
  bool finished(const Place& place, const Cursor& cursor);

  // A singular message field that was seen `before` comes again: protobuf
  // reads both as one, which the encodings one behind the other say.
  Bytes merged(Bytes before, Bytes more);

  // Notes a tensor whose data lies outside, for save. False when its encoding
  // was put together by merged(), since it could not be found again.
  bool note_external(Bytes tensor);

  Bytes source() const { return source_; }

 private:
  std::string text(const Place& place) const;

  Bytes source_;
};

// "'name'", printable.
std::string quoted(std::string_view name);

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_CONTEXT_H_
