// A GPU that is open: its context, and a stream for the work of one session.
// Calls of the driver need the context, which a Current makes the thread's own
// as long as it lives.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

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
  std::string name() const;

 private:
  explicit Device(const Driver& driver) : driver_(driver) {}
  const Driver& driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

class Current {
 public:
  // Throws Failure.
  explicit Current(const Device& device) : device_(device) {
    device.check(device.driver().cuCtxPushCurrent(device.context()),
                 "to use its context");
  }
  ~Current() {
    CUcontext ignored = nullptr;
    device_.driver().cuCtxPopCurrent(&ignored);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Device& device_;
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

 private:
  std::shared_ptr<const Device> device_;
  CUstream stream_ = nullptr;
  bool is_idle_ = true;
};

}  // namespace ruleengine::runtime::cuda
