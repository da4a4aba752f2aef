#include "core/base/onnx.h"

#include <doctest/doctest.h>

#include "tests/support/io.h"

namespace ruleengine::io {
namespace {

using namespace testing;

onnx::FunctionProto* add_function(onnx::ModelProto& model,
                                  const std::string& name) {
  onnx::FunctionProto* f = model.add_functions();
  f->set_domain("f");
  f->set_name(name);
  f->add_input("p");
  f->add_output("q");
  auto* own = f->add_opset_import();
  own->set_domain("f");
  own->set_version(1);
  f->add_opset_import()->set_version(18);
  return f;
}

void add_call(onnx::FunctionProto* f, const std::string& domain,
              const std::string& type, const std::string& output) {
  onnx::NodeProto* node = f->add_node();
  node->set_domain(domain);
  node->set_op_type(type);
  node->add_input("p");
  node->add_output(output);
}

onnx::ModelProto with_opset() {
  onnx::ModelProto model = small_model();
  auto* opset = model.add_opset_import();
  opset->set_domain("f");
  opset->set_version(1);
  return model;
}

TEST_CASE("recursion of functions is found") {
  for (int length : {1, 2, 3, 1000}) {
    onnx::ModelProto model = with_opset();
    for (int i = 0; i < length; ++i) {
      add_call(add_function(model, "F" + std::to_string(i)), "f",
               "F" + std::to_string((i + 1) % length), "q");
    }
    CHECK(has(error_of(model), "calls itself"));
    CHECK(has(error_of(model), "F0 -> "));
  }
}

TEST_CASE("recursion through a subgraph is recursion") {
  onnx::ModelProto model = with_opset();
  onnx::FunctionProto* f = add_function(model, "F");
  add_call(f, "", "If", "q");
  onnx::AttributeProto* a = f->mutable_node(0)->add_attribute();
  a->set_name("then_branch");
  a->set_type(onnx::AttributeProto::GRAPH);
  onnx::NodeProto* inner = a->mutable_g()->add_node();
  inner->set_domain("f");
  inner->set_op_type("F");
  inner->add_input("p");
  inner->add_output("r");
  a->mutable_g()->add_output()->set_name("r");
  CHECK(has(error_of(model), "calls itself"));
}

TEST_CASE("expansion without bound is refused without expanding") {
  onnx::ModelProto model = with_opset();
  for (int i = 0; i < 60; ++i) {
    onnx::FunctionProto* f = add_function(model, "F" + std::to_string(i));
    const std::string next = "F" + std::to_string(i + 1);
    add_call(f, i == 59 ? "" : "f", i == 59 ? "Relu" : next, "r");
    add_call(f, i == 59 ? "" : "f", i == 59 ? "Relu" : next, "q");
  }
  CHECK(has(error_of(model), "too many nodes"));
  // The same with one call each is a chain.
  for (auto& f : *model.mutable_functions()) {
    f.mutable_node()->DeleteSubrange(0, 1);
  }
  CHECK(error_of(model) == "");
}

TEST_CASE("a call gives no more than its function takes") {
  onnx::ModelProto model = with_opset();
  add_call(add_function(model, "F"), "", "Relu", "q");
  onnx::FunctionProto* caller = add_function(model, "G");
  add_call(caller, "f", "F", "q");
  onnx::NodeProto* call = caller->mutable_node(0);
  SUBCASE("but for what is absent") {
    call->add_input("");
    call->add_output("");
    CHECK(error_of(model) == "");
  }
  SUBCASE("an input") {
    call->add_input("p");
    CHECK(has(error_of(model), "more inputs or outputs than its function"));
  }
  SUBCASE("an output") {
    call->add_output("r");
    CHECK(has(error_of(model), "more inputs or outputs than its function"));
  }
}

TEST_CASE("functions are complete and there once") {
  onnx::ModelProto model = with_opset();
  add_call(add_function(model, "F"), "", "Relu", "q");
  CHECK(error_of(model) == "");
  onnx::ModelProto twice = model;
  *twice.add_functions() = model.functions(0);
  CHECK(has(error_of(twice), "defined twice"));
  twice.mutable_functions(1)->set_overload("other");
  CHECK(error_of(twice) == "");

  const auto changed = [&](auto change) {
    onnx::ModelProto copy = model;
    change(*copy.mutable_functions(0));
    return error_of(copy);
  };
  using F = onnx::FunctionProto;
  CHECK(has(changed([](F& f) { f.clear_name(); }), "no name"));
  CHECK(has(changed([](F& f) { f.add_input("p"); }), "defined twice"));
  CHECK(has(changed([](F& f) { f.clear_opset_import(); }), "not imported"));
  CHECK(
      has(changed([](F& f) { f.set_output(0, "none"); }), "nothing produces"));
  CHECK(changed([](F& f) {
          f.add_attribute("a");
          f.add_attribute("a");  // which says nothing more
        }) == "");
  CHECK(has(changed([](F& f) {
              f.add_attribute("a");
              f.add_attribute_proto()->set_name("a");
              f.mutable_attribute_proto(0)->set_type(onnx::AttributeProto::INT);
            }),
            "attribute twice"));
  CHECK(has(changed([](F& f) {
              auto* a = f.mutable_node(0)->add_attribute();
              a->set_name("a");
              a->set_type(onnx::AttributeProto::INT);
              a->set_i(1);
              a->set_ref_attr_name("b");
            }),
            "a value and a reference"));
}

TEST_CASE("functions are added and removed without touching the others") {
  onnx::ModelProto proto = with_opset();
  for (const char* name : {"A", "B", "C"}) {
    add_call(add_function(proto, name), "", "Relu", "q");
  }
  auto loaded = load_proto(proto);
  REQUIRE(loaded.ok());
  ir::Model& model = **loaded;
  model.changed = true;
  model.functions[1]->removed = true;
  auto made = std::make_unique<ir::Function>(model);
  made->domain = "f";
  made->name = "New";
  made->overload = "v";
  made->attributes = {"scale"};
  made->opset_imports = {{"", 18}};
  ir::Graph& body = made->body;
  const auto block = ir::Graph::main_block();
  const auto in =
      body.add_value(model.names.intern("in"), block, ir::ValueKind::kInput);
  const auto out = body.add_value(model.names.intern("out"), block,
                                  ir::ValueKind::kUndefined);
  body.add_block_input(block, in);
  body.add_node(model.ops.intern("", "Relu"), block, "relu", {{in}}, {{out}},
                {});
  body.add_block_output(block, out);
  model.functions.push_back(std::move(made));

  onnx::ModelProto result;
  REQUIRE(result.ParseFromString(*serialize(model)));
  REQUIRE(result.functions_size() == 3);
  CHECK(result.functions(0).name() == "A");
  CHECK(result.functions(1).name() == "C");
  const onnx::FunctionProto& f = result.functions(2);
  CHECK(f.name() == "New");
  CHECK(f.overload() == "v");
  CHECK(f.input(0) == "in");
  CHECK(f.output(0) == "out");
  CHECK(f.attribute(0) == "scale");
  CHECK(f.opset_import(0).version() == 18);
  CHECK(f.node(0).op_type() == "Relu");
  CHECK(error_of(result) == "");
}

}  // namespace
}  // namespace ruleengine::io
