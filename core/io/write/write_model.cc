#include "core/io/write/write_model.h"

#include <unordered_map>

#include "core/io/write/write_graph.h"

namespace ruleengine::io {
namespace {

class ModelWriter {
 public:
  ModelWriter(const ir::Model& model, Emitter& emitter)
      : model_(model),
        emitter_(emitter),
        rope_(emitter.rope()),
        source_(model.source ? model.source->bytes() : Bytes()),
        opsets_(rope_, model_field::kOpsetImport, model.opset_imports) {}

  Status run() {
    find_version();
    if (!has_version_) write_version();
    Cursor cursor(source_, schema::kModel);
    while (status_.ok() && cursor.next()) field(cursor);
    if (status_.ok() && !has_graph_) graph();
    opsets_.finish();
    for (const auto& f : model_.functions) {
      if (f->proto.empty()) function(*f);
    }
    return status_;
  }

 private:
  void find_version() {
    Cursor cursor(source_, schema::kModel);
    while (cursor.next()) {
      if (cursor.field() == model_field::kIrVersion) {
        settings_.source_ir_version = cursor.integer();
        has_version_ = true;
      }
    }
  }

  void write_version() {
    rope_.varint(model_field::kIrVersion, model_.ir_version);
  }

  void field(const Cursor& cursor) {
    switch (cursor.field()) {
      case model_field::kIrVersion:
        if (cursor.integer() == model_.ir_version) {
          rope_.view(cursor.whole());
        } else {
          write_version();
        }
        break;
      case model_field::kGraph:
        if (!has_graph_) graph();
        break;
      case model_field::kOpsetImport:
        opsets_.field(cursor);
        break;
      case model_field::kFunctions:
        known_function(cursor.bytes());
        break;
      case model_field::kTrainingInfo:
        emitter_.verbatim(cursor.field(), cursor.bytes(),
                          schema::kTrainingInfo);
        break;
      default:
        rope_.view(cursor.whole());
    }
  }

  void graph() {
    has_graph_ = true;
    GraphWriter writer(model_, model_.graph, emitter_, settings_);
    status_ = writer.write(model_field::kGraph);
  }

  // Functions that are written anew have no encoding any more.
  void known_function(Bytes proto) {
    if (functions_.empty()) {
      for (const auto& f : model_.functions) {
        functions_.emplace(f->proto.data(), f.get());
      }
    }
    const auto at = functions_.find(proto.data());
    if (at != functions_.end()) function(*at->second);
  }

  void function(const ir::Function& f) {
    if (f.removed || !status_.ok()) return;
    GraphWriter writer(model_, f.body, emitter_, settings_, f.proto.empty());
    if (!writer.changed() && !f.proto.empty()) {
      return emitter_.verbatim(model_field::kFunctions, f.proto,
                               schema::kFunction);
    }
    const Rope::Mark mark = rope_.begin(model_field::kFunctions);
    status_ = writer.write_function(f);
    rope_.end(mark);
  }

  const ir::Model& model_;
  Emitter& emitter_;
  Rope& rope_;
  Bytes source_;
  OpsetWriter opsets_;
  WriteSettings settings_;
  Status status_;
  bool has_graph_ = false, has_version_ = false;
  std::unordered_map<const std::byte*, const ir::Function*> functions_;
};

}  // namespace

Status write_model(const ir::Model& model, Emitter& emitter) {
  return ModelWriter(model, emitter).run();
}

Status stream(const Rope& rope, const ir::Model& model,
              const ir::ByteSink& sink) {
  for (const Piece& piece : rope.pieces()) {
    const Status s =
        piece.tensor == nullptr
            ? sink({piece.data, piece.size})
            : ir::stream_bytes(*piece.tensor, model.external.get(), sink);
    if (!s) return s;
  }
  return {};
}

Result<std::string> flatten(const Rope& rope, const ir::Model& model) {
  std::string out;
  out.reserve(rope.size());
  const Status done = stream(rope, model, [&](Bytes bytes) {
    out.append(as_text(bytes));
    return Status();
  });
  if (!done) return done.error();
  return out;
}

}  // namespace ruleengine::io
