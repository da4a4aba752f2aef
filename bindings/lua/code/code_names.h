// CodeNames: the `names { ... }` of a file of code, and how it names nodes and
// values. Internal to bindings/lua.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bindings/lua/code/code_objects.h"
#include "bindings/lua/code/code_record.h"

namespace ruleengine::lua {

class CodeNames {
 public:
  // Reads the table at index 1; raises.
  void read(lua_State* state, code::Budget& budget);
  // Gives values and nodes the names that they have in the model. An entry
  // without a node is an error.
  Status apply(CodeRecord& record, const std::string& file);

 private:
  struct Given {  // an entry of `names`
    std::string node;
    std::optional<std::vector<std::string>>
        outputs;  // none: derived from the node's name
    int line = 0;
  };

  static void apply_to(const Given& given, CodeNode& node, CodeRecord& record);

  std::map<std::string, Given> names_;
};

}  // namespace ruleengine::lua
