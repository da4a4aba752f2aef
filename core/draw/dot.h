// DOT: views as the text that Graphviz lays out. Whatever a model calls its
// nodes arrives as text: escaped, and cut. Pure functions, the same bytes for
// the same view.
#ifndef RULEENGINE_CORE_DRAW_DOT_H_
#define RULEENGINE_CORE_DRAW_DOT_H_

#include <string>
#include <string_view>

#include "core/draw/view.h"

namespace ruleengine::draw {

// &, <, >, " and ' as XML has them.
std::string escaped(std::string_view text);

// "#rrggbb" of rule `i`; they repeat from some number on.
std::string_view colour(std::size_t i);

// The short name of a node, a group or a value, printable.
std::string title(const Scene& scene, const Item& item);
std::string title(const Scene& scene, ir::ValueId value);

struct DotOptions {
  bool legend = true;  // which colour is which rule
  std::string heading;
};

// One digraph. Box i has the id "b<i>", port i "p<i>".
std::string dot(const Scene& scene, const View& view,
                const DotOptions& options);

}  // namespace ruleengine::draw

#endif  // RULEENGINE_CORE_DRAW_DOT_H_
