// The page that `draw -o FILE.html` writes: views as SVG, the data of each
// node, and a script to move between views. A single file that loads nothing.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace ruleengine::api {

// The beginning of a page, up to its body: it may run its own script, and loads
// nothing. `style` is added to what all pages have.
std::string page_head(const std::string& title, const std::string& style);

// The <svg> element of a picture alone. Its size moves to an attribute for
// scripts, since width and height would conflict with the style of a page.
std::string inlined_svg(const std::string& svg);

// JSON as the content of a script element, which must not contain "</".
std::string script_json(const Json& data);

// `pictures`: the SVG of each view, in order; `data`: what the script reads.
std::string draw_page(const std::string& title,
                      const std::vector<std::string>& pictures,
                      const Json& data);

}  // namespace ruleengine::api
