// The ONNX library's messages. cmake/onnx.sh builds it in a namespace of its
// own, which is called onnx here. For targets that link ruleengine_onnx.
#pragma once

#include <onnx/onnx_pb.h>

namespace onnx = ONNX_NAMESPACE;
