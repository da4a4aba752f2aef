// DataFiles: the data files of one result: one that a DataPlan lays out, or
// copies of the original files under their own names. Each is written in full
// before it takes a name, and only a free name, so that existing models never
// refer to changed bytes. Existing files with the right bytes are used and not
// written again. Names can be given back until the result has its own; see
// leftovers.h for when they are removed. One thread each.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/io/output.h"
#include "core/io/read/external.h"
#include "core/io/write/data_plan.h"
#include "core/ir/model.h"

namespace ruleengine::io {

// Writes the bytes of a computed tensor, and releases the memory that was read
// for it, so that memory stays small however much is written.
Status stream_tensor(const ir::Literal& tensor, const ir::Model& model,
                     ByteSink& file);

// The content of a data file; `source` is the model's, or null.
struct DataContents {
  const DataPlan& plan;
  const ir::Model& model;
  const FileSource* source;
  ExternalFiles* external;
};

// Writes the planned file into the sink.
Status write_contents(const DataContents& data, ByteSink& file);

class DataFiles {
 public:
  DataFiles() = default;
  DataFiles(std::string result, bool sync)
      : result_(std::move(result)), sync_(sync) {}

  // Writes the planned file, unless it exists, and returns its path: the data
  // name of the result (file_names.h) that take_names() shall take. That is the
  // name that the older result uses, if it has these bytes, else the first one
  // that is free or has them. If take_names() failed, call it again for the
  // next name.
  Result<std::string> prepare(const DataContents& contents);

  // Copies every file of `external` to the folder, under its own name. False,
  // and nothing is done, when a name is in a subfolder or hidden, or belongs to
  // a file with other content.
  Result<bool> copy_originals(ExternalFiles& external);

  // False, and no name is taken, when another run took one meanwhile.
  Result<bool> take_names();
  bool any() const { return !files_.empty(); }

  // Releases the locks: other runs may then remove unused data.
  void let_go();
  // Gives back the names that were taken. False when another run has locked
  // one.
  bool give_back();

 private:
  // A file that we wrote, or an existing one.
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
