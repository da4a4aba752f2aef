#include "bindings/api/profile.h"

#include "core/engine/json.h"

namespace ruleengine::api {

std::string Profile::Event::op() const {
  const ir::Op& all = graph->op(node);
  return ir::Op{.domain = all.domain, .type = all.type, .overload = {}}.text();
}

void Profile::clear() {
  events_.clear();
  outermost_.clear();
}

void Profile::add(const ir::Graph& graph, ir::NodeId node, double begin,
                  double end) {
  // Nodes of a body end before the node that has it.
  double inside = 0;
  while (!outermost_.empty() && outermost_.back().first >= begin) {
    inside += outermost_.back().second;
    outermost_.pop_back();
  }
  outermost_.emplace_back(begin, end - begin);
  events_.push_back({&graph, node, begin, end, end - begin - inside});
}

std::string Profile::chrome_trace() const {
  constexpr double kMicroseconds = 1e6;
  Json events = Json::array();
  for (const Event& e : events_) {
    const ir::Graph& graph = *e.graph;
    Json outputs = Json::array();
    for (const ir::ValueId v : graph.outputs(e.node)) {
      if (v) outputs.push_back(engine::exact(graph.name(v)));
    }
    const std::string_view name = graph.node(e.node).name;
    events.push_back(
        {{"name", engine::exact(e.op())},
         {"cat", "op"},
         {"ph", "X"},
         {"ts", e.begin * kMicroseconds},
         {"dur", (e.end - e.begin) * kMicroseconds},
         {"pid", 1},
         {"tid", 1},
         {"args",
          {{"node", engine::exact(name)}, {"outputs", std::move(outputs)}}}});
  }
  return engine::json_text(
      {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}});
}

}  // namespace ruleengine::api
