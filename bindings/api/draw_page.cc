#include "bindings/api/draw_page.h"

#include "core/draw/dot.h"

namespace ruleengine::api {
namespace {

const std::string kHead = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
  * { box-sizing: border-box; }
  html, body { margin: 0; height: 100%; font: 13px/1.45 Helvetica, Arial, sans-serif; color: #222; }
)html";

constexpr const char* kStyle =
    R"html(  body { display: grid; grid-template: auto 1fr / 1fr 320px; }
  header { grid-column: 1 / 3; display: flex; gap: 10px; align-items: center; padding: 6px 12px;
           border-bottom: 1px solid #d8d8d2; background: #fafaf7; }
  #trail { flex: 1; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
  #trail a { color: #1d5fa8; cursor: pointer; }
  #trail a:hover { text-decoration: underline; }
  #search { width: 220px; padding: 3px 6px; }
  button { padding: 2px 9px; }
  #stage { overflow: hidden; position: relative; cursor: grab; background: #fff; }
  #stage.moving { cursor: grabbing; }
  #stage svg { position: absolute; inset: 0; width: 100%; height: 100%; display: none; user-select: none; }
  #stage svg.shown { display: block; }
  aside { border-left: 1px solid #d8d8d2; padding: 10px 12px; overflow: auto; background: #fafaf7; }
  aside h2 { font-size: 14px; margin: 0 0 6px; overflow-wrap: anywhere; }
  aside h3 { font-size: 12px; margin: 12px 0 3px; color: #666; font-weight: 600; }
  aside p, aside li { margin: 2px 0; overflow-wrap: anywhere; }
  aside ul { margin: 0; padding-left: 16px; }
  .rule { display: flex; gap: 6px; align-items: center; margin: 2px 0; }
  .rule i { width: 14px; height: 14px; border: 1px solid #999; flex: none; }
  .rule span { flex: 1; overflow-wrap: anywhere; }
  .hit { cursor: pointer; color: #1d5fa8; }
  g.node { cursor: pointer; }
  g.label { pointer-events: none; }
  g.node.picked path, g.node.picked polygon, g.node.picked ellipse { stroke: #d12b2b; stroke-width: 2.5; }
)html";

constexpr const char* kBody = R"html(<body>
<header>
  <div id="trail"></div>
  <input id="search" type="search" placeholder="name or op" aria-label="search">
  <button id="in" title="zoom in (+)">+</button><button id="out" title="zoom out (-)">&minus;</button>
  <button id="fit" title="show everything (0)">fit</button>
</header>
<main id="stage">
)html";

constexpr const char* kScript = R"html(<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const stage = document.getElementById("stage"), panel = document.getElementById("panel");
const pictures = [...stage.querySelectorAll("svg")];
let now = 0, box = null, picked = null;

function element(tag, text, parent) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

// --- the visible part of a picture
function size(svg) { return svg.dataset.size.split(" ").map(Number); }
function look() { pictures[now].setAttribute("viewBox", box.join(" ")); }
function fit() {
  const [x, y, w, h] = size(pictures[now]);
  const wide = stage.clientWidth || 800, high = stage.clientHeight || 600;
  // Never much enlarged; tall pictures start at their top, at a readable size.
  let scale = Math.min(1.3, wide / w, high / h);
  if (scale < 0.7) scale = Math.min(0.9, Math.max(scale, wide / w * 0.98));
  const vw = wide / scale, vh = high / scale;
  box = [x + (w - vw) / 2, vh > h ? y + (h - vh) / 2 : y, vw, vh];
  look();
}
function zoom(by, cx, cy) {
  const rect = stage.getBoundingClientRect();
  const px = cx === undefined ? 0.5 : (cx - rect.left) / rect.width;
  const py = cy === undefined ? 0.5 : (cy - rect.top) / rect.height;
  const w = box[2] / by, h = box[3] / by;
  box = [box[0] + (box[2] - w) * px, box[1] + (box[3] - h) * py, w, h];
  look();
}
stage.addEventListener("wheel", event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * 0.0015), event.clientX, event.clientY);
}, {passive: false});
let drag = null, moved = false;
stage.addEventListener("pointerdown", event => { drag = [event.clientX, event.clientY]; moved = false; });
window.addEventListener("pointermove", event => {
  if (!drag) return;
  const dx = event.clientX - drag[0], dy = event.clientY - drag[1];
  if (!moved && Math.abs(dx) + Math.abs(dy) < 4) return;
  moved = true;
  stage.classList.add("moving");
  box[0] -= dx * box[2] / stage.clientWidth;
  box[1] -= dy * box[3] / stage.clientHeight;
  drag = [event.clientX, event.clientY];
  look();
});
window.addEventListener("pointerup", () => { drag = null; stage.classList.remove("moving"); });

// --- views
function show(view, mark) {
  pictures[now].classList.remove("shown");
  now = view;
  pictures[now].classList.add("shown");
  const trail = document.getElementById("trail");
  trail.replaceChildren();
  const way = [];
  for (let at = view; at !== null; at = data.views[at].parent) way.unshift(at);
  way.forEach((at, i) => {
    if (i) trail.append(" \u203a ");
    const link = element(at === view ? "b" : "a", at ? data.views[at].name : data.model, trail);
    if (at !== view) link.onclick = () => show(at);
  });
  fit();
  if (mark === undefined) overview(); else pick(mark, true);
}
function pick(id, center) {
  if (picked) picked.classList.remove("picked");
  picked = pictures[now].querySelector("#" + id);
  if (!picked) return;
  picked.classList.add("picked");
  if (center) {
    const r = picked.getBoundingClientRect(), s = stage.getBoundingClientRect();
    box[0] += (r.left + r.width / 2 - s.left - s.width / 2) * box[2] / s.width;
    box[1] += (r.top + r.height / 2 - s.top - s.height / 2) * box[3] / s.height;
    look();
  }
  describe(data.views[now].boxes[id]);
}
function list(title, items) {
  if (!items || !items.length) return;
  element("h3", title, panel);
  const all = element("ul", undefined, panel);
  items.forEach(each => element("li", each, all));
}
function rules(title, numbers) {
  if (!numbers || !numbers.length) return;
  element("h3", title, panel);
  numbers.forEach(([number, count]) => {
    const row = element("div", undefined, panel);
    row.className = "rule";
    element("i", undefined, row).style.background = data.rules[number].colour;
    element("span", data.rules[number].name, row);
    if (count !== undefined) element("b", count, row);
  });
}
function describe(found) {
  panel.replaceChildren();
  if (found === undefined) return;
  if (typeof found === "number") {
    const node = data.nodes[found];
    element("h2", node.op, panel);
    if (node.name) element("p", node.name, panel);
    list("inputs", node.inputs);
    list("outputs", node.outputs);
    list("attributes", node.attributes);
    rules("matched or removed by", node.rules.map(each => [each]));
    return;
  }
  element("h2", found.name, panel);
  if (found.text) element("p", found.text, panel);
  rules("matched inside", (found.rules || []).map(each => [each]));
  if (found.view !== undefined) {
    const open = element("button", "open", panel);
    open.onclick = () => show(found.view);
  }
}
function overview() {
  if (picked) picked.classList.remove("picked");
  picked = null;
  panel.replaceChildren();
  element("h2", data.model, panel);
  element("p", data.summary, panel);
  rules("matches of rules", data.rules.map((each, i) => [i, each.matches]));
  if (data.rules.length) element("p", "In colour: nodes that rules match, and nodes that their rewrites remove.", panel);
  const silent = data.silent;
  if (silent) element("p", silent + (silent === 1 ? " rule matches nowhere" : " rules match nowhere"), panel);
  list("rejected", data.rejected);
  element("h3", "moving about", panel);
  element("p", "Drag to move, scroll to zoom, click for details, double-click a framed box to open it.", panel);
}
stage.addEventListener("click", event => {
  if (moved) return;
  const node = event.target.closest("g.node");
  if (node && data.views[now].boxes[node.id] !== undefined) pick(node.id); else overview();
});
stage.addEventListener("dblclick", event => {
  const node = event.target.closest("g.node");
  const found = node && data.views[now].boxes[node.id];
  if (found && found.view !== undefined) show(found.view);
});

// --- search
document.getElementById("search").addEventListener("input", event => {
  const word = event.target.value.trim().toLowerCase();
  if (!word) return overview();
  panel.replaceChildren();
  let count = 0;
  const all = element("ul");
  data.views.forEach((view, at) => {
    for (const [id, found] of Object.entries(view.boxes)) {
      const text = typeof found === "number" ? data.nodes[found].op + " " + data.nodes[found].name : found.name;
      if (!text.toLowerCase().includes(word) || ++count > 200) continue;
      const row = element("li", text, all);
      row.className = "hit";
      row.onclick = () => show(at, id);
    }
  });
  element("h2", count + " found", panel);
  panel.append(all);
});
document.getElementById("in").onclick = () => zoom(1.25);
document.getElementById("out").onclick = () => zoom(0.8);
document.getElementById("fit").onclick = fit;
window.addEventListener("keydown", event => {
  if (event.target.tagName === "INPUT") return;
  if (event.key === "+") zoom(1.25);
  if (event.key === "-") zoom(0.8);
  if (event.key === "0") fit();
  if (event.key === "Escape") overview();
});
window.addEventListener("resize", fit);
show(0);
</script>
</body>
</html>
)html";

}  // namespace

std::string page_head(const std::string& title, const std::string& style) {
  return kHead + style + "</style>\n<title>" + draw::escaped(title) +
         "</title>\n</head>\n";
}

std::string inlined_svg(const std::string& svg) {
  const auto begin = svg.find("<svg");
  const auto close = svg.find('>', begin);
  if (begin == svg.npos || close == svg.npos) return "";
  const std::string head = svg.substr(begin, close - begin);
  const auto at = head.find("viewBox=\"");
  const auto end = at == head.npos ? at : head.find('"', at + 9);
  const std::string size =
      end == head.npos ? "0 0 1 1" : head.substr(at + 9, end - at - 9);
  return "<svg data-size=\"" + size + "\" viewBox=\"" + size + "\"" +
         svg.substr(close);
}

std::string script_json(const Json& data) {
  const std::string text = data.text(-1, false);
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string draw_page(const std::string& title,
                      const std::vector<std::string>& pictures,
                      const Json& data) {
  std::string page = page_head(title, kStyle) + kBody;
  for (const std::string& picture : pictures)
    page += inlined_svg(picture) + "\n";
  page += "</main>\n<aside id=\"panel\"></aside>\n";
  page += "<script type=\"application/json\" id=\"data\">" + script_json(data) +
          "</script>\n";
  return page + kScript;
}

}  // namespace ruleengine::api
