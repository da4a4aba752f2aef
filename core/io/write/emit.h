// Emitter: writes what did not change. A message goes into the rope as the
// view that it is, except where a tensor inside has its data in a file that
// does not come along: that tensor then says the new place, and only the
// lengths around it are written anew. Borrows everything; one thread.
#ifndef RULEENGINE_CORE_IO_WRITE_EMIT_H_
#define RULEENGINE_CORE_IO_WRITE_EMIT_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/io/read/external.h"
#include "core/io/wire/schema.h"
#include "core/io/write/data_plan.h"
#include "core/io/write/rope.h"
#include "core/ir/graph.h"

namespace ruleengine::io {

class Emitter {
 public:
  // Without a plan, tensors keep saying what they say.
  Emitter(Rope& rope, DataPlan* plan, const ExternalFiles* external)
      : rope_(rope), plan_(plan), external_(external) {}

  // Scratch of the writers of graphs, one after the other: values by name, none
  // where nobody writes.
  std::vector<ir::ValueId> by_name;

  Rope& rope() { return rope_; }
  DataPlan* plan() { return plan_; }

  // A field that holds `message`, encoded before as `body`.
  void verbatim(std::uint32_t field, Bytes body,
                const schema::Message& message);

  // A tensor under another name than its encoding says.
  void renamed_tensor(std::uint32_t field, Bytes body, std::string_view name);

  // The entries of external_data.
  void external_data(const ir::ExternalRef& ref);

 private:
  bool relocates(Bytes body) const;
  void relocate(Bytes body, const schema::Message& message);
  void relocate_tensor(Bytes body, const std::string_view* name);
  void entry(std::string_view key, std::string_view value);

  Rope& rope_;
  DataPlan* plan_;
  const ExternalFiles* external_;
};

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_WRITE_EMIT_H_
