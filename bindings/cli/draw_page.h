// The page that `draw -o FILE.html` writes: views as SVG, what is known of each
// node, and the script that moves between them. One file, nothing loaded.
#ifndef RULEENGINE_BINDINGS_CLI_DRAW_PAGE_H_
#define RULEENGINE_BINDINGS_CLI_DRAW_PAGE_H_

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace ruleengine::cli {

// `pictures` are the views' SVGs, in order; `data` what the script reads.
std::string draw_page(const std::string& title,
                      const std::vector<std::string>& pictures,
                      const nlohmann::ordered_json& data);

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_DRAW_PAGE_H_
