#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>

#include "bindings/c/call.h"
#include "bindings/c/objects.h"

namespace ruleengine::c {
namespace {

Result<engine::FixedSizes> sizes_of(const re_model_options& given) {
  const auto all =
      list_of(given.dimensions, given.dimension_count, "`dimensions`");
  if (!all) return all.error();
  engine::FixedSizes out;
  for (const re_dimension& each : *all) {
    if (Status s = need(each.name, "the name of a dimension"); !s) {
      return s.error();
    }
    if (each.other == nullptr && each.value < 0) {
      return misuse("a size is negative", {}, std::to_string(each.value));
    }
    const bool is_new = each.other == nullptr
                            ? out.emplace(each.name, each.value).second
                            : out.emplace(each.name, each.other).second;
    if (!is_new) return misuse("a dimension has two sizes", {}, each.name);
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

// What both ways to load have in common.
struct Loading {
  re_model_options given{};
  std::unique_ptr<re_model> out;
  api::ModelOptions how;
  std::shared_ptr<Memory> memory = std::make_shared<Memory>();
  std::string name;  // in reports

  // From here on an error ends with the caller's `release`.
  static Result<Loading> begin(const re_model_options* options,
                               const Call& call) {
    const auto given = options_of(options);
    if (!given) return given.error();
    Lent lent(*given);
    Loading its{
        .given = *given, .out = std::make_unique<re_model>(), .how = {}};
    lent.move_to(its.memory->lent);
    if (!call.status()) return call.status().error();
    auto sizes = sizes_of(*given);
    if (!sizes) return sizes.error();
    its.how.fixed = *std::move(sizes);
    its.how.limits.deadline = call.deadline();
    if (given->storage < RE_STORAGE_DEFAULT ||
        given->storage > RE_STORAGE_OWNED) {
      return misuse("`storage` is unknown", "a re_storage",
                    std::to_string(given->storage));
    }
    its.how.give_data = give_data(*given);
    its.how.warn = [model = its.out.get()](const std::string& message) {
      model->warnings.push_back(message);
    };
    return its;
  }

  Status end(Result<std::unique_ptr<ir::Model>> model, re_model** to) {
    if (!model) return model.error();
    if (Status s = how.limits.deadline.check(); !s) return s;
    out->held =
        std::make_shared<api::Held>(api::Held{.memory = std::move(memory),
                                              .base = {},
                                              .name = std::move(name),
                                              .model = *std::move(model)});
    *to = out.release();
    return {};
  }
};

}  // namespace
}  // namespace ruleengine::c

namespace api = ruleengine::api;
using ruleengine::Status;
using ruleengine::c::Call;
using ruleengine::c::Loading;
using ruleengine::c::Use;

re_error* re_model_load(const char* path, const re_model_options* options,
                        const re_call* call, re_model** model) {
  return ruleengine::c::guarded([&]() -> Status {
    if (model != nullptr) *model = nullptr;
    const Call its(call);
    auto loading = Loading::begin(options, its);
    if (!loading) return loading.error();
    if (Status s = ruleengine::c::need(model, "`model`"); !s) return s;
    if (Status s = ruleengine::c::need(path, "`path`"); !s) return s;
    if (loading->given.name != nullptr || loading->given.folder != nullptr) {
      return ruleengine::c::misuse(
          "`name` and `folder` are for models in memory");
    }
    loading->name = path;
    if (loading->given.storage != RE_STORAGE_OWNED) {
      return loading->end(api::load_model(path, loading->how), model);
    }
    auto read = api::read_model_file(path, its.deadline());
    if (!read) return read.error();
    auto& bytes = loading->memory->bytes;
    bytes = *std::move(read);
    const auto folder = std::filesystem::path(path).parent_path();
    return loading->end(
        api::load_model(
            api::ModelBytes{.name = path,
                            .bytes = std::as_bytes(std::span(bytes)),
                            .folder = folder.empty() ? "." : folder.string()},
            loading->how),
        model);
  });
}

re_error* re_model_parse(const void* data, size_t size,
                         const re_model_options* options, const re_call* call,
                         re_model** model) {
  return ruleengine::c::guarded([&]() -> Status {
    if (model != nullptr) *model = nullptr;
    const Call its(call);
    auto loading = Loading::begin(options, its);
    if (!loading) return loading.error();
    if (Status s = ruleengine::c::need(model, "`model`"); !s) return s;
    if (size > 0) {
      if (Status s = ruleengine::c::need(data, "`data`"); !s) return s;
    }
    const re_model_options& given = loading->given;
    loading->name = ruleengine::c::text_of(given.name);
    std::span bytes(static_cast<const std::byte*>(data), size);
    if (given.storage != RE_STORAGE_SHARED) {
      auto& copy = loading->memory->bytes;
      copy.assign(static_cast<const char*>(data), size);
      bytes = std::as_bytes(std::span(copy));
    }
    return loading->end(
        api::load_model(
            api::ModelBytes{.name = loading->name,
                            .bytes = bytes,
                            .folder = ruleengine::c::text_of(given.folder)},
            loading->how),
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
  return ruleengine::c::guarded([&]() -> Status {
    const Use use(model, re_model::kType);
    if (!use.status()) return use.status();
    if (Status s = ruleengine::c::need(path, "`path`"); !s) return s;
    const auto how = ruleengine::c::options_of(options);
    if (!how) return how.error();
    const Call its(call);
    if (!its.status()) return its.status();
    auto staged = api::stage_model(*model->held->model, path,
                                   how->share_data != 0, its.deadline());
    if (!staged) return staged.error();
    if (Status s = its.deadline().check(); !s) return s;
    if (Status s = staged->commit(); !s) return s;
    staged->release();
    return {};
  });
}

re_error* re_model_write(re_model* model, re_write_fn write, void* user,
                         const re_call* call) {
  return ruleengine::c::guarded([&]() -> Status {
    const Use use(model, re_model::kType);
    if (!use.status()) return use.status();
    if (write == nullptr) return ruleengine::c::misuse("`write` is NULL");
    const Call its(call);
    if (!its.status()) return its.status();
    const auto pass = [&](const void* data, std::size_t size) -> Status {
      if (Status s = its.deadline().check(); !s) return s;
      if (write(user, data, size) == 0) return {};
      return ruleengine::Diagnostic{
          .kind = ruleengine::ErrorKind::kWrite,
          .what = "the caller cannot write the model"};
    };
    const Status done = api::stream(
        *model->held->model, {.size = [](std::uint64_t) { return Status(); },
                              .bytes =
                                  [&](std::span<const std::byte> bytes) {
                                    return bytes.empty() ? Status()
                                                         : pass(bytes.data(),
                                                                bytes.size());
                                  }});
    return done ? its.deadline().check() : done;
  });
}

re_error* re_model_bytes(re_model* model, const re_call* call, void** data,
                         size_t* size) {
  return ruleengine::c::guarded([&]() -> Status {
    if (data != nullptr) *data = nullptr;
    if (size != nullptr) *size = 0;
    if (Status s = ruleengine::c::need(data, "`data`"); !s) return s;
    if (Status s = ruleengine::c::need(size, "`size`"); !s) return s;
    const Use use(model, re_model::kType);
    if (!use.status()) return use.status();
    const Call its(call);
    if (!its.status()) return its.status();
    std::unique_ptr<std::byte, decltype(&std::free)> out(nullptr, &std::free);
    std::size_t at = 0, end = 0;
    const ruleengine::Diagnostic wrong_size{
        .kind = ruleengine::ErrorKind::kInternal,
        .what = "a model has another size than its parts"};
    const Status done =
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
                     }});
    if (!done) return done;
    if (at != end) return wrong_size;
    *data = out.release();
    *size = at;
    return {};
  });
}

void re_bytes_free(void* data) { std::free(data); }
