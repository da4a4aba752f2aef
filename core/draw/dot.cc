#include "core/draw/dot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>

#include "core/base/diagnostic.h"
#include "core/ir/model.h"
#include "core/text/print.h"

namespace ruleengine::draw {
namespace {

// Light enough for black text; they differ in brightness as well as in hue.
constexpr std::array<std::string_view, 12> kColours = {
    "#ffd166", "#8ecae6", "#b5e48c", "#ffadad", "#cdb4db", "#f9c58d",
    "#9be8d8", "#e0e36b", "#f4a6c8", "#a9c1ff", "#d8c3a5", "#c7f0a4"};

struct Escape {
  char character;
  std::string_view text;
};
// The last is DOT's own escape, in strings as well as in labels.
constexpr std::array<Escape, 6> kEscapes = {{{'&', "&amp;"},
                                             {'<', "&lt;"},
                                             {'>', "&gt;"},
                                             {'"', "&quot;"},
                                             {'\'', "&#39;"},
                                             {'\\', "&#92;"}}};

constexpr std::size_t kNameBytes = 44;
constexpr std::size_t kTipBytes = 300;
// With more boxes, the labels of arrows are shown as tooltips only.
constexpr std::size_t kLabelledArrows = 70;

constexpr std::string_view kStyle =
    "  graph [fontname=\"Helvetica\", fontsize=11, nodesep=0.22, ranksep=0.32, "
    "bgcolor=\"white\", outputorder=\"edgesfirst\", pad=0.2];\n"
    "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f6f6f4\", "
    "color=\"#8c8c86\", fontname=\"Helvetica\", fontsize=11, "
    "margin=\"0.10,0.04\", height=0.3, width=0.5];\n"
    "  edge [color=\"#777772\", arrowsize=0.5];\n";

std::string small(std::string_view text) {
  return "<FONT POINT-SIZE=\"8\" COLOR=\"#555550\">" + escaped(text) +
         "</FONT>";
}

std::string counted(std::size_t n, std::string_view one,
                    std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

// Puts lines below each other. Each line is a row of its own: in one text,
// lines of different font sizes would overlap.
std::string stacked(const std::vector<std::string>& lines) {
  if (lines.size() == 1) return lines.front();
  return fmt::format(
      "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" "
      "CELLPADDING=\"1\"><TR><TD>{}</TD></TR></TABLE>",
      fmt::join(lines, "</TD></TR><TR><TD>"));
}

// The last part of a path; the beginning of any other name.
std::string short_name(std::string_view name, std::size_t bytes) {
  if (const auto slash = name.rfind('/');
      slash != name.npos && slash + 1 < name.size()) {
    name.remove_prefix(slash + 1);
  }
  return printable(name, bytes);
}

class Writer {
 public:
  Writer(const Scene& scene, const View& view, const DotOptions& options)
      : scene_(scene), view_(view), options_(options) {}

  std::string write() {
    out_ = "digraph model {\n";
    out_ += kStyle;
    if (!options_.heading.empty()) {
      out_ += "  label=<" + escaped(options_.heading) +
              ">; labelloc=t; labeljust=l;\n";
    }
    if (options_.legend &&
        scene_.marks.rules.size() + scene_.marks.silent > 0) {
      legend();
    }
    inside_.resize(view_.frames.size() + 1);
    labels_.resize(view_.frames.size() + 1);
    for (std::uint32_t i = 0; i < view_.frames.size(); ++i) {
      of(inside_, view_.frames[i].around).push_back(i);
    }
    for (std::uint32_t i = 0; i < view_.arrows.size(); ++i) place_label(i);
    // Labels are nodes, which need ranks of their own.
    const auto any = [](const auto& each) { return !each.empty(); };
    if (std::ranges::any_of(labels_, any)) line(1, "ranksep=0.16;");
    std::uint32_t box = 0;
    frame(kNone, box, 1);
    for (std::uint32_t i = 0; i < view_.ports.size(); ++i) port(i);
    for (std::uint32_t i = 0; i < view_.arrows.size(); ++i) arrow(i);
    if (view_.ports_left_out > 0) {
      line(1, "left_out [shape=plain, style=\"\", label=<" +
                  small("and " + std::to_string(view_.ports_left_out) +
                        " more values in and out") +
                  ">];");
    }
    return out_ + "}\n";
  }

 private:
  // By frame; the last list is of what has none.
  using ByFrame = std::vector<std::vector<std::uint32_t>>;
  static std::vector<std::uint32_t>& of(ByFrame& all, std::uint32_t frame) {
    return frame == kNone ? all.back() : all[frame];
  }

  void line(int depth, std::string_view text) {
    out_.append(static_cast<std::size_t>(depth) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }

  void legend() {
    std::string rows;
    const std::size_t silent = scene_.marks.silent;
    for (std::size_t i = 0; i < scene_.marks.rules.size(); ++i) {
      rows += "<TR><TD BGCOLOR=\"" + std::string(colour(i)) +
              "\" WIDTH=\"18\"></TD><TD ALIGN=\"LEFT\">" +
              escaped(printable(scene_.marks.rules[i], 80)) +
              "</TD><TD ALIGN=\"RIGHT\">" +
              std::to_string(scene_.marks.matches[i]) + "</TD></TR>";
    }
    if (silent > 0) {
      rows +=
          "<TR><TD></TD><TD ALIGN=\"LEFT\">" +
          small(counted(silent, "rule matches", "rules match") + " nowhere") +
          "</TD><TD></TD></TR>";
    }
    if (!scene_.marks.rules.empty()) {
      rows += "<TR><TD></TD><TD ALIGN=\"LEFT\">" +
              small("in colour: what is matched, and what goes with it") +
              "</TD><TD></TD></TR>";
    }
    line(1,
         "legend [shape=plain, style=\"\", label=<<TABLE BORDER=\"1\" "
         "CELLBORDER=\"0\" CELLSPACING=\"3\" COLOR=\"#c8c8c2\"><TR><TD></TD>"
         "<TD ALIGN=\"LEFT\"><B>rule</B></TD><TD><B>matches</B></TD></TR>" +
             rows + "</TABLE>>];");
  }

  // Boxes are in the order in which their frames were opened.
  void frame(std::uint32_t at, std::uint32_t& box, int depth) {
    if (at != kNone) {
      const Group& group = scene_.outline[view_.frames[at].group];
      line(depth, "subgraph cluster_" + std::to_string(at) + " {");
      ++depth;
      line(depth, "label=<" + escaped(group.name) +
                      ">; labeljust=l; style=\"rounded\"; color=\"#c8c8c2\"; "
                      "fontsize=10; fontcolor=\"#555550\"; tooltip=\"" +
                      escaped(group.name) + "\";");
    }
    const auto nodes = [&] {
      while (box < view_.boxes.size() && view_.boxes[box].frame == at) {
        node(box++, depth);
      }
    };
    nodes();
    for (const std::uint32_t each : of(inside_, at)) {
      frame(each, box, depth);
      nodes();
    }
    for (const std::uint32_t each : of(labels_, at)) label(each, depth);
    if (at != kNone) line(depth - 1, "}");
  }

  std::string fill(const Box& box) {
    if (box.rules.empty()) return "";
    const auto some = box.rules | std::views::take(4);
    return fmt::format("{}, fillcolor=\"{}\"",
                       some.size() > 1 ? ", style=\"striped\"" : "",
                       fmt::join(some | std::views::transform(colour), ":"));
  }

  void node(std::uint32_t at, int depth) {
    const Box& box = view_.boxes[at];
    const std::string id = "b" + std::to_string(at);
    std::vector<std::string> lines;
    std::string tip, shape;
    if (box.item.group) {
      const Group& group = scene_.outline[box.item.group];
      lines = {"<B>" + escaped(group.name) + "</B>", small(contents(group))};
      if (box.matches > 0) {
        lines.push_back(small(counted(box.matches, "match", "matches")));
      }
      tip = group.name;
      shape = ", peripheries=2";
      if (box.rules.empty()) shape += ", fillcolor=\"#e9e9e4\"";
    } else {
      const ir::Op& op = scene_.graph.op(box.item.node);
      lines = {"<B>" + escaped(printable(op.type, kNameBytes)) + "</B>"};
      for (const std::string& text : details(box)) {
        lines.push_back(small(text));
      }
      tip = printable(scene_.graph.describe(box.item.node), kTipBytes);
      if (!op.domain.empty()) tip = printable(op.domain, 80) + "::" + tip;
      for (const std::uint32_t rule : box.rules) {
        tip += "; " + printable(scene_.marks.rules[rule], 80);
      }
    }
    line(depth, id + " [id=\"" + id + "\", label=<" + stacked(lines) +
                    ">, tooltip=\"" + escaped(tip) + "\"" + shape + fill(box) +
                    "];");
  }

  // "33 nodes", "2 more like it, 33 nodes".
  std::string contents(const Group& group) {
    std::string text = group.kind == Group::Kind::kMore
                           ? std::to_string(group.times) + " more like it, "
                           : "";
    return text + counted(group.nodes, "node", "nodes");
  }

  // The name if it adds information, else that of an enclosing scope without a
  // frame; then the constants.
  std::vector<std::string> details(const Box& box) {
    std::vector<std::string> out;
    const ir::NodeId id = box.item.node;
    const std::string_view full = scene_.graph.node(id).name;
    const std::string_view type = scene_.graph.op(id).type;
    const std::string name = short_name(full, kNameBytes);
    if (!name.empty() && !is_numbered(name, type)) {
      out.push_back(name);
    } else if (const auto slash = full.rfind('/');
               slash != full.npos && slash > 0) {
      const std::string scope = short_name(full.substr(0, slash), kNameBytes);
      if (!frame_name(box).ends_with(scope)) out.push_back(scope);
    }
    std::string constants;
    std::size_t count = 0;
    for (const ir::Operand& operand : scene_.graph.inputs(id)) {
      const ir::Literal* tensor =
          operand.value ? scene_.graph.direct_constant(operand.value) : nullptr;
      if (tensor == nullptr || ++count > 3) continue;
      constants += (count > 1 ? ", " : "") + constant_text(*tensor);
    }
    if (count > 3) constants += ", \u2026";
    if (!constants.empty()) out.push_back(constants);
    return out;
  }

  // Whether the name is one that an exporter makes: "MatMul", "MatMul_12".
  static bool is_numbered(std::string_view name, std::string_view type) {
    if (name.starts_with("node_")) name.remove_prefix(5);
    return name.starts_with(type) &&
           name.find_first_not_of("_0123456789", type.size()) == name.npos;
  }

  std::string_view frame_name(const Box& box) {
    const GroupId group =
        box.frame == kNone ? view_.group : view_.frames[box.frame].group;
    return scene_.outline[group].name;
  }

  // The numbers of a small constant, else its shape.
  std::string constant_text(const ir::Literal& tensor) {
    constexpr std::int64_t kFew = 4;
    ir::ExternalData* external = scene_.graph.model().external.get();
    if (tensor.element_count() <= kFew && tensor.dims.size() < 2) {
      const auto numbers = ir::to_doubles(tensor, external, kFew);
      const bool whole =
          numbers && std::ranges::all_of(*numbers, [](double number) {
            return std::trunc(number) == number;
          });
      if (numbers && (whole || numbers->size() == 1)) {
        const auto text = fmt::format("{:.4g}", fmt::join(*numbers, " "));
        return tensor.dims.empty() ? text : "(" + text + ")";
      }
    }
    return fmt::format("[{}]", fmt::join(tensor.dims, "\u00d7"));
  }

  std::string end(std::uint32_t at) {
    return at < view_.boxes.size()
               ? "b" + std::to_string(at)
               : "p" + std::to_string(at - view_.boxes.size());
  }

  std::string type_of(ir::ValueId value) {
    const ir::Type* type = scene_.facts.type(value);
    if (type == nullptr) return "";
    return printable(text::type_text(scene_.graph.model(), type), 60);
  }

  void port(std::uint32_t i) {
    const Port& port = view_.ports[i];
    const std::string id = "p" + std::to_string(i);
    std::vector<std::string> lines = {escaped(title(scene_, port.value))};
    if (const std::string type = type_of(port.value); !type.empty()) {
      lines.push_back(small(type));
    }
    line(1, id + " [id=\"" + id + "\", shape=ellipse, style=\"" +
                (port.of_model ? "filled" : "dashed") +
                "\", fillcolor=\"#ffffff\", margin=\"0.05,0.02\", label=<" +
                stacked(lines) + ">, tooltip=\"" +
                escaped(printable(scene_.graph.name(port.value), kTipBytes)) +
                "\"];");
  }

  // --- arrows, and their labels: nodes of their own, since a label of an edge
  // may lie across frames

  // The innermost frame around both ends.
  std::uint32_t frame_of(const Arrow& arrow) {
    const auto frame = [&](std::uint32_t end) {
      return end < view_.boxes.size() ? view_.boxes[end].frame : kNone;
    };
    std::vector<bool> around(view_.frames.size());
    std::uint32_t at = frame(arrow.from);
    for (; at != kNone; at = view_.frames[at].around) around[at] = true;
    at = frame(arrow.to);
    while (at != kNone && !around[at]) at = view_.frames[at].around;
    return at;
  }

  std::string label_of(const Arrow& arrow) {
    const bool of_port =
        arrow.from >= view_.boxes.size() || arrow.to >= view_.boxes.size();
    if (arrow.count > 1) return std::to_string(arrow.count) + " values";
    if (view_.boxes.size() > kLabelledArrows || of_port) return "";
    return type_of(arrow.value);
  }

  void place_label(std::uint32_t i) {
    const Arrow& arrow = view_.arrows[i];
    label_texts_.push_back(label_of(arrow));
    if (!label_texts_.back().empty()) of(labels_, frame_of(arrow)).push_back(i);
  }

  void label(std::uint32_t i, int depth) {
    line(depth, "e" + std::to_string(i) +
                    " [class=\"label\", shape=plain, style=\"filled\", "
                    "fillcolor=\"white\", label=<" +
                    small(label_texts_[i]) + ">, tooltip=\"" +
                    tip_of(view_.arrows[i]) + "\"];");
  }

  std::string tip_of(const Arrow& arrow) {
    std::string tip = title(scene_, arrow.value);
    if (const std::string type = type_of(arrow.value); !type.empty()) {
      tip += " " + type;
    }
    if (arrow.count > 1) {
      tip += " and " + std::to_string(arrow.count - 1) + " more";
    }
    return escaped(tip);
  }

  void arrow(std::uint32_t i) {
    const Arrow& arrow = view_.arrows[i];
    const std::string tip = "tooltip=\"" + tip_of(arrow) + "\"];";
    std::string from = end(arrow.from);
    if (!label_texts_[i].empty()) {
      const std::string middle = "e" + std::to_string(i);
      line(1, from + " -> " + middle + " [arrowhead=none, " + tip);
      from = middle;
    }
    line(1, from + " -> " + end(arrow.to) + " [" + tip);
  }

  const Scene& scene_;
  const View& view_;
  const DotOptions& options_;
  ByFrame inside_;                        // frames
  ByFrame labels_;                        // arrows
  std::vector<std::string> label_texts_;  // by arrow; may be ""
  std::string out_;
};

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto at = std::ranges::find(kEscapes, c, &Escape::character);
    if (at != kEscapes.end()) {
      out += at->text;
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view colour(std::size_t i) { return kColours[i % kColours.size()]; }

std::string title(const Scene& scene, const Item& item) {
  if (item.group) return scene.outline[item.group].name;
  return printable(scene.graph.describe(item.node), kTipBytes);
}

std::string title(const Scene& scene, ir::ValueId value) {
  return short_name(scene.graph.name(value), kNameBytes);
}

std::string dot(const Scene& scene, const View& view,
                const DotOptions& options) {
  return Writer(scene, view, options).write();
}

}  // namespace ruleengine::draw
