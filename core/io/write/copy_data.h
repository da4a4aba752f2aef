// DataFiles: the data files of one result: one that is laid out by a DataPlan,
// or copies of the original files under their own names. Each is written in
// full before it takes a name, and only ever a free one, so that no model that
// is there refers to other bytes than it did. Bytes that are there already are
// used, and not written again. Names can be given back until the result has
// its own; see leftovers.h for when they are. One thread each.
#ifndef RULEENGINE_CORE_IO_WRITE_COPY_DATA_H_
#define RULEENGINE_CORE_IO_WRITE_COPY_DATA_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/io/output.h"
#include "core/io/read/external.h"
#include "core/io/write/byte_sink.h"
#include "core/io/write/data_plan.h"
#include "core/ir/model.h"

namespace ruleengine::io {

// Writes the bytes of a tensor that has to be made, and gives back the memory
// of what that read: however much is packed, little of it is held.
Status stream_tensor(const ir::Tensor& tensor, const ir::Model& model,
                     ByteSink& file);

// What a data file is made of; `source` is the model's, or null.
struct DataContents {
  const DataPlan& plan;
  const ir::Model& model;
  const FileSource* source;
  ExternalFiles* external;
};

class DataFiles {
 public:
  DataFiles() = default;
  DataFiles(std::string result, bool sync)
      : result_(std::move(result)), sync_(sync) {}

  // Writes what the plan says, unless it is there. Its path is a data name of
  // the result (file_names.h), which take_names() is to take: the first that is
  // free or holds these bytes, but one that the older result uses comes first.
  // Again after that failed: the next such name.
  Result<std::string> prepare(const DataContents& contents);

  // Copies every file of `external` to the folder, under its own name. False,
  // and nothing done, when a name is one that a model had better not choose
  // (with folders, or hidden) or is taken by a file with other content.
  Result<bool> copy_originals(ExternalFiles& external);

  // False, and none is taken, when another run took one meanwhile.
  Result<bool> take_names();
  bool any() const { return !files_.empty(); }

  // Other runs may do away with what nobody uses.
  void let_go();
  // Gives back the names that were taken. False when another run holds one.
  bool give_back();

 private:
  // One that we wrote, or one that was there.
  struct DataFile {
    std::string path;
    std::unique_ptr<OutputFile> written;
    Descriptor found;
    bool taken = false;
    Doomed doomed = {};
  };
  Result<Descriptor> find(const std::string& path, const DataContents& data);
  Result<bool> find_any(const DataContents& contents, std::string& free);

  std::string result_;
  bool sync_ = false;
  std::vector<DataFile> files_;
};

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_WRITE_COPY_DATA_H_
