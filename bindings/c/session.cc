#include <optional>
#include <span>
#include <string_view>

#include "bindings/api/session.h"
#include "bindings/c/call.h"
#include "bindings/c/objects.h"

struct re_session : ruleengine::c::Handle {
  static constexpr const char* kType = "re_session";
  re_session() : Handle(kType) {}

  std::shared_ptr<ruleengine::api::Held> held;
  std::shared_ptr<ruleengine::Deadline> term =
      std::make_shared<ruleengine::Deadline>();
  std::vector<std::string> warnings;
  std::unique_ptr<ruleengine::api::Session> session;
};

struct re_values {
  std::shared_ptr<ruleengine::api::Held> held;
  ruleengine::runtime::NamedData values;
  // The strings of tensors, by the tensor's place and that of the item.
  std::vector<std::vector<std::vector<re_text>>> strings;
};

namespace ruleengine::c {
namespace {

// As api::check() takes it.
int threads_of(std::int64_t threads) {
  return std::in_range<int>(threads) ? static_cast<int>(threads) : -1;
}

runtime::Datum datum_of(const re_tensor& given) {
  if (given.rank > 0) need(given.shape, "the shape of an input");
  if (given.size > 0) need(given.data, "the data of an input");
  const std::span dims(given.shape, given.rank);
  if (given.type != static_cast<int>(ir::DataType::kString)) {
    return take(api::tensor_of(
        given.type, dims,
        {static_cast<const std::byte*>(given.data), given.size}));
  }
  if (given.size % sizeof(re_text) != 0) {
    throw misuse("the data of strings is no array of re_text");
  }
  std::vector<std::string_view> texts;
  for (const re_text& each : std::span(static_cast<const re_text*>(given.data),
                                       given.size / sizeof(re_text))) {
    if (each.data == nullptr && each.size > 0) {
      throw misuse("a string of an input is NULL");
    }
    texts.emplace_back(each.data, each.size);
  }
  return take(api::strings_of(dims, texts));
}

runtime::NamedData inputs_of(const re_tensor* inputs, std::size_t count) {
  runtime::NamedData out;
  for (const re_tensor& each : list_of(inputs, count, "`inputs`")) {
    need(each.name, "the name of an input");
    try {
      out.emplace_back(each.name, datum_of(each));
    } catch (api::Failure& failure) {
      failure.in_input(each.name);
      throw;
    }
  }
  return out;
}

// The bodies that the rules give ops, while a call holds the rules.
class Bodies {
 public:
  explicit Bodies(re_rules* rules) {
    if (rules == nullptr) return;
    use_.emplace(rules);
    its_ = &rules->rewriter->bodies();
  }
  const engine::OpBodies& operator*() const { return *its_; }

 private:
  std::optional<Use> use_;
  engine::OpBodies none_;
  const engine::OpBodies* its_ = &none_;
};

std::vector<re_text> texts_of(const runtime::Datum& value) {
  std::vector<re_text> out;
  if (!value.is_tensor() || !value.tensor().is_string()) return out;
  for (const runtime::String& each : value.tensor().strings()) {
    out.push_back({each.data(), each.size()});
  }
  return out;
}

// Those of the value itself, or of its items.
std::vector<std::vector<re_text>> all_texts(const runtime::Datum& value) {
  if (!value.is_sequence()) return {texts_of(value)};
  std::vector<std::vector<re_text>> out;
  for (const runtime::Datum& each : value.items()) {
    out.push_back(texts_of(each));
  }
  return out;
}

// work(inputs, call) with a session that runs, within the time of the call.
template <typename Work>
auto with_inputs(re_session* session, const re_tensor* inputs, size_t count,
                 const re_call* call, const Work& work) {
  const Use use(session);
  Call its(call);
  *session->term = its.deadline();
  return work(inputs_of(inputs, count), its);
}

void show(const runtime::Tensor& t, const std::string& name,
          const std::vector<re_text>& texts, re_tensor& to) {
  to = {.name = name.c_str(),
        .type = static_cast<std::int32_t>(t.dtype()),
        .rank = t.rank(),
        .shape = t.dims().data(),
        .data = t.is_string() ? static_cast<const void*>(texts.data())
                              : t.bytes().data(),
        .size = t.is_string() ? texts.size() * sizeof(re_text) : t.byte_size()};
}

}  // namespace
}  // namespace ruleengine::c

namespace api = ruleengine::api;
namespace runtime = ruleengine::runtime;
using ruleengine::c::Bodies;
using ruleengine::c::Call;
using ruleengine::c::guarded;
using ruleengine::c::Use;

re_error* re_session_new(re_model* model, const re_session_options* options,
                         const re_call* call, re_session** session) {
  return guarded([&] {
    ruleengine::c::clear(session, "`session`");
    const re_session_options given = ruleengine::c::options_of(options);
    api::ExecutionOptions how;
    how.threads = ruleengine::c::threads_of(given.threads);
    api::check(api::check(how));
    const Use use(model);
    const Bodies bodies(given.rules);
    const Call its(call);
    auto out = std::make_unique<re_session>();
    out->held = model->held;
    how.seed = given.seed;
    if (given.device != nullptr) how.device = given.device;
    how.tf32 = given.tf32 != 0;
    how.warn = [its = out.get()](const std::string& message) {
      its->warnings.push_back(message);
    };
    how.limits.tensors = given.tensors;
    how.limits.deadline = ruleengine::Deadline().or_of_call(out->term);
    *out->term = its.deadline();
    auto made =
        api::take(api::Session::create(*model->held->model, *bodies, how));
    api::check(its.deadline().check());
    out->session = std::move(made);
    *session = out.release();
  });
}

void re_session_free(re_session* session) { delete session; }

size_t re_session_warning_count(const re_session* session) {
  return session == nullptr ? 0 : session->warnings.size();
}

const char* re_session_warning(const re_session* session, size_t i) {
  return i < re_session_warning_count(session) ? session->warnings[i].c_str()
                                               : "";
}

re_error* re_session_run(re_session* session, const re_tensor* inputs,
                         size_t count, const re_call* call,
                         re_values** outputs) {
  return guarded([&] {
    ruleengine::c::clear(outputs, "`outputs`");
    ruleengine::c::with_inputs(
        session, inputs, count, call,
        [&](const runtime::NamedData& given, Call& its) {
          auto out = std::make_unique<re_values>();
          out->held = session->held;
          out->values = api::take(session->session->run(given, its.progress()));
          for (const auto& [name, value] : out->values) {
            out->strings.push_back(ruleengine::c::all_texts(value));
          }
          *outputs = out.release();
        });
  });
}

re_error* re_session_warm_up(re_session* session, const re_tensor* inputs,
                             size_t count, const re_call* call) {
  return guarded([&] {
    ruleengine::c::with_inputs(
        session, inputs, count, call,
        [&](const runtime::NamedData& given, Call& its) {
          api::check(session->session->warm_up(given, its.progress()));
        });
  });
}

void re_values_free(re_values* values) { delete values; }

size_t re_values_count(const re_values* values) {
  return values == nullptr ? 0 : values->values.size();
}

re_value_kind re_values_kind(const re_values* values, size_t i) {
  if (i >= re_values_count(values)) return RE_VALUE_ABSENT;
  const runtime::Datum& value = values->values[i].second;
  if (value.is_tensor()) return RE_VALUE_TENSOR;
  return value.is_sequence() ? RE_VALUE_SEQUENCE : RE_VALUE_ABSENT;
}

size_t re_values_items(const re_values* values, size_t i) {
  if (re_values_kind(values, i) != RE_VALUE_SEQUENCE) return 0;
  return values->values[i].second.items().size();
}

re_error* re_values_tensor(const re_values* values, size_t i, size_t item,
                           re_tensor* tensor) {
  return guarded([&] {
    ruleengine::c::clear(tensor, "`tensor`");
    ruleengine::c::need(values, "`values`");
    if (i >= values->values.size()) throw api::misuse("there is no such value");
    const auto& [name, value] = values->values[i];
    const bool is_item = value.is_sequence() && item < value.items().size() &&
                         value.items()[item].is_tensor();
    if (!is_item && !(value.is_tensor() && item == 0)) {
      throw api::misuse("the value is no tensor", {}, value.text());
    }
    ruleengine::c::show(is_item ? value.items()[item].tensor() : value.tensor(),
                        name, values->strings[i][item], *tensor);
  });
}

re_error* re_compare(re_model* model, re_model* other,
                     const re_compare_options* options, const re_call* call,
                     re_report** report) {
  return guarded([&] {
    if (report != nullptr) *report = nullptr;
    const re_compare_options given = ruleengine::c::options_of(options);
    const bool is_close = given.absolute != 0 || given.relative != 0;
    if (is_close && given.exact != 0) {
      throw api::misuse("`exact` allows no tolerance");
    }
    api::ExecutionOptions how;
    how.threads = ruleengine::c::threads_of(given.threads);
    if (is_close || given.exact != 0) {
      how.tolerance = runtime::Tolerance{given.absolute, given.relative};
    }
    api::check(api::check(how));
    const Use use(model);
    std::optional<Use> other_use;
    if (other != model) other_use.emplace(other);
    const Bodies bodies(given.rules);
    const Call its(call);
    how.seed = given.seed;
    how.limits.tensors = given.tensors;
    how.limits.deadline = its.deadline();
    const auto found = api::take(
        api::compare(*model->held->model, *other->held->model, *bodies, how));
    if (report != nullptr) {
      *report = new re_report{.json = ruleengine::engine::json_text(
                                  ruleengine::engine::to_json(found))};
    }
    api::check(api::verdict_of(found));
  });
}
