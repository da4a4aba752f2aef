#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "bindings/api/contents.h"
#include "bindings/api/draw.h"
#include "bindings/api/questions.h"
#include "bindings/python/objects.h"

namespace ruleengine::python {
namespace {

// By location; they live as long as the model.
using Files = std::map<std::string, const Buffer*, std::less<>>;

io::GiveData give_from(Files files) {
  return [files = std::move(files)](std::string_view location)
             -> Result<std::optional<std::span<const std::byte>>> {
    const auto it = files.find(location);
    if (it == files.end()) return std::optional<std::span<const std::byte>>();
    return std::optional(it->second->bytes());
  };
}

// What a model in memory borrows.
using Buffers = std::vector<std::unique_ptr<Buffer>>;
using Load =
    std::function<Result<std::unique_ptr<ir::Model>>(const api::ModelOptions&)>;

// What both ways to load have in common.
std::unique_ptr<Model> model_with(Call& call, api::ModelOptions how,
                                  std::string name,
                                  std::shared_ptr<const void> memory,
                                  const Load& load) {
  auto out = std::make_unique<Model>();
  how.limits.deadline = call.deadline();
  how.warn = [&](const std::string& each) { out->warnings.push_back(each); };
  out->held = std::make_shared<api::Held>();
  out->held->memory = std::move(memory);
  out->held->name = std::move(name);
  out->held->model = call.run({}, [&] {
    auto model = take(load(how));
    check(how.limits.deadline.check());
    return std::shared_ptr<ir::Model>(std::move(model));
  });
  return out;
}

std::unique_ptr<Model> load_model(const nb::bytes& path, const Dims& dims,
                                  Seconds seconds) {
  Call call(seconds, nb::none());
  const std::string name = path_of(path);
  return model_with(
      call, {.fixed = dims}, name, {},
      [&](const api::ModelOptions& how) { return api::load_model(name, how); });
}

// `data`, and the values of `files`, are objects with a buffer that nobody
// changes: the model refers to it.
std::unique_ptr<Model> parse(nb::handle data, const std::string& name,
                             const nb::bytes& folder, const nb::dict& files,
                             const Dims& dims, Seconds seconds) {
  Call call(seconds, nb::none());
  const auto buffers = std::make_shared<Buffers>();
  buffers->push_back(std::make_unique<Buffer>(data));
  Files given;
  for (const auto& [location, its] : files) {
    buffers->push_back(std::make_unique<Buffer>(its));
    given.emplace(nb::cast<std::string>(location), buffers->back().get());
  }
  return model_with(call,
                    {.fixed = dims, .give_data = give_from(std::move(given))},
                    name, buffers, [&](const api::ModelOptions& how) {
                      return api::load_model(
                          api::ModelBytes{.name = name,
                                          .bytes = buffers->front()->bytes(),
                                          .folder = path_of(folder)},
                          how);
                    });
}

void save(Model& model, const nb::bytes& path, bool share_data,
          Seconds seconds) {
  Call call(seconds, nb::none());
  call.run({&model.busy}, [&] {
    auto staged = take(api::stage_model(*model.held->model, path_of(path),
                                        share_data, call.deadline()));
    check(call.deadline().check());
    check(staged.commit());
    staged.release();
  });
}

// A bytes object that a message fills.
class Written {
 public:
  explicit Written(const Call& call) : call_(call) {}
  ~Written() { Py_XDECREF(object_); }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;

  io::SizedSink sink() {
    return {.size = [this](std::uint64_t all) { return begin(all); },
            .bytes = [this](std::span<const std::byte> b) { return add(b); }};
  }
  // None if nothing was written.
  nb::object take() {
    if (left_ != 0) throw Failure(wrong_size());
    PyObject* const out = std::exchange(object_, nullptr);
    return out == nullptr ? nb::none() : nb::steal(out);
  }

 private:
  static Diagnostic wrong_size() {
    return {.kind = ErrorKind::kInternal,
            .what = "a model has another size than its parts"};
  }
  Status begin(std::uint64_t all) {
    call_.check_interpreter();
    const nb::gil_scoped_acquire gil;
    object_ = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(all));
    if (object_ == nullptr) {
      PyErr_Clear();
      throw std::bad_alloc();
    }
    at_ = PyBytes_AsString(object_);
    left_ = all;
    return {};
  }
  Status add(std::span<const std::byte> bytes) {
    if (Status s = call_.deadline().check(); !s) return s;
    if (bytes.size() > left_) return wrong_size();
    if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
    left_ -= bytes.size();
    return {};
  }

  const Call& call_;
  PyObject* object_ = nullptr;
  char* at_ = nullptr;
  std::uint64_t left_ = 0;
};

nb::object to_bytes(Model& model, Seconds seconds) {
  Call call(seconds, nb::none());
  Written out(call);
  call.run({&model.busy},
           [&] { check(api::stream(*model.held->model, out.sink())); });
  return out.take();
}

// The message, and new weights, which it has as external data at `location`.
nb::tuple to_parts(Model& model, const std::string& location, Seconds seconds) {
  Call call(seconds, nb::none());
  Written message(call), data(call);
  call.run({&model.busy}, [&] {
    check(api::stream_apart(*model.held->model, location, message.sink(),
                            data.sink()));
  });
  return nb::make_tuple(message.take(), data.take());
}

api::Limits limits_of(const Call& call) {
  api::Limits out;
  out.deadline = call.deadline();
  return out;
}

// For what edits a model.
std::shared_ptr<ir::Model> copy_of(const Model& model, const Call& call) {
  return api::copy_of(*model.held->model, limits_of(call));
}

nb::str contents(Model& model, Seconds seconds) {
  Call call(seconds, nb::none());
  return text(call.run({&model.busy}, [&] {
    const auto copy = copy_of(model, call);
    return engine::json_text(api::to_json(
        model.held->name, take(api::contents(*copy, limits_of(call)))));
  }));
}

nb::str print(Model& model, bool weights, Seconds seconds) {
  Call call(seconds, nb::none());
  return text(call.run({&model.busy}, [&] {
    return take(api::print(*model.held->model, weights, limits_of(call)));
  }));
}

api::Form form_of(const std::string& name) {
  if (name == "svg") return api::Form::kSvg;
  if (name == "html") return api::Form::kHtml;
  if (name == "dot") return api::Form::kDot;
  throw misuse("there is no such form of a picture", "svg, html or dot", name);
}

nb::str draw(Model& model, Rules* rules, const std::string& form,
             std::size_t boxes, Seconds seconds) {
  Call call(seconds, nb::none());
  api::DrawOptions how;
  how.form = form_of(form);
  how.name = model.held->name;
  how.boxes = boxes;
  how.run.limits.deadline = call.deadline();
  return text(call.run({&model.busy, busy_of(rules)}, [&] {
    if (rules != nullptr) *rules->term = call.deadline();
    const auto copy = copy_of(model, call);
    return take(
               api::draw(*copy,
                         rules == nullptr ? nullptr : &rules->rewriter->rules(),
                         how))
        .text;
  }));
}

}  // namespace

Buffer::Buffer(nb::handle of) {
  if (PyObject_GetBuffer(of.ptr(), &view_, PyBUF_SIMPLE) != 0) {
    throw nb::python_error();
  }
}

Buffer::~Buffer() {
  if (Py_IsInitialized() == 0) return;  // the process ends
  const nb::gil_scoped_acquire gil;
  PyBuffer_Release(&view_);
}

void add_models(nb::module_& m) {
  using nb::arg;
  nb::class_<Model>(m, "Model")
      .def_static("load", &load_model, arg("path"), arg("dims"),
                  arg("seconds").none())
      .def_static("parse", &parse, arg("data"), arg("name"), arg("folder"),
                  arg("files"), arg("dims"), arg("seconds").none())
      .def("save", &save, arg("path"), arg("share_data"), arg("seconds").none())
      .def("to_bytes", &to_bytes, arg("seconds").none())
      .def("to_parts", &to_parts, arg("location"), arg("seconds").none())
      .def("contents", &contents, arg("seconds").none())
      .def("print", &print, arg("weights"), arg("seconds").none())
      .def("draw", &draw, arg("rules").none(), arg("form"), arg("boxes"),
           arg("seconds").none())
      .def_prop_ro("name",
                   [](const Model& its) { return text(its.held->name); })
      .def_prop_ro("warnings",
                   [](const Model& its) { return list_of(its.warnings); });
}

}  // namespace ruleengine::python
