// Ops that move elements or give them another shape.
#include "kernels/moves.h"

#include "kernels/cuda/families.h"

namespace ruleengine::kernels::cuda {
namespace {

// Elements of a byte and more, which kernels copy.
bool is_copied(const ir::Type* type) {
  if (type == nullptr || !type->is_tensor()) return false;
  const int bits = ir::bit_width(type->elem);
  return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

template <auto prepare>
Op move(const Preparation& p, Session&) {
  if (!is_copied(p.input_type(0))) decline("elements of an unknown width");
  return prepare(p);
}

}  // namespace

void copy_strided(Session&, const runtime::StridedCopy&) {
  runtime::fail("not yet");
}

namespace {

constexpr Kernel kMoveKernels[] = {
    {"", "Concat", move<moves::concat>},
    {"", "DepthToSpace", move<moves::depth_to_space>},
    {"", "Expand", move<moves::expand>},
    {"", "Flatten", move<moves::flatten>},
    {"", "Identity", move<moves::identity>},
    {"", "Reshape", move<moves::reshape>},
    {"", "Slice", move<moves::slice>},
    {"", "SpaceToDepth", move<moves::space_to_depth>},
    {"", "Split", move<moves::split>},
    {"", "Squeeze", move<moves::squeeze>},
    {"", "Tile", move<moves::tile>},
    {"", "Transpose", move<moves::transpose>},
    {"", "Unsqueeze", move<moves::unsqueeze>},
};

}  // namespace

const KernelRows kMoveRows = kMoveKernels;

}  // namespace ruleengine::kernels::cuda
