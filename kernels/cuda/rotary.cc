// RotaryEmbedding: of the standard, and of ONNX Runtime.
#include "kernels/cuda/device/rotary.h"

#include "kernels/attention.h"
#include "kernels/cuda/families.h"
#include "kernels/keeping.h"
#include "kernels/rotary.h"

namespace ruleengine::kernels::cuda {
namespace {

// Which inputs are what; the first one is turned.
struct RotaryInputs {
  std::size_t cosines, sines, positions;
  // ONNX Runtime's: the cosines tell how much of a head is turned, and a single
  // position is that of the first row.
  bool is_contrib = false;
};

class Rotary {
 public:
  Rotary(const Preparation& p, Session& session, const RotaryInputs& inputs)
      : session_(session),
        inputs_(inputs),
        type_(input_type(p, 0)),
        kernel_(kernel_of(session, "rotary", "rotary", type_, kFloats)),
        beyond_(node_flag(p, session, "a position is out of range",
                          "below the number of rows of cosines")),
        heads_(p.attribute_int("num_heads")),
        turned_(p.attribute_int("rotary_embedding_dim")),
        is_interleaved_(p.attribute_flag("interleaved")) {
    for (const std::size_t i : {inputs.cosines, inputs.sines}) {
      if (input_type(p, i) != type_) decline("the inputs differ in type");
    }
    if (p.node().has_input(inputs.positions) &&
        input_type(p, inputs.positions) != DataType::kInt64) {
      decline("the positions are not int64");
    }
  }

  void operator()(Call& c) const {
    c.expect_type(0, type_);
    const Tensor& given = c.expect_rank(0, 3, 4);
    // The elements of a head are beside each other. A copy of the tensor would
    // be another owner, so that nothing is computed in its place.
    Tensor compacted;
    if (!given.is_dense() && given.strides().back() != 1) {
      compacted = runtime::compact(given, c.run());
    }
    const Tensor& x = compacted.place() == nullptr ? given : compacted;
    if (x.count() == 0) {
      c.output(0, type_, x.dims());
      return;
    }
    device::RotaryArgs args = sizes_of(c, x);
    args.in = x.data<std::byte>();
    set_angles(c, args);
    Tensor& out = c.output_in_place(0, 0, type_, x.dims());
    args.out = out.mutable_data<std::byte>();
    session_.launch(
        kernel_,
        spread(rotary_chunks(args, width_of(type_)), device::kRotaryThreads),
        args);
  }

 private:
  // What follows from the input and the attributes.
  device::RotaryArgs sizes_of(const Call& c, const Tensor& x) const {
    device::RotaryArgs args{};
    const bool is_merged = x.rank() == 3;
    const std::int64_t half = row_size(c, inputs_.cosines);
    args.batch = x.dim(0);
    args.seq = x.dim(is_merged ? 1 : 2);
    args.heads = x.dim(1);
    std::int64_t size = x.dim(x.rank() - 1);
    if (is_merged) {
      // Without a number of heads, the cosines turn whole heads.
      const bool is_told = heads_ != 0 || !inputs_.is_contrib || half == 0;
      args.heads = is_told ? heads_ : size / (2 * half);
      size = head_size(size, args.heads);
    }
    const std::int64_t all = inputs_.is_contrib ? 2 * half : size;
    const std::int64_t turned = turned_ == 0 ? all : turned_;
    expect_turned(turned, size, c.input(inputs_.cosines),
                  c.input(inputs_.sines));
    args.head_size = static_cast<std::int32_t>(size);
    args.rotated = static_cast<std::int32_t>(turned);
    args.is_interleaved = is_interleaved_;
    const std::int64_t head = is_merged ? size : args.seq * size;
    const std::int64_t row = is_merged ? args.heads * size : size;
    const std::int64_t strides[] = {args.heads * args.seq * size, head, row};
    std::ranges::copy(strides, args.in_strides);
    std::ranges::copy(strides, args.out_strides);
    if (x.is_dense()) return args;
    args.in_strides[0] = x.strides()[0];
    if (!is_merged) args.in_strides[1] = x.strides()[1];
    args.in_strides[2] = x.strides()[is_merged ? 1 : 2];
    return args;
  }

  void set_angles(const Call& c, device::RotaryArgs& args) const {
    const bool has_positions = c.has_input(inputs_.positions);
    const Tensor& cosines =
        c.expect_rank(inputs_.cosines, has_positions ? 2 : 3);
    c.expect_type(inputs_.cosines, type_);
    args.cosines = cosines.data<std::byte>();
    args.sines = c.expect_type(inputs_.sines, type_).data<std::byte>();
    args.beyond = beyond_;
    if (!has_positions) {
      expect_angles(c, inputs_.cosines, args.batch, args.seq);
      const std::int64_t batches = cosines.dim(0), rows = cosines.dim(1);
      args.row_strides[0] = batches == 1 ? 0 : rows;
      args.row_strides[1] = rows == 1 ? 0 : 1;
      return;
    }
    const Tensor& positions =
        c.expect_type(inputs_.positions, DataType::kInt64);
    args.counts_on = inputs_.is_contrib && positions.rank() < 2;
    c.expect_count(inputs_.positions,
                   args.counts_on ? 1 : args.batch * args.seq);
    args.positions = positions.data<std::int64_t>();
    args.position_count = cosines.dim(0);
  }

  static std::int64_t row_size(const Call& c, std::size_t i) {
    const Tensor& t = c.expect_min_rank(i, 1);
    return t.dim(t.rank() - 1);
  }

  Session& session_;
  RotaryInputs inputs_;
  DataType type_;
  CUfunction kernel_;
  std::int32_t* beyond_;
  std::int64_t heads_, turned_;
  bool is_interleaved_;
};

Op standard_rotary(const Preparation& p, Session& session) {
  return Rotary(p, session, {.cosines = 1, .sines = 2, .positions = 3});
}

Op contrib_rotary(const Preparation& p, Session& session) {
  if (p.attribute_int("is_packed_batching") != 0 ||
      p.attribute_float("scale") != 1) {
    decline("a packed or scaled rotation");
  }
  return Rotary(p, session,
                {.cosines = 2, .sines = 3, .positions = 1, .is_contrib = true});
}

constexpr Kernel kRotaryKernels[] = {
    {"", "RotaryEmbedding", standard_rotary, 0, kFirstInput},
    {"com.microsoft", "RotaryEmbedding", contrib_rotary, 0, kFirstInput},
};

}  // namespace

const KernelRows kRotaryRows = kRotaryKernels;

}  // namespace ruleengine::kernels::cuda
