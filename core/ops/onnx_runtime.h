// What the engine has to know about ONNX Runtime, the runtime that most models
// are for: up to which opset it runs an op on a CPU (needed to raise a model's
// opset), and how it reads what the standard leaves open. Pure data, of version
// 1.31; `python -m support.onnx_runtime` in tests/ prints the tables, and
// tests/rewrite/onnx_runtime_test.py checks them against the runtime.
#pragma once

#include <array>
#include <string_view>

namespace ruleengine::ops {

inline constexpr std::string_view kRuntimeName = "ONNX Runtime 1.31";

// The opset that ONNX Runtime assumes for a domain that a model uses but does
// not import. For the standard domain it is the newest opset that it loads.
struct ImpliedOpset {
  std::string_view domain;
  int version;
};
inline constexpr std::array kImpliedOpsets = {
    ImpliedOpset{"", 26},
    ImpliedOpset{"ai.onnx.ml", 5},
    ImpliedOpset{"ai.onnx.preview", 1},
    ImpliedOpset{"ai.onnx.preview.training", 1},
    ImpliedOpset{"ai.onnx.training", 1},
    ImpliedOpset{"com.microsoft", 1},
    ImpliedOpset{"com.microsoft.experimental", 1},
    ImpliedOpset{"com.microsoft.nchwc", 1},
    ImpliedOpset{"org.pytorch.aten", 1},
};
inline constexpr int kRuntimeOpset = kImpliedOpsets[0].version;

// Ops with a CPU kernel up to this opset, but none for a later version of the
// op.
struct LastKernel {
  std::string_view type;
  int opset;
};
inline constexpr std::array kLastKernels = {
    LastKernel{"GlobalLpPool", 21},      LastKernel{"MaxRoiPool", 21},
    LastKernel{"Multinomial", 21},       LastKernel{"RandomNormal", 21},
    LastKernel{"RandomNormalLike", 21},  LastKernel{"RandomUniform", 21},
    LastKernel{"RandomUniformLike", 21}, LastKernel{"RoiAlign", 21},
};

// From this opset on its optimizer moves only uint8 quantization past a
// Transpose, Reshape and the like; a model with such a quantization of another
// type fails to load.
inline constexpr int kMovesUint8Alone = 21;

}  // namespace ruleengine::ops
