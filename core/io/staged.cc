#include "core/io/staged.h"

#include <utility>

#include "core/io/leftovers.h"

namespace ruleengine::io {

Staged::~Staged() {
  if (committed_ != nullptr) {
    release();
  } else if (file_ != nullptr) {
    drop();
  }
}

Staged& Staged::operator=(Staged&& from) noexcept {
  std::swap(file_, from.file_);
  std::swap(data_, from.data_);
  std::swap(committed_, from.committed_);
  return *this;
}

Status Staged::commit() {
  if (file_ == nullptr) return {};
  committed_ = std::make_unique<SignalHold>();
  Status s = file_->commit();
  if (!s) committed_ = nullptr;
  return s;
}

// The model is removed after its data: it tells the next run whose data that
// is.
void Staged::drop() {
  if (!data_.give_back()) file_->leave_temporary();
  file_ = nullptr;
  data_ = {};
}

void Staged::revert() {
  if (committed_ == nullptr) return;
  file_->revert();
  drop();
  committed_ = nullptr;
}

void Staged::release() {
  if (committed_ == nullptr) return;
  file_->release();
  // In this order: a run that replaced the result meanwhile could not remove it
  // and its data while we held them.
  let_go_of(file_->descriptor());
  data_.let_go();
  if (!file_->has_name()) (void)data_.give_back();
  if (data_.any()) remove_leftovers(std::span(&file_->path(), 1));
  file_ = nullptr;
  data_ = {};
  committed_ = nullptr;
}

Status commit_all(std::span<Staged* const> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto status = results[i]->commit();
    if (status) continue;
    while (i-- > 0) results[i]->revert();
    return status;
  }
  for (Staged* each : results) each->release();
  return {};
}

}  // namespace ruleengine::io
