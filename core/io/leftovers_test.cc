#include "core/io/leftovers.h"
#include "core/base/onnx.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <span>

#include "core/io/descriptor.h"
#include "core/io/read/data_users.h"
#include "core/io/read/file_names.h"
#include "core/io/write/same_bytes.h"
#include "tests/support/io.h"

namespace ruleengine::io {
namespace {

using namespace testing;
using Names = std::vector<std::string>;

void place(onnx::TensorProto* tensor, const std::string& file) {
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value(file);
}

std::string model_of(const std::string& file) {
  onnx::ModelProto model;
  place(model.mutable_graph()->add_initializer(), file);
  return model.SerializeAsString();
}

void clean(const std::string& result) {
  remove_leftovers(std::span(&result, 1));
}

TEST_CASE("names beside a result") {
  CHECK(folder_of("a/b/c") == "a/b/");
  CHECK(folder_of("c") == "./");
  CHECK(file_of("a/b/c") == "c");
  CHECK(data_path("a/o.onnx", 1) == "a/o.onnx.data");
  CHECK(data_path("a/o.onnx", 12) == "a/o.onnx.12.data");
  for (const char* ours : {"o.onnx.data", "./o.onnx.data", "o.onnx.2.data"}) {
    CHECK(is_data_of("a/o.onnx", ours));
  }
  for (const char* other :
       {"o.onnx", "p.onnx.data", "o.onnx..data", "o.onnx.2x.data", "",
        "o.onnx.data.data", "sub/o.onnx.data", "../o.onnx.data", "o.onnxdata",
        "o.onnx2.data"}) {
    CHECK_MESSAGE(!is_data_of("a/o.onnx", other), other);
  }
  CHECK(temporary_prefix("a/o.onnx") == temporary_prefix("b/o.onnx"));
  CHECK(temporary_prefix("a/o.onnx") != temporary_prefix("a/p.onnx"));
}

TEST_CASE("references are found wherever tensors are") {
  const TemporaryFolder folder;
  onnx::ModelProto model;
  onnx::GraphProto* graph = model.mutable_graph();
  place(graph->add_initializer(), "initializer");
  place(graph->add_sparse_initializer()->mutable_values(), "values");
  place(graph->mutable_sparse_initializer(0)->mutable_indices(), "indices");
  onnx::NodeProto* node = graph->add_node();
  place(node->add_attribute()->mutable_t(), "attribute");
  place(node->add_attribute()->add_tensors(), "list");
  place(node->add_attribute()->mutable_sparse_tensor()->mutable_values(),
        "sparse");
  place(node->add_attribute()->mutable_g()->add_initializer(), "body");
  place(node->add_attribute()->add_graphs()->add_initializer(), "bodies");
  onnx::FunctionProto* function = model.add_functions();
  place(function->add_node()->add_attribute()->mutable_t(), "function");
  place(function->add_attribute_proto()->mutable_t(), "default");
  onnx::TrainingInfoProto* training = model.add_training_info();
  place(training->mutable_algorithm()->add_initializer(), "algorithm");
  place(training->mutable_initialization()->add_initializer(), "start");
  model.add_metadata_props()->set_key("location");
  model.mutable_metadata_props(0)->set_value("no reference");
  write_file(folder / "m", model.SerializeAsString());
  CHECK(data_locations(folder / "m") ==
        Names{"algorithm", "attribute", "bodies", "body", "default", "function",
              "indices", "initializer", "list", "sparse", "start", "values"});
  CHECK(is_used_in(folder.path() + "/", "bodies"));
  CHECK(!is_used_in(folder.path() + "/", "no reference"));
}

TEST_CASE("what cannot be read as a model counts when it is named as one") {
  const TemporaryFolder folder;
  const std::string whole = model_of("weights");
  const std::string here = folder.path() + "/";
  const std::string cut = whole.substr(0, whole.size() - 1) + "\xff";
  const auto uses = [&](const std::string& name, const std::string& bytes) {
    write_file(folder / name, bytes);
    const bool used = is_used_in(here, "weights");
    fs::remove(folder / name);
    return used;
  };
  CHECK(uses("m.onnx", whole));
  CHECK(uses("kept.old", whole));
  CHECK(uses("m.onnx", "\xff weights"));
  CHECK(uses("m.onnxtxt", "<> g (x) => (y) { [\"location\": \"weights\"] }"));
  CHECK(!uses("notes.txt", "weights"));
  CHECK(!uses("m.onnx", model_of("other")));
  CHECK(!uses("weights", whole));  // itself
  CHECK(uses("m.onnx", model_of("./weights")));
}

TEST_CASE("only what is dead, ours and unused goes") {
  const TemporaryFolder folder;
  const std::string result = folder / "o.onnx";
  const std::string temporary = temporary_prefix(result) + "1-0.tmp";
  const auto prepare = [&] {
    write_file(folder / "o.onnx.data", "old");
    write_file(folder / "o.onnx.2.data", "new");
    write_file(folder / "other", "somebody else's");
    write_file(folder / "o.onnx", model_of("o.onnx.data"));
    onnx::ModelProto dead;
    for (const char* name : {"o.onnx.data", "o.onnx.2.data", "other"}) {
      place(dead.mutable_graph()->add_initializer(), name);
    }
    write_file(folder / temporary, dead.SerializeAsString());
  };
  prepare();
  clean(folder / "p.onnx");  // another result's
  CHECK(folder.names().size() == 5);
  {
    const Descriptor live(::open((folder / temporary).c_str(), O_RDONLY));
    REQUIRE(hold(live.get()));
    clean(result);
    CHECK(folder.names().size() == 5);
  }
  {
    const Descriptor live(::open((folder / "o.onnx.2.data").c_str(), O_RDONLY));
    REQUIRE(hold(live.get()));
    clean(result);  // and the model that tells whose it is
    CHECK(folder.names().size() == 5);
  }
  clean(result);
  CHECK(folder.names() == Names{"o.onnx", "o.onnx.data", "other"});
  prepare();
  fs::create_hard_link(folder / "o.onnx.2.data", folder / "twin");
  clean(result);
  CHECK(folder.names() ==
        Names{"o.onnx", "o.onnx.2.data", "o.onnx.data", "other", "twin"});
}

TEST_CASE("comparing is as writing") {
  const TemporaryFolder folder;
  std::string bytes(3 << 20, 'a');
  bytes.replace(100, 900, std::string(900, '\0'));
  write_file(folder / "f", bytes);
  const Descriptor file(::open((folder / "f").c_str(), O_RDONLY));
  const auto same = [&](std::string_view head, std::uint64_t pad) {
    SameBytes there(file.get());
    bool all = there.write(as_bytes(head)).ok() && there.pad(pad).ok();
    all = all && there.copy(file.get(), 1000, bytes.size() - 1000).ok();
    CHECK(all == there.same());
    return all;
  };
  const std::string head(100, 'a');
  CHECK(same(head, 1000));
  CHECK(!same(head.substr(1) + "b", 1000));
  CHECK(!same(head, 1001));
  CHECK(!same(head.substr(1), 1000));
  SameBytes beyond(file.get());
  CHECK(!beyond.copy(file.get(), 0, bytes.size() + 1).ok());
}

}  // namespace
}  // namespace ruleengine::io
