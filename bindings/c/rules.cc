#include <span>

#include "bindings/c/call.h"
#include "bindings/c/objects.h"

namespace ruleengine::c {

namespace {

Status take_files(const re_rules_options& given, api::GivenTexts& texts) {
  const auto files = list_of(given.files, given.file_count, "`files`");
  if (!files) return files.error();
  for (const re_file& each : *files) {
    if (Status s = need(each.name, "the name of a file"); !s) return s;
    if (Status s = need(each.text, "the text of a file"); !s) return s;
    const std::size_t size =
        each.size == RE_TERMINATED ? std::strlen(each.text) : each.size;
    if (Status s = texts.add(each.name, std::string(each.text, size)); !s) {
      return s;
    }
  }
  return {};
}

// Asks the callback of the caller.
Result<std::optional<std::string>> read_of(re_read_fn read, void* user,
                                           const std::string& path) {
  using Text = std::optional<std::string>;
  re_buffer text;
  const int found = read(user, path.c_str(), &text);
  if (text.failed) throw std::bad_alloc();
  if (text.misused) return misuse("the text of a file is NULL", {}, path);
  if (found == RE_LOOKUP_NONE) return Text();
  if (found == RE_LOOKUP_FOUND) return Text(std::move(text.text));
  return Diagnostic{.kind = ErrorKind::kRule,
                    .what = "the caller cannot read a rule file",
                    .where = std::string(lua::kMemoryRoot) + path};
}

Result<std::vector<std::string>> texts_of(const char* const* items,
                                          std::size_t count, const char* what) {
  const auto all = list_of(items, count, what);
  if (!all) return all.error();
  std::vector<std::string> out;
  for (const char* each : *all) {
    if (Status s = need(each, what); !s) return s.error();
    out.emplace_back(each);
  }
  return out;
}

Result<double> seconds_of(double given, double otherwise, const char* what) {
  if (given == 0) return otherwise;
  if (given > 0) return given;
  return misuse(std::string(what) + " is no time",
                "a number that is not negative");
}

Status take_limits(const re_rules_options& given, api::Limits& limits) {
  const auto callback = seconds_of(
      given.callback_seconds, limits.callback_seconds, "`callback_seconds`");
  if (!callback) return callback.error();
  const auto load =
      seconds_of(given.load_seconds, limits.load_seconds, "`load_seconds`");
  if (!load) return load.error();
  limits.callback_seconds = *callback;
  limits.load_seconds = *load;
  if (given.memory != 0) limits.memory = given.memory;
  return {};
}

}  // namespace

RulesGiven::~RulesGiven() {
  const auto* texts = static_cast<const api::GivenTexts*>(options.texts.get());
  if (texts != nullptr) texts->end();
}

Result<std::unique_ptr<RulesGiven>> RulesGiven::of(
    const re_rules_options* options) {
  const auto given = options_of(options);
  if (!given) return given.error();
  std::unique_ptr<RulesGiven> out(new RulesGiven());
  api::RewriteOptions& to = out->options;
  auto paths = texts_of(given->paths, given->path_count, "`paths`");
  if (!paths) return paths.error();
  to.rules = *std::move(paths);
  auto texts = std::make_shared<api::GivenTexts>(text_of(given->shipped));
  if (Status s = take_files(*given, *texts); !s) return s.error();
  if (given->read != nullptr) {
    texts->then_ask(
        [read = given->read, user = given->read_user](const std::string& path) {
          return read_of(read, user, path);
        });
  }
  const auto packs = texts_of(given->packs, given->pack_count, "`packs`");
  if (!packs) return packs.error();
  for (const std::string& name : *packs) {
    const auto path = api::shipped_pack(name, texts.get());
    if (!path) return path.error();
    to.rules.push_back(*path);
  }
  to.texts = std::move(texts);
  const auto settings =
      list_of(given->settings, given->setting_count, "`settings`");
  if (!settings) return settings.error();
  for (const re_setting& each : *settings) {
    to.sets.push_back(
        {text_of(each.rule), text_of(each.option), text_of(each.value)});
  }
  if (Status s = take_limits(*given, to.limits); !s) return s.error();
  return out;
}

Status configure(re_rules& rules, const re_run_options* options) {
  const auto given = options_of(options);
  if (!given) return given.error();
  if (given->verify < RE_VERIFY_NOTHING || given->verify > RE_VERIFY_EDITS) {
    return misuse("`verify` is unknown", "a re_verify",
                  std::to_string(given->verify));
  }
  api::RewriteOptions how;
  if (given->target != nullptr) how.run.target = given->target;
  how.run.opset = given->opset;
  how.run.exact = given->exact != 0;
  how.run.keep_ir_version = given->keep_ir_version != 0;
  how.run.keep_all = given->keep_all != 0;
  how.verifies = given->verify == RE_VERIFY_RESULT;
  how.verifies_edits = given->verify == RE_VERIFY_EDITS;
  how.limits.tensors = given->tensors;
  return rules.rewriter->configure(how);
}

}  // namespace ruleengine::c

using ruleengine::Status;
using ruleengine::c::Call;
using ruleengine::c::Use;

re_error* re_rules_load(const re_rules_options* options, const re_call* call,
                        re_rules** rules) {
  return ruleengine::c::guarded([&]() -> Status {
    if (Status s = ruleengine::c::need(rules, "`rules`"); !s) return s;
    *rules = nullptr;
    const auto given = ruleengine::c::RulesGiven::of(options);
    if (!given) return given.error();
    auto& how = (*given)->options;
    const Call its(call);
    if (!its.status()) return its.status();
    auto out = std::make_unique<re_rules>();
    how.limits.deadline = ruleengine::Deadline().or_of_call(out->term);
    *out->term = its.deadline();
    auto made = ruleengine::api::Rewriter::create(how);
    if (!made) return made.error();
    out->rewriter = *std::move(made);
    *rules = out.release();
    return {};
  });
}

void re_rules_free(re_rules* rules) { delete rules; }

size_t re_rules_warning_count(const re_rules* rules) {
  return rules == nullptr ? 0 : rules->rewriter->warnings().size();
}

const char* re_rules_warning(const re_rules* rules, size_t i) {
  return i < re_rules_warning_count(rules)
             ? rules->rewriter->warnings()[i].c_str()
             : "";
}
