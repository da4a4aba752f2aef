// DOT: views as the text that Graphviz lays out. Names from a model are escaped
// and cut. Pure functions: the same view always gives the same bytes.
#pragma once

#include <string>
#include <string_view>

#include "core/draw/view.h"

namespace ruleengine::draw {

// Escapes &, <, >, " and ' as in XML.
std::string escaped(std::string_view text);

// The colour "#rrggbb" of rule `i`; colours repeat after the last one.
std::string_view colour(std::size_t i);

// The short name of a node, a group or a value, printable.
std::string title(const Scene& scene, const Item& item);
std::string title(const Scene& scene, ir::ValueId value);

struct DotOptions {
  bool legend = true;  // show the colour of each rule
  std::string heading;
};

// One digraph. Box i has the id "b<i>", port i "p<i>".
std::string dot(const Scene& scene, const View& view,
                const DotOptions& options);

}  // namespace ruleengine::draw
