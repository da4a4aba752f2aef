// Types and elements, op by op.

#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"

namespace ruleengine::analysis {
namespace {

using ir::DataType;
using ir::ValueId;

struct RulesFixture : Builder {
  Inference facts{g};
  std::string of(ValueId v) { return text(facts, v); }
  std::string at(ValueId v) { return elements(facts, v); }
};

TEST_CASE_FIXTURE(RulesFixture, "elementwise") {
  const ValueId x = input({"B", "1", "S"}), y = input({"4", "S"}),
                z = input({"T"});
  CHECK(of(add("Add", {x, y})) == "float[B,4,S]");
  CHECK(of(add("Greater", {x, y})) == "bool[B,4,S]");
  CHECK(of(add("Where", {add("Equal", {x, x}), y, x})) == "float[B,4,S]");
  CHECK(of(add("Cast", {x}, {i("to", 10)})) == "float16[B,1,S]");
  CHECK(of(add("Softmax", {x})) == "float[B,1,S]");
  CHECK(of(add("Max", {x, y, y})) == "float[B,4,S]");
  // Two symbols broadcast to the same unknown each time.
  const ValueId one = add("Add", {y, z}), other = add("Mul", {z, y});
  CHECK(facts.type(one) == facts.type(other));
  CHECK(model.dims.is_fresh(facts.type(one)->dims[1]));
  const ir::NodeId norm =
      node("LayerNormalization", {x, z}, {i("axis", -2)}, 3);
  CHECK(of(g.output(norm, 1)) == "float[B,1,1]");
  const ir::NodeId drop = node("Dropout", {x}, {}, 2);
  CHECK(of(g.output(drop, 1)) == "bool[B,1,S]");
}

TEST_CASE_FIXTURE(RulesFixture, "products and convolutions") {
  const ValueId x = input({"B", "H", "S", "64"}), w = input({"64", "32"});
  CHECK(of(add("MatMul", {x, w})) == "float[B,H,S,32]");
  CHECK(of(add("MatMul", {x, input({"64"})})) == "float[B,H,S]");
  CHECK(of(add("MatMul", {input({"S"}), input({"B", "S", "3"})})) ==
        "float[B,3]");
  CHECK(of(add("MatMul", {input({"S"}), input({"S"})})) == "float");
  CHECK(of(add("Gemm", {input({"K", "M"}), w},
               {i("transA", 1), i("transB", 1)})) == "float[M,64]");
  CHECK(of(add("Conv", {input({"B", "3", "T"}), input({"8", "3", "10"})},
               {is("strides", {5})})) == "float[B,8,(T//5) - 1]");
  CHECK(
      of(add("Conv", {input({"B", "3", "9", "9"}), input({"8", "3", "3", "3"})},
             {is("pads", {1, 1, 1, 1}), is("strides", {2, 2})})) ==
      "float[B,8,5,5]");
}

TEST_CASE_FIXTURE(RulesFixture, "what ONNX Runtime makes of convolutions") {
  const ValueId x = input({"B", "3", "9", "9"}),
                w = input({"8", "3", "3", "3"});
  const auto walk = {is("pads", {1, 1, 1, 1}), is("strides", {2, 2})};
  CHECK(of(add("com.microsoft::FusedConv", {x, w}, walk)) == "float[B,8,5,5]");
  CHECK(of(add("com.microsoft.nchwc::Conv", {x, w}, walk)) == "float[B,8,5,5]");
  CHECK(of(add("com.microsoft.nchwc::MaxPool", {x},
               {is("kernel_shape", {3, 3})})) == "float[B,3,7,7]");
  CHECK(of(add("com.microsoft.nchwc::ReorderInput",
               {input({"B", "9", "7", "C"})}, {i("channels_last", 1)})) ==
        "float[B,?1,9,7]");
  CHECK(of(add("com.microsoft.nchwc::ReorderOutput", {x},
               {i("channels", 2)})) == "float[B,2,9,9]");
  CHECK(of(add("com.microsoft.nchwc::ReorderOutput", {x},
               {i("channels", 2), i("channels_last", 1)})) == "float[B,9,9,2]");
  CHECK(of(add("com.microsoft.nchwc::Upsample", {x},
               {is("scales", {1, 1, 2, 3})})) == "float[B,3,18,27]");
  const ValueId a = input({"B", "H", "S", "64"}, DataType::kUint8),
                b = input({"B", "H", "64", "T"}, DataType::kUint8),
                scale = input({});
  CHECK(of(add("com.microsoft::MatMulIntegerToFloat", {a, b, scale, scale})) ==
        "float[B,H,S,T]");
}

TEST_CASE_FIXTURE(RulesFixture, "attention and pools") {
  Builder b(23);
  Inference f(b.g);
  const ValueId q = b.input({"B", "8", "S", "16"}),
                k = b.input({"B", "2", "T", "16"}),
                v = b.input({"B", "2", "T", "4"}),
                past_k = b.input({"B", "2", "P", "16"}),
                past_v = b.input({"B", "2", "P", "4"});
  const ir::NodeId n =
      b.node("Attention", {q, k, v, ValueId(), past_k, past_v}, {}, 4);
  CHECK(b.text(f, b.g.output(n, 0)) == "float[B,8,S,4]");
  CHECK(b.text(f, b.g.output(n, 1)) == "float[B,2,P + T,16]");
  CHECK(b.text(f, b.g.output(n, 2)) == "float[B,2,P + T,4]");
  CHECK(b.text(f, b.g.output(n, 3)) == "float[B,8,S,P + T]");
  const ValueId x = b.input({"B", "S", "64"}), y = b.input({"B", "T", "32"});
  CHECK(b.text(f, b.add("Attention", {x, y, y},
                        {b.i("q_num_heads", 8), b.i("kv_num_heads", 4)})) ==
        "float[B,S,64]");
  const ir::NodeId one =
      b.node("Attention", {x, y, y},
             {b.i("q_num_heads", 1), b.i("kv_num_heads", 1)}, 2);
  CHECK(b.text(f, b.g.output(one, 1)) == "float[B,1,T,32]");
  // How it is divided is unknown.
  CHECK(b.text(f, b.add("Attention", {x, y, y})) == "none");
  CHECK(b.text(f, b.add("Attention", {x, y, y}, {b.i("q_num_heads", 8)})) ==
        "none");
  const ir::NodeId maxima =
      node("MaxPool", {input({"B", "3", "9"})}, {is("kernel_shape", {3})}, 2);
  CHECK(of(g.output(maxima, 0)) == "float[B,3,7]");
  CHECK(of(g.output(maxima, 1)) == "int64[B,3,7]");
  CHECK(of(add("MaxPool", {input({"B", "3", "9", "H"})},
               {is("kernel_shape", {3, 3}), is("strides", {2, 2}),
                is("pads", {1, 1, 1, 1})})) == "float[B,3,5,(H + 1)//2]");
}

// Each line as ONNX Runtime runs it; unknown if that differs from the
// standard.
TEST_CASE_FIXTURE(RulesFixture, "windows at the edge of the image") {
  struct Row {
    std::string size;
    std::int64_t kernel, stride, pad, ceil;
    std::string out;
  };
  const Row rows[] = {
      {"7", 2, 2, 1, 1, "4"},  // a fifth window would start in the padding
      {"8", 1, 2, 0, 1, "4"},
      {"8", 3, 3, 1, 1, "3"},
      {"8", 3, 2, 0, 1, "4"},  // the rest is a window
      {"H", 3, 2, 1, 1, "(H//2) + 1"},
      {"H", 2, 2, 0, 1, "(H + 1)//2"},
      {"1", 2, 2, 0, 0, "?"},  // larger than the image
      {"1", 2, 2, 0, 1, "?"},
      {"9", 2, 2, 2, 1, "?"},  // padding of a whole window
  };
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    for (const Row& r : rows) {
      CAPTURE(r.size);
      CAPTURE(r.pad);
      const ir::Type* t = facts.type(
          add(op, {input({"B", "3", r.size})},
              {is("kernel_shape", {r.kernel}), is("strides", {r.stride}),
               is("pads", {r.pad, r.pad}), i("ceil_mode", r.ceil)}));
      REQUIRE(t->rank() == 3);
      const ir::Dim d = t->dims[2];
      CHECK((model.dims.is_fresh(d) ? "?" : model.dims.text(d)) == r.out);
    }
  }
}

TEST_CASE_FIXTURE(RulesFixture, "windows padded by a word") {
  const auto auto_pad = [](std::string_view word) {
    ir::Attribute a;
    a.name = "auto_pad";
    a.kind = ir::AttributeKind::kString;
    a.s = word;
    return a;
  };
  const auto padded = [&](std::string_view word, std::int64_t dilation,
                          std::int64_t ceil, const char* size) {
    return of(add("MaxPool", {input({"B", "3", size})},
                  {is("kernel_shape", {3}), is("strides", {2}), auto_pad(word),
                   is("dilations", {dilation}), i("ceil_mode", ceil)}));
  };
  CHECK(padded("SAME_LOWER", 1, 0, "7") == "float[B,3,4]");
  CHECK(padded("SAME_UPPER", 1, 1, "H") == "float[B,3,(H + 1)//2]");
  CHECK(padded("SAME_UPPER", 2, 0, "7").find("?") != std::string::npos);
  CHECK(padded("VALID", 1, 0, "8") == "float[B,3,3]");
  CHECK(padded("VALID", 1, 1, "7") == "float[B,3,3]");
  CHECK(padded("VALID", 1, 1, "8").find("?") != std::string::npos);
  const auto back = [&](std::int64_t more) {
    return of(add("ConvTranspose",
                  {input({"B", "2", "7"}), input({"2", "3", "3"})},
                  {is("strides", {2}), auto_pad("SAME_UPPER"),
                   is("output_padding", {more})}));
  };
  CHECK(back(0) == "float[B,3,14]");
  CHECK(back(1).find("14") == std::string::npos);
  CHECK(back(1).find("15") == std::string::npos);
}

TEST_CASE_FIXTURE(RulesFixture, "an answer of the library that ends early") {
  const ValueId x = input({"B", "2", "7", "7"}),
                w = input({"2", "3", "3", "3"});
  const ir::Type* small =
      facts.type(add("ConvTranspose", {x, w}, {is("output_shape", {12, 4})}));
  REQUIRE(small->rank() == 4);
  for (const ir::Dim d : small->dims) CHECK(model.dims.is_fresh(d));
  CHECK(of(add("ConvTranspose", {x, w}, {is("output_shape", {12, 9})})) ==
        "float[B,3,12,9]");
}

TEST_CASE_FIXTURE(RulesFixture, "reshapes") {
  const ValueId x = input({"B", "S", "64"});
  CHECK(of(add("Reshape", {x, ints({0, 0, 4, -1})})) == "float[B,S,4,16]");
  CHECK(of(add("Reshape", {x, ints({-1})})) == "float[64*B*S]");
  CHECK(of(add("Reshape", {x, ints({-1, 64})})) == "float[B*S,64]");
  CHECK(of(add("Reshape", {input({"B", "6", "0"}), ints({0, -1})})) ==
        "float[B,0]");
  // One unknown element is computed from the others.
  const ValueId n = input({"1"}, DataType::kInt64);
  const ValueId target = add("Concat", {n, ints({64})}, {i("axis", 0)});
  CHECK(of(add("Reshape", {x, target})) == "float[B*S,64]");
  CHECK(of(add("Reshape", {x, input({"2"}, DataType::kInt64)}))
            .starts_with("float[?"));
  CHECK(of(add("Reshape", {x, input({"N"}, DataType::kInt64)})) == "float[?]");
  CHECK(of(add("Flatten", {x}, {i("axis", 2)})) == "float[B*S,64]");
  CHECK(of(add("Flatten", {x}, {i("axis", 0)})) == "float[1,64*B*S]");
  CHECK(of(add("Unsqueeze", {x, ints({0, -1})})) == "float[1,B,S,64,1]");
  CHECK(of(add("Squeeze", {input({"1", "B", "1"}), ints({-1})})) ==
        "float[1,B]");
  CHECK(of(add("Squeeze", {input({"1", "B", "1"})})) == "float[?]");
  CHECK(of(add("Squeeze", {input({"1", "4", "1"})})) == "float[4]");
  CHECK(of(add("Transpose", {x})) == "float[64,S,B]");
}

TEST_CASE_FIXTURE(RulesFixture, "joining and cutting") {
  const ValueId past = input({"B", "4", "P", "16"}),
                now = input({"B", "4", "S", "16"});
  const ValueId all = add("Concat", {past, now}, {i("axis", 2)});
  CHECK(of(all) == "float[B,4,P + S,16]");
  const ValueId p = add("Shape", {past}, {i("start", 2), i("end", 3)});
  CHECK(at(p) == "{P}");
  CHECK(of(add("Slice", {all, p, ints({INT64_MAX}), ints({2})})) ==
        "float[B,4,S,16]");
  CHECK(of(add("Slice", {all, ints({0, 0}), ints({8, 1}), ints({-1, 1})})) ==
        "float[B,1,P + S,8]");
  const ir::NodeId thirds =
      node("Split", {input({"B", "9"})}, {i("axis", 1)}, 3);
  CHECK(of(g.output(thirds, 2)) == "float[B,3]");
  const ir::NodeId parts =
      node("Split", {input({"B", "9"}), ints({2, 7})}, {i("axis", 1)}, 2);
  CHECK(of(g.output(parts, 1)) == "float[B,7]");
  const ir::NodeId less = node("Split", {input({"10"})}, {}, 3);
  CHECK(of(g.output(less, 0)) == "float[4]");
  CHECK(of(g.output(less, 2)) == "float[2]");
  CHECK(of(add("Gather",
               {input({"9", "64"}), input({"B", "S"}, DataType::kInt64)})) ==
        "float[B,S,64]");
  CHECK(of(add("GatherND", {input({"B", "S", "4"}),
                            input({"N", "2"}, DataType::kInt64)})) ==
        "float[N,4]");
  CHECK(of(add("GatherND", {input({"B", "S", "4"}),
                            input({"2"}, DataType::kInt64)})) == "float[4]");
  CHECK(of(add("Slice", {now, ints({0, 0}), ints({8})})) == "none");
  CHECK(of(add("Pad", {input({"B", "S"}), ints({0, 1, 0, 2})})) ==
        "float[B,S + 3]");
  CHECK(of(add("Tile", {input({"B", "S"}), ints({2, 3})})) == "float[2*B,3*S]");
}

TEST_CASE_FIXTURE(RulesFixture, "a Concat that names no axis") {
  CHECK(of(add("Concat", {input({"2", "3"}), input({"4", "3"})})) ==
        "float[6,3]");
  Builder old(3);
  Inference f(old.g);
  CHECK(old.text(f, old.add("Concat",
                            {old.input({"2", "3"}), old.input({"2", "4"})})) ==
        "float[2,7]");
}

TEST_CASE_FIXTURE(RulesFixture, "expanding, making, reducing") {
  const ValueId kv = input({"B", "2", "1", "S", "16"});
  const ValueId shape = add("Shape", {kv});
  const ValueId parts[] = {add("Gather", {shape, ints({0})}), ints({2, 3}),
                           add("Gather", {shape, ints({3})}), ints({16})};
  const ValueId target =
      add("Concat", {parts[0], parts[1], parts[2], parts[3]}, {i("axis", 0)});
  const ValueId wide = add("Expand", {kv, target});
  CHECK(of(wide) == "float[B,2,3,S,16]");
  CHECK(of(add("Reshape", {wide, ints({0, 6, -1, 16})})) == "float[B,6,S,16]");
  const ValueId s = add("Gather", {shape, scalar(3)});
  CHECK(of(add("Range", {scalar(0), s, scalar(1)})) == "int64[S]");
  CHECK(of(add("Range", {scalar(1), scalar(8), scalar(3)})) == "int64[3]");
  CHECK(of(add("ConstantOfShape", {target})) == "float[B,2,3,S,16]");
  const ir::Type* deepest =
      facts.type(add("ConstantOfShape", {input({"64"}, DataType::kInt64)}));
  REQUIRE(deepest->has_shape);
  CHECK(deepest->rank() == 64);
  CHECK(of(add("ConstantOfShape", {input({"65"}, DataType::kInt64)})) ==
        "float[?]");
  const ValueId x = input({"B", "S", "64"});
  CHECK(of(add("ReduceMean", {x, ints({-1})})) == "float[B,S,1]");
  CHECK(of(add("ReduceMean", {x}, {is("axes", {1}), i("keepdims", 0)})) ==
        "float[B,64]");
  CHECK(of(add("ReduceMax", {x}, {i("keepdims", 0)})) == "float");
  CHECK(of(add("ArgMax", {x}, {i("axis", 1)})) == "int64[B,1,64]");
  // Only the rank is known.
  CHECK(of(add("ReduceSum", {x, input({"1"}, DataType::kInt64)},
               {i("keepdims", 0)}))
            .find(',') != std::string::npos);
}

TEST_CASE_FIXTURE(RulesFixture, "repeats that are counted") {
  const ValueId sizes = add("Shape", {input({"B", "6"})});
  const ValueId batch = add("Gather", {sizes, ints({0})});
  const ValueId values = add("Concat", {ints({1}), batch}, {i("axis", 0)});
  const auto repeats = [&](std::int64_t place) {
    const ValueId row = add("OneHot", {ints({place}), ints({4}), values});
    return at(add("Reshape", {row, ints({-1})}));
  };
  CHECK(repeats(2) == "{1, 1, B, 1}");
  CHECK(repeats(-1) == "{1, 1, 1, B}");
}

TEST_CASE_FIXTURE(RulesFixture, "what only the library knows") {
  CHECK(of(add("OneHot", {input({"B"}, DataType::kInt64), scalar(5),
                          floats({2}, {0, 1})})) == "float[B,5]");
  const ir::NodeId top = node("TopK", {input({"B", "9"}), ints({3})}, {}, 2);
  CHECK(of(g.output(top, 1)) == "int64[B,3]");
  CHECK(of(add("Attention",
               {input({"B", "4", "S", "16"}), input({"B", "4", "T", "16"}),
                input({"B", "4", "T", "16"})})) == "none");
  CHECK(of(add("NoSuchOp", {input({"B"})})) == "none");
}

TEST_CASE_FIXTURE(RulesFixture, "ops of our own") {
  const ValueId q = input({"B", "4", "S", "16"}),
                k = input({"B", "4", "T", "16"}),
                v = input({"B", "4", "T", "8"});
  CHECK(of(add("ruleengine::ScaledDotProductAttention", {q, k, v})) ==
        "float[B,4,S,8]");
  CHECK(of(add("aten::scaled_dot_product_attention", {q, k, v})) ==
        "float[B,4,S,8]");
  CHECK(of(add("ruleengine::Linear",
               {input({"B", "S", "64"}), input({"32", "64"})})) ==
        "float[B,S,32]");
  const ValueId x = input({"B", "S", "64"});
  const ir::NodeId qkv =
      node("ruleengine::MHAInProjection",
           {x, x, input({"B", "L", "64"}), input({"192", "64"})},
           {i("num_heads", 4), i("head_dim", 16)}, 3);
  CHECK(of(g.output(qkv, 2)) == "float[B,4,L,16]");
  const ValueId image = input({"B", "H", "15", "C"});
  const ir::NodeId cut =
      node("ruleengine::SwinWindowPartition", {image},
           {is("window_size", {7, 7}), is("shift_size", {3, 3})}, 2);
  CHECK(of(g.output(cut, 0)) == "float[3*B*((H + 6)//7),49,C]");
  CHECK(of(add("ruleengine::SwinWindowReverse",
               {g.output(cut, 0), g.output(cut, 1)})) == "float[B,H,15,C]");
  CHECK(at(g.output(cut, 1)) == "none");  // 7*((H + 6)//7) may be 7
  const ir::NodeId fixed =
      node("ruleengine::SwinWindowPartition", {input({"B", "8", "15", "C"})},
           {is("window_size", {8, 7}), is("shift_size", {4, 3})}, 2);
  CHECK(at(g.output(fixed, 1)) == "{B, 8, 15, 8, 21, 0, 3}");
  CHECK(of(add("tensor_cast::all_gather", {input({"1", "S", "8"})},
               {i("dim", 1), is("rank_group", {0, 1, 2, 3})})) ==
        "float[1,4*S,8]");
  CHECK(of(add("tensor_cast::reduce_scatter", {input({"1", "8", "8"})},
               {i("dim", 1), is("rank_group", {0, 1, 2, 3})})) ==
        "float[1,2,8]");
  const ir::NodeId quant =
      node("tensor_cast::dynamic_quantize_symmetric", {x}, {}, 2);
  CHECK(of(g.output(quant, 0)) == "int8[B,S,64]");
  CHECK(of(g.output(quant, 1)) == "float[B,S,1]");
  CHECK(of(add("tensor_cast::static_quant_linear",
               {x, input({"64", "8"}, DataType::kInt8)})) == "float[B,S,8]");
}

TEST_CASE_FIXTURE(RulesFixture, "ops of several outputs") {
  const ValueId x = input({"L", "B", "64"}), kv = input({"S", "B", "64"});
  const ValueId unknown = value(ir::ValueKind::kInput);
  const auto attend = [&](ValueId query, ValueId key) {
    return node("ruleengine::MultiheadAttention", {query, key, key}, {}, 2);
  };
  const ir::NodeId all = attend(x, kv);
  CHECK(of(g.output(all, 0)) == "float[L,B,64]");
  CHECK(of(g.output(all, 1)) == "float[B,L,S]");
  CHECK(of(g.output(attend(x, unknown), 1)) == "float[?]");
  CHECK(of(g.output(attend(unknown, kv), 1)) == "none");
  for (const char* op :
       {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}) {
    const ir::NodeId norm =
        node("com.microsoft::" + std::string(op), {x, x, input({"64"})}, {}, 4);
    CHECK(of(g.output(norm, 0)) == "float[L,B,64]");
    CHECK(of(g.output(norm, 3)) == "float[L,B,64]");
  }
}

TEST_CASE_FIXTURE(RulesFixture,
                  "a vector of one element gives a scalar an axis") {
  const ValueId none, scalar = input({}), one = input({"1"});
  const ValueId x = input({"B", "S", "64"}), wide = input({"1", "1", "1", "1"});
  const auto quantized = [&](std::vector<ValueId> inputs) {
    return of(add("tensor_cast::quantize", std::move(inputs)));
  };
  CHECK(quantized({scalar, scalar}) == "int8");
  CHECK(quantized({scalar, one}) == "int8[1]");
  CHECK(quantized({scalar, scalar, one}) == "int8[1]");
  CHECK(quantized({x, one}) == "int8[B,S,64]");
  CHECK(quantized({x, wide}) == "int8[1,B,S,64]");
  CHECK(quantized({x, input({"64"})}) == "int8[B,S,64]");
  // A scale of unknown rank should have x's shape; for a scalar it is unknown.
  const ValueId unknown = value(ir::ValueKind::kInput);
  CHECK(quantized({x, unknown}) == "int8[B,S,64]");
  CHECK(quantized({scalar, unknown}) == "int8[?]");

  const ValueId row = input({"64"}), w = input({"64", "8"}, DataType::kInt8);
  const auto product = [&](std::string op, std::vector<ValueId> inputs) {
    return of(add("tensor_cast::" + op, std::move(inputs)));
  };
  CHECK(product("static_quant_linear", {row, w, scalar, none, one}) ==
        "float[8]");
  const ValueId square = input({"1", "1"}), bias = input({"1", "8"});
  for (std::string op : {"static_quant_linear", "static_quant_linear_int4"}) {
    CHECK(product(op, {row, w, scalar, none, square}) == "float[1,8]");
    CHECK(product(op, {row, w, scalar, none, one, square}) == "float[1,8]");
    CHECK(product(op, {row, w, scalar, none, one, none, bias}) == "float[1,8]");
  }
  CHECK(product("fp8_linear", {row, w, square, scalar}) == "float[1,8]");
  CHECK(product("fp8_linear", {row, w, one, scalar, bias}) == "float[1,8]");
  CHECK(product("mxfp4_linear", {row, w, input({"2"}), square, bias}) ==
        "float[1,8]");
}

TEST_CASE_FIXTURE(RulesFixture, "ops of our own that broadcast") {
  const ValueId flat = input({"4", "8"}), deep = input({"1", "2", "8"}),
                row = input({"8"}), one = input({"1"}), scalar = input({});
  const auto norm = [&](std::vector<ValueId> inputs) {
    return of(add("tensor_cast::add_rms_norm", std::move(inputs)));
  };
  CHECK(norm({flat, flat, row}) == "float[4,8]");
  CHECK(norm({flat, input({"1", "4", "8"})}) == "float[1,4,8]");
  CHECK(norm({input({"1", "8"}), flat, row}) == "float[4,8]");
  CHECK(norm({flat, row}) == "float[4,8]");
  CHECK(norm({flat, flat, input({"1", "1", "8"})}) == "float[1,4,8]");
  CHECK(norm({input({"B", "8"}), input({"1", "8"})}) == "float[B,8]");
  const ir::NodeId two =
      node("tensor_cast::add_rms_norm2", {flat, input({"3", "1", "8"})}, {}, 2);
  CHECK(of(g.output(two, 0)) == "float[3,4,8]");
  CHECK(of(g.output(two, 1)) == "float[3,4,8]");
  CHECK(of(add("tensor_cast::rms_norm", {row, deep})) == "float[1,2,8]");
  CHECK(of(add("tensor_cast::quantize", {scalar, one})) == "int8[1]");
  CHECK(of(add("tensor_cast::quantize", {scalar, scalar, one})) == "int8[1]");
  CHECK(of(add("tensor_cast::quantize", {flat, one})) == "int8[4,8]");
  const ValueId x = input({"2", "8"}, DataType::kInt8),
                w = input({"8", "3"}, DataType::kInt8);
  CHECK(of(add("tensor_cast::static_quant_linear", {x, w, one, {}, one})) ==
        "float[2,3]");
  CHECK(of(add("tensor_cast::static_quant_linear",
               {x, w, one, {}, input({"1", "2", "1"})})) == "float[1,2,3]");
  const ValueId q = input({"1", "4", "S", "16"}),
                k = input({"B", "4", "T", "16"});
  CHECK(of(add("ruleengine::ScaledDotProductAttention", {q, k, k})) ==
        "float[B,4,S,16]");
  CHECK(of(add("ruleengine::AttentionForward", {q, q, k})) ==
        "float[B,4,S,16]");
}

TEST_CASE_FIXTURE(RulesFixture, "elements") {
  const ValueId x = input({"B", "S", "64"}), shape = add("Shape", {x});
  const ValueId b = add("Gather", {shape, scalar(0)}),
                s = add("Gather", {shape, scalar(1)});
  CHECK(at(add("Size", {x})) == "{64*B*S}");
  CHECK(at(add("Mul", {b, s})) == "{B*S}");
  CHECK(at(add("Add", {shape, ints({1})})) == "{B + 1, S + 1, 65}");
  CHECK(at(add("Div", {add("Mul", {s, scalar(6)}), scalar(2)})) == "{3*S}");
  CHECK(at(add("Div", {s, scalar(2)})) == "{S//2}");
  CHECK(at(add("Mod", {s, scalar(2)})) == "{S - 2*(S//2)}");
  CHECK(at(add("Div", {scalar(-7), scalar(2)})) == "{-3}");
  CHECK(at(add("Div", {s, scalar(0)})) == "none");
  CHECK(at(add("Max", {s, scalar(0)})) == "{S}");
  CHECK(at(add("Slice", {shape, ints({-1}), ints({INT64_MIN}), ints({0}),
                         ints({-1})})) == "{64, S, B}");
  CHECK(at(add("ReduceProd", {shape}, {i("keepdims", 0)})) == "{64*B*S}");
  CHECK(at(add("Cast", {shape}, {i("to", 6)})) == "{B, S, 64}");
  const ValueId minus = add("Concat", {ints({-1}), shape}, {i("axis", 0)});
  const ValueId is_open = add("Equal", {minus, ints({-1})});
  CHECK(at(is_open) == "{1, 0, 0, 0}");
  CHECK(at(add("Where", {is_open, ints({1}), minus})) == "{1, B, S, 64}");
  CHECK(at(add("Less", {b, add("Add", {b, s})})) == "none");  // S may be 0
  CHECK(at(add("LessOrEqual", {b, add("Add", {b, s})})) == "{1}");
  CHECK(at(add("Abs", {minus})) == "{1, B, S, 64}");
  CHECK(at(add("Abs", {add("Sub", {b, s})})) == "none");
  // The sign of the dividend, then that of the divisor.
  CHECK(at(add("Mod", {minus, ints({7})}, {i("fmod", 1)})) ==
        "{-1, B - 7*(B//7), S - 7*(S//7), 1}");
  CHECK(at(add("Mod", {minus, ints({7})})) ==
        "{6, B - 7*(B//7), S - 7*(S//7), 1}");
  const ir::NodeId two = node("Split", {minus}, {}, 2);
  CHECK(at(g.output(two, 1)) == "{S, 64}");
  // Through rank 2, as padding is written.
  const ValueId pairs = add("Reshape", {minus, ints({2, 2})});
  const ValueId swapped = add("Transpose", {pairs});
  CHECK(at(pairs) == "none");
  CHECK(at(add("Reshape", {swapped, ints({-1})})) == "{-1, S, B, 64}");
  CHECK(at(add("Gather", {shape, scalar(3)})) == "none");
  CHECK(at(add("Expand", {s, ints({3})})) == "{S, S, S}");
  CHECK(at(add("Range", {s, add("Add", {s, scalar(2)}), scalar(1)})) ==
        "{S, S + 1}");
  CHECK(at(add("Unsqueeze", {s, ints({0})})) == "{S}");
  CHECK(at(x) == "none");
  CHECK(at(ints({3, INT64_MIN})) == "none");  // a Dim cannot hold it
}

TEST_CASE_FIXTURE(RulesFixture, "invalid nodes are unknown and do not crash") {
  const ValueId x = input({"B", "6"}), none;
  const ValueId big = ints({INT64_MAX, INT64_MAX, INT64_MIN, -1});
  for (const char* op :
       {"Reshape",   "Expand",    "Tile",      "Slice",   "Gather",
        "Pad",       "Squeeze",   "Unsqueeze", "Concat",  "Split",
        "Conv",      "Gemm",      "MatMul",    "Range",   "ConstantOfShape",
        "Transpose", "ReduceSum", "Cast",      "Where",   "GatherND",
        "Resize",    "Constant",  "ArgMax",    "Flatten", "Loop",
        "Scan",      "If",        "Shape",     "Size",    "LayerNormalization",
        "OneHot",    "TopK"}) {
    CAPTURE(op);
    for (const auto& inputs :
         std::vector<std::vector<ValueId>>{{},
                                           {x},
                                           {none},
                                           {x, big},
                                           {big, x},
                                           {big, big, big, big, big},
                                           {x, none, big},
                                           {big},
                                           {x, x, x},
                                           {none, none, none, none}}) {
      for (std::size_t outputs : {0u, 1u, 3u}) {
        const ir::NodeId n =
            node(op, inputs,
                 {i("axis", INT64_MIN), is("perm", {7, 7}), is("strides", {0}),
                  is("pads", {1}), is("kernel_shape", {-1}), i("to", 99)},
                 outputs);
        for (ValueId v : g.outputs(n)) {
          (void)facts.type(v);
          (void)facts.dims_of(v);
          (void)facts.is_constant(v);
          (void)facts.constant(v);
        }
        (void)facts.refusal(n);
      }
    }
  }
}

}  // namespace
}  // namespace ruleengine::analysis
