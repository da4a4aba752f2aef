// A model with a weight, inside or in a file beside it.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "core/io/save.h"
#include "core/ir/model.h"
#include "core/text/parse.h"

namespace ruleengine {

// The bytes of a model with the weight w of 256 floats: zeros in the model, or
// the bytes from 8 on of a file.
inline std::string model_with_weight(const std::string& location,
                                     bool is_outside) {
  auto model = text::parse_model(
      "m (float[256] x) => (float[256] y) { y = Add(x, x) }", "m");
  REQUIRE(model.ok());
  ir::Model& m = **model;
  ir::Literal* weight = m.arena.make<ir::Literal>();
  weight->dtype = ir::DataType::kFloat;
  const auto dims = m.arena.array<std::int64_t>(1);
  dims[0] = 256;
  weight->dims = dims;
  if (is_outside) {
    weight->storage = ir::Storage::kExternal;
    weight->external = {m.arena.copy(location), 8, 1024};
  } else {
    weight->bytes = m.arena.array<std::byte>(1024);
  }
  m.graph.add_initializer(
      m.graph.add_value(m.names.intern("w"), ir::Graph::main_block(),
                        ir::ValueKind::kInitializer),
      weight);
  m.changed = true;
  auto out = io::serialize(m);
  REQUIRE(out.ok());
  return *out;
}

}  // namespace ruleengine
