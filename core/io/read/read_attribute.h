// Reads AttributeProto into an ir::Attribute whose data is in the mapped file
// or in the model's arena. See context.h for lifetimes and failure.
#pragma once

#include "core/io/read/context.h"
#include "core/ir/attribute.h"

namespace ruleengine::io {

// Makes the block of a graph attribute. Its content is read later, from a
// worklist instead of by recursion.
class BlockMaker {
 public:
  virtual ~BlockMaker() = default;
  virtual ir::BlockId make_block(Bytes graph) = 0;
};

// Without a maker, graphs are kept in `proto` alone (defaults of functions).
bool read_attribute(Context& context, Bytes proto, const Place& place,
                    BlockMaker* maker, ir::Attribute& out);

}  // namespace ruleengine::io
