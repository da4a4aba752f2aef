// Nodes with about a quarter of a million elements to compute, one for each
// kernel.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace ruleengine::runtime {

using Names = std::vector<std::string>;

// One node, named like the kernel: "Add", "com.microsoft.Gelu".
struct Case {
  std::string op;
  std::string inputs;     // of the graph: "float[262144] x"
  std::string arguments;  // of the node: "<axis = 1> (x, i)"
  std::string constants = {};
  std::string outputs = "y";
  int opset = 24;
  std::string before = {};  // nodes that make an input
};

// Tensors of that size: with one axis, as rows, as an image.
inline constexpr char kLine[] = "float[262144] x";
inline constexpr char kRows[] = "float[512,512] x";
inline constexpr char kImage[] = "float[1,16,128,128] x";

inline const Names kUnary = {"Abs",
                             "Acos",
                             "Acosh",
                             "Asin",
                             "Asinh",
                             "Atan",
                             "Atanh",
                             "Ceil",
                             "Celu",
                             "Cos",
                             "Cosh",
                             "Elu",
                             "Erf",
                             "Exp",
                             "Floor",
                             "Gelu",
                             "HardSigmoid",
                             "HardSwish",
                             "IsInf",
                             "IsNaN",
                             "LeakyRelu",
                             "Log",
                             "Mish",
                             "Neg",
                             "Reciprocal",
                             "Relu",
                             "Round",
                             "Selu",
                             "Shrink",
                             "Sigmoid",
                             "Sign",
                             "Sin",
                             "Sinh",
                             "Softplus",
                             "Softsign",
                             "Sqrt",
                             "Swish",
                             "Tan",
                             "Tanh",
                             "ThresholdedRelu",
                             "Hardmax",
                             "LogSoftmax",
                             "Softmax",
                             "NonZero",
                             "EyeLike",
                             "LpNormalization",
                             "RandomNormalLike",
                             "RandomUniformLike",
                             "Bernoulli",
                             "Unique"};
inline const Names kBinary = {
    "Add",  "Div",         "Equal", "Greater", "GreaterOrEqual",
    "Less", "LessOrEqual", "Max",   "Mean",    "Min",
    "Mul",  "PRelu",       "Pow",   "Sub",     "Sum"};
inline const Names kBits = {"And", "Or", "Xor"};
inline const Names kWhole = {"BitwiseAnd", "BitwiseOr", "BitwiseXor"};
inline const Names kReductions = {
    "ReduceL1",  "ReduceL2",        "ReduceLogSum", "ReduceLogSumExp",
    "ReduceMax", "ReduceMean",      "ReduceMin",    "ReduceProd",
    "ReduceSum", "ReduceSumSquare", "ArgMax",       "ArgMin"};
inline const Names kGlobal = {"GlobalAveragePool", "GlobalLpPool",
                              "GlobalMaxPool"};
inline const Names kPools = {"AveragePool", "LpPool", "MaxPool"};

// Kernels that compute nothing for each element: they hand values on, or ask
// for a size.
inline const std::set<std::string> kNoWork = {"Constant",
                                              "Flatten",
                                              "Identity",
                                              "Optional",
                                              "OptionalGetElement",
                                              "OptionalHasElement",
                                              "Reshape",
                                              "SequenceAt",
                                              "SequenceConstruct",
                                              "SequenceEmpty",
                                              "SequenceErase",
                                              "SequenceInsert",
                                              "SequenceLength",
                                              "Shape",
                                              "Size",
                                              "Squeeze",
                                              "Unsqueeze",
                                              "BitCast"};
// rank_threads_test.cc tests that waiting for other ranks ends.
inline const std::set<std::string> kRanks = {"tensor_cast.all_gather",
                                             "tensor_cast.all_reduce",
                                             "tensor_cast.reduce_scatter"};
// Their bodies check before each node.
inline const std::set<std::string> kBodies = {"If", "Loop", "Scan", "Scan-8",
                                              "SequenceMap"};

inline std::vector<Case> looks_cases() {
  std::vector<Case> out;
  const auto each = [&](const Names& ops, const Case& like) {
    for (const std::string& op : ops) {
      out.push_back(like);
      out.back().op = op;
    }
  };
  const std::string two = std::string(kRows) + ", float[512,512] z";
  each(kUnary, {"", kRows, "(x)"});
  each(kBinary, {"", two, "(x, z)"});
  each(kBits, {"", "bool[262144] x, bool[262144] z", "(x, z)"});
  each(kWhole, {"", "int32[262144] x, int32[262144] z", "(x, z)"});
  each(kReductions, {"", kRows, "(x)"});
  each(kGlobal, {"", kImage, "(x)"});
  each(kPools, {"", kImage, "<kernel_shape = [3,3]> (x)"});
  const std::vector<Case> others = {
      {"Not", "bool[262144] x", "(x)"},
      {"BitwiseNot", "int32[262144] x", "(x)"},
      {"BitShift", "uint32[262144] x, uint32[262144] z",
       "<direction = \"LEFT\"> (x, z)"},
      {"Cast", kLine, "<to = 11> (x)"},
      {"Clip", kLine, "(x, low)", "float low = {0.5}"},
      {"Where", "bool[262144] c, float[262144] x, float[262144] z",
       "(c, x, z)"},
      {"SwiGLU", two, "(x, z)"},
      {"Mod", kLine, "(x, m)", "float m = {3}", "y"},
      {"Dropout", kLine, "(x, , t)", "bool t = {1}"},
      {"CastLike", kLine, "(x, m)", "int64 m = {3}"},
      {"DynamicQuantizeLinear", kLine, "(x)", "", "y, s, o"},
      {"CumSum", kRows, "(x, a)", "int64 a = {1}"},
      {"CumProd", kRows, "(x, a)", "int64 a = {1}"},
      {"MatMul", "float[512,512] x, float[512,512] z", "(x, z)"},
      {"Gemm", "float[512,512] x, float[512,512] z", "(x, z)"},
      {"Einsum", "float[512,512] x, float[512,512] z",
       "<equation = \"ij,jk->ik\"> (x, z)"},
      {"Det", "float[512,512] x", "(x)"},
      {"com.microsoft.Inverse", "float[256,256] x", "(x)"},
      {"MatMulInteger", "uint8[512,512] x, uint8[512,512] z", "(x, z)"},
      {"QLinearMatMul", "uint8[512,512] x, uint8[512,512] z",
       "(x, s, o, z, s, o, s, o)", "float s = {0.5}, uint8 o = {3}"},
      {"com.microsoft.MatMulNBits",
       "float[512,512] x, uint8[512,16,16] w, float[8192] s",
       "<K = 512, N = 512, bits = 4, block_size = 32> (x, w, s)"},
      {"Conv", "float[1,16,64,64] x, float[16,16,3,3] w", "(x, w)"},
      // A single window, or a product without terms.
      {"Conv", "float[1,1,262144] x, float[1,1,262144] w", "(x, w)"},
      {"Conv", "float[1,2,262144] x, float[2,1,262144] w",
       "<group = 2> (x, w)"},
      {"MaxPool", kImage, "<kernel_shape = [128,128]> (x)"},
      {"AveragePool", "float[1,1,262144] x", "<kernel_shape = [262144]> (x)"},
      {"MatMul", "float[512,0] x, float[0,512] z", "(x, z)"},
      {"Pad", kLine, "(x, p)", "int64[2] p = {262144,0}"},
      {"Resize", "float[1,1,1,262144] x", "<mode = \"nearest\"> (x, , s)",
       "float[4] s = {1,1,1,2}"},
      {"Expand", "string[1] x", "(x, s)", "int64[1] s = {262144}"},
      {"ConvInteger", "uint8[1,16,64,64] x, uint8[16,16,3,3] w", "(x, w)"},
      {"QLinearConv", "uint8[1,16,64,64] x, uint8[16,16,3,3] w",
       "(x, s, o, w, s, o, s, o)", "float s = {0.5}, uint8 o = {3}"},
      {"ConvTranspose", "float[1,16,64,64] x, float[16,16,3,3] w", "(x, w)"},
      {"DeformConv",
       "float[1,16,64,64] x, float[16,16,3,3] w, float[1,18,62,62] o",
       "(x, w, o)"},
      {"CausalConvWithState", "float[4,64,4096] x, float[64,1,4] w", "(x, w)"},
      {"Col2Im", "float[1,144,62500] x", "(x, size, block)",
       "int64[2] size = {252,252}, int64[2] block = {3,3}"},
      {"LRN", kImage, "<size = 3> (x)"},
      {"BatchNormalization", kImage, "(x, c, c, c, v)",
       "float[16] c = {0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15},"
       "float[16] v = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}"},
      {"InstanceNormalization", kImage, "(x, c, c)",
       "float[16] c = {0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}"},
      {"GroupNormalization", kImage, "<num_groups = 4> (x, c, c)",
       "float[16] c = {0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}"},
      {"LayerNormalization", "float[512,512] x, float[512] w", "(x, w)"},
      {"RMSNormalization", "float[512,512] x, float[512] w", "(x, w)"},
      {"tensor_cast.rms_norm", "float[512,512] x, float[512] w", "(x, w)"},
      {"tensor_cast.add_rms_norm", "float[512,512] x, float[512] w",
       "(x, x, w)"},
      {"tensor_cast.add_rms_norm2", "float[512,512] x, float[512] w",
       "(x, x, w)"},
      {"ruleengine.JoinedSplit", "float[512,512] x, float[512,512] w",
       "<parts = [256,256], rank = 2> (x, w)", "", "y, z"},
      {"ruleengine.Linear", "float[512,512] x, float[512,512] w", "(x, w)"},
      {"ruleengine.MHAInProjection", "float[1,512,256] x, float[768,256] w",
       "<num_heads = 4, head_dim = 64> (x, x, x, w)", "", "y, k, v"},
      {"MeanVarianceNormalization", kImage, "(x)"},
      {"MaxRoiPool", "float[1,16,512,512] x", "<pooled_shape = [1,1]> (x, r)",
       "float[1,5] r = {0,0,0,511,511}"},
      {"MaxUnpool", "float[1,16,64,64] x, int64[1,16,64,64] i",
       "<kernel_shape = [2,2], strides = [2,2]> (x, i)"},
      {"RoiAlign", kImage,
       "<output_height = 256, output_width = 256> (x, r, b)",
       "float[1,4] r = {0,0,255,255}, int64[1] b = {0}"},
      {"GridSample", "float[1,4,256,256] x, float[1,512,512,2] z", "(x, z)"},
      {"Resize", kImage, "<mode = \"linear\"> (x, , s)",
       "float[4] s = {1,1,1.5,1.5}"},
      {"Concat", two, "<axis = 1> (x, z)"},
      {"Transpose", kRows, "(x)"},
      {"Slice", kRows, "(x, a, b, c, d)",
       "int64[1] a = {1}, int64[1] b = {511}, int64[1] c = {1},"
       "int64[1] d = {1}"},
      {"Split", kRows, "<num_outputs = 2, axis = 1> (x)", "", "y, w"},
      {"Tile", "float[512,512] x", "(x, r)", "int64[2] r = {2,2}"},
      {"Expand", "float[512,1] x", "(x, s)", "int64[2] s = {512,512}"},
      {"Trilu", kRows, "(x)"},
      {"DepthToSpace", kImage, "<blocksize = 2> (x)"},
      {"SpaceToDepth", kImage, "<blocksize = 2> (x)"},
      {"ReverseSequence", "float[512,512] x, int64[512] n", "(x, n)"},
      {"Pad", kRows, "(x, p)", "int64[4] p = {1,1,1,1}"},
      {"Gather", "float[512,512] x, int64[512] i", "<axis = 1> (x, i)"},
      {"GatherElements", "float[512,512] x, int64[512,512] i", "(x, i)"},
      {"GatherND", "float[512,512] x, int64[262144,2] i", "(x, i)"},
      {"Scatter", "float[512,512] x, int64[512,512] i, float[512,512] u",
       "(x, i, u)", "", "y", 10},
      {"ScatterElements",
       "float[512,512] x, int64[512,512] i, float[512,512] u", "(x, i, u)"},
      {"ScatterND", "float[512,512] x, int64[262144,2] i, float[262144] u",
       "(x, i, u)"},
      {"TensorScatter", "float[4,8,1024,64] x, float[4,8,512,64] u", "(x, u)"},
      {"Compress", "float[262144] x, bool[262144] c", "(x, c)"},
      {"OneHot", "int64[262144] x", "(x, d, v)",
       "int64 d = {4}, float[2] v = {0,1}"},
      {"TopK", kRows, "(x, k)", "int64[1] k = {8}", "y, i"},
      {"NonMaxSuppression", "float[1,4096,4] x, float[1,1,4096] s", "(x, s, n)",
       "int64 n = {4096}"},
      {"Range", "", "(a, b, c)",
       "float a = {0}, float b = {262144}, float c = {1}"},
      {"ConstantOfShape", "", "(s)", "int64[1] s = {262144}"},
      {"RandomNormal", "", "<shape = [262144]> ()"},
      {"RandomUniform", "", "<shape = [262144]> ()"},
      {"Multinomial", "float[64,1024] x", "<sample_size = 16384> (x)"},
      {"MelWeightMatrix", "", "(m, n, r, a, b)",
       "int64 m = {128}, int64 n = {4096}, int64 r = {16000},"
       "float a = {0}, float b = {8000}"},
      {"DFT", "float[1,262144,1] x", "(x, , a)", "int64 a = {1}"},
      {"STFT", "float[1,65536,1] x", "(x, s, , n)",
       "int64 s = {256}, int64 n = {1024}"},
      {"QuantizeLinear", kLine, "(x, s)", "float s = {0.5}"},
      {"DequantizeLinear", "uint8[262144] x", "(x, s)", "float s = {0.5}"},
      {"RNN", "float[64,4,64] x, float[1,64,64] w, float[1,64,64] r",
       "<hidden_size = 64> (x, w, r)"},
      {"GRU", "float[64,4,64] x, float[1,192,64] w, float[1,192,64] r",
       "<hidden_size = 64> (x, w, r)"},
      {"LSTM", "float[64,4,64] x, float[1,256,64] w, float[1,256,64] r",
       "<hidden_size = 64> (x, w, r)"},
      {"Attention", "float[1,4,512,64] x", "(x, x, x)"},
      {"ruleengine.ScaledDotProductAttention", "float[1,4,512,64] x",
       "<num_heads = 4> (x, x, x)"},
      {"ruleengine.AttentionForward", "float[1,4,512,64] x",
       "<sm_scale = 1.0> (x, x, x)"},
      {"aten.scaled_dot_product_attention", "float[1,4,512,64] x", "(x, x, x)"},
      {"com.microsoft.GroupQueryAttention", "float[1,512,256] x",
       "<num_heads = 4, kv_num_heads = 4> (x, x, x, , , n, t)",
       "int32[1] n = {511}, int32 t = {512}"},
      {"ai.onnx.preview.FlexAttention", "float[1,4,512,64] x", "(x, x, x)"},
      {"LinearAttention", "float[1,512,256] x",
       "<q_num_heads = 4, kv_num_heads = 4, update_rule = \"linear\">"
       "(x, x, x)",
       "", "y, s"},
      {"RotaryEmbedding",
       "float[4,8,512,64] x, float[4,512,32] c, float[4,512,32] s",
       "(x, c, s)"},
      {"StringConcat", "string[4096,8] x, string[8] z", "(x, z)"},
      {"StringNormalizer", "string[32768] x",
       "<case_change_action = \"UPPER\"> (x)"},
      {"StringSplit", "string[32768] x", "(x)", "", "y, n"},
      {"RegexFullMatch", "string[32768] x", "<pattern = \"a+\"> (x)"},
      {"TfIdfVectorizer", "int64[65536] x",
       "<mode = \"TF\", min_gram_length = 1, max_gram_length = 1,"
       " max_skip_count = 0, ngram_counts = [0], ngram_indexes = [0],"
       " pool_int64s = [1]> (x)"},
      {"SplitToSequence", kRows, "(x)"},
      {"ConcatFromSequence", two, "<axis = 1> (s)", "", "y", 24,
       "s = SequenceConstruct(x, z)"},
      {"ai.onnx.ml.ArrayFeatureExtractor", "float[65536,16] x", "(x, i)",
       "int64[2] i = {3,5}"},
      {"ai.onnx.ml.Binarizer", kRows, "(x)"},
      {"ai.onnx.ml.FeatureVectorizer", kRows, "(x)"},
      {"ai.onnx.ml.Imputer", kRows,
       "<imputed_value_floats = [1.0], replaced_value_float = 0.5> (x)"},
      {"ai.onnx.ml.LabelEncoder", "int64[262144] x",
       "<keys_int64s = [1,2], values_int64s = [3,4]> (x)"},
      {"ai.onnx.ml.LinearRegressor", "float[65536,2] x",
       "<coefficients = [1.0,2.0]> (x)"},
      {"ai.onnx.ml.Normalizer", kRows, "<norm = \"L2\"> (x)"},
      {"ai.onnx.ml.OneHotEncoder", "int64[131072] x",
       "<cats_int64s = [0,1]> (x)"},
      {"ai.onnx.ml.Scaler", kRows, "<offset = [1.0], scale = [2.0]> (x)"},
      {"ai.onnx.ml.TreeEnsemble", "float[65536,2] x",
       "<n_targets = 1, tree_roots = [0], nodes_featureids = [0],"
       " nodes_splits = float[1] {0.5}, nodes_modes = uint8[1] {0},"
       " nodes_truenodeids = [0], nodes_trueleafs = [1],"
       " nodes_falsenodeids = [1], nodes_falseleafs = [1],"
       " leaf_targetids = [0,0], leaf_weights = float[2] {1.0,2.0}> (x)"},
  };
  const std::string update =
      "float[262144] x, float[262144] g, float[262144] h";
  const std::string rate = "float r = {0.5}, int64 t = {1}";
  const std::string training = "ai.onnx.preview.training.";
  out.push_back(
      {training + "Adagrad", update, "(r, t, x, g, h)", rate, "y, v"});
  out.push_back({training + "Momentum", update,
                 "<alpha = 0.5, beta = 0.5, mode = \"standard\","
                 " norm_coefficient = 0.5> (r, t, x, g, h)",
                 rate, "y, v"});
  out.push_back(
      {training + "Adam", update, "(r, t, x, g, h, h)", rate, "y, v, w"});
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

}  // namespace ruleengine::runtime
