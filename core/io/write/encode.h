// Encodes the small parts of a model that have no encoding yet: types, value
// infos, opsets, and tensors and attributes made by rules (except graphs).
#pragma once

#include <cstdint>
#include <string_view>

#include "core/io/write/emit.h"
#include "core/ir/attribute.h"
#include "core/ir/model.h"
#include "core/ir/type.h"

namespace ruleengine::io {

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
