// Writes the small parts of a model. Emitter: what did not change. A message is
// added to the rope as a view. The exception is a tensor whose data file is not
// copied along: its location is replaced, and the lengths of the enclosing
// messages with it. Borrows everything; one thread. The functions: what has no
// encoding yet (types, value infos, opsets, and tensors and attributes made by
// rules, except graphs).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/io/read/external.h"
#include "core/io/write/data_plan.h"
#include "core/io/write/rope.h"
#include "core/ir/attribute.h"
#include "core/ir/model.h"
#include "core/ir/type.h"
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

// Writes the field of a dimension; none for an unknown size.
void encode_size(Rope& rope, ir::Dim dim, const ir::DimTable& dims);

// Writes the inside of a TypeProto.
void encode_type(Rope& rope, const ir::Type& type, const ir::DimTable& dims);

// Writes a ValueInfoProto; without a type when `type` is nullptr.
void encode_value_info(Rope& rope, std::uint32_t field, std::string_view name,
                       const ir::Type* type, const ir::DimTable& dims);
// The same, with the type of a tensor.
void encode_tensor_info(Rope& rope, std::uint32_t field, std::string_view name,
                        const ir::Literal& tensor);

void encode_opset(Rope& rope, std::uint32_t field,
                  const ir::OpsetImport& import);

// Whether the data of a new tensor may go to the plan's file. The data of
// attributes stays inside, since many readers expect it there.
enum class DataPlace : std::uint8_t { kInside, kAnywhere };

// Writes a tensor: from its encoding if that still fits, else anew, with its
// data inside or in the plan's file.
void write_tensor(Emitter& emitter, std::uint32_t field,
                  const ir::Literal& tensor, std::string_view name,
                  DataPlace place);

// Writes the value of an attribute that holds no graph, with name, type and
// ref.
void encode_attribute(Emitter& emitter, const ir::Attribute& attribute);

}  // namespace ruleengine::io
