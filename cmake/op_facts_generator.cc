// Writes the table behind core/ops/op_facts.h from the schemas of the ONNX
// library: op_facts_generator FILE. The file is included by
// core/ops/op_facts.cc alone. Equal lists are written once: most versions of an
// op share theirs, and a smaller table is less to relocate when the program
// starts.

#include <onnx/defs/data_type_utils.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "core/base/onnx.h"

namespace {

using onnx::AttributeProto;
using onnx::OpSchema;

constexpr const char* kDomains[] = {"", "ai.onnx.ml"};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c >= ' ' && c < 127 && c != '"' && c != '\\') {
      out += static_cast<char>(c);
    } else {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", c);
      out += octal;
    }
  }
  return out + '"';
}

std::string number(float value) {
  char text[40];
  std::snprintf(text, sizeof text, "%af", static_cast<double>(value));
  return text;
}

// Arrays of one element type, each list of elements kept once.
class Pool {
 public:
  Pool(std::string type, std::string prefix)
      : type_(std::move(type)), prefix_(std::move(prefix)) {}

  // The name of the array that holds these, or "{}".
  std::string add(const std::vector<std::string>& elements) {
    if (elements.empty()) return "{}";
    std::string text;
    for (const std::string& e : elements) text += "    " + e + ",\n";
    auto [it, added] =
        names_.emplace(text, prefix_ + std::to_string(names_.size()));
    if (added) {
      arrays_ +=
          "constexpr " + type_ + " " + it->second + "[] = {\n" + text + "};\n";
    }
    return it->second;
  }
  const std::string& arrays() const { return arrays_; }

 private:
  std::string type_, prefix_, arrays_;
  std::map<std::string, std::string> names_;
};

struct Pools {
  Pool ints{"std::int64_t", "kInts"};
  Pool floats{"float", "kFloats"};
  Pool strings{"std::string_view", "kStrings"};
  Pool values{"FormalValue", "kValues"};
  Pool attributes{"FormalAttribute", "kAttributes"};
};

// A bit for each element type that a tensor may have there; 0 where something
// else may stand.
std::string element_types(const onnx::DataTypeSet& types) {
  std::uint32_t bits = 0;
  for (const onnx::DataType type : types) {
    const onnx::TypeProto& proto =
        onnx::Utils::DataTypeUtils::ToTypeProto(type);
    if (!proto.has_tensor_type()) return "0";
    bits |= 1u << proto.tensor_type().elem_type();
  }
  return std::to_string(bits) + "u";
}

std::string value_list(const std::vector<OpSchema::FormalParameter>& formals,
                       Pools& pools) {
  std::vector<std::string> rows;
  for (const auto& formal : formals) {
    const char* arity = formal.GetOption() == OpSchema::Single ? "kSingle"
                        : formal.GetOption() == OpSchema::Optional
                            ? "kOptional"
                            : "kVariadic";
    // A constraint that leaves one type is written as that type.
    const onnx::DataTypeSet& types = formal.GetTypes();
    const std::string& type =
        types.size() == 1 ? **types.begin() : formal.GetTypeStr();
    rows.push_back("{" + quoted(formal.GetName()) + ", Arity::" + arity + ", " +
                   quoted(type) + ", " + element_types(types) + "}");
  }
  return pools.values.add(rows);
}

template <class Range, class Write>
std::vector<std::string> written(const Range& range, Write write) {
  std::vector<std::string> out;
  for (const auto& element : range) out.push_back(write(element));
  return out;
}

std::string default_value(const AttributeProto& value, Pools& pools) {
  auto integer = [](std::int64_t i) { return std::to_string(i); };
  switch (value.type()) {
    case AttributeProto::FLOAT:
      return ", .default_float = " + number(value.f());
    case AttributeProto::INT:
      return ", .default_int = " + integer(value.i());
    case AttributeProto::STRING:
      return ", .default_string = " + quoted(value.s());
    case AttributeProto::INTS:
      return ", .default_ints = " +
             pools.ints.add(written(value.ints(), integer));
    case AttributeProto::FLOATS:
      return ", .default_floats = " +
             pools.floats.add(written(value.floats(), number));
    case AttributeProto::STRINGS:
      return ", .default_strings = " +
             pools.strings.add(written(value.strings(), quoted));
    default:
      return "";
  }
}

std::string attribute_list(const OpSchema& schema, Pools& pools) {
  std::map<std::string, OpSchema::Attribute> sorted(schema.attributes().begin(),
                                                    schema.attributes().end());
  std::vector<std::string> rows;
  for (const auto& [name, attribute] : sorted) {
    std::string row = "{.name = " + quoted(name) + ", .kind = AttributeKind{" +
                      std::to_string(static_cast<int>(attribute.type)) + "}";
    if (attribute.required) row += ", .required = true";
    if (attribute.default_value.has_type()) {
      row += ", .has_default = true";
      row += default_value(attribute.default_value, pools);
    }
    rows.push_back(row + "}");
  }
  return pools.attributes.add(rows);
}

std::string limit(int n) {
  return n == INT_MAX ? "INT_MAX" : std::to_string(n);
}

std::string op_row(const OpSchema& schema, Pools& pools) {
  std::string row = "    {" + quoted(schema.domain()) + ", " +
                    quoted(schema.Name()) + ", " +
                    std::to_string(schema.SinceVersion()) + ", " +
                    (schema.Deprecated() ? "true" : "false");
  for (int n : {schema.min_input(), schema.max_input(), schema.min_output(),
                schema.max_output()}) {
    row += ", " + limit(n);
  }
  return row + ",\n     " + value_list(schema.inputs(), pools) + ", " +
         value_list(schema.outputs(), pools) + ", " +
         attribute_list(schema, pools) + "},\n";
}

std::string table() {
  std::vector<OpSchema> schemas =
      onnx::OpSchemaRegistry::get_all_schemas_with_history();
  std::erase_if(schemas, [](const OpSchema& s) {
    return std::find(std::begin(kDomains), std::end(kDomains), s.domain()) ==
           std::end(kDomains);
  });
  std::sort(schemas.begin(), schemas.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.domain(), a.Name(), a.SinceVersion()) <
           std::tuple(b.domain(), b.Name(), b.SinceVersion());
  });
  Pools pools;
  std::string rows;
  for (const OpSchema& schema : schemas) rows += op_row(schema, pools);

  std::string domains;
  const auto& versions =
      onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const char* domain : kDomains) {
    domains += "    {" + quoted(domain) + ", " +
               std::to_string(versions.at(domain).second) + "},\n";
  }
  return "// Written by op_facts_generator; do not edit.\n" +
         pools.ints.arrays() + pools.floats.arrays() + pools.strings.arrays() +
         pools.values.arrays() + pools.attributes.arrays() +
         "constexpr OpFacts kStandardOps[] = {\n" + rows +
         "};\nconstexpr DomainFacts kStandardDomains[] = {\n" + domains +
         "};\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: op_facts_generator FILE\n";
    return 2;
  }
  std::ofstream out(argv[1]);
  out << table();
  out.close();
  if (!out) std::cerr << argv[1] << ": could not be written\n";
  return out ? 0 : 7;
}
