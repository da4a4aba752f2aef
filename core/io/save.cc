#include "core/io/save.h"

#include <fmt/format.h>

#include <climits>
#include <memory>
#include <optional>
#include <utility>

#include "core/io/load.h"
#include "core/io/output.h"
#include "core/io/read/external.h"
#include "core/io/read/file_names.h"
#include "core/io/read/mapping.h"
#include "core/io/write/copy_data.h"
#include "core/io/write/data_plan.h"
#include "core/io/write/emit.h"
#include "core/io/write/write_model.h"

namespace ruleengine::io {
namespace {

// protobuf's limit on the size of a message.
constexpr std::uint64_t kMaxMessage = INT_MAX;
// From this size on a system call is cheaper than a copy through the buffer.
constexpr std::uint64_t kStream = 128 * 1024;

class Saver {
 public:
  Saver(const ir::Model& model, const std::string& path,
        const SaveOptions& options)
      : model_(model),
        path_(path),
        data_path_(data_path(path, 1)),
        options_(options),
        source_(dynamic_cast<const FileSource*>(model.source.get())),
        external_(dynamic_cast<ExternalFiles*>(model.external.get())),
        source_bytes_(model.source ? model.source->bytes() : Bytes()),
        data_(path, options.sync) {}

  Result<Staged> run() {
    if (Status s = write_all(); !s) return s.error();
    return Staged(std::move(out_), std::move(data_));
  }

 private:
  Status write_all() {
    if (Status s = check_paths(); !s) return s;
    if (Status s = start(); !s) return s;
    const bool as_it_is = !model_.changed && model_.source != nullptr;
    if (!as_it_is) return save_changed();
    if (external_ == nullptr || in_own_folder()) return save_as_it_is();
    Result<bool> beside = data_.copy_originals(*external_);
    if (!beside) return beside.error();
    if (!*beside) return save_changed();
    if (Status s = save_as_it_is(); !s) return s;
    Result<bool> taken = take_data_names();
    if (!taken || *taken) return taken ? Status() : taken.error();
    data_ = DataFiles(path_, options_.sync);
    if (Status s = start(); !s) return s;
    return save_changed();
  }

  Status start() {
    out_ = nullptr;
    Result<std::unique_ptr<OutputFile>> out = OutputFile::create(path_);
    if (!out) return out.error();
    out_ = std::move(*out);
    return {};
  }

  // Finishes the model's file.
  Status finish() {
    if (Status s = out_->finish(options_.sync); !s) return s;
    return check_intact(model_);
  }

  Status save_as_it_is() {
    if (Status s = write(source_bytes_); !s) return s;
    return finish();
  }

  // The model gets a temporary name before its data gets names: if the process
  // dies, it tells the next run that the data is ours.
  Result<bool> take_data_names() {
    if (Status s = out_->give_temporary_name(); !s) return s.error();
    return data_.take_names();
  }

  static Diagnostic usage(std::string what, const std::string& where,
                          std::string hint) {
    return {.kind = ErrorKind::kUsage,
            .what = std::move(what),
            .where = printable(where),
            .hint = std::move(hint)};
  }

  bool in_own_folder() const {
    // What the caller gave need not be there.
    if (external_ == nullptr || external_->any_given()) return false;
    const std::optional<Existing> folder = existing(folder_of(path_));
    return folder && folder->id == external_->folder_id();
  }

  bool is_original(const std::string& path) const {
    const std::optional<Existing> old = existing(path);
    if (!old) return false;
    return (source_ != nullptr && source_->is_file() &&
            source_->id() == old->id) ||
           (external_ != nullptr && external_->owns(old->id));
  }

  Status check_paths() const {
    if (is_original(path_)) {
      return usage("the result would replace the model or its data", path_,
                   "give the result another name with -o");
    }
    if (external_ != nullptr) {
      if (Status s = check_data_path(); !s) return s;
    }
    if (options_.share_data && external_ != nullptr && !in_own_folder()) {
      return usage("the result can share the model's data only in its folder",
                   path_, "copy the data, or write beside the model");
    }
    return {};
  }

  Status check_data_path() const {
    if (!is_original(data_path_)) return {};
    return usage("the data of the result would replace the model or its data",
                 data_path_, "give the result another name with -o");
  }

  Status save_changed() {
    Rope rope(source_bytes_);
    std::optional<DataPlan> plan;
    if (Status s = build(rope, plan); !s) return s;
    if (plan && !plan->empty()) return save_with_data(*plan);
    return save_rope(rope);
  }

  Status save_rope(const Rope& rope) {
    for (const Piece& piece : rope.pieces()) {
      if (Status s = write(piece); !s) return s;
    }
    return finish();
  }

  // The model contains the name of its data, so with another name it is written
  // again.
  Status save_with_data(DataPlan& plan) {
    constexpr int kTries = 100;
    for (int i = 0; i < kTries; ++i) {
      Result<std::string> name =
          data_.prepare({plan, model_, source_, external_});
      if (!name) return name.error();
      plan.set_location(file_of(*name));
      Rope rope(source_bytes_);
      if (Status s = write_to(rope, &plan); !s) return s;
      if (i > 0) {
        if (Status s = start(); !s) return s;
      }
      if (Status s = save_rope(rope); !s) return s;
      Result<bool> taken = take_data_names();
      if (!taken) return taken.error();
      if (*taken) return {};
    }
    return Diagnostic{
        .kind = ErrorKind::kWrite,
        .what = "other runs keep taking the name of the data file",
        .where = printable(data_path_)};
  }

  // Writes the model into a rope to find which tensors go outside. If any do,
  // `plan` is set, and the rope is not the final one.
  Status build(Rope& rope, std::optional<DataPlan>& plan) {
    if (external_ != nullptr) {
      plan.emplace(file_of(data_path_),
                   options_.share_data ? DataPlan::Originals::kShare
                                       : DataPlan::Originals::kCopy,
                   false);
    }
    if (Status s = write_to(rope, plan ? &*plan : nullptr); !s) return s;
    const bool too_large = !plan && rope.size() > kMaxMessage &&
                           source_bytes_.size() <= kMaxMessage;
    if (too_large) {
      if (Status s = check_data_path(); !s) return s;
      plan.emplace(file_of(data_path_), DataPlan::Originals::kCopy, true);
      Rope first(source_bytes_);
      if (Status s = write_to(first, &*plan); !s) return s;
    }
    if (!plan) return {};
    plan->finish();
    if (!plan->empty()) return {};
    rope = Rope(source_bytes_);
    return write_to(rope, &*plan);
  }

  Status write_to(Rope& rope, DataPlan* plan) {
    Emitter emitter(rope, plan, external_);
    return write_model(model_, emitter);
  }

  Status write(Bytes bytes) {
    if (bytes.size() >= kStream && source_ != nullptr &&
        source_->holds(bytes)) {
      return out_->copy(source_->descriptor(), source_->offset(bytes),
                        bytes.size());
    }
    return out_->write(bytes);
  }

  Status write(const Piece& piece) {
    if (Status s = options_.deadline.check(); !s) return s;
    if (piece.tensor == nullptr) return write(Bytes(piece.data, piece.size));
    return stream_tensor(*piece.tensor, model_, *out_);
  }

  const ir::Model& model_;
  const std::string path_, data_path_;
  const SaveOptions options_;
  const FileSource* source_;
  ExternalFiles* external_;
  Bytes source_bytes_;
  std::unique_ptr<OutputFile> out_;
  DataFiles data_;
};

}  // namespace

Result<Staged> stage(const ir::Model& model, const std::string& path,
                     const SaveOptions& options) {
  const FileSizeSignalBlock no_signal;
  return Saver(model, path, options).run();
}

Status save(const ir::Model& model, const std::string& path,
            const SaveOptions& options) {
  auto staged = stage(model, path, options);
  if (!staged) return staged.error();
  if (Status s = staged->commit(); !s) return s;
  staged->release();
  return {};
}

namespace {

// The encoded message, unless it is larger than protobuf may read.
Status write_message(const ir::Model& model, DataPlan* plan,
                     const SizedSink& sink) {
  const Bytes source = model.source ? model.source->bytes() : Bytes();
  Rope rope(source);
  Emitter emitter(rope, plan, nullptr);
  if (Status s = write_model(model, emitter); !s) return s;
  if (rope.size() > kMaxMessage && source.size() <= kMaxMessage) {
    return Diagnostic{
        .kind = ErrorKind::kWrite,
        .what = "the result is larger than a message of protobuf may be",
        .expected = fmt::format("at most {} bytes", kMaxMessage),
        .found = fmt::format("{} bytes", rope.size()),
        .hint = "write it to a file, which has its weights beside it"};
  }
  if (Status s = sink.size(rope.size()); !s) return s;
  return stream(rope, model, sink.bytes);
}

// A data file without a file.
class Passed final : public ByteSink {
 public:
  explicit Passed(const SizedSink& to) : to_(to) {}

  Status write(Bytes bytes) override {
    written_ += bytes.size();
    return to_.bytes(bytes);
  }
  Status copy(int, std::uint64_t, std::uint64_t) override {
    return Diagnostic{.kind = ErrorKind::kInternal,
                      .what = "a new tensor is in a file"};
  }
  Status pad(std::uint64_t to) override {
    return to == written_ ? Status()
                          : write(as_bytes(std::string(to - written_, '\0')));
  }

 private:
  const SizedSink& to_;
  std::uint64_t written_ = 0;
};

}  // namespace

Status stream(const ir::Model& model, const SizedSink& sink) {
  if (!model.changed && model.source != nullptr) {
    const Bytes source = model.source->bytes();
    if (Status s = sink.size(source.size()); !s) return s;
    if (Status s = sink.bytes(source); !s) return s;
    return check_intact(model);
  }
  if (Status s = write_message(model, nullptr, sink); !s) return s;
  return check_intact(model);
}

Status stream_apart(const ir::Model& model, const std::string& location,
                    const SizedSink& message, const SizedSink& data) {
  DataPlan plan(location, DataPlan::Originals::kShare, false);
  if (model.changed || model.source == nullptr) {
    Rope first;
    Emitter emitter(first, &plan, nullptr);
    if (Status s = write_model(model, emitter); !s) return s;
  }
  plan.finish();
  if (plan.empty()) return stream(model, message);
  if (Status s = write_message(model, &plan, message); !s) return s;
  if (Status s = data.size(plan.size()); !s) return s;
  Passed passed(data);
  const DataContents contents{plan, model, nullptr, nullptr};
  if (Status s = write_contents(contents, passed); !s) return s;
  return check_intact(model);
}

Result<std::string> serialize(const ir::Model& model) {
  std::string out;
  const Status done = stream(model, {.size =
                                         [&](std::uint64_t size) {
                                           out.reserve(size);
                                           return Status();
                                         },
                                     .bytes =
                                         [&](Bytes bytes) {
                                           out.append(as_text(bytes));
                                           return Status();
                                         }});
  if (!done) return done.error();
  return out;
}

}  // namespace ruleengine::io
