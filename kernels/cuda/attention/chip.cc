#include "kernels/cuda/attention/chip.h"

#include "core/base/json.h"
#include "kernels/cuda/attention/bytes.h"

namespace ruleengine::kernels::cuda {

std::string Chip::json() const {
  Json text = Json::object();
  for (const ChipNumber& each : kChipNumbers) {
    text[each.name] = this->*each.field;
  }
  for (const ChipSizes& each : kChipSizes) text[each.name] = this->*each.field;
  text[kChipName] = name;
  return text.text(-1, true);
}

std::string Chip::key() const {
  ByteWriter bytes;
  bytes.text(name);
  Chip any = *this;
  any.pci_device = any.device = 0;
  for (const ChipNumber& each : kChipNumbers) bytes.number(any.*each.field);
  for (const ChipSizes& each : kChipSizes) {
    for (const std::int64_t size : this->*each.field) bytes.number(size);
  }
  return bytes.take();
}

}  // namespace ruleengine::kernels::cuda
