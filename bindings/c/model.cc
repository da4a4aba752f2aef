#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>

#include "bindings/c/call.h"
#include "bindings/c/objects.h"

namespace ruleengine::c {
namespace {

engine::FixedSizes sizes_of(const re_model_options& given) {
  engine::FixedSizes out;
  for (const re_dimension& each :
       list_of(given.dimensions, given.dimension_count, "`dimensions`")) {
    need(each.name, "the name of a dimension");
    if (each.other == nullptr && each.value < 0) {
      throw misuse("a size is negative", {}, std::to_string(each.value));
    }
    const bool is_new = each.other == nullptr
                            ? out.emplace(each.name, each.value).second
                            : out.emplace(each.name, each.other).second;
    if (!is_new) throw misuse("a dimension has two sizes", {}, each.name);
  }
  return out;
}

io::GiveData give_data(const re_model_options& given) {
  if (given.data == nullptr) return {};
  return [data = given.data, user = given.user](std::string_view location)
             -> Result<std::optional<std::span<const std::byte>>> {
    using Bytes = std::span<const std::byte>;
    const std::string name(location);
    const void* bytes = nullptr;
    std::size_t size = 0;
    const int found = data(user, name.c_str(), &bytes, &size);
    if (found == RE_LOOKUP_NONE) return std::optional<Bytes>();
    if (found == RE_LOOKUP_FOUND && (bytes != nullptr || size == 0)) {
      return std::optional(Bytes(static_cast<const std::byte*>(bytes), size));
    }
    return Diagnostic{.kind = ErrorKind::kModel,
                      .what = "the caller cannot read external data",
                      .found = quoted_name(name)};
  };
}

// What both ways to load have in common. Once the options were read, an error
// ends with the caller's `release`.
struct Loading {
  Loading(const re_model_options* options, const re_call* call)
      : given(options_of(options)), lent(given), its(call) {
    lent.move_to(memory->lent);
    how.fixed = sizes_of(given);
    how.limits.deadline = its.deadline();
    if (given.storage < RE_STORAGE_DEFAULT ||
        given.storage > RE_STORAGE_OWNED) {
      throw misuse("`storage` is unknown", "a re_storage",
                   std::to_string(given.storage));
    }
    how.give_data = give_data(given);
    how.warn = [model = out.get()](const std::string& message) {
      model->warnings.push_back(message);
    };
  }

  void end(Result<std::unique_ptr<ir::Model>> model, re_model** to) {
    auto loaded = take(std::move(model));
    check(its.deadline().check());
    out->held =
        std::make_shared<api::Held>(api::Held{.memory = std::move(memory),
                                              .base = {},
                                              .name = std::move(name),
                                              .model = std::move(loaded)});
    *to = out.release();
  }

  const re_model_options given;
  Lent lent;  // until `memory` has it
  std::shared_ptr<Memory> memory = std::make_shared<Memory>();
  std::unique_ptr<re_model> out = std::make_unique<re_model>();
  const Call its;
  api::ModelOptions how;
  std::string name;  // in reports
};

}  // namespace
}  // namespace ruleengine::c

namespace api = ruleengine::api;
using ruleengine::Status;
using ruleengine::c::Call;
using ruleengine::c::guarded;
using ruleengine::c::Loading;
using ruleengine::c::need;
using ruleengine::c::Use;

re_error* re_model_load(const char* path, const re_model_options* options,
                        const re_call* call, re_model** model) {
  return guarded([&] {
    if (model != nullptr) *model = nullptr;
    Loading loading(options, call);
    need(model, "`model`");
    need(path, "`path`");
    if (loading.given.name != nullptr || loading.given.folder != nullptr) {
      throw api::misuse("`name` and `folder` are for models in memory");
    }
    loading.name = path;
    if (loading.given.storage != RE_STORAGE_OWNED) {
      loading.end(api::load_model(path, loading.how), model);
      return;
    }
    auto& bytes = loading.memory->bytes;
    bytes = api::take(api::read_model_file(path, loading.its.deadline()));
    const auto folder = std::filesystem::path(path).parent_path();
    loading.end(
        api::load_model(
            api::ModelBytes{.name = path,
                            .bytes = std::as_bytes(std::span(bytes)),
                            .folder = folder.empty() ? "." : folder.string()},
            loading.how),
        model);
  });
}

re_error* re_model_parse(const void* data, size_t size,
                         const re_model_options* options, const re_call* call,
                         re_model** model) {
  return guarded([&] {
    if (model != nullptr) *model = nullptr;
    Loading loading(options, call);
    need(model, "`model`");
    if (size > 0) need(data, "`data`");
    const re_model_options& given = loading.given;
    loading.name = ruleengine::c::text_of(given.name);
    std::span bytes(static_cast<const std::byte*>(data), size);
    if (given.storage != RE_STORAGE_SHARED) {
      auto& copy = loading.memory->bytes;
      copy.assign(static_cast<const char*>(data), size);
      bytes = std::as_bytes(std::span(copy));
    }
    loading.end(
        api::load_model(
            api::ModelBytes{.name = loading.name,
                            .bytes = bytes,
                            .folder = ruleengine::c::text_of(given.folder)},
            loading.how),
        model);
  });
}

void re_model_free(re_model* model) { delete model; }

size_t re_model_warning_count(const re_model* model) {
  return model == nullptr ? 0 : model->warnings.size();
}

const char* re_model_warning(const re_model* model, size_t i) {
  return i < re_model_warning_count(model) ? model->warnings[i].c_str() : "";
}

re_error* re_model_save(re_model* model, const char* path,
                        const re_save_options* options, const re_call* call) {
  return guarded([&] {
    const Use use(model);
    need(path, "`path`");
    const re_save_options how = ruleengine::c::options_of(options);
    const Call its(call);
    auto staged = api::take(api::stage_model(
        *model->held->model, path, how.share_data != 0, its.deadline()));
    api::check(its.deadline().check());
    api::check(staged.commit());
    staged.release();
  });
}

re_error* re_model_write(re_model* model, re_write_fn write, void* user,
                         const re_call* call) {
  return guarded([&] {
    const Use use(model);
    if (write == nullptr) throw api::misuse("`write` is NULL");
    const Call its(call);
    const auto pass = [&](std::span<const std::byte> bytes) -> Status {
      if (bytes.empty()) return {};
      if (Status s = its.deadline().check(); !s) return s;
      if (write(user, bytes.data(), bytes.size()) == 0) return {};
      return ruleengine::Diagnostic{
          .kind = ruleengine::ErrorKind::kWrite,
          .what = "the caller cannot write the model"};
    };
    api::check(api::stream(
        *model->held->model,
        {.size = [](std::uint64_t) { return Status(); }, .bytes = pass}));
    api::check(its.deadline().check());
  });
}

re_error* re_model_bytes(re_model* model, const re_call* call, void** data,
                         size_t* size) {
  return guarded([&] {
    if (data != nullptr) *data = nullptr;
    if (size != nullptr) *size = 0;
    need(data, "`data`");
    need(size, "`size`");
    const Use use(model);
    const Call its(call);
    std::unique_ptr<std::byte, decltype(&std::free)> out(nullptr, &std::free);
    std::size_t at = 0, end = 0;
    const ruleengine::Diagnostic wrong_size{
        .kind = ruleengine::ErrorKind::kInternal,
        .what = "a model has another size than its parts"};
    api::check(
        api::stream(*model->held->model,
                    {.size = [&](std::uint64_t all) -> Status {
                       out.reset(static_cast<std::byte*>(
                           std::malloc(std::max<std::size_t>(all, 1))));
                       if (out == nullptr) throw std::bad_alloc();
                       end = all;
                       return {};
                     },
                     .bytes = [&](std::span<const std::byte> bytes) -> Status {
                       if (Status s = its.deadline().check(); !s) return s;
                       if (bytes.size() > end - at) return wrong_size;
                       std::memcpy(out.get() + at, bytes.data(), bytes.size());
                       at += bytes.size();
                       return {};
                     }}));
    if (at != end) throw api::Failure(wrong_size);
    *data = out.release();
    *size = at;
  });
}

void re_bytes_free(void* data) { std::free(data); }
