#include "bindings/c/call.h"
#include "bindings/c/objects.h"

namespace ruleengine::c {
namespace {

// Asks the callback of the caller.
Result<std::optional<std::string>> read_of(re_read_fn read, void* user,
                                           const std::string& path) {
  using Text = std::optional<std::string>;
  re_buffer text;
  const int found = read(user, path.c_str(), &text);
  if (text.failed) throw std::bad_alloc();
  if (text.misused) {
    return misuse("the text of a file is NULL", {}, path).error;
  }
  if (found == RE_LOOKUP_NONE) return Text();
  if (found == RE_LOOKUP_FOUND) return Text(std::move(text.text));
  return Diagnostic{.kind = ErrorKind::kRule,
                    .what = "the caller cannot read a rule file",
                    .where = std::string(lua::kMemoryRoot) + path};
}

std::vector<std::string> texts_of(const char* const* items, std::size_t count,
                                  const char* what) {
  std::vector<std::string> out;
  for (const char* each : list_of(items, count, what)) {
    need(each, what);
    out.emplace_back(each);
  }
  return out;
}

void set_seconds(double& limit, double given, const char* what) {
  if (given == 0) return;
  if (!(given > 0)) {
    throw misuse(std::string(what) + " is no time",
                 "a number that is not negative");
  }
  limit = given;
}

}  // namespace

RulesGiven::RulesGiven(const re_rules_options* from) {
  const re_rules_options given = options_of(from);
  options.rules = texts_of(given.paths, given.path_count, "`paths`");
  texts_ = std::make_shared<api::GivenTexts>(text_of(given.shipped));
  for (const re_file& each :
       list_of(given.files, given.file_count, "`files`")) {
    need(each.name, "the name of a file");
    need(each.text, "the text of a file");
    const std::size_t size =
        each.size == RE_TERMINATED ? std::strlen(each.text) : each.size;
    check(texts_->add(each.name, std::string(each.text, size)));
  }
  if (given.read != nullptr) {
    texts_->then_ask(
        [read = given.read, user = given.read_user](const std::string& path) {
          return read_of(read, user, path);
        });
  }
  for (const auto& name : texts_of(given.packs, given.pack_count, "`packs`")) {
    options.rules.push_back(take(api::shipped_pack(name, texts_.get())));
  }
  options.texts = texts_;
  for (const re_setting& each :
       list_of(given.settings, given.setting_count, "`settings`")) {
    options.sets.push_back(
        {text_of(each.rule), text_of(each.option), text_of(each.value)});
  }
  api::Limits& limits = options.limits;
  set_seconds(limits.callback_seconds, given.callback_seconds,
              "`callback_seconds`");
  set_seconds(limits.load_seconds, given.load_seconds, "`load_seconds`");
  if (given.memory != 0) limits.memory = given.memory;
}

}  // namespace ruleengine::c

re_error* re_rules_load(const re_rules_options* options, const re_call* call,
                        re_rules** rules) {
  return ruleengine::c::guarded([&] {
    ruleengine::c::clear(rules, "`rules`");
    ruleengine::c::RulesGiven given(options);
    const ruleengine::c::Call its(call);
    auto out = std::make_unique<re_rules>();
    given.options.limits.deadline =
        ruleengine::Deadline().or_of_call(out->term);
    *out->term = its.deadline();
    out->rewriter =
        ruleengine::c::take(ruleengine::api::Rewriter::create(given.options));
    *rules = out.release();
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
