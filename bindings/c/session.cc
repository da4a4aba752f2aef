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

Result<runtime::Datum> datum_of(const re_tensor& given) {
  if (given.rank > 0) {
    if (Status s = need(given.shape, "the shape of an input"); !s) {
      return s.error();
    }
  }
  if (given.size > 0) {
    if (Status s = need(given.data, "the data of an input"); !s) {
      return s.error();
    }
  }
  const std::span dims(given.shape, given.rank);
  if (given.type != static_cast<int>(ir::DataType::kString)) {
    return api::tensor_of(
        given.type, dims,
        {static_cast<const std::byte*>(given.data), given.size});
  }
  if (given.size % sizeof(re_text) != 0) {
    return misuse("the data of strings is no array of re_text");
  }
  std::vector<std::string_view> texts;
  for (const re_text& each : std::span(static_cast<const re_text*>(given.data),
                                       given.size / sizeof(re_text))) {
    if (each.data == nullptr && each.size > 0) {
      return misuse("a string of an input is NULL");
    }
    texts.emplace_back(each.data, each.size);
  }
  return api::strings_of(dims, texts);
}

Result<runtime::NamedData> inputs_of(const re_tensor* inputs,
                                     std::size_t count) {
  const auto all = list_of(inputs, count, "`inputs`");
  if (!all) return all.error();
  runtime::NamedData out;
  for (const re_tensor& each : *all) {
    if (Status s = need(each.name, "the name of an input"); !s) {
      return s.error();
    }
    auto datum = datum_of(each);
    if (!datum) {
      if (datum.error().where.empty()) {
        datum.error().where = "input " + quoted_name(each.name);
      }
      return datum.error();
    }
    out.emplace_back(each.name, *std::move(datum));
  }
  return out;
}

// The bodies that the rules give ops, while a call holds the rules.
class Bodies {
 public:
  explicit Bodies(re_rules* rules) {
    if (rules == nullptr) return;
    use_.emplace(rules, re_rules::kType);
    if (use_->status().ok()) its_ = &rules->rewriter->bodies();
  }
  Status status() const { return use_ ? use_->status() : Status(); }
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
Status with_inputs(re_session* session, const re_tensor* inputs, size_t count,
                   const re_call* call, const Work& work) {
  const Use use(session, re_session::kType);
  if (!use.status()) return use.status();
  Call its(call);
  if (!its.status()) return its.status();
  *session->term = its.deadline();
  const auto given = inputs_of(inputs, count);
  if (!given) return given.error();
  return work(*given, its);
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
using ruleengine::Status;
using ruleengine::c::Call;
using ruleengine::c::Use;

re_error* re_session_new(re_model* model, const re_session_options* options,
                         const re_call* call, re_session** session) {
  return ruleengine::c::guarded([&]() -> Status {
    if (Status s = ruleengine::c::need(session, "`session`"); !s) return s;
    *session = nullptr;
    const auto given = ruleengine::c::options_of(options);
    if (!given) return given.error();
    api::ExecutionOptions how;
    how.threads = ruleengine::c::threads_of(given->threads);
    if (Status s = api::check(how); !s) return s;
    const Use use(model, re_model::kType);
    if (!use.status()) return use.status();
    const ruleengine::c::Bodies bodies(given->rules);
    if (!bodies.status()) return bodies.status();
    const Call its(call);
    if (!its.status()) return its.status();
    auto out = std::make_unique<re_session>();
    out->held = model->held;
    how.seed = given->seed;
    if (given->device != nullptr) how.device = given->device;
    how.tf32 = given->tf32 != 0;
    how.warn = [its = out.get()](const std::string& message) {
      its->warnings.push_back(message);
    };
    how.limits.tensors = given->tensors;
    how.limits.deadline = ruleengine::Deadline().or_of_call(out->term);
    *out->term = its.deadline();
    auto made = api::Session::create(*model->held->model, *bodies, how);
    if (!made) return made.error();
    if (Status s = its.deadline().check(); !s) return s;
    out->session = *std::move(made);
    *session = out.release();
    return {};
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
  return ruleengine::c::guarded([&]() -> Status {
    if (Status s = ruleengine::c::need(outputs, "`outputs`"); !s) return s;
    *outputs = nullptr;
    return ruleengine::c::with_inputs(
        session, inputs, count, call,
        [&](const runtime::NamedData& given, Call& its) -> Status {
          auto values = session->session->run(given, its.progress());
          if (!values) return values.error();
          auto out = std::make_unique<re_values>();
          out->held = session->held;
          out->values = *std::move(values);
          for (const auto& [name, value] : out->values) {
            out->strings.push_back(ruleengine::c::all_texts(value));
          }
          *outputs = out.release();
          return {};
        });
  });
}

re_error* re_session_warm_up(re_session* session, const re_tensor* inputs,
                             size_t count, const re_call* call) {
  return ruleengine::c::guarded([&]() -> Status {
    return ruleengine::c::with_inputs(
        session, inputs, count, call,
        [&](const runtime::NamedData& given, Call& its) {
          return session->session->warm_up(given, its.progress());
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
  return ruleengine::c::guarded([&]() -> Status {
    if (Status s = ruleengine::c::need(tensor, "`tensor`"); !s) return s;
    *tensor = {};
    if (Status s = ruleengine::c::need(values, "`values`"); !s) return s;
    if (i >= values->values.size()) {
      return ruleengine::c::misuse("there is no such value");
    }
    const auto& [name, value] = values->values[i];
    const bool is_item = value.is_sequence() && item < value.items().size() &&
                         value.items()[item].is_tensor();
    if (!is_item && !(value.is_tensor() && item == 0)) {
      return ruleengine::c::misuse("the value is no tensor", {}, value.text());
    }
    ruleengine::c::show(is_item ? value.items()[item].tensor() : value.tensor(),
                        name, values->strings[i][item], *tensor);
    return {};
  });
}

re_error* re_compare(re_model* model, re_model* other,
                     const re_compare_options* options, const re_call* call,
                     re_report** report) {
  return ruleengine::c::guarded([&]() -> Status {
    if (report != nullptr) *report = nullptr;
    const auto given = ruleengine::c::options_of(options);
    if (!given) return given.error();
    const bool is_close = given->absolute != 0 || given->relative != 0;
    if (is_close && given->exact != 0) {
      return ruleengine::c::misuse("`exact` allows no tolerance");
    }
    api::ExecutionOptions how;
    how.threads = ruleengine::c::threads_of(given->threads);
    if (is_close || given->exact != 0) {
      how.tolerance = runtime::Tolerance{given->absolute, given->relative};
    }
    if (Status s = api::check(how); !s) return s;
    const Use use(model, re_model::kType);
    if (!use.status()) return use.status();
    std::optional<Use> other_use;
    if (other != model) other_use.emplace(other, re_model::kType);
    if (other_use && !other_use->status()) return other_use->status();
    const ruleengine::c::Bodies bodies(given->rules);
    if (!bodies.status()) return bodies.status();
    const Call its(call);
    if (!its.status()) return its.status();
    how.seed = given->seed;
    how.limits.tensors = given->tensors;
    how.limits.deadline = its.deadline();
    const auto found =
        api::compare(*model->held->model, *other->held->model, *bodies, how);
    if (!found) return found.error();
    if (report != nullptr) {
      auto told = std::make_unique<re_report>();
      told->json =
          ruleengine::engine::json_text(ruleengine::engine::to_json(*found));
      *report = told.release();
    }
    return api::verdict_of(*found);
  });
}
