#include <doctest/doctest.h>

#include "core/base/onnx.h"
#include "tests/support/io.h"

namespace ruleengine::io::testing {
namespace {

void add_entry(onnx::StringStringEntryProto* entry, const std::string& key,
               const std::string& value) {
  entry->set_key(key);
  entry->set_value(value);
}

void add_if(onnx::GraphProto* graph) {
  onnx::NodeProto* node = add_node(graph, "If", {"cond"}, {"branch"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto* a = node->add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto* body = a->mutable_g();
    body->set_name(std::string(name) + "_graph");
    add_tensor(body, "one", {4});
    add_node(body, "Mul", {"a", "one"}, {"inner"})->set_doc_string("captures");
    set_type(body->add_output(), "inner", {2, 4});
    body->add_value_info()->set_name("unused");
  }
}

void add_attributes(onnx::NodeProto* node) {
  auto* f = node->add_attribute();
  f->set_name("floats");
  f->set_type(onnx::AttributeProto::FLOATS);
  f->add_floats(1.5f);
  f->add_floats(-0.0f);
  auto* i = node->add_attribute();
  i->set_name("ints");
  i->set_type(onnx::AttributeProto::INTS);
  for (std::int64_t v : {std::int64_t{-1}, INT64_MAX, INT64_MIN})
    i->add_ints(v);
  auto* s = node->add_attribute();
  s->set_name("strings");
  s->set_type(onnx::AttributeProto::STRINGS);
  s->add_strings(std::string("a\0b", 3));
  auto* t = node->add_attribute();
  t->set_name("tensor");
  t->set_type(onnx::AttributeProto::TENSOR);
  t->mutable_t()->set_data_type(onnx::TensorProto::INT64);
  t->mutable_t()->add_dims(2);
  t->mutable_t()->add_int64_data(7);
  t->mutable_t()->add_int64_data(-7);
  auto* p = node->add_attribute();
  p->set_name("type");
  p->set_type(onnx::AttributeProto::TYPE_PROTO);
  p->mutable_tp()->mutable_sequence_type()->mutable_elem_type();
  add_entry(node->add_metadata_props(), "pkg", "torch");
  node->set_doc_string("doc");
  node->set_overload("v1");
}

void add_function(onnx::ModelProto* model) {
  onnx::FunctionProto* f = model->add_functions();
  f->set_domain("local");
  f->set_name("F");
  f->add_input("p");
  f->add_output("q");
  f->add_attribute("alpha");
  f->add_opset_import()->set_version(18);
  onnx::NodeProto* node = f->add_node();
  node->set_op_type("LeakyRelu");
  node->add_input("p");
  node->add_output("q");
  auto* a = node->add_attribute();
  a->set_name("alpha");
  a->set_type(onnx::AttributeProto::FLOAT);
  a->set_ref_attr_name("alpha");
  auto* d = f->add_attribute_proto();
  d->set_name("beta");
  d->set_type(onnx::AttributeProto::INT);
  d->set_i(3);
}

void add_sparse(onnx::GraphProto* graph) {
  onnx::SparseTensorProto* sparse = graph->add_sparse_initializer();
  sparse->mutable_values()->set_name("sparse");
  sparse->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse->mutable_values()->add_dims(1);
  sparse->mutable_values()->add_float_data(2);
  sparse->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse->mutable_indices()->add_dims(1);
  sparse->mutable_indices()->add_int64_data(3);
  sparse->add_dims(4);
}

}  // namespace

onnx::ModelProto rich_model() {
  onnx::ModelProto model = small_model();
  onnx::GraphProto* graph = model.mutable_graph();
  for (const char* domain : {"local", "custom"}) {
    auto* opset = model.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(1);
  }
  set_type(graph->add_input(), "cond", {}, onnx::TensorProto::BOOL);
  add_if(graph);
  add_sparse(graph);
  onnx::NodeProto* custom =
      add_node(graph, "Thing", {"branch", "", "sparse"}, {"c", "", "d"});
  custom->set_domain("custom");
  add_attributes(custom);
  onnx::NodeProto* call = add_node(graph, "F", {"c"}, {"e"});
  call->set_domain("local");
  set_type(graph->add_value_info(), "a", {2, 4});
  set_type(graph->add_value_info(), "c", {2, 4});
  graph->mutable_value_info(0)->set_doc_string("kept");
  auto* annotation = graph->add_quantization_annotation();
  annotation->set_tensor_name("a");
  add_entry(annotation->add_quant_parameter_tensor_names(), "SCALE_TENSOR",
            "scale");
  add_tensor(graph, "scale", {});
  add_function(&model);
  add_entry(model.add_metadata_props(), "key", "value");
  return model;
}

}  // namespace ruleengine::io::testing
