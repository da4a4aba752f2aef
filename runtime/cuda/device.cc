#include "runtime/cuda/device.h"

namespace ruleengine::runtime::cuda {

std::shared_ptr<const Device> Device::open(const Driver& driver) {
  // Owned at once, so that what was taken is given back where the rest fails.
  std::shared_ptr<Device> out(new Device(driver));
  driver.check(driver.cuDeviceGet(&out->device_, 0), "to open");
  driver.check(driver.cuDevicePrimaryCtxRetain(&out->context_, out->device_),
               "to make a context");
  return out;
}

Device::~Device() {
  if (context_ != nullptr) driver_.cuDevicePrimaryCtxRelease(device_);
}

int Device::attribute(CUdevice_attribute which) const {
  int out = 0;
  check(driver_.cuDeviceGetAttribute(&out, which, device_),
        "to describe itself");
  return out;
}

Stream::Stream(std::shared_ptr<const Device> device)
    : device_(std::move(device)) {
  const Current current(*device_);
  check(driver().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING),
        "to make a stream");
}

Stream::~Stream() {
  // Work that failed was told of where it was waited for.
  const CurrentAtEnd current(*device_);
  driver().cuStreamSynchronize(stream_);
  driver().cuStreamDestroy(stream_);
}

void Stream::begin_capture() {
  check(driver().cuStreamBeginCapture(stream_,
                                      CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        "to record work");
}

CUgraph Stream::end_capture() {
  CUgraph out = nullptr;
  is_idle_ = true;
  check(driver().cuStreamEndCapture(stream_, &out), "to record work");
  return out;
}

void Stream::wait() {
  if (is_idle_) return;
  // After a failure there is nothing to wait for.
  is_idle_ = true;
  check(driver().cuStreamSynchronize(stream_), "at its work");
}

}  // namespace ruleengine::runtime::cuda
