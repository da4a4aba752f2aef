#include <unordered_set>

#include "core/io/read/read_model.h"
#include "core/ir/call.h"

namespace ruleengine::io {
namespace {

bool check_names(Context& context) {
  std::unordered_set<std::uint32_t> seen;
  for (const auto& f : context.model.functions) {
    const ir::OpId op =
        context.model.ops.intern(f->domain, f->name, f->overload);
    if (seen.insert(op.index()).second) continue;
    return context.fail({nullptr, "function", f->name},
                        "a function is defined twice",
                        "one function for each domain, name and overload",
                        printable(context.model.ops[op].text()));
  }
  return true;
}

std::string counts(std::size_t inputs, std::size_t outputs) {
  return std::to_string(inputs) + " inputs and " + std::to_string(outputs) +
         " outputs";
}

bool fail_recursion(Context& context,
                    const std::vector<const ir::Function*>& cycle) {
  std::string text;
  for (const ir::Function* f : cycle) {
    if (text.size() >= 1000) break;
    text += std::string(f->name) + " -> ";
  }
  const std::string_view again = cycle.front()->name;
  return context.fail({nullptr, "function", again}, "a function calls itself",
                      "functions without recursion",
                      printable(text + std::string(again), 2000));
}

}  // namespace

bool check_functions(Context& context) {
  if (!check_names(context)) return false;
  const auto fault = ir::call_fault(context.model, 1);
  if (!fault) return true;
  if (!fault->cycle.empty()) return fail_recursion(context, fault->cycle);
  const ir::Function* const f = fault->function;
  if (fault->call) {
    const ir::Node& node = fault->graph->node(fault->call);
    return context.fail({nullptr, "node", node.name},
                        "a call has more inputs or outputs than its function",
                        counts(f->inputs.size(), f->outputs.size()),
                        counts(node.operand_count, node.output_count));
  }
  const Place function{nullptr, "function", f == nullptr ? "" : f->name};
  return context.fail(f == nullptr ? Place() : function,
                      "the calls of functions expand to too many nodes",
                      "at most " + std::to_string(ir::kMaxExpandedNodes) +
                          " nodes after expansion",
                      "more");
}

}  // namespace ruleengine::io
