#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstring>

#include "bindings/api/bench.h"
#include "bindings/api/session.h"
#include "bindings/python/objects.h"

namespace ruleengine::python {
namespace {

// How a model runs; of random inputs, sizes of dimensions.
struct ExecutionOptions {
  std::int64_t threads = 0;
  std::uint64_t seed = 0;
  std::size_t tensors = 0;
  std::string device;
  bool tf32 = false;
  std::map<std::string, std::int64_t> dims;
  std::optional<std::tuple<double, double>> tolerance;  // absolute, relative
};

api::ExecutionOptions options_of(const ExecutionOptions& how,
                                 const Deadline& deadline) {
  api::ExecutionOptions out;
  out.threads =
      std::in_range<int>(how.threads) ? static_cast<int>(how.threads) : -1;
  out.seed = how.seed;
  out.device = how.device;
  out.tf32 = how.tf32;
  out.dims = how.dims;
  if (how.tolerance) {
    const auto [absolute, relative] = *how.tolerance;
    out.tolerance = runtime::Tolerance{absolute, relative};
  }
  out.limits.tensors = how.tensors;
  out.limits.deadline = deadline;
  check(api::check(out));
  return out;
}

// --- Tensors -----------------------------------------------------------------

// Bytes in memory, from 0 bytes on, as numpy sees them.
using Bytes = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;

// A tensor of a run as (type, shape, data): data is an array of bytes that
// nobody else has, or a list of bytes objects for strings; None for an optional
// without a value; a list for a sequence.
nb::object object_of(const runtime::Datum& value,
                     const std::shared_ptr<api::Held>& held) {
  if (value.is_sequence()) {
    nb::list out;
    for (const auto& each : value.items()) out.append(object_of(each, held));
    return out;
  }
  if (!value.is_tensor()) return nb::none();
  const runtime::Tensor& tensor = value.tensor();
  nb::list shape;
  for (const std::int64_t each : tensor.dims()) shape.append(each);
  nb::object data;
  if (tensor.is_string()) {
    nb::list strings;
    for (const auto& each : tensor.strings()) {
      strings.append(nb::bytes(each.data(), each.size()));
    }
    data = std::move(strings);
  } else {
    struct Kept {
      runtime::Tensor tensor;
      std::shared_ptr<api::Held> held;
    };
    auto kept = std::make_unique<Kept>(Kept{tensor, held});
    auto* at = kept->tensor.mutable_data<std::uint8_t>();
    const nb::capsule owner(
        kept.get(), [](void* p) noexcept { delete static_cast<Kept*>(p); });
    kept.release();
    data = nb::cast(Bytes(at, {tensor.byte_size()}, owner));
  }
  return nb::make_tuple(static_cast<int>(tensor.dtype()), nb::tuple(shape),
                        data);
}

// What others share, such as weights, is copied: callers may write.
runtime::Datum owned(runtime::Datum value) {
  if (value.is_sequence()) {
    runtime::Datum::List items;
    for (const auto& each : value.items()) items.push_back(owned(each));
    return runtime::Datum::sequence(std::move(items));
  }
  if (!value.is_tensor() || value.tensor().is_string()) return value;
  const runtime::Tensor& t = value.tensor();
  if (t.is_sole()) return value;
  auto copy = runtime::HostMemory::create()->allocate(t.byte_size());
  std::ranges::copy(t.bytes(), copy.get());
  return runtime::Datum(runtime::Tensor(t.dtype(), t.dims(), std::move(copy)));
}

// Inputs of Python, and what keeps their bytes.
struct Inputs {
  runtime::NamedData values;
  std::vector<std::unique_ptr<Buffer>> buffers;
};

// A tensor (type, shape, data): data has a buffer, or is a list of bytes for
// strings.
runtime::Datum datum_of(const nb::tuple& given, Inputs& out) {
  if (given.size() != 3) throw misuse("a tensor is (type, shape, data)");
  const auto type = nb::cast<std::int32_t>(given[0]);
  const auto dims = nb::cast<std::vector<std::int64_t>>(given[1]);
  const nb::object data = given[2];
  if (!nb::isinstance<nb::list>(data)) {
    out.buffers.push_back(std::make_unique<Buffer>(data));
    return take(api::tensor_of(type, dims, out.buffers.back()->bytes()));
  }
  std::vector<std::string_view> strings;
  for (const nb::handle each : nb::cast<nb::list>(data)) {
    const auto bytes = nb::cast<nb::bytes>(each);
    strings.emplace_back(bytes.c_str(), bytes.size());
  }
  return take(api::strings_of(dims, strings));
}

// A tensor, or a list of values for a sequence.
runtime::Datum value_of(const nb::handle& given, Inputs& out) {
  if (!nb::isinstance<nb::list>(given)) {
    return datum_of(nb::cast<nb::tuple>(given), out);
  }
  runtime::Datum::List items;
  for (const nb::handle each : nb::cast<nb::list>(given)) {
    items.push_back(value_of(each, out));
  }
  return runtime::Datum::sequence(std::move(items));
}

Inputs inputs_of(const nb::dict& given) {
  Inputs out;
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    try {
      out.values.emplace_back(name, value_of(value, out));
    } catch (Failure& failure) {
      failure.in_input(name);
      throw;
    }
  }
  return out;
}

// A CPU array of another framework as (code, bits, lanes, shape, data), by
// DLPack; the codes are DLPack's.
nb::tuple from_dlpack(
    nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> array) {
  nb::list shape;
  for (std::size_t i = 0; i < array.ndim(); ++i) shape.append(array.shape(i));
  const auto type = array.dtype();
  auto* data = static_cast<std::uint8_t*>(const_cast<void*>(array.data()));
  const std::size_t size = array.nbytes();
  const nb::object owner = nb::cast(array);
  return nb::make_tuple(type.code, type.bits, type.lanes, nb::tuple(shape),
                        nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(
                            data, {size}, owner));
}

// The bodies that the rules give ops.
const engine::OpBodies& bodies_of(const Rules* rules) {
  static const engine::OpBodies none;
  return rules == nullptr ? none : rules->rewriter->bodies();
}

// --- Sessions ----------------------------------------------------------------

class Session {
 public:
  Session(Model& model, Rules* rules, const ExecutionOptions& how,
          Seconds seconds)
      : held_(model.held), how_(how) {
    Call call(seconds, nb::none());
    call.run({&model.busy, busy_of(rules)},
             [&] { prepare(rules, call.deadline()); });
  }
  // The threads of a session are not in a child of the process.
  ~Session() {
    if (process_ != ::getpid()) static_cast<void>(session_.release());
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  nb::list warnings() const { return list_of(warnings_); }

  nb::list run(const nb::dict& inputs, Seconds seconds, nb::object progress) {
    Call call(seconds, std::move(progress));
    const Inputs given = inputs_of(inputs);
    const auto values = call.run({&busy_}, [&] {
      begin(call);
      auto out = take(session_->run(given.values, call.progress()));
      for (auto& [name, value] : out) value = owned(std::move(value));
      return out;
    });
    nb::list out;
    for (const auto& [name, value] : values) {
      out.append(nb::make_tuple(text(name), object_of(value, held_)));
    }
    return out;
  }

  void warm_up(const nb::dict& inputs, Seconds seconds, nb::object progress) {
    Call call(seconds, std::move(progress));
    const Inputs given = inputs_of(inputs);
    call.run({&busy_}, [&] {
      begin(call);
      check(session_->warm_up(given.values, call.progress()));
    });
  }

 private:
  void begin(const Call& call) {
    if (process_ != ::getpid()) {
      throw misuse("the session was made before the process forked",
                   "a Session of this process");
    }
    *term_ = call.deadline();
  }
  void prepare(Rules* rules, const Deadline& deadline) {
    *term_ = deadline;
    if (rules != nullptr) *rules->term = deadline;
    auto how = options_of(how_, Deadline().or_of_call(term_));
    how.warn = [this](const std::string& each) { warnings_.push_back(each); };
    session_ = take(api::Session::create(*held_->model, bodies_of(rules), how));
    check(deadline.check());
  }

  std::shared_ptr<api::Held> held_;
  ExecutionOptions how_;
  std::vector<std::string> warnings_;
  std::shared_ptr<Deadline> term_ = std::make_shared<Deadline>();
  std::unique_ptr<api::Session> session_;
  pid_t process_ = ::getpid();
  Busy busy_;
};

// The report of a comparison; where the models do not agree, the error has it.
nb::str compare(Model& model, Model& other, Rules* rules,
                const ExecutionOptions& how, Seconds seconds) {
  Call call(seconds, nb::none());
  const api::ExecutionOptions options = options_of(how, call.deadline());
  return text(call.run({&model.busy, &other.busy, busy_of(rules)}, [&] {
    if (rules != nullptr) *rules->term = call.deadline();
    const auto found = take(api::compare(*model.held->model, *other.held->model,
                                         bodies_of(rules), options));
    std::string json = engine::json_text(engine::to_json(found));
    const Status verdict = api::verdict_of(found);
    if (!verdict) throw Failure(verdict.error(), std::move(json));
    return json;
  }));
}

nb::str bench(const std::vector<Model*>& models, std::size_t rounds,
              const ExecutionOptions& how, Seconds seconds) {
  Call call(seconds, nb::none());
  std::vector<Busy*> uses;
  std::vector<api::BenchedModel> given;
  for (Model* each : models) {
    if (each == nullptr) throw misuse("a model is None");
    uses.push_back(&each->busy);
    given.push_back({each->held->name, each->held->model});
  }
  const api::BenchOptions options{.how = options_of(how, call.deadline()),
                                  .rounds = rounds};
  return text(call.run(uses, [&] {
    return engine::json_text(api::to_json(take(api::bench(given, options))));
  }));
}

}  // namespace

void add_sessions(nb::module_& m) {
  using nb::arg;
  using Options = ExecutionOptions;
  nb::class_<Options>(m, "ExecutionOptions")
      .def(nb::init<>())
      .def_rw("threads", &Options::threads)
      .def_rw("seed", &Options::seed)
      .def_rw("tensors", &Options::tensors)
      .def_rw("device", &Options::device)
      .def_rw("tf32", &Options::tf32)
      .def_rw("dims", &Options::dims)
      .def_rw("tolerance", &Options::tolerance, arg().none());
  nb::class_<Session>(m, "Session")
      .def(nb::init<Model&, Rules*, const Options&, Seconds>(), arg("model"),
           arg("rules").none(), arg("how"), arg("seconds").none())
      .def("run", &Session::run, arg("inputs"), arg("seconds").none(),
           arg("progress").none())
      .def("warm_up", &Session::warm_up, arg("inputs"), arg("seconds").none(),
           arg("progress").none())
      .def_prop_ro("warnings", &Session::warnings);
  m.def("compare", &compare, arg("model"), arg("other"), arg("rules").none(),
        arg("how"), arg("seconds").none());
  m.def("bench", &bench, arg("models"), arg("rounds"), arg("how"),
        arg("seconds").none());
  m.def("from_dlpack", &from_dlpack, arg("array"));
}

}  // namespace ruleengine::python
