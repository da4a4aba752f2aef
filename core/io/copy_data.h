// DataFiles: the data files that are written along with a model: OUT.data, laid
// out by a DataPlan, or copies of the original files under their own names.
// They take their names in commit() and can give them back; see output.h.
#ifndef RULEENGINE_CORE_IO_COPY_DATA_H_
#define RULEENGINE_CORE_IO_COPY_DATA_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/data_plan.h"
#include "core/io/external.h"
#include "core/io/output.h"
#include "core/ir/model.h"

namespace ruleengine::io {

// Writes the bytes of a tensor that has to be made, and gives back the memory
// of what that read: however much is packed, little of it is held.
Status stream_tensor(const ir::Tensor& tensor, const ir::Model& model,
                     OutputFile& file);

class DataFiles {
 public:
  // Writes what the plan says; `source` is the model's, or null.
  Status write(const DataPlan& plan, const ir::Model& model,
               const FileSource* source, ExternalFiles* external,
               const std::string& path);

  // Copies every file of `external` to `folder`, under its own name. False,
  // and nothing done, when a name is one that a model had better not choose
  // (with folders, or hidden) or is taken by a file with other content.
  Result<bool> copy_originals(ExternalFiles& external,
                              const std::string& folder);

  Status commit(bool sync);
  void revert();
  void release();

 private:
  Status write_extents(const DataPlan& plan, ExternalFiles& external,
                       OutputFile& file);
  struct Pending {
    std::unique_ptr<OutputFile> file;
    bool may_replace;
  };
  std::vector<Pending> files_;
};

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_COPY_DATA_H_
