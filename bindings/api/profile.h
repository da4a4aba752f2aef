// Profile: when each node of a run began and ended.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/executor.h"

namespace ruleengine::api {

class Profile {
 public:
  struct Event {
    // Its op without the overload, which tells nodes of one op apart.
    std::string op() const;

    const ir::Graph* graph;
    ir::NodeId node;
    double begin, end;  // seconds since the run began
    double own;         // seconds without the nodes of its body
  };

  // For the options of one Executor, which the profile must outlive.
  auto trace() {
    return [this](const ir::Graph& graph, ir::NodeId node, double begin,
                  double end) { add(graph, node, begin, end); };
  }
  void clear();

  // In the order in which the nodes ended.
  const std::vector<Event>& events() const { return events_; }
  // As JSON that chrome://tracing and Perfetto show.
  std::string chrome_trace() const;

 private:
  void add(const ir::Graph& graph, ir::NodeId node, double begin, double end);

  std::vector<Event> events_;
  // Begin and seconds of what no later event has contained so far.
  std::vector<std::pair<double, double>> outermost_;
};

}  // namespace ruleengine::api
