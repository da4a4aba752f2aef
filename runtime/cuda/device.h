// A GPU that is open: its context, and a stream for the work of one session.
// Calls of the driver need the context, which a Current makes the thread's own
// as long as it lives.
#pragma once

#include <memory>

#include "runtime/cuda/driver.h"

namespace ruleengine::runtime::cuda {

// Any thread may use it.
class Device {
 public:
  // The first one that the driver names. Throws Failure.
  static std::shared_ptr<const Device> open(const Driver& driver);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Driver& driver() const { return driver_; }
  void check(CUresult status, std::string_view doing) const {
    driver_.check(status, doing);
  }
  CUcontext context() const { return context_; }
  int attribute(CUdevice_attribute which) const;

 private:
  explicit Device(const Driver& driver) : driver_(driver) {}
  const Driver& driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

// In the end of objects, which throws nothing; where it fails, so do the calls.
class CurrentAtEnd {
 public:
  explicit CurrentAtEnd(const Device& device)
      : driver_(device.driver()),
        status_(driver_.cuCtxPushCurrent(device.context())) {}
  ~CurrentAtEnd() {
    CUcontext ignored = nullptr;
    if (status_ == CUDA_SUCCESS) driver_.cuCtxPopCurrent(&ignored);
  }
  CurrentAtEnd(const CurrentAtEnd&) = delete;
  CurrentAtEnd& operator=(const CurrentAtEnd&) = delete;

 protected:
  CUresult status() const { return status_; }

 private:
  const Driver& driver_;
  CUresult status_;
};

class Current : private CurrentAtEnd {
 public:
  // Throws Failure.
  explicit Current(const Device& device) : CurrentAtEnd(device) {
    device.check(status(), "to use its context");
  }
};

// Work in order. Belongs to the thread that uses it.
class Stream {
 public:
  // Throws Failure.
  explicit Stream(std::shared_ptr<const Device> device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const Device& device() const { return *device_; }
  const std::shared_ptr<const Device>& shared_device() const { return device_; }
  const Driver& driver() const { return device_->driver(); }
  void check(CUresult status, std::string_view doing) const {
    device_->check(status, doing);
  }
  // For calls of the driver that add work.
  CUstream add() {
    is_idle_ = false;
    return stream_;
  }
  // Until all work is done. Throws Failure where some of it failed.
  void wait();
  bool is_idle() const { return is_idle_; }
  // Work that is added is written down instead of done, until end_capture(),
  // which gives a graph of it that the caller owns. Throw Failure.
  void begin_capture();
  CUgraph end_capture();

 private:
  std::shared_ptr<const Device> device_;
  CUstream stream_ = nullptr;
  bool is_idle_ = true;
};

}  // namespace ruleengine::runtime::cuda
