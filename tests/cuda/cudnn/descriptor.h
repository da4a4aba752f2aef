// Descriptors of cuDNN's backend, as its functions set and read them. Internal
// to tests/cuda/cudnn.
#pragma once

#include <cudnn_graph.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ruleengine::standin {

struct Descriptor;
using Part = std::shared_ptr<const Descriptor>;

struct AttributeValue {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_CHAR;
  std::vector<std::byte> bytes;
  std::vector<Part> parts;  // where it is of descriptors

  template <typename T>
  std::vector<T> as() const {
    std::vector<T> out(bytes.size() / sizeof(T));
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }
};

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool is_final = false;
  std::map<cudnnBackendAttributeName_t, AttributeValue> values;

  const AttributeValue* find(cudnnBackendAttributeName_t name) const {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : &found->second;
  }
  // nullptr where it is not set.
  const Descriptor* part(cudnnBackendAttributeName_t name) const {
    const AttributeValue* value = find(name);
    return value == nullptr || value->parts.empty() ? nullptr
                                                    : value->parts[0].get();
  }
  // The first number, or `absent`.
  template <typename T>
  T number(cudnnBackendAttributeName_t name, T absent) const {
    const AttributeValue* value = find(name);
    if (value != nullptr && value->bytes.size() >= sizeof(T)) {
      std::memcpy(&absent, value->bytes.data(), sizeof(T));
    }
    return absent;
  }
  template <typename T>
  std::vector<T> numbers(cudnnBackendAttributeName_t name) const {
    const AttributeValue* value = find(name);
    return value == nullptr ? std::vector<T>{} : value->as<T>();
  }
};

// What a cudnnBackendDescriptor_t points to. Functions that give a descriptor
// put it into one that the caller made.
struct DescriptorSlot {
  std::shared_ptr<Descriptor> body;
};

// Bytes of an element; 0 for a type that is not known.
std::size_t size_of(cudnnBackendAttributeType_t type);

}  // namespace ruleengine::standin
