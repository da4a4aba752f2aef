#include "core/io/read/read_model.h"

#include <algorithm>
#include <set>

#include "core/io/load.h"
#include "core/io/read/parts.h"
#include "core/ops/op_facts.h"

namespace ruleengine::io {
namespace {

struct Parts {
  bool has_ir_version = false, has_graph = false;
  Pieces graph;
  std::vector<Bytes> functions, training;
};

// A hint for files that people give to a model reader by mistake.
std::string_view guess(Bytes source) {
  const std::string_view text = as_text(source);
  if (text.starts_with("version https://git-lfs")) {
    return "this is a Git LFS pointer; fetch the file itself with `git lfs "
           "pull`";
  }
  if (text.starts_with("\x1f\x8b") || text.starts_with("PK\x03\x04") ||
      text.starts_with("\x28\xb5\x2f\xfd")) {
    return "this is a compressed archive; unpack it first";
  }
  if (text.starts_with("<!") || text.starts_with("<html")) {
    return "this is a web page; the download went wrong";
  }
  const std::string_view head = text.substr(0, 64);
  if (head.starts_with("--") || head.find("return rule") != head.npos ||
      head.find("return pack") != head.npos) {
    return "this is a rule file; rules end in .lua";
  }
  if (std::all_of(head.begin(), head.end(), [](char c) {
        return c == '\n' || c == '\r' || c == '\t' || (c >= ' ' && c < 127);
      })) {
    return "this is text; ONNX text has the ending .onnxtxt";
  }
  return {};
}

bool no_version(Context& context, const Place& place,
                const ir::OpsetImport& import) {
  return context.fail(place, "an opset has no valid version", "1 or more",
                      std::to_string(import.version));
}

// Of several imports of a domain the last one is used, as ONNX Runtime does it.
bool read_opset(Context& context, Bytes proto, const Place& place,
                ir::OpsetImports& imports) {
  ir::OpsetImport import;
  Cursor cursor(proto, schema::kOpset);
  while (cursor.next()) {
    if (cursor.field() == opset_field::kDomain) import.domain = cursor.text();
    if (cursor.field() == opset_field::kVersion) {
      import.version = cursor.integer();
    }
  }
  if (!context.finished(place, cursor)) return false;
  if (import.domain == "ai.onnx") import.domain.clear();
  import.as_read = true;
  const Place here{&place, "opset_import", import.domain};
  if (import.version < 1) {
    if (context.in_function) return no_version(context, here, import);
    context.warn(here, "an opset has no valid version", "1 or more",
                 std::to_string(import.version));
  }
  const int newest = ops::newest_opset("");
  if (import.domain.empty() && import.version > newest) {
    return context.fail(
        here, "the opset of the model is newer than this program knows",
        "ai.onnx " + std::to_string(newest) + " or older",
        "ai.onnx " + std::to_string(import.version),
        "export the model at an older opset");
  }
  if (const std::size_t at = imports.find(import.domain); at < imports.size()) {
    context.warn(here, "a domain is imported twice", "once",
                 "versions " + std::to_string(imports[at].version) + " and " +
                     std::to_string(import.version) + "; the last one is used");
    imports.read_again(at, import.version);
    return true;
  }
  imports.push_back(std::move(import));
  return true;
}

bool scan(Context& context, Parts& parts) {
  ir::Model& model = context.model;
  Cursor cursor(context.source(), schema::kModel);
  while (cursor.next()) {
    switch (cursor.field()) {
      case model_field::kIrVersion:
        parts.has_ir_version = true;
        model.ir_version = cursor.integer();
        break;
      case model_field::kOpsetImport:
        if (!read_opset(context, cursor.bytes(), {}, model.opset_imports)) {
          return false;
        }
        break;
      case model_field::kGraph:
        parts.has_graph = true;
        parts.graph.add(cursor.bytes());
        break;
      case model_field::kFunctions:
        parts.functions.push_back(cursor.bytes());
        break;
      case model_field::kTrainingInfo:
        parts.training.push_back(cursor.bytes());
        break;
      default:
        if (!check_field(context, cursor, {})) return false;
        break;
    }
  }
  return context.finished({}, cursor);
}

// Says what the file is instead, where that shows.
bool read_parts(Context& context, Parts& parts) {
  if (scan(context, parts)) return true;
  const std::string_view hint = guess(context.source());
  // Models begin with their ir_version.
  const bool is_model = parts.has_ir_version || parts.has_graph ||
                        as_text(context.source()).starts_with('\x08');
  if (is_model && hint.empty()) return false;
  Diagnostic& error = *context.error;
  error.what = "the file is not an ONNX model";
  error.expected = "a ModelProto, or ONNX text with the ending .onnxtxt";
  error.found = hint.empty() ? "bytes that are no ModelProto" : "";
  error.hint = hint;
  return false;
}

bool check_header(Context& context, const Parts& parts) {
  ir::Model& model = context.model;
  const std::string hint(guess(context.source()));
  if (!parts.has_graph) {
    return context.fail({}, "the model has no graph",
                        "a ModelProto with a graph", "none", hint);
  }
  if (!parts.has_ir_version || model.ir_version > kNewestIrVersion) {
    return context.fail(
        {}, "the model has no known ir_version",
        "1 to " + std::to_string(kNewestIrVersion),
        parts.has_ir_version ? std::to_string(model.ir_version) : "none");
  }
  if (model.ir_version < 1) {
    context.warn({}, "the model has no known ir_version",
                 "1 to " + std::to_string(kNewestIrVersion),
                 std::to_string(model.ir_version));
  }
  if (model.opset_imports.empty()) {
    if (model.ir_version >= 3) {
      return context.fail({}, "the model imports no opset",
                          "at least one opset_import", "none");
    }
    model.opset_imports.push_back({"", 1});  // implied by the old versions
  }
  return true;
}

bool read_defaults(Context& context, const std::vector<Bytes>& protos,
                   const Place& place, ir::Function& function) {
  const auto out = context.model.arena.array<ir::Attribute>(protos.size());
  for (std::size_t i = 0; i < protos.size(); ++i) {
    if (!read_attribute(context, protos[i], place, nullptr, out[i])) {
      return false;
    }
    Cursor cursor(protos[i], schema::kAttribute);
    while (cursor.next()) {
      if (cursor.child() == &schema::kGraph &&
          !check_field(context, cursor, place)) {
        return false;
      }
    }
  }
  function.attribute_defaults = out;
  return true;
}

bool scan_function(Context& context, Bytes proto, const Place& place,
                   ir::Function& function, std::vector<Bytes>& defaults) {
  Cursor cursor(proto, schema::kFunction);
  while (cursor.next()) {
    switch (cursor.field()) {
      case function_field::kName:
        function.name = cursor.text();
        break;
      case function_field::kDomain:
        function.domain = cursor.text();
        break;
      case function_field::kOverload:
        function.overload = cursor.text();
        break;
      case function_field::kInput:
        function.inputs.push_back(cursor.text());
        break;
      case function_field::kOutput:
        function.outputs.push_back(cursor.text());
        break;
      case function_field::kAttribute:
        function.attributes.push_back(cursor.text());
        break;
      case function_field::kAttributeProto:
        defaults.push_back(cursor.bytes());
        break;
      case function_field::kOpsetImport:
        if (!read_opset(context, cursor.bytes(), place,
                        function.opset_imports)) {
          return false;
        }
        break;
      default:
        if (cursor.field() > function_field::kOverload &&
            !check_field(context, cursor, place)) {
          return false;
        }
        break;
    }
  }
  if (function.domain == "ai.onnx") function.domain = {};
  return context.finished(place, cursor);
}

bool check_attribute_names(Context& context, const Place& place,
                           const ir::Function& function) {
  std::vector<std::string_view> names(function.attributes);
  std::sort(names.begin(), names.end());
  const auto repeated = std::unique(names.begin(), names.end());
  if (repeated != names.end()) {
    context.warn(place, "a function has an attribute twice", "once",
                 quoted_name(*(repeated - 1)));
    names.erase(repeated, names.end());
  }
  for (const ir::Attribute& a : function.attribute_defaults) {
    names.push_back(a.name);
  }
  std::sort(names.begin(), names.end());
  const auto it = std::adjacent_find(names.begin(), names.end());
  return it == names.end() ||
         context.fail(place, "a function has an attribute twice", "once",
                      quoted_name(*it));
}

// A domain without a version in the imports may only have functions.
bool check_versions(Context& context) {
  const ir::Model& model = context.model;
  std::set<std::string_view> bad;
  for (const ir::OpsetImport& import : model.opset_imports) {
    if (import.version < 1) bad.insert(import.domain);
  }
  if (bad.empty()) return true;
  for (std::size_t i = 0; i < model.graph.node_count(); ++i) {
    const ir::Op& op = model.graph.op(ir::NodeId(i));
    if (!bad.contains(op.domain) || model.find_function(op)) continue;
    return no_version(context, {nullptr, "opset_import", op.domain},
                      {std::string(op.domain), model.opset(op.domain)});
  }
  return true;
}

}  // namespace

bool read_function(Context& context, Bytes proto, Scope& scope) {
  auto function = std::make_unique<ir::Function>(context.model);
  const Place unnamed{nullptr, "function", {}};
  std::vector<Bytes> defaults;
  context.in_function = true;
  if (!scan_function(context, proto, unnamed, *function, defaults)) {
    return false;
  }
  const Place place{nullptr, "function", function->name};
  if (function->name.empty()) {
    return context.fail(place, "a function has no name");
  }
  function->proto = proto;
  GraphReader reader(context, function->body, function->opset_imports, scope);
  const bool ok = read_defaults(context, defaults, place, *function) &&
                  check_attribute_names(context, place, *function) &&
                  reader.read(proto, kFunctionBody, place);
  context.in_function = false;
  if (ok) context.model.functions.push_back(std::move(function));
  return ok;
}

bool read_model(Context& context) {
  Parts parts;
  if (!read_parts(context, parts) || !check_header(context, parts))
    return false;
  ir::Model& model = context.model;
  Scope scope;
  GraphReader reader(context, model.graph, model.opset_imports, scope);
  if (!reader.read(parts.graph.whole(model.arena), kGraphBody, {}))
    return false;
  for (Bytes proto : parts.functions) {
    if (!read_function(context, proto, scope)) return false;
  }
  for (Bytes proto : parts.training) {
    if (!check_opaque(context, proto, schema::kTrainingInfo,
                      {nullptr, "training_info", {}})) {
      return false;
    }
  }
  return check_versions(context) && check_functions(context);
}

}  // namespace ruleengine::io
