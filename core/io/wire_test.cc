#include "core/wire/wire.h"
#include "core/base/onnx.h"

#include <doctest/doctest.h>

#include <random>

#include "tests/support/io.h"

namespace ruleengine::io {
namespace {

using namespace testing;

std::string wire_varint(std::uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}
std::string field(int number, const std::string& body) {
  return wire_varint(static_cast<std::uint64_t>(number) << 3 | 2) +
         wire_varint(body.size()) + body;
}

std::string what(const std::string& bytes) {
  auto model = load_bytes(bytes);
  return model ? "" : model.error().text();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Accepts or refuses; an accepted model must also be writable.
bool survives(const std::string& bytes) {
  auto model = load_bytes(bytes);
  if (!model) {
    CHECK(model.error().kind == ErrorKind::kModel);
    CHECK(!model.error().what.empty());
    return false;
  }
  touch_all(**model);
  const auto out = serialize(**model);
  CHECK(out.ok());
  return true;
}

TEST_CASE("a model cut off anywhere is refused, or is whole to that point") {
  for (const onnx::ModelProto& proto : {small_model(), rich_model()}) {
    const std::string bytes = proto.SerializeAsString();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      if (!survives(bytes.substr(0, size))) continue;
      onnx::ModelProto prefix;
      CHECK(prefix.ParseFromString(bytes.substr(0, size)));
    }
  }
}

TEST_CASE("no flipped bit crashes, and protobuf agrees with what we accept") {
  for (const onnx::ModelProto& proto : {small_model(), rich_model()}) {
    std::string bytes = proto.SerializeAsString();
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      const char mask = static_cast<char>(1 << (bit % 8));
      bytes[bit / 8] ^= mask;
      onnx::ModelProto parsed;
      if (survives(bytes)) {
        CAPTURE(bit);
        CHECK(parsed.ParseFromString(bytes));
      }
      bytes[bit / 8] ^= mask;
    }
  }
}

TEST_CASE("random bytes and damaged models never crash") {
  std::mt19937 random(7);
  const std::string whole = rich_model().SerializeAsString();
  for (int i = 0; i < 4000; ++i) {
    std::string bytes;
    if (i % 2 == 0) {
      bytes.resize(random() % 200 + 1);
      for (char& c : bytes) c = static_cast<char>(random());
    } else {
      bytes = whole;
      for (int k = 0; k < 5; ++k) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      if (i % 3 == 0) bytes.erase(random() % bytes.size(), random() % 20);
    }
    survives(bytes);
  }
}

TEST_CASE("what is not protobuf is said to be so") {
  CHECK(contains(what("\x89PNG\r\n\x1a\n...."), "not"));
  CHECK(contains(what("version https://git-lfs.github.com/spec/v1\n"),
                 "git lfs pull"));
  CHECK(contains(what(std::string("\x1f\x8b\x08\0", 4)), "compressed"));
  CHECK(contains(what("<!DOCTYPE html><html>"), "web page"));
  CHECK(contains(what("<ir_version: 8>\ng (float[2] x) => "), "text"));
  CHECK(contains(what("\x08\x08"), "no graph"));
  CHECK(contains(what(""), "empty"));
}

TEST_CASE("broken encodings name field, place and byte") {
  const std::string head = "\x08\x08";
  // Length beyond the end, 2^63, and one whose sum would wrap.
  CHECK(contains(what(head + "\x3a\x05x"), "field 'graph' of ModelProto"));
  CHECK(contains(what(head + "\x3a" + wire_varint(std::uint64_t{1} << 63)),
                 "9223372036854775808 bytes"));
  CHECK(contains(what(head + "\x3a" + wire_varint(~std::uint64_t{0} - 2)),
                 "goes beyond"));
  CHECK(contains(what(head + "\x38\x01"), "wrong wire type"));
  CHECK(contains(what(head + "\x07"), "wire type"));
  CHECK(contains(what(head + std::string("\x02\x00", 2)), "field number"));
  CHECK(contains(what("\x08" + std::string(11, '\xff')), "integer has no end"));
  CHECK(contains(what(head + "\x3a\x05x"), "at byte 2 of 5"));
}

TEST_CASE("groups are skipped, to a depth") {
  const std::string model = small_model().SerializeAsString();
  const auto group = [](int depth) {
    std::string out;
    for (int i = 0; i < depth; ++i) out += wire_varint(500 << 3 | 3);
    for (int i = 0; i < depth; ++i) out += wire_varint(500 << 3 | 4);
    return out;
  };
  CHECK(what(model + group(1)) == "");
  CHECK(what(model + group(100)) == "");
  CHECK(contains(what(model + group(101)), "group"));
  CHECK(contains(what(model + group(1000000)), "group"));
  CHECK(contains(what(model + wire_varint(500 << 3 | 4)), "group"));
  CHECK(contains(what(model + wire_varint(500 << 3 | 3)), "ends inside"));
}

TEST_CASE("unknown fields come through at every level") {
  onnx::ModelProto proto = small_model();
  const std::string unknown =
      field(900, "unknown") + wire_varint(901 << 3) + "\x05";
  onnx::GraphProto* graph = proto.mutable_graph();
  const auto put = [&](google::protobuf::Message* message) {
    std::string* raw = message->GetReflection()
                           ->MutableUnknownFields(message)
                           ->AddLengthDelimited(900);
    *raw = "unknown";
  };
  put(&proto);
  put(graph);
  put(graph->mutable_node(0));
  graph->mutable_node(0)->set_doc_string("not beside the unknown field");
  graph->mutable_node(0)->set_overload("between");
  put(graph->mutable_initializer(0));
  put(graph->mutable_output(0));
  put(proto.mutable_opset_import(0));
  auto model = load_proto(proto);
  REQUIRE(model.ok());
  touch_all(**model);
  const std::string out = *serialize(**model);
  CHECK(same(out, proto.SerializeAsString()));
  int found = 0;  // same() does not look at unknown fields
  for (std::size_t at = 0; (at = out.find("unknown", at)) != std::string::npos;
       ++at) {
    ++found;
  }
  CHECK(found == 6 + 1);  // and the doc_string
}

TEST_CASE("split and repeated singular messages are read as protobuf does") {
  onnx::ModelProto proto = small_model();
  onnx::GraphProto first, second;
  for (int i = 0; i < 2; ++i) {
    *(i == 0 ? first : second).add_node() = proto.graph().node(i);
  }
  *first.mutable_initializer() = proto.graph().initializer();
  *second.mutable_input() = proto.graph().input();
  *second.mutable_output() = proto.graph().output();
  first.set_name("old");
  second.set_name("g");
  proto.clear_graph();
  const std::string bytes = proto.SerializeAsString() +
                            field(7, first.SerializeAsString()) +
                            field(7, second.SerializeAsString());
  auto model = load_bytes(bytes);
  REQUIRE_MESSAGE(model.ok(), model.error().text());
  CHECK((*model)->graph.node_count() == 2);
  CHECK((*model)->graph.block(ir::Graph::main_block()).name == "g");
  touch_all(**model);
  CHECK(same(*serialize(**model), bytes));
  CHECK(what(bytes + "\x08\x07") == "");  // ir_version again: the last wins
}

TEST_CASE("lengths need not be in their shortest form") {
  onnx::ModelProto proto = small_model();
  onnx::GraphProto rest = proto.graph();
  rest.clear_node();
  std::string graph;
  for (const auto& node : proto.graph().node()) {
    const std::string body = node.SerializeAsString();
    REQUIRE(body.size() < 128);
    graph += std::string("\x0a") + static_cast<char>(body.size() | 0x80) +
             std::string("\x80\x00", 2) + body;
  }
  proto.clear_graph();
  const std::string bytes =
      proto.SerializeAsString() + field(7, graph + rest.SerializeAsString());
  auto model = load_bytes(bytes);
  REQUIRE_MESSAGE(model.ok(), model.error().text());
  (*model)->changed = true;
  (*model)->graph.mutable_block(ir::Graph::main_block()).changed = true;
  CHECK(same(*serialize(**model), bytes));
}

TEST_CASE("fields may come in any order") {
  const onnx::ModelProto proto = rich_model();
  // The graph with its fields in reverse order.
  const std::string graph = proto.graph().SerializeAsString();
  std::vector<std::string> fields;
  Cursor cursor(as_bytes(graph), schema::kGraph);
  while (cursor.next()) fields.emplace_back(as_text(cursor.whole()));
  std::string turned;
  for (auto it = fields.rbegin(); it != fields.rend(); ++it) turned += *it;
  onnx::ModelProto rest = proto;
  rest.clear_graph();
  const std::string bytes = field(7, turned) + rest.SerializeAsString();
  auto model = load_bytes(bytes);
  REQUIRE_MESSAGE(model.ok(), model.error().text());
  CHECK((*model)->graph.live_node_count() == 7);
  touch_all(**model);
  auto again = load_bytes(*serialize(**model));
  REQUIRE(again.ok());
  CHECK((*again)->graph.live_node_count() == 7);
}

TEST_CASE("many empty messages cost little more than their bytes") {
  std::string bytes = small_model().SerializeAsString();
  std::string entries;
  for (int i = 0; i < 1000000; ++i) entries += std::string("\x72\x00", 2);
  auto model = load_bytes(bytes + entries);
  REQUIRE(model.ok());
  CHECK((*model)->arena.bytes() < 100000);
}

}  // namespace
}  // namespace ruleengine::io
