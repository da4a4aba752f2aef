#include "core/io/write/data_plan.h"

#include <algorithm>

#include "core/io/output.h"

namespace ruleengine::io {
namespace {

// Gaps between tensors up to this size are copied too.
constexpr std::uint64_t kMaxGap = 64 * 1024;
constexpr std::uint64_t kPageAligned = 1024 * 1024;  // tensors this large
constexpr std::uint64_t kAlign = 64;

std::uint64_t aligned(std::uint64_t at, std::uint64_t to) {
  return (at + to - 1) / to * to;
}

}  // namespace

ir::ExternalRef DataPlan::original(const ir::ExternalRef& ref,
                                   std::uint64_t size) {
  if (originals_ == Originals::kShare) return ref;
  const auto begin = static_cast<std::uint64_t>(ref.offset);
  ir::ExternalRef out{location_, 0, static_cast<std::int64_t>(size)};
  auto [it, added] = file_index_.emplace(ref.location, files_.size());
  if (added) files_.push_back({ref.location, {}});
  File& file = files_[it->second];
  if (!finished_) {
    file.ranges.push_back({ref.location, begin, begin + size});
    return out;
  }
  if (size == 0) return out;
  const auto first = extents_.begin() + static_cast<std::ptrdiff_t>(file.first);
  auto extent = std::ranges::upper_bound(
      first, first + static_cast<std::ptrdiff_t>(file.count), begin, {},
      &Extent::begin);
  --extent;
  out.offset = static_cast<std::int64_t>(extent->at + begin - extent->begin);
  return out;
}

ir::ExternalRef DataPlan::stored(const ir::Literal& tensor,
                                 std::uint64_t size) {
  ir::ExternalRef out{location_, 0, static_cast<std::int64_t>(size)};
  auto [it, added] = stored_index_.emplace(&tensor, stored_.size());
  if (added) stored_.push_back({&tensor, size});
  out.offset = static_cast<std::int64_t>(stored_[it->second].at);
  return out;
}

void DataPlan::finish() {
  finished_ = true;
  for (File& file : files_) {
    std::ranges::sort(file.ranges, {}, [](const Extent& e) {
      return std::pair(e.begin, e.end);
    });
    file.first = extents_.size();
    for (const Extent& range : file.ranges) {
      if (range.begin == range.end) continue;
      if (extents_.size() > file.first &&
          range.begin <= extents_.back().end + kMaxGap) {
        extents_.back().end = std::max(extents_.back().end, range.end);
      } else {
        const std::uint64_t begin = range.begin / kPage * kPage;
        extents_.push_back({file.location, begin, range.end});
      }
    }
    file.count = extents_.size() - file.first;
    file.ranges = {};
  }
  for (Extent& extent : extents_) {
    extent.at = aligned(size_, kPage);
    size_ = extent.at + (extent.end - extent.begin);
  }
  for (Stored& tensor : stored_) {
    tensor.at = aligned(size_, tensor.size >= kPageAligned ? kPage : kAlign);
    size_ = tensor.at + tensor.size;
  }
}

}  // namespace ruleengine::io
