// DataPlan: the layout of a result's data file, and the references of its
// tensors. It is filled by writing the model once (every tensor that shall be
// outside reports itself), laid out by finish(), and used when the model is
// written again. Ranges of the original files that touch or overlap become one
// extent, so that a whole file is one copy and no range is copied twice; an
// extent keeps its offset within a page, so that file systems can share blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/literal.h"

namespace ruleengine::io {

class DataPlan {
 public:
  enum class Originals : std::uint8_t {
    kCopy,   // external data is copied into the data file
    kShare,  // tensors keep referring to the original files
  };

  // `location`: the data file as named in the model. `spill`: large tensors
  // from inside the model go to the data file too.
  DataPlan(std::string location, Originals originals, bool spill)
      : location_(std::move(location)), originals_(originals), spill_(spill) {}

  bool relocates() const { return originals_ == Originals::kCopy; }
  bool spills() const { return spill_; }
  // Whether a new tensor of that many bytes goes outside.
  static bool is_large(std::uint64_t size) { return size > 1024; }

  // The new place of `size` bytes that were external data of the model.
  ir::ExternalRef original(const ir::ExternalRef& ref, std::uint64_t size);
  // The same for a tensor without a file. The tensor must outlive the plan.
  ir::ExternalRef stored(const ir::Literal& tensor, std::uint64_t size);

  // Ends the first pass and lays out the file.
  void finish();
  // Renames the data file.
  void set_location(std::string location) { location_ = std::move(location); }

  struct Extent {
    std::string_view file;
    std::uint64_t begin, end;  // in `file`
    std::uint64_t at = 0;      // in the data file
  };
  struct Stored {
    const ir::Literal* tensor;
    std::uint64_t size;
    std::uint64_t at = 0;
  };
  const std::vector<Extent>& extents() const { return extents_; }
  const std::vector<Stored>& stored() const { return stored_; }
  bool empty() const { return extents_.empty() && stored_.empty(); }
  std::uint64_t size() const { return size_; }

 private:
  struct File {
    std::string_view location;
    std::vector<Extent> ranges;  // as reported
    std::size_t first = 0, count = 0;
  };

  std::string location_;
  Originals originals_;
  bool spill_;
  bool finished_ = false;
  std::vector<File> files_;  // in the order of first use
  std::unordered_map<std::string_view, std::size_t> file_index_;
  std::vector<Extent> extents_;
  std::vector<Stored> stored_;
  std::unordered_map<const ir::Literal*, std::size_t> stored_index_;
  std::uint64_t size_ = 0;
};

}  // namespace ruleengine::io
