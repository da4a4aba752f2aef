// DataPlan: what goes into a result's data file, and what its tensors then
// say. It is filled by writing the model once (every tensor that wants to be
// outside reports itself), laid out by finish(), and answers while the model is
// written again. Ranges of the original files that touch or overlap become one
// extent, so that a whole file is one copy and no range is copied twice; an
// extent keeps its offset within a page, which lets file systems share blocks.
#ifndef RULEENGINE_CORE_IO_WRITE_DATA_PLAN_H_
#define RULEENGINE_CORE_IO_WRITE_DATA_PLAN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/tensor.h"

namespace ruleengine::io {

class DataPlan {
 public:
  enum class Originals : std::uint8_t {
    kCopy,   // external data is copied into the data file
    kShare,  // tensors keep referring to the original files
  };

  // `location` is the data file as the model names it. With `spill`, large
  // tensors that were inside the model go out too.
  DataPlan(std::string location, Originals originals, bool spill);

  bool relocates() const { return originals_ == Originals::kCopy; }
  bool spills() const { return spill_; }
  // Whether a tensor of that many bytes, made by a rule, goes outside.
  static bool is_large(std::uint64_t size) { return size > 1024; }

  // Where `size` bytes that the model had outside are to be found.
  ir::ExternalRef original(const ir::ExternalRef& ref, std::uint64_t size);
  // The same for a tensor that had no file. It must outlive the plan.
  ir::ExternalRef stored(const ir::Tensor& tensor, std::uint64_t size);

  // Ends the first pass.
  void finish();
  // The data file has another name.
  void set_location(std::string location) { location_ = std::move(location); }

  struct Extent {
    std::string_view file;
    std::uint64_t begin, end;  // in `file`
    std::uint64_t at = 0;      // in the data file
  };
  struct Stored {
    const ir::Tensor* tensor;
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
    std::vector<Extent> ranges;  // as reported; later: first extent, count
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
  std::unordered_map<const ir::Tensor*, std::size_t> stored_index_;
  std::uint64_t size_ = 0;
};

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_WRITE_DATA_PLAN_H_
