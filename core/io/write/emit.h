// Emitter: writes what did not change. A message is added to the rope as a
// view. The exception is a tensor whose data file is not copied along: its
// location is replaced, and the lengths of the enclosing messages with it.
// Borrows everything; one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/io/read/external.h"
#include "core/io/write/data_plan.h"
#include "core/io/write/rope.h"
#include "core/ir/graph.h"
#include "core/wire/schema.h"

namespace ruleengine::io {

class Emitter {
 public:
  // Without a plan, tensors keep their locations.
  Emitter(Rope& rope, DataPlan* plan, const ExternalFiles* external)
      : rope_(rope), plan_(plan), external_(external) {}

  // Scratch buffer for the writers of graphs: values by name; all invalid while
  // no writer runs.
  std::vector<ir::ValueId> by_name;

  Rope& rope() { return rope_; }
  DataPlan* plan() { return plan_; }

  // A field that holds `message`, whose old encoding is `body`.
  void verbatim(std::uint32_t field, Bytes body,
                const schema::Message& message);

  // A tensor with a new name; `body` is its old encoding.
  void renamed_tensor(std::uint32_t field, Bytes body, std::string_view name);

  // The entries of the field external_data.
  void external_data(const ir::ExternalRef& ref);

 private:
  bool relocates(Bytes body) const;
  void relocate(Bytes body, const schema::Message& message);
  void relocate_tensor(Bytes body, const std::string_view* name);

  Rope& rope_;
  DataPlan* plan_;
  const ExternalFiles* external_;
};

}  // namespace ruleengine::io
