#include "bindings/api/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "bindings/api/draw_page.h"
#include "bindings/api/graphviz.h"
#include "core/draw/dot.h"
#include "core/engine/picture.h"

namespace ruleengine::api {
namespace {

constexpr std::size_t kMostPictures = 1000;  // that differ, of a page

constexpr const char* kRunStyle =
    R"html(  body { display: grid; grid-template: auto 1fr / 300px 1fr 1fr; }
  header { grid-column: 1 / 4; display: flex; gap: 10px; align-items: center; padding: 6px 12px;
           border-bottom: 1px solid #d8d8d2; background: #fafaf7; }
  #what { flex: 1; overflow-wrap: anywhere; }
  button { padding: 2px 9px; }
  nav { border-right: 1px solid #d8d8d2; padding: 8px 0; overflow: auto; background: #fafaf7; }
  nav h3 { font-size: 12px; margin: 12px 12px 3px; color: #666; font-weight: 600; overflow-wrap: anywhere; }
  nav a { display: block; padding: 1px 12px 1px 22px; cursor: pointer; overflow-wrap: anywhere; }
  nav a:hover { background: #efefe9; }
  nav a.shown { background: #dce8f5; }
  section { overflow: auto; padding: 8px 12px; }
  section + section { border-left: 1px solid #d8d8d2; }
  section h2 { font-size: 13px; margin: 0 0 6px; color: #666; }
  section svg { max-width: none; }
  #pictures { display: none; }
)html";

constexpr const char* kRunBody = R"html(<body>
<header>
  <div id="what"></div>
  <button id="back" title="the rewrite before (Left)">&larr;</button>
  <button id="next" title="the next rewrite (Right)">&rarr;</button>
</header>
<nav id="list"></nav>
<section id="before"></section>
<section id="after"></section>
<div id="pictures">
)html";

constexpr const char* kRunScript = R"html(<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const pictures = [...document.querySelectorAll("#pictures > svg")];
for (const each of pictures) {
  const [, , w, h] = each.dataset.size.split(" ").map(Number);
  each.setAttribute("width", w * 1.2);
  each.setAttribute("height", h * 1.2);
}
const rows = [];
let now = 0;

function element(tag, text, parent) {
  const made = document.createElement(tag);
  made.textContent = text;
  parent.append(made);
  return made;
}
function side(id, title, picture, otherwise) {
  const place = document.getElementById(id);
  place.replaceChildren();
  element("h2", title, place);
  if (picture === null) element("p", otherwise, place);
  else place.append(pictures[picture].cloneNode(true));
}
function show(i) {
  rows[now].classList.remove("shown");
  now = Math.min(Math.max(i, 0), data.steps.length - 1);
  rows[now].classList.add("shown");
  rows[now].scrollIntoView({block: "nearest"});
  const step = data.steps[now];
  document.getElementById("what").textContent = step.rule ? step.rule + " at " + step.value : data.summary;
  side("before", "before", step.before, step.why);
  side("after", "after", step.after, step.why);
}
const list = document.getElementById("list");
let rule = null;
data.order.forEach(i => {
  const step = data.steps[i];
  if (step.rule !== rule) {
    rule = step.rule;
    const count = data.steps.filter(each => each.rule === rule).length;
    if (rule) element("h3", rule + ": " + count, list);
  }
  const row = element("a", step.rule ? i + ". " + step.value : data.model, list);
  row.onclick = () => show(i);
  rows[i] = row;
});
document.getElementById("back").onclick = () => show(now - 1);
document.getElementById("next").onclick = () => show(now + 1);
window.addEventListener("keydown", event => {
  if (event.key === "ArrowLeft") show(now - 1);
  if (event.key === "ArrowRight") show(now + 1);
});
show(0);
</script>
</body>
</html>
)html";

Result<std::string> dot_of(ir::Model& model, const DrawOptions& options) {
  const auto drawn =
      engine::picture(model, nullptr, options.boxes, options.run);
  if (!drawn) return drawn.error();
  const auto facts = engine::facts_of(model.graph);
  const draw::Scene scene{model.graph, drawn->outline, drawn->marks, *facts};
  const draw::View view =
      draw::view_of(scene, draw::Outline::root(), options.boxes);
  return draw::dot(scene, view, {.legend = false, .heading = ""});
}

// Rewrites as they are made.
class Recorder {
 public:
  explicit Recorder(const DrawOptions& options) : options_(options) {}

  void add(const Step& step) {
    Drawing out{.rule = step.rule.name(), .value = step.values[0]};
    // The sites of a pass are named in another way.
    const bool is_pass = step.rule.pattern() == nullptr;
    if (is_pass) out.sites.push_back(step.rule.qualified());
    for (const std::string& each : step.values) {
      if (!is_pass) out.sites.push_back(step.rule.qualified() + " " + each);
    }
    out.why = step.why_not;
    for (const auto& [model, side] : {std::pair(&step.before, &out.before),
                                      std::pair(&step.after, &out.after)}) {
      if (*model == nullptr) continue;
      auto dot = dot_of(const_cast<ir::Model&>(**model), options_);
      if (dot) {
        *side = *std::move(dot);
      } else {
        out.why = dot.error().what;
      }
    }
    all_.push_back(std::move(out));
  }

  // Those that were kept: a rewrite may be undone, and made again.
  void keep(const std::vector<rewrite::Site>& sites) {
    std::map<std::string, std::size_t> left;
    for (const rewrite::Site& each : sites) {
      ++left[each.rule];
      ++left[each.rule + " " + each.value];
    }
    std::vector<Drawing> kept;
    for (auto it = all_.rbegin(); it != all_.rend(); ++it) {
      const auto site = std::ranges::find_if(
          it->sites, [&](const std::string& each) { return left[each] > 0; });
      if (site == it->sites.end()) continue;
      --left[*site];
      kept.push_back(std::move(*it));
    }
    std::ranges::reverse(kept);
    all_ = std::move(kept);
  }

  std::size_t size() const { return all_.size(); }

  Result<std::string> page(std::string before, std::string after,
                           const std::string& summary) && {
    all_.insert(all_.begin(), Drawing{.before = std::move(before),
                                      .after = std::move(after)});
    Json steps = Json::array();
    for (const Drawing& each : all_) {
      steps.push_back({{"rule", each.rule},
                       {"value", printable(each.value, 300)},
                       {"why", why(each)},
                       {"before", picture(each.before)},
                       {"after", picture(each.after)}});
    }
    const Json data = {{"model", options_.name},
                       {"summary", summary},
                       {"steps", std::move(steps)},
                       {"order", order()}};
    const auto svgs = svgs_of(dots_, options_.run.limits.deadline);
    if (!svgs) return svgs.error();
    std::string page = page_head(options_.name, kRunStyle) + kRunBody;
    for (const std::string& svg : *svgs) page += inlined_svg(svg) + "\n";
    page += "</div>\n<script type=\"application/json\" id=\"data\">" +
            script_json(data) + "</script>\n";
    return page + kRunScript;
  }

 private:
  struct Drawing {
    std::string rule, value, why;
    std::vector<std::string> sites;  // that may be its own
    std::string before, after;       // DOT; "" if there is none
  };

  static std::string why(const Drawing& drawing) {
    if (drawing.why.empty()) return "the page has too many pictures";
    return "this cannot be drawn alone: " + printable(drawing.why, 300);
  }

  // The number of a picture; equal ones are drawn once.
  Json picture(const std::string& dot) {
    const auto it = numbers_.find(dot);
    if (it != numbers_.end()) return it->second;
    if (dot.empty() || dots_.size() >= kMostPictures) return nullptr;
    numbers_.emplace(dot, dots_.size());
    dots_.push_back(dot);
    return dots_.size() - 1;
  }

  // By rule, in the order of their first rewrites.
  std::vector<std::size_t> order() const {
    std::map<std::string, std::size_t> first;
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      first.try_emplace(all_[i].rule, i);
      out.push_back(i);
    }
    std::ranges::stable_sort(
        out, {}, [&](std::size_t i) { return first[all_[i].rule]; });
    return out;
  }

  const DrawOptions& options_;
  std::vector<Drawing> all_;
  std::vector<std::string> dots_;
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace

Result<Drawn> draw_run(const std::shared_ptr<ir::Model>& model,
                       Rewriter& rewriter, RewriteOptions how,
                       const DrawOptions& options) {
  Recorder recorder(options);
  how.on_step = [&](const Step& step) {
    recorder.add(step);
    return true;
  };
  how.run.lists_sites = true;
  if (Status s = rewriter.configure(how); !s) return s.error();
  engine::FileReport report;
  const auto result = rewriter.rewrite(model, {.model = options.name}, report);
  if (Status s = rewriter.configure({}); !s) return s.error();
  if (!result) return result.error();
  recorder.keep(report.run.rewrites.sites);
  const auto first = api::copy_of(*model, how.limits);
  auto before = dot_of(*first, options);
  if (!before) return before.error();
  auto after = dot_of(**result, options);
  if (!after) return after.error();
  Drawn out{.text = {}, .matches = recorder.size()};
  auto page = std::move(recorder).page(
      *std::move(before), *std::move(after),
      fmt::format("{}: {} nodes became {}, {} rewrites", options.name,
                  engine::total(report.run.ops_before),
                  engine::total(report.run.ops_after), out.matches));
  if (!page) return page.error();
  out.text = *std::move(page);
  return out;
}

}  // namespace ruleengine::api
