#include "bindings/api/draw.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "bindings/api/draw_page.h"
#include "bindings/api/graphviz.h"
#include "bindings/api/models.h"
#include "core/base/json.h"
#include "core/base/layout.h"
#include "core/draw/dot.h"
#include "core/engine/picture.h"
#include "core/text/print.h"

namespace ruleengine::api {
namespace {

using draw::Scene;
using draw::View;

constexpr std::size_t kMostViews = 300;  // of a page
constexpr std::size_t kMostBoxes = 12'000;
constexpr std::size_t kTextBytes = 300;  // of a name on a page
constexpr std::size_t kMostListed = 60;  // inputs, attributes, rejections

// --- the page

// A page has several views: one of the whole model, and one of each closed box.
class Page {
 public:
  Page(const Scene& scene, std::size_t boxes) : scene_(scene), most_(boxes) {
    add(draw::Outline::root(), nullptr);
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < views_.size(); ++i) {
      drawn += views_[i].boxes.size();
      for (std::size_t k = 0; k < views_[i].boxes.size(); ++k) {
        const draw::GroupId group = views_[i].boxes[k].item.group;
        if (group && views_.size() < kMostViews && drawn < kMostBoxes) {
          add(group, Json(i));
        }
      }
    }
  }

  std::vector<std::string> dots() const {
    std::vector<std::string> out;
    for (const View& view : views_) {
      out.push_back(draw::dot(scene_, view, {.legend = false, .heading = ""}));
    }
    return out;
  }

  Json data() {
    Json views = Json::array();
    for (std::size_t i = 0; i < views_.size(); ++i) {
      const draw::Group& group = scene_.outline[views_[i].group];
      views.push_back(
          {{"name", group.name}, {"parent", parents_[i]}, {"boxes", boxes(i)}});
    }
    Json rules = Json::array();
    for (std::size_t i = 0; i < scene_.marks.rules.size(); ++i) {
      rules.push_back({{"name", printable(scene_.marks.rules[i])},
                       {"colour", draw::colour(i)},
                       {"matches", scene_.marks.matches[i]}});
    }
    return {{"views", std::move(views)},
            {"nodes", std::move(nodes_)},
            {"rules", std::move(rules)}};
  }

 private:
  void add(draw::GroupId group, Json parent) {
    number_[group.index()] = views_.size();
    views_.push_back(draw::view_of(scene_, group, most_));
    parents_.push_back(std::move(parent));
  }

  Json boxes(std::size_t i) {
    Json out = Json::object();
    for (std::size_t k = 0; k < views_[i].boxes.size(); ++k) {
      const draw::Box& box = views_[i].boxes[k];
      const std::string id = fmt::format("b{}", k);
      if (!box.item.group) {
        out[id] = nodes_.size();
        nodes_.push_back(node(box.item.node, box.rules));
        continue;
      }
      const draw::Group& group = scene_.outline[box.item.group];
      Json closed = {{"name", group.name},
                     {"text", counted(group.nodes, "node")},
                     {"rules", box.rules}};
      const auto found = number_.find(box.item.group.index());
      if (found != number_.end()) closed["view"] = found->second;
      out[id] = std::move(closed);
    }
    for (std::size_t k = 0; k < views_[i].ports.size(); ++k) {
      const draw::Port& port = views_[i].ports[k];
      out[fmt::format("p{}", k)] = {
          {"name", value(port.value)},
          {"text", port.of_model ? (port.in ? "input of the model"
                                            : "output of the model")
                                 : (port.in ? "from outside this view"
                                            : "to outside this view")}};
    }
    return out;
  }

  std::string value(ir::ValueId id) {
    if (!id) return "(absent)";
    std::string text = printable(scene_.graph.name(id), kTextBytes);
    if (const ir::Type* type = scene_.facts.type(id)) {
      text += " " + printable(text::type_text(scene_.graph.model(), type));
    }
    return text;
  }

  Json node(ir::NodeId id, const std::vector<std::uint32_t>& rules) {
    const ir::Node& node = scene_.graph.node(id);
    Json inputs = Json::array(), outputs = Json::array();
    Json attributes = Json::array();
    for (const ir::Operand& each : scene_.graph.inputs(id)) {
      if (inputs.size() < kMostListed) inputs.push_back(value(each.value));
    }
    for (const ir::ValueId each : scene_.graph.outputs(id)) {
      if (outputs.size() < kMostListed) outputs.push_back(value(each));
    }
    for (const ir::Attribute& each : node.attributes) {
      if (attributes.size() >= kMostListed) break;
      attributes.push_back(
          printable(text::attribute_text(scene_.graph, each), kTextBytes));
    }
    return {{"op", printable(scene_.graph.op(id).text())},
            {"name", printable(node.name, kTextBytes)},
            {"inputs", std::move(inputs)},
            {"outputs", std::move(outputs)},
            {"attributes", std::move(attributes)},
            {"rules", rules}};
  }

  const Scene& scene_;
  std::size_t most_;
  std::vector<View> views_;
  std::vector<Json> parents_;
  std::map<std::size_t, std::size_t> number_;  // from a group to its view
  Json nodes_ = Json::array();
};

Result<std::string> page(const Scene& scene,
                         const std::vector<std::string>& rejected,
                         const DrawOptions& options) {
  Page page(scene, options.boxes);
  const auto svgs = svgs_of(page.dots(), options.run.limits.deadline);
  if (!svgs) return svgs.error();
  Json data = page.data();
  data["model"] = options.name;
  data["summary"] = counted(scene.graph.live_node_count(), "node");
  data["silent"] = scene.marks.silent;
  data["rejected"] = rejected;
  return draw_page(options.name, *svgs, data);
}

std::vector<std::string> rejections(const engine::Picture& drawn) {
  std::vector<std::string> out;
  for (const rewrite::Found& each : drawn.rejected) {
    if (out.size() == kMostListed) break;
    out.push_back(fmt::format("{} at {}: {}", each.rule,
                              printable(each.graph->describe(each.root), 120),
                              printable(each.rejection->reason)));
  }
  return out;
}

Result<std::string> picture(const Scene& scene, const engine::Picture& drawn,
                            const DrawOptions& options) {
  const Deadline& deadline = options.run.limits.deadline;
  if (options.form == Form::kHtml) {
    return page(scene, rejections(drawn), options);
  }
  const View view = draw::view_of(scene, draw::Outline::root(), options.boxes);
  std::string dot =
      draw::dot(scene, view, {.legend = true, .heading = options.name});
  if (options.form == Form::kDot) return dot;
  auto svgs = svgs_of({dot}, deadline);
  if (!svgs) return svgs.error();
  return std::move(svgs->front());
}

}  // namespace

Result<Drawn> draw(ir::Model& model, const engine::RuleSet* rules,
                   const DrawOptions& options) {
  const auto drawn = engine::picture(model, rules, options.boxes, options.run);
  if (!drawn) return drawn.error();
  const auto facts = engine::facts_of(model.graph);
  const Scene scene{model.graph, drawn->outline, drawn->marks, *facts};
  auto text = picture(scene, *drawn, options);
  if (!text) return text.error();
  if (auto status = check_end(model, options.run.limits.deadline); !status) {
    return status.error();
  }
  Drawn out{.text = *std::move(text)};
  for (const std::size_t each : drawn->marks.matches) out.matches += each;
  return out;
}

}  // namespace ruleengine::api
