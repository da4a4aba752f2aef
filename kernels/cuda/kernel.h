// The kernels of the GPU: a row for each op that has one. Internal to
// kernels/cuda.
#pragma once

#include <span>
#include <string_view>

#include "kernels/cuda/session.h"
#include "runtime/preparation.h"

namespace ruleengine::kernels::cuda {

using ir::DataType;
using runtime::Call;
using runtime::decline;
using runtime::Op;
using runtime::Preparation;
using runtime::Shape;
using runtime::Tensor;

struct Kernel {
  std::string_view domain, type;  // domain: "" for the standard one
  // The session outlives the op.
  Op (*prepare)(const Preparation& node, Session& session);
};
using KernelRows = std::span<const Kernel>;

}  // namespace ruleengine::kernels::cuda
