// The ops that the engine knows besides the standard's, and the classes of ops
// that patterns name.
#pragma once

#include <string>
#include <vector>

namespace ruleengine::api {

struct OpText {
  std::string domain, type;
  std::string signature;  // "Linear * (x, weight, bias?) -> Y"
  std::string formula;
};
std::vector<OpText> described_ops();  // those of a domain stand together

struct OpClassText {
  std::string name;
  std::vector<std::string> ops;  // "Add", "com.microsoft.Gelu"
};
std::vector<OpClassText> op_classes();

}  // namespace ruleengine::api
