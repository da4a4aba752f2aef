// Versions of cuDNN that are known to compute some attentions wrongly. The list
// is blocked.txt, which says how it is written; a file can stand for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "kernels/cuda/attention/chip.h"
#include "kernels/cuda/attention/description.h"

namespace ruleengine::kernels::cuda {

class BlockedVersions {
 public:
  // The list that was there when this was built.
  static const BlockedVersions& built_in();
  // `name`: of the text, for messages.
  static Result<BlockedVersions> parse(std::string_view text,
                                       std::string_view name);
  static Result<BlockedVersions> read(const std::string& path);

  // Why this attention is not for this version, as cudnn_version() tells it.
  std::optional<std::string> reason(const AttentionDescription& d,
                                    const Chip& chip,
                                    std::int64_t version) const;
  std::size_t size() const { return lines_.size(); }

 private:
  struct Condition {
    std::size_t word = 0;  // of the words that the file knows
    std::int64_t number = 0;
    bool holds = true;
  };
  struct Line {
    std::int64_t first = 0, last = 0;
    std::vector<Condition> conditions;
    std::string reason;
  };
  friend class BlockedReader;

  std::vector<Line> lines_;
};

}  // namespace ruleengine::kernels::cuda
