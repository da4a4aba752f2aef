#include "tests/cuda/cudnn/saved_plan.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "tests/cuda/cudnn/tensor.h"

namespace ruleengine::standin {
namespace {

using Json = nlohmann::json;

// A list in which each descriptor is behind its parts; a part is a place in it.
class DescriptorWriter {
 public:
  std::size_t add(const Descriptor& d) {
    if (const auto found = places_.find(&d); found != places_.end()) {
      return found->second;
    }
    Json values = Json::array();
    for (const auto& [name, value] : d.values) {
      if (value.type == CUDNN_TYPE_HANDLE ||
          value.type == CUDNN_TYPE_VOID_PTR) {
        continue;
      }
      Json parts = Json::array();
      for (const Part& each : value.parts) parts.push_back(add(*each));
      // Those of parts are addresses.
      const auto bytes = value.parts.empty() ? value.as<std::uint8_t>()
                                             : std::vector<std::uint8_t>();
      values.push_back({{"name", static_cast<int>(name)},
                        {"type", static_cast<int>(value.type)},
                        {"bytes", bytes},
                        {"parts", std::move(parts)}});
    }
    list_.push_back(
        {{"type", static_cast<int>(d.type)}, {"values", std::move(values)}});
    return places_[&d] = list_.size() - 1;
  }
  std::string text() const { return list_.dump(); }

 private:
  Json list_ = Json::array();
  std::map<const Descriptor*, std::size_t> places_;
};

AttributeValue value_from(const Json& json, const std::vector<Part>& before) {
  AttributeValue out{.type = json.at("type").get<cudnnBackendAttributeType_t>(),
                     .bytes = {},
                     .parts = {}};
  for (const auto byte : json.at("bytes").get<std::vector<std::uint8_t>>()) {
    out.bytes.push_back(std::byte{byte});
  }
  for (const auto at : json.at("parts").get<std::vector<std::size_t>>()) {
    out.parts.push_back(before.at(at));
  }
  return out;
}

}  // namespace

std::string saved(const Descriptor& d) {
  DescriptorWriter out;
  out.add(d);
  return out.text();
}

Part restored(std::string_view text) try {
  std::vector<Part> all;
  for (const Json& each : Json::parse(text)) {
    auto d = std::make_shared<Descriptor>(
        Descriptor{.type = each.at("type").get<cudnnBackendDescriptorType_t>(),
                   .is_final = true,
                   .values = {}});
    for (const Json& value : each.at("values")) {
      d->values[value.at("name").get<cudnnBackendAttributeName_t>()] =
          value_from(value, all);
    }
    all.push_back(std::move(d));
  }
  if (all.empty()) throw GraphFault("a saved plan is empty");
  return all.back();
} catch (const GraphFault&) {
  throw;
} catch (const std::exception& fault) {
  throw GraphFault(std::string("a saved plan cannot be read: ") + fault.what());
}

}  // namespace ruleengine::standin
