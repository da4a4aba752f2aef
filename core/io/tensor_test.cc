#include "core/base/onnx.h"
#include "core/io/read/parts.h"

#include <doctest/doctest.h>

#include "tests/support/io.h"

namespace ruleengine::io {
namespace {

using namespace testing;
using onnx::TensorProto;

// A model that reads this initializer.
onnx::ModelProto with(const TensorProto& tensor) {
  onnx::ModelProto model = small_model();
  *model.mutable_graph()->add_initializer() = tensor;
  model.mutable_graph()->mutable_initializer(1)->set_name("t");
  add_node(model.mutable_graph(), "Identity", {"t"}, {"read"});
  return model;
}

// The error of loading it; "" when it is accepted.
std::string verdict(const TensorProto& tensor) {
  return error_of(with(tensor));
}

// The warning of loading it.
std::string oddity(const TensorProto& tensor) {
  return warning_of(with(tensor));
}

TensorProto make(int type, std::initializer_list<std::int64_t> dims) {
  TensorProto tensor;
  tensor.set_data_type(type);
  for (std::int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

TensorProto raw(int type, std::initializer_list<std::int64_t> dims,
                std::size_t bytes) {
  TensorProto tensor = make(type, dims);
  tensor.set_raw_data(std::string(bytes, '\0'));
  return tensor;
}

TensorProto ints(int type, std::initializer_list<std::int64_t> dims,
                 std::initializer_list<int> data) {
  TensorProto tensor = make(type, dims);
  for (int v : data) tensor.add_int32_data(v);
  return tensor;
}

bool refused(const TensorProto& tensor, const char* part) {
  const std::string text = verdict(tensor);
  if (has(text, part) && has(text, "'t'")) return true;
  MESSAGE("expected ", part, ", got ", text);
  return false;
}

TEST_CASE("raw bytes fit type and shape, to the byte") {
  CHECK(verdict(raw(TensorProto::FLOAT, {2, 3}, 24)) == "");
  CHECK(verdict(raw(TensorProto::FLOAT, {}, 4)) == "");
  CHECK(verdict(raw(TensorProto::COMPLEX128, {3}, 48)) == "");
  CHECK(verdict(raw(TensorProto::FLOAT, {0, 7}, 0)) == "");
  for (std::size_t bytes : {0, 23, 25, 48}) {
    CHECK(refused(raw(TensorProto::FLOAT, {2, 3}, bytes), "do not fit"));
  }
  CHECK(refused(raw(TensorProto::FLOAT, {0}, 4), "do not fit"));
  CHECK(refused(raw(TensorProto::STRING, {1}, 4), "strings cannot"));
}

TEST_CASE("elements smaller than a byte are packed") {
  for (int type :
       {TensorProto::INT4, TensorProto::UINT4, TensorProto::FLOAT4E2M1}) {
    CHECK(verdict(raw(type, {5}, 3)) == "");
    CHECK(refused(raw(type, {5}, 2), "do not fit"));
    CHECK(refused(raw(type, {5}, 5), "do not fit"));
  }
  CHECK(verdict(raw(TensorProto::UINT2, {5}, 2)) == "");
  CHECK(verdict(raw(TensorProto::FLOAT6E2M3, {5}, 4)) == "");
  CHECK(verdict(ints(TensorProto::INT4, {3}, {0x21, 0x03})) == "");
  CHECK(refused(ints(TensorProto::INT4, {3}, {1, 2, 3}), "does not fit"));
  CHECK(verdict(ints(TensorProto::UINT2, {5}, {0xff, 1})) == "");
}

TEST_CASE("impossible shapes and types") {
  CHECK(refused(raw(TensorProto::FLOAT, {-1}, 4), "not possible"));
  CHECK(refused(raw(TensorProto::FLOAT, {1LL << 32, 1LL << 32}, 4),
                "not possible"));
  CHECK(refused(raw(TensorProto::FLOAT, {INT64_MAX}, 4), "do not fit"));
  CHECK(verdict(raw(TensorProto::FLOAT, {INT64_MAX, INT64_MAX, 0}, 0)) == "");
  CHECK(refused(raw(0, {1}, 4), "no valid element type"));
  CHECK(refused(raw(9999, {1}, 4), "9999"));
  CHECK(refused(raw(-1, {1}, 4), "no valid element type"));
}

TEST_CASE("typed fields hold what type and shape say") {
  CHECK(verdict(ints(TensorProto::INT32, {2}, {1, -1})) == "");
  CHECK(refused(ints(TensorProto::INT32, {3}, {1, -1}), "does not fit"));
  CHECK(verdict(ints(TensorProto::INT8, {2}, {127, -128})) == "");
  CHECK(refused(ints(TensorProto::INT8, {1}, {128}), "out of range"));
  CHECK(refused(ints(TensorProto::UINT8, {1}, {-1}), "out of range"));
  CHECK(verdict(ints(TensorProto::UINT8, {1}, {255})) == "");
  CHECK(refused(ints(TensorProto::UINT8, {1}, {256}), "out of range"));
  CHECK(refused(ints(TensorProto::BOOL, {1}, {2}), "out of range"));
  CHECK(refused(ints(TensorProto::FLOAT16, {1}, {65536}), "out of range"));
  CHECK(verdict(ints(TensorProto::FLOAT16, {1}, {65535})) == "");
  CHECK(refused(ints(TensorProto::FLOAT, {1}, {1}), "wrong field"));
  CHECK(refused(make(TensorProto::FLOAT, {1}), "no data"));
  CHECK(verdict(make(TensorProto::FLOAT, {0})) == "");

  TensorProto complex = make(TensorProto::COMPLEX64, {2});
  for (int i = 0; i < 3; ++i) complex.add_float_data(1);
  CHECK(refused(complex, "does not fit"));
  complex.add_float_data(1);
  CHECK(verdict(complex) == "");

  TensorProto strings = make(TensorProto::STRING, {2});
  strings.add_string_data("a");
  CHECK(refused(strings, "does not fit"));
  strings.add_string_data("b");
  CHECK(verdict(strings) == "");

  TensorProto wide = make(TensorProto::UINT32, {1});
  wide.add_uint64_data(1ull << 32);
  CHECK(refused(wide, "out of range"));
}

TEST_CASE("data that is wrong and that nothing reads") {
  onnx::ModelProto model = with(make(TensorProto::FLOAT, {2}));
  CHECK(has(error_of(model), "no data"));
  model.mutable_graph()->mutable_node()->RemoveLast();
  CHECK(error_of(model) == "");
  CHECK(has(warning_of(model), "nothing reads"));
  model.mutable_graph()->mutable_output(0)->set_name("t");
  CHECK(has(error_of(model), "no data"));
}

TEST_CASE("data is stored once") {
  TensorProto both = raw(TensorProto::INT32, {1}, 4);
  both.add_int32_data(1);
  CHECK(has(oddity(both), "twice"));
  TensorProto two = ints(TensorProto::INT32, {1}, {1});
  two.add_float_data(1);
  CHECK(has(oddity(two), "twice"));
  two.clear_int32_data();
  CHECK(refused(two, "wrong field"));
  TensorProto segment = raw(TensorProto::INT32, {1}, 4);
  segment.mutable_segment()->set_begin(0);
  CHECK(has(oddity(segment), "segments"));
  TensorProto nowhere = raw(TensorProto::INT32, {1}, 4);
  nowhere.GetReflection()->MutableUnknownFields(&nowhere)->AddVarint(14, 2);
  CHECK(refused(nowhere, "data location"));
}

TEST_CASE("data that does not count is whole all the same") {
  const auto beside = [](TensorProto tensor, int field, const char* bytes) {
    tensor.GetReflection()->MutableUnknownFields(&tensor)->AddLengthDelimited(
        field, bytes);
    return tensor;
  };
  const TensorProto stored = raw(TensorProto::INT32, {1}, 4);
  const TensorProto typed = ints(TensorProto::INT32, {1}, {1});
  for (const TensorProto& tensor : {stored, typed}) {
    CHECK(has(oddity(beside(tensor, 4, "four")), "twice"));
    CHECK(refused(beside(tensor, 4, "five5"), "ends inside a number"));
    CHECK(refused(beside(tensor, 10, "four"), "ends inside a number"));
    CHECK(refused(beside(tensor, 7, "\x80"), "ends inside a number"));
  }
}

TEST_CASE("packed, unpacked and scattered fields are the same tensor") {
  onnx::ModelProto model = small_model();
  TensorProto* packed = model.mutable_graph()->add_initializer();
  *packed = make(TensorProto::INT64, {3});
  packed->set_name("packed");
  for (int v : {1, -2, 300}) packed->add_int64_data(v);
  TensorProto* scattered = model.mutable_graph()->add_initializer();
  *scattered = make(TensorProto::INT64, {});
  scattered->set_name("scattered");
  auto* raw_fields =
      scattered->GetReflection()->MutableUnknownFields(scattered);
  raw_fields->AddVarint(1, 3);  // dims
  raw_fields->AddVarint(7, 1);
  raw_fields->AddLengthDelimited(7)->assign(
      "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  raw_fields->AddVarint(7, 300);
  auto loaded = load_proto(model);
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().text());
  const ir::Graph& graph = (*loaded)->graph;
  const auto& all = graph.block(ir::Graph::main_block()).initializers;
  const auto values = [&](std::size_t i) {
    return ir::to_ints(*graph.value(all[i]).tensor, nullptr, 10).value();
  };
  CHECK(values(1) == std::vector<std::int64_t>{1, -2, 300});
  CHECK(values(2) == values(1));
}

onnx::ModelProto sparse(void (*change)(onnx::SparseTensorProto&)) {
  onnx::ModelProto model = rich_model();
  change(*model.mutable_graph()->mutable_sparse_initializer(0));
  return model;
}

TEST_CASE("sparse tensors are consistent") {
  using Sparse = onnx::SparseTensorProto;
  CHECK(error_of(sparse([](Sparse&) {})) == "");
  CHECK(has(error_of(sparse(
                [](Sparse& s) { s.mutable_indices()->set_int64_data(0, 4); })),
            "out of range"));
  CHECK(has(error_of(sparse(
                [](Sparse& s) { s.mutable_indices()->set_int64_data(0, -1); })),
            "out of range"));
  CHECK(has(warning_of(sparse([](Sparse& s) {
              s.mutable_values()->set_dims(0, 2);
              s.mutable_values()->add_float_data(1);
              s.mutable_indices()->set_dims(0, 2);
              s.mutable_indices()->add_int64_data(3);
            })),
            "not in rising order"));
  CHECK(has(error_of(sparse([](Sparse& s) { s.set_dims(0, 0); })),
            "not possible"));
  CHECK(has(error_of(sparse([](Sparse& s) { s.clear_indices(); })),
            "no indices"));
  CHECK(
      has(error_of(sparse([](Sparse& s) { s.clear_values(); })), "no values"));
  CHECK(has(error_of(sparse([](Sparse& s) {
              s.mutable_indices()->add_dims(1);
              s.mutable_indices()->add_dims(1);
            })),
            "do not fit"));
}

TEST_CASE("a sparse tensor of zeros needs no indices") {
  CHECK(error_of(sparse([](onnx::SparseTensorProto& s) {
          s.clear_indices();
          s.mutable_values()->set_dims(0, 0);
          s.mutable_values()->clear_float_data();
        })) == "");
}

TEST_CASE("rising indices of a sparse tensor are nothing to warn of") {
  CHECK(warning_of(sparse([](onnx::SparseTensorProto& s) {
          s.mutable_values()->set_dims(0, 2);
          s.mutable_values()->add_float_data(1);
          s.mutable_indices()->set_dims(0, 2);
          s.mutable_indices()->set_int64_data(0, 0);
          s.mutable_indices()->add_int64_data(3);
        })) == "");
}

TEST_CASE("the shape of a sparse tensor may be packed") {
  onnx::ModelProto model = rich_model();
  auto* tensor = model.mutable_graph()->mutable_sparse_initializer(0);
  tensor->clear_dims();
  tensor->GetReflection()->MutableUnknownFields(tensor)->AddLengthDelimited(
      3, "\x02\x02");
  CHECK(error_of(model) == "");
  tensor->mutable_indices()->set_int64_data(0, 4);
  CHECK(has(error_of(model), "0 to 3"));
}

std::string attribute_verdict(void (*change)(onnx::NodeProto&)) {
  onnx::ModelProto model = small_model();
  change(*model.mutable_graph()->mutable_node(0));
  return error_of(model);
}

onnx::AttributeProto* add(onnx::NodeProto& node, const char* name, int type) {
  onnx::AttributeProto* a = node.add_attribute();
  a->set_name(name);
  a->GetReflection()->MutableUnknownFields(a)->AddVarint(
      20, static_cast<std::uint64_t>(type));
  return a;
}

TEST_CASE("attributes have one value of their type") {
  using Node = onnx::NodeProto;
  CHECK(attribute_verdict([](Node& n) { add(n, "a", 2)->set_i(1); }) == "");
  CHECK(attribute_verdict([](Node& n) { add(n, "a", 2); }) == "");
  CHECK(attribute_verdict([](Node& n) { add(n, "a", 0)->set_i(1); }) == "");
  CHECK(
      has(attribute_verdict([](Node& n) { add(n, "a", 0); }), "no valid type"));
  CHECK(has(attribute_verdict([](Node& n) { add(n, "a", 9999)->set_i(1); }),
            "9999"));
  CHECK(has(attribute_verdict([](Node& n) { add(n, "a", 2)->set_f(1); }),
            "does not fit its type"));
  CHECK(has(attribute_verdict([](Node& n) {
              auto* a = add(n, "a", 2);
              a->set_i(1);
              a->add_ints(1);
            }),
            "does not fit its type"));
  CHECK(has(attribute_verdict(
                [](Node& n) { add(n, "a", 2)->set_ref_attr_name("b"); }),
            "outside of functions is a reference"));
  CHECK(has(attribute_verdict([](Node& n) { add(n, "", 2)->set_i(1); }),
            "no name"));
  for (int count : {2, 20}) {
    onnx::ModelProto model = small_model();
    for (int i = 0; i < count; ++i) {
      add(*model.mutable_graph()->mutable_node(0),
          i == 0 ? "same" : ("k" + std::to_string(i)).c_str(), 2);
    }
    CHECK(error_of(model) == "");
    add(*model.mutable_graph()->mutable_node(0), "same", 2);
    CHECK(has(error_of(model), "given twice"));
  }
  CHECK(has(attribute_verdict([](Node& n) {
              add(n, "a", 4)->mutable_t()->set_data_type(1);
              n.mutable_attribute(0)->mutable_t()->add_dims(2);
            }),
            "no data"));
}

}  // namespace
}  // namespace ruleengine::io
