#include "kernels/cuda/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/cuda/device/strided.h"

namespace ruleengine::kernels::cuda {

DataType input_type(const Preparation& p, std::size_t i) {
  const ir::Type* type = p.input_type(i);
  if (type == nullptr || !type->is_tensor() ||
      type->elem == DataType::kUndefined) {
    decline("the type of input " + std::to_string(i) + " is not known");
  }
  return type->elem;
}

DataType moved_type(const Preparation& p, std::size_t i) {
  const DataType type = input_type(p, i);
  const int bits = ir::bit_width(type);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) {
    decline("elements of an unknown width");
  }
  return type;
}

DataType indices_type(const Preparation& p, std::size_t i) {
  const DataType type = input_type(p, i);
  if (type != DataType::kInt32 && type != DataType::kInt64) {
    decline("the indices are neither int32 nor int64");
  }
  return type;
}

std::int32_t* node_flag(const Preparation& p, Session& session,
                        std::string what, std::string expected) {
  return session.flag({.what = std::move(what),
                       .where = p.node().graph().describe(p.node().id()),
                       .expected = std::move(expected)});
}

std::int32_t* beyond_flag(const Preparation& p, Session& session) {
  return node_flag(p, session, "an index is beyond its axis");
}

std::int64_t unit_of(const void* from, const void* to, std::int64_t& inner,
                     std::int64_t width) {
  constexpr std::int64_t kVector = 16;
  const auto address = reinterpret_cast<std::uintptr_t>(from) |
                       reinterpret_cast<std::uintptr_t>(to);
  if (inner * width % kVector != 0 || address % kVector != 0) return width;
  inner = inner * width / kVector;
  return kVector;
}

void need_few_axes(const Preparation& p) {
  for (std::size_t i = 0; i < p.node().input_count(); ++i) {
    const ir::Type* type = p.input_type(i);
    if (type == nullptr || !type->has_shape) continue;
    if (type->rank() > device::kMaxRank) decline("more axes than kernels take");
  }
}

void check_axes(std::size_t count) {
  if (count <= device::kMaxRank) return;
  runtime::fail_limit(
      Remedy::kDevice, "the GPU computes tensors of few axes only",
      fmt::format("{} axes, of which those that go on in each other are one",
                  device::kMaxRank),
      std::to_string(count));
}

std::string_view suffix(DataType dtype) {
  static constexpr std::pair<DataType, std::string_view> kSuffixes[] = {
      {DataType::kFloat, "f32"},     {DataType::kFloat16, "f16"},
      {DataType::kBfloat16, "bf16"}, {DataType::kInt32, "i32"},
      {DataType::kInt64, "i64"},     {DataType::kInt8, "i8"},
      {DataType::kUint8, "u8"},      {DataType::kBool, "bool"}};
  for (const auto& [type, text] : kSuffixes) {
    if (type == dtype) return text;
  }
  return "";
}

CUfunction kernel_of(Session& session, std::string_view family,
                     std::string_view name, DataType dtype,
                     std::span<const DataType> known) {
  if (std::ranges::find(known, dtype) == known.end()) {
    decline("no kernel computes in " + std::string(ir::data_type_name(dtype)));
  }
  return session.kernel(family, fmt::format("{}_{}", name, suffix(dtype)));
}

CUfunction kernel_of_width(Session& session, std::string_view family,
                           std::string_view name, std::int64_t width) {
  return session.kernel(family, fmt::format("{}_{}", name, width));
}

Launch spread(std::int64_t pieces, unsigned threads) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t blocks = (pieces + threads - 1) / threads;
  return {.x = static_cast<unsigned>(std::min(blocks, kMost)),
          .threads = threads};
}

Launch blocks(std::int64_t count, unsigned threads, std::size_t shared_bytes) {
  if (count > std::numeric_limits<std::int32_t>::max()) {
    runtime::fail_limit(Remedy::kDevice,
                        "the GPU cannot compute a tensor of this size", {}, {});
  }
  return {.x = static_cast<unsigned>(count),
          .threads = threads,
          .shared_bytes = static_cast<unsigned>(shared_bytes)};
}

}  // namespace ruleengine::kernels::cuda
