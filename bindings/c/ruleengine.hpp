// ruleengine for C++20: handles that free themselves, over ruleengine.h.
//
//   int main() {
//     re::Result<re::Rules> rules =
//         re::Rules::load({.packs = {"canonical", "attention"}});
//     if (!rules) return fail(rules.error());
//     re::Result<re::Model> model = re::Model::load("model.onnx");
//     if (!model) return fail(model.error());
//     re::Result<re::Run> run = rules->run(*model, {.target = "ort"});
//     if (!run) return fail(run.error());
//     re::Result<re::Walk> walk = re::Walk::make(run->model);
//     if (!walk) return fail(walk.error());
//     for (re::Node node : walk->main().nodes()) use(node.type());
//     re::Result<void> saved = run->model.save("result.onnx");
//     return saved ? 0 : fail(saved.error());
//   }
//
// ruleengine.h is the contract; this file says only what it adds.
//
// Results. A function that can fail returns a Result. Nothing throws but
// Result::value(), and std::bad_alloc where memory for the arguments of a call
// or for an error runs out.
//
// Handles. A handle is moved and not copied, but for Error, whose copies share
// one error. One that was moved from, or made without arguments, is empty: a
// call of it fails with RE_ERROR_USAGE, and what it has none of is 0 or "".
// What a view shows is valid while the handle that gave it lives, wherever it
// moves. Stop::request() may be called from any thread; any other handle, with
// its views, is for one thread at a time.
//
// Options. What options refer to need only outlive the call, but for the bytes
// of models. A text ends with its first NUL. Zero and "" stand for the
// defaults.
//
// Callbacks. An exception that a callback throws does not cross the library.
// The call fails, and Error::thrown() has the exception. With -fno-exceptions,
// which all files of a program must agree on, nothing is caught, and there is
// no value().
#ifndef RULEENGINE_HPP
#define RULEENGINE_HPP

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ruleengine.h"

namespace re {

using Bytes = std::span<const std::byte>;
using Seconds = std::chrono::duration<double>;
// The numbers of values or of graphs, or a shape.
using Numbers = std::span<const std::int64_t>;

// The text of the C interface as a view, and the other way.
inline std::string_view view(re_text text) { return {text.data, text.size}; }
inline re_text text(std::string_view view) {
  return {view.data(), view.size()};
}

namespace detail {

// An owned handle of the C interface, or none. `get` lends it to the functions
// of ruleengine.h; the constructor takes one over.
template <typename C, void (*kFree)(C*)>
class Handle {
 public:
  using Raw = C;
  Handle() = default;
  explicit Handle(C* own) : own_(own) {}
  explicit operator bool() const { return own_ != nullptr; }
  C* get() const { return own_.get(); }

 private:
  struct Free {
    void operator()(C* own) const { kFree(own); }
  };
  std::unique_ptr<C, Free> own_;
};

// What made(from, 0), made(from, 1) ... give: a range of T.
template <typename T, typename From, typename Index = std::size_t>
class List {
 public:
  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = T;
    using iterator_category = std::input_iterator_tag;
    Iterator() = default;
    Iterator(From from, std::size_t i) : from_(from), i_(i) {}
    T operator*() const { return T(from_, static_cast<Index>(i_)); }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    Iterator operator++(int) { return {from_, i_++}; }
    bool operator==(const Iterator& other) const { return i_ == other.i_; }

   private:
    From from_ = {};
    std::size_t i_ = 0;
  };

  List(From from, std::size_t size) : from_(from), size_(size) {}
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // `i` is less than size().
  T operator[](std::size_t i) const { return T(from_, static_cast<Index>(i)); }
  Iterator begin() const { return {from_, 0}; }
  Iterator end() const { return {from_, size_}; }

 private:
  From from_;
  std::size_t size_;
};

// The warnings of rules, of models and of sessions.
template <typename C, const char* (*kGet)(const C*, std::size_t)>
struct Warning : std::string_view {
  Warning(const C* from, std::size_t i) : std::string_view(kGet(from, i)) {}
};

inline const char* text_or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

}  // namespace detail

template <typename T>
class Result;

// What a call found out.
class Report : public detail::Handle<re_report, re_report_free> {
 public:
  using Handle::Handle;
  std::string_view json() const { return re_report_json(get()); }
  // Of a run; RE_ERROR_USAGE for other reports.
  Result<re_run_totals> totals() const;
};

// --- errors ------------------------------------------------------------------

// Why a call failed. Copies share the error. The texts are valid while one of
// them lives; any thread may read them. Only text() can throw.
class Error {
 public:
  Error() = default;
  // An error of this layer. The texts are constants.
  Error(re_kind kind, const char* what, const char* expected = "",
        const char* found = "") {
    hold({kind, what, expected, found, {}, {}, {}});
  }
  // Takes an error over. If it is NULL, `thrown` is why the call failed.
  explicit Error(re_error* own, Report report = {},
                 std::exception_ptr thrown = {}) {
    hold({own != nullptr ? re_error_kind(own) : RE_ERROR_CANCELLED,
          own != nullptr ? re_error_what(own) : "a callback threw an exception",
          re_error_expected(own), re_error_found(own),
          detail::Handle<re_error, re_error_free>(own), std::move(report),
          std::move(thrown)});
  }
  Error(const Error& other) noexcept : its_(other.its_) {
    if (its_ != nullptr) ++its_->holders;
  }
  Error(Error&& other) noexcept : its_(std::exchange(other.its_, nullptr)) {}
  Error& operator=(Error other) noexcept {
    std::swap(its_, other.its_);
    return *this;
  }
  ~Error() {
    if (its_ != nullptr && --its_->holders == 0) delete its_;
  }

  re_kind kind() const { return its_ ? its_->state.kind : RE_OK; }
  std::string_view what() const { return its_ ? its_->state.what : ""; }
  std::string_view where() const { return re_error_where(raw()); }
  std::string_view expected() const { return its_ ? its_->state.expected : ""; }
  std::string_view found() const { return its_ ? its_->state.found : ""; }
  std::string_view hint() const { return re_error_hint(raw()); }
  // All of them, on lines of their own.
  std::string text() const {
    if (raw() != nullptr || !its_) return re_error_text(raw());
    const State& state = its_->state;
    std::string out = "error: ";
    out += state.what;
    if (*state.expected) out.append("\n  expected: ").append(state.expected);
    if (*state.found) out.append("\n  found: ").append(state.found);
    return out;
  }
  // What was known when a run, re::test() or re::compare() failed; or NULL.
  const Report* report() const {
    return its_ && its_->state.report ? &its_->state.report : nullptr;
  }
  // The first exception that a callback of the call threw; or null.
  std::exception_ptr thrown() const {
    return its_ ? its_->state.thrown : std::exception_ptr();
  }

 private:
  struct State {
    re_kind kind;
    const char *what, *expected, *found;
    detail::Handle<re_error, re_error_free> own;
    Report report;
    std::exception_ptr thrown;
  };
  struct Shared {
    State state;
    std::atomic<std::size_t> holders;
  };
  void hold(State&& state) noexcept {
    // Held by itself too, so that nobody deletes it.
    static Shared no_memory{
        {RE_ERROR_LIMIT, "memory ran out", "", "", {}, {}, {}}, 1};
    its_ = new (std::nothrow) Shared{std::move(state), 1};
    if (its_ != nullptr) return;
    its_ = &no_memory;
    ++no_memory.holders;
  }
  const re_error* raw() const { return its_ ? its_->state.own.get() : nullptr; }
  Shared* its_ = nullptr;
};

#ifdef __cpp_exceptions
// What Result::value() throws.
class Exception : public std::runtime_error {
 public:
  explicit Exception(const Error& error)
      : std::runtime_error(error.text()), error_(error) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};
#endif

// A T or an Error. `*` and `->` are only for results with a T, error() is only
// for those without.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : its_(std::move(value)) {}
  Result(Error error) : its_(std::move(error)) {}

  explicit operator bool() const { return its_.index() == 0; }
  T& operator*() & { return *std::get_if<0>(&its_); }
  const T& operator*() const& { return *std::get_if<0>(&its_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&its_)); }
  T* operator->() { return std::get_if<0>(&its_); }
  const T* operator->() const { return std::get_if<0>(&its_); }
  const Error& error() const { return *std::get_if<1>(&its_); }
#ifdef __cpp_exceptions
  // The T, or throws an Exception.
  T& value() & { return check(), **this; }
  const T& value() const& { return check(), **this; }
  T&& value() && { return check(), *std::move(*this); }

 private:
  void check() const {
    if (!*this) throw Exception(error());
  }
#endif

 private:
  std::variant<T, Error> its_;
};

template <>
class [[nodiscard]] Result<void> : public Result<std::monostate> {
 public:
  Result() : Result<std::monostate>(std::monostate()) {}
  using Result<std::monostate>::Result;
};

// --- calls -------------------------------------------------------------------

// Stops the calls that refer to it, and those that will.
class Stop : public detail::Handle<re_stop, re_stop_free> {
 public:
  using Handle::Handle;
  static Result<Stop> make();
  // From any thread, at any time.
  void request() const { re_stop_request(get()); }
};

// What long calls have in common. An empty `stop` is none.
struct Call {
  Seconds time = {};
  const Stop* stop = nullptr;
  // Called on the thread of the call. false cancels it.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress = {};
};

namespace detail {

// What a callback gives, or `failed` if it throws.
template <typename F>
int caught([[maybe_unused]] std::exception_ptr& thrown,
           [[maybe_unused]] int failed, const F& callback) {
#ifdef __cpp_exceptions
  try {
    return callback();
  } catch (...) {
    if (!thrown) thrown = std::current_exception();
    return failed;
  }
#else
  return callback();
#endif
}

// A call of the C interface: its options, what its callbacks throw, its result.
class Calling {
 public:
  explicit Calling(const Call& call) : given_(call) {
    call_.seconds = call.time.count();
    if (call.stop != nullptr) call_.stop = call.stop->get();
    if (!call.progress) return;
    call_.user = this;
    call_.progress = [](void* user, std::uint64_t done, std::uint64_t total) {
      auto& its = *static_cast<Calling*>(user);
      return caught(its.thrown, 1,
                    [&] { return its.given_.progress(done, total) ? 0 : 1; });
    };
  }
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;

  const re_call* get() const { return &call_; }

  // The result of a call that makes nothing. A report goes into an error only.
  Result<void> end(re_error* error, Report&& report = {}) {
    if (error == nullptr && !thrown) return {};
    return Error(error, std::move(report), std::move(thrown));
  }
  // The result of function(args..., call, &raw), which makes a T; a failed one
  // may make a report.
  template <typename T, typename F, typename... Args>
  Result<T> make(const F& function, Args... args) {
    typename T::Raw* raw = nullptr;
    re_error* const error = function(args..., get(), &raw);
    T made(raw);
    Report told;
    if constexpr (std::is_same_v<T, Report>) {
      if (error != nullptr) told = std::move(made);
    }
    if (const auto done = end(error, std::move(told)); !done) {
      return done.error();
    }
    return made;
  }

  std::exception_ptr thrown;

 private:
  const Call& given_;
  re_call call_ = RE_OPTIONS(re_call);
};

// What function(args..., &out) fills, as another type.
template <typename As, typename T, typename F, typename... Args>
Result<As> filled(const F& function, Args... args) {
  T out = {};
  if (re_error* const error = function(args..., &out)) return Error(error);
  return As(out);
}

// The same where only a wrong number can fail.
template <typename T, typename F, typename... Args>
T known(const F& function, Args... args) noexcept {
  T out = RE_OPTIONS(T);
  if (function(args..., &out) != nullptr) std::terminate();
  return out;
}

}  // namespace detail

inline Result<Stop> Stop::make() {
  return detail::filled<Stop, re_stop*>(re_stop_new);
}

inline Result<re_run_totals> Report::totals() const {
  re_run_totals out = RE_OPTIONS(re_run_totals);
  if (re_error* const error = re_report_totals(get(), &out)) {
    return Error(error);
  }
  return out;
}

// --- models ------------------------------------------------------------------

// A named dimension gets a size, or that of `other`.
struct Dimension {
  std::string name = {};
  std::int64_t value = 0;
  std::string other = {};
};

struct ModelOptions {
  re_storage storage = RE_STORAGE_DEFAULT;
  std::string name = {}, folder = {};  // of a model in memory
  // Sets `bytes` to the external data at a location, which are borrowed.
  std::function<re_lookup(std::string_view location, Bytes& bytes)> data = {};
  // Called when nothing uses what was lent any more. It does not throw.
  std::function<void()> release = {};
  std::vector<Dimension> dimensions = {};
};

struct SaveOptions {
  bool share_data = false;
};

// The bytes of a model, which it owns.
class Buffer : public detail::Handle<void, re_bytes_free> {
 public:
  Buffer() = default;
  Buffer(void* own, std::size_t size) : Handle(own), size_(size) {}
  Bytes bytes() const {
    return {static_cast<const std::byte*>(get()), get() ? size_ : 0};
  }
  operator Bytes() const { return bytes(); }

 private:
  std::size_t size_ = 0;
};

// A model. Its functions do not change what it computes.
class Model : public detail::Handle<re_model, re_model_free> {
 public:
  using Handle::Handle;
  using Warning = detail::Warning<re_model, re_model_warning>;

  static Result<Model> load(const std::string& path,
                            const ModelOptions& options = {},
                            const Call& call = {}) {
    detail::Calling its(call);
    Given given(options, its.thrown);
    return its.make<Model>(re_model_load, path.c_str(), &given.options);
  }
  // Copies `data`; RE_STORAGE_SHARED borrows it.
  static Result<Model> parse(Bytes data, const ModelOptions& options = {},
                             const Call& call = {}) {
    detail::Calling its(call);
    Given given(options, its.thrown);
    return its.make<Model>(re_model_parse, data.data(), data.size(),
                           &given.options);
  }

  Result<void> save(const std::string& path, const SaveOptions& options = {},
                    const Call& call = {}) const {
    detail::Calling its(call);
    re_save_options given = RE_OPTIONS(re_save_options);
    given.share_data = options.share_data ? 1 : 0;
    return its.end(re_model_save(get(), path.c_str(), &given, its.get()));
  }
  // Gives the bytes in pieces. false ends the writing with an error of kind
  // RE_ERROR_WRITE.
  Result<void> write(const std::function<bool(Bytes)>& piece,
                     const Call& call = {}) const {
    detail::Calling its(call);
    const auto take = [&](const void* data, std::size_t size) {
      return detail::caught(its.thrown, 1, [&] {
        return piece({static_cast<const std::byte*>(data), size}) ? 0 : 1;
      });
    };
    using Take = decltype(take);
    return its.end(re_model_write(
        get(),
        [](void* user, const void* data, std::size_t size) {
          return (*static_cast<Take*>(user))(data, size);
        },
        const_cast<void*>(static_cast<const void*>(&take)), its.get()));
  }
  Result<Buffer> bytes(const Call& call = {}) const {
    detail::Calling its(call);
    std::size_t size = 0;
    void* data = nullptr;
    re_error* const error = re_model_bytes(get(), its.get(), &data, &size);
    Buffer made(data, size);
    if (const auto done = its.end(error); !done) return done.error();
    return made;
  }

  // Views of texts; they are valid while the model lives.
  auto warnings() const {
    return detail::List<Warning, const re_model*>(
        get(), re_model_warning_count(get()));
  }

 private:
  // What the library calls: `data` during the call, `release` after it, which
  // frees this.
  struct Lender {
    std::function<re_lookup(std::string_view, Bytes&)> data;
    std::function<void()> release;
    std::exception_ptr* thrown;
  };
  // Options as the C interface has them.
  struct Given {
    Given(const ModelOptions& from, std::exception_ptr& thrown) {
      options.storage = from.storage;
      options.name = detail::text_or_null(from.name);
      options.folder = detail::text_or_null(from.folder);
      for (const Dimension& each : from.dimensions) {
        dimensions.push_back(
            {each.name.c_str(), each.value, detail::text_or_null(each.other)});
      }
      options.dimensions = dimensions.data();
      options.dimension_count = dimensions.size();
      if (!from.data && !from.release) return;
      options.user = new Lender{from.data, from.release, &thrown};
      options.release = [](void* user) {
        const std::unique_ptr<Lender> its(static_cast<Lender*>(user));
        if (its->release) its->release();
      };
      if (!from.data) return;
      options.data = [](void* user, const char* location, const void** data,
                        std::size_t* size) {
        auto& its = *static_cast<Lender*>(user);
        return detail::caught(*its.thrown, RE_LOOKUP_FAILED, [&]() -> int {
          Bytes bytes;
          const re_lookup found = its.data(location, bytes);
          *data = bytes.data();
          *size = bytes.size();
          return found;
        });
      };
    }
    Given(const Given&) = delete;
    Given& operator=(const Given&) = delete;

    std::vector<re_dimension> dimensions;
    re_model_options options = RE_OPTIONS(re_model_options);
  };
};

// --- rules -------------------------------------------------------------------

// A text in memory, such as a rule file.
struct File {
  std::string name = {};
  std::string_view text = {};
};

struct Setting {
  std::string rule = {}, option = {}, value = {};
};

struct RulesOptions {
  std::vector<std::string> paths = {}, packs = {};
  std::vector<File> files = {};
  // Sets `text` to the text of the rule file with a name.
  std::function<re_lookup(std::string_view name, std::string& text)> read = {};
  std::vector<Setting> settings = {};
  Seconds callback_time = {}, load_time = {};
  std::uint64_t memory = 0;
  std::string shipped = {};  // the folder of the rules that ship
};

namespace detail {

// Options as the C interface has them.
struct RulesGiven {
  RulesGiven(const RulesOptions& from, std::exception_ptr& to)
      : cpp(from), thrown(to) {
    for (const std::string& each : from.paths) paths.push_back(each.c_str());
    for (const std::string& each : from.packs) packs.push_back(each.c_str());
    for (const File& each : from.files) {
      files.push_back({each.name.c_str(),
                       each.text.empty() ? "" : each.text.data(),
                       each.text.size()});
    }
    for (const Setting& each : from.settings) {
      settings.push_back(
          {each.rule.c_str(), each.option.c_str(), each.value.c_str()});
    }
    options.paths = paths.data();
    options.path_count = paths.size();
    options.packs = packs.data();
    options.pack_count = packs.size();
    options.files = files.data();
    options.file_count = files.size();
    options.settings = settings.data();
    options.setting_count = settings.size();
    options.callback_seconds = from.callback_time.count();
    options.load_seconds = from.load_time.count();
    options.memory = from.memory;
    options.shipped = text_or_null(from.shipped);
    if (!from.read) return;
    options.read_user = this;
    options.read = [](void* user, const char* name, re_buffer* text) {
      auto& its = *static_cast<RulesGiven*>(user);
      return caught(its.thrown, RE_LOOKUP_FAILED, [&]() -> int {
        std::string read;
        const re_lookup found = its.cpp.read(name, read);
        if (found != RE_LOOKUP_FOUND) return found;
        return re_buffer_append(text, read.data(), read.size()) == 0
                   ? RE_LOOKUP_FOUND
                   : RE_LOOKUP_FAILED;
      });
    };
  }
  RulesGiven(const RulesGiven&) = delete;
  RulesGiven& operator=(const RulesGiven&) = delete;

  const RulesOptions& cpp;
  std::exception_ptr& thrown;
  std::vector<const char*> paths, packs;
  std::vector<re_file> files;
  std::vector<re_setting> settings;
  re_rules_options options = RE_OPTIONS(re_rules_options);
};

}  // namespace detail

// How rules are run.
struct RunOptions {
  std::string target = {};
  std::int64_t opset = 0;
  bool exact = false, keep_ir_version = false, keep_all = false;
  re_verify verify = RE_VERIFY_NOTHING;
  std::uint64_t tensors = 0;
};

namespace detail {

// The texts of `from` must outlive the result.
inline re_run_options given(const RunOptions& from) {
  re_run_options out = RE_OPTIONS(re_run_options);
  out.target = text_or_null(from.target);
  out.opset = from.opset;
  out.exact = from.exact ? 1 : 0;
  out.keep_ir_version = from.keep_ir_version ? 1 : 0;
  out.keep_all = from.keep_all ? 1 : 0;
  out.verify = from.verify;
  out.tensors = from.tensors;
  return out;
}

}  // namespace detail

// A result, and what was done to get it.
struct Run {
  Model model;
  Report report;
};

struct ExplainOptions {
  std::string node = {};  // the name of a node or of a value
  std::size_t most = 0;
  bool exact = false;
};

// Rules that were loaded and compiled.
class Rules : public detail::Handle<re_rules, re_rules_free> {
 public:
  using Handle::Handle;
  using Warning = detail::Warning<re_rules, re_rules_warning>;

  static Result<Rules> load(const RulesOptions& options = {},
                            const Call& call = {}) {
    detail::Calling its(call);
    detail::RulesGiven given(options, its.thrown);
    return its.make<Rules>(re_rules_load, &given.options);
  }

  // Rewrites a model, which stays as it is.
  Result<Run> run(const Model& model, const RunOptions& options = {},
                  const Call& call = {}) const {
    detail::Calling its(call);
    const re_run_options how = detail::given(options);
    re_model* result = nullptr;
    re_report* report = nullptr;
    re_error* const error =
        re_run(get(), model.get(), &how, its.get(), &result, &report);
    Run made{Model(result), Report(report)};
    const auto done = its.end(error, std::move(made.report));
    if (!done) return done.error();
    return made;
  }
  Result<Report> find_matches(const Model& model,
                              const RunOptions& options = {},
                              const Call& call = {}) const {
    return ask(re_find_matches, model, options, call);
  }
  Result<Report> coverage(const Model& model, const RunOptions& options = {},
                          const Call& call = {}) const {
    return ask(re_coverage, model, options, call);
  }
  Result<Report> explain(const Model& model, const ExplainOptions& options = {},
                         const Call& call = {}) const {
    detail::Calling its(call);
    re_explain_options what = RE_OPTIONS(re_explain_options);
    what.node = detail::text_or_null(options.node);
    what.most = options.most;
    what.exact = options.exact ? 1 : 0;
    return its.make<Report>(re_explain, get(), model.get(), &what);
  }

  // Views of texts; they are valid while the rules live.
  auto warnings() const {
    return detail::List<Warning, const re_rules*>(
        get(), re_rules_warning_count(get()));
  }

 private:
  template <typename F>
  Result<Report> ask(F question, const Model& model, const RunOptions& options,
                     const Call& call) const {
    detail::Calling its(call);
    const re_run_options how = detail::given(options);
    return its.make<Report>(question, get(), model.get(), &how);
  }
};

// Runs the examples of rules. The report says which failed.
inline Result<Report> test(const RulesOptions& options = {},
                           const Call& call = {}) {
  detail::Calling its(call);
  detail::RulesGiven given(options, its.thrown);
  return its.make<Report>(re_test, &given.options);
}

// --- tensors -----------------------------------------------------------------

namespace detail {

// The place of T in a list of types; 0: it is in none.
template <typename T, typename... All>
constexpr std::int32_t place_of() {
  std::int32_t at = 0, found = 0;
  ((found = std::is_same_v<T, All> ? at : found, ++at), ...);
  return found;
}

}  // namespace detail

// The number of a type in ONNX. Specialise it for types of your own, such as
// one for float16; 0 is none.
template <typename T>
inline constexpr std::int32_t type_of =
    detail::place_of<T, void, float, std::uint8_t, std::int8_t, std::uint16_t,
                     std::int16_t, std::int32_t, std::int64_t, re_text, bool,
                     void, double, std::uint32_t, std::uint64_t>();

// A view of a tensor. It owns nothing.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(const re_tensor& raw) : raw_(raw) {}
  // One to run a session with, of a vector, an array or a span. All three must
  // outlive the call.
  template <typename Data>
  static Tensor of(const char* name, const Data& data, Numbers shape) {
    using T = std::remove_cvref_t<decltype(*std::data(data))>;
    static_assert(type_of<T> != 0, "ONNX has no such type");
    return Tensor({name, type_of<T>, shape.size(), shape.data(),
                   std::data(data), std::size(data) * sizeof(T)});
  }

  std::string_view name() const { return raw_.name; }
  std::int32_t type() const { return raw_.type; }
  Numbers shape() const { return {raw_.shape, raw_.rank}; }
  Bytes bytes() const {
    return {static_cast<const std::byte*>(raw_.data), raw_.size};
  }
  const re_tensor& raw() const { return raw_; }

  // The elements where they are; strings as re_text. RE_ERROR_USAGE where the
  // type is another one, or the data is not aligned for it: files need not
  // align it.
  template <typename T>
  Result<std::span<const T>> as() const {
    if (const auto fits = check<T>(); !fits) return fits.error();
    if (reinterpret_cast<std::uintptr_t>(raw_.data) % alignof(T) != 0) {
      return Error(RE_ERROR_USAGE, "the data of a tensor is not aligned",
                   "copy_to(), or bytes()");
    }
    return std::span<const T>(static_cast<const T*>(raw_.data),
                              raw_.size / sizeof(T));
  }
  // Copies the elements, aligned or not. RE_ERROR_USAGE also where their number
  // is another one.
  template <typename T>
  Result<void> copy_to(std::span<T> to) const {
    if (auto fits = check<T>(); !fits) return fits;
    if (to.size_bytes() != raw_.size) {
      return Error(RE_ERROR_USAGE, "a tensor has another number of elements");
    }
    if (!to.empty()) std::memcpy(to.data(), raw_.data, raw_.size);
    return {};
  }

 private:
  template <typename T>
  Result<void> check() const {
    static_assert(type_of<T> != 0, "ONNX has no such type");
    if (raw_.type != type_of<T> || raw_.size % sizeof(T) != 0) {
      return Error(RE_ERROR_USAGE, "a tensor is of another type",
                   type_name(type_of<T>), type_name(raw_.type));
    }
    if constexpr (std::is_same_v<T, bool>) {
      for (const std::byte each : bytes()) {
        if (each > std::byte{1}) {
          return Error(RE_ERROR_USAGE, "a bool of a tensor is neither 0 nor 1");
        }
      }
    }
    return {};
  }
  static const char* type_name(std::int32_t type) {
    constexpr const char* kNames[] = {
        "no type", "float",  "uint8", "int8",    "uint16", "int16",  "int32",
        "int64",   "string", "bool",  "float16", "double", "uint32", "uint64"};
    return type >= 0 && type < static_cast<std::int32_t>(std::size(kNames))
               ? kNames[type]
               : "another type";
  }
  re_tensor raw_ = {"", 0, 0, nullptr, nullptr, 0};
};

// --- running models ----------------------------------------------------------

// One output of a session: a view of its values.
class Output {
 public:
  Output(const re_values* values, std::size_t i) : values_(values), i_(i) {}
  re_value_kind kind() const { return re_values_kind(values_, i_); }
  // The number of tensors of a sequence.
  std::size_t items() const { return re_values_items(values_, i_); }
  Result<Tensor> tensor(std::size_t item = 0) const {
    return detail::filled<Tensor, re_tensor>(re_values_tensor, values_, i_,
                                             item);
  }
  template <typename T>
  Result<std::span<const T>> as(std::size_t item = 0) const {
    const auto its = tensor(item);
    if (!its) return its.error();
    return its->as<T>();
  }

 private:
  const re_values* values_;
  std::size_t i_;
};

// What a session computed: the outputs of the model, in its order.
class Values : public detail::Handle<re_values, re_values_free> {
 public:
  using Handle::Handle;
  std::size_t size() const { return re_values_count(get()); }
  Output operator[](std::size_t i) const { return {get(), i}; }
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }

 private:
  detail::List<Output, const re_values*> all() const { return {get(), size()}; }
};

namespace detail {

// Options that sessions and comparisons have, as the C interface has them.
template <typename T, typename From>
T run_options(const From& from) {
  T out = RE_OPTIONS(T);
  out.threads = from.threads;
  out.seed = from.seed;
  out.tensors = from.tensors;
  out.rules = from.rules != nullptr ? from.rules->get() : nullptr;
  return out;
}

}  // namespace detail

struct SessionOptions {
  int threads = 0;
  std::uint64_t seed = 0, tensors = 0;
  const Rules* rules = nullptr;
  std::string device = {};  // see re_session_options
  bool tf32 = false;
};

// A model that was prepared, and runs many times.
class Session : public detail::Handle<re_session, re_session_free> {
 public:
  using Handle::Handle;
  using Warning = detail::Warning<re_session, re_session_warning>;

  static Result<Session> make(const Model& model,
                              const SessionOptions& options = {},
                              const Call& call = {}) {
    detail::Calling its(call);
    auto given = detail::run_options<re_session_options>(options);
    given.device = detail::text_or_null(options.device);
    given.tf32 = options.tf32 ? 1 : 0;
    return its.make<Session>(re_session_new, model.get(), &given);
  }

  // Views of texts; they are valid until the session runs again.
  auto warnings() const {
    return detail::List<Warning, const re_session*>(
        get(), re_session_warning_count(get()));
  }

  // The values do not refer to the inputs.
  Result<Values> run(std::span<const Tensor> inputs,
                     const Call& call = {}) const {
    detail::Calling its(call);
    const auto given = raw_of(inputs);
    return its.make<Values>(re_session_run, get(), given.data(), given.size());
  }
  // Runs until runs on inputs of these shapes are as fast as they get.
  Result<void> warm_up(std::span<const Tensor> inputs,
                       const Call& call = {}) const {
    detail::Calling its(call);
    const auto given = raw_of(inputs);
    return its.end(
        re_session_warm_up(get(), given.data(), given.size(), its.get()));
  }
  Result<void> warm_up(std::initializer_list<Tensor> inputs,
                       const Call& call = {}) const {
    return warm_up(std::span(inputs.begin(), inputs.size()), call);
  }
  Result<Values> run(std::initializer_list<Tensor> inputs,
                     const Call& call = {}) const {
    return run(std::span(inputs.begin(), inputs.size()), call);
  }

 private:
  static std::vector<re_tensor> raw_of(std::span<const Tensor> inputs) {
    std::vector<re_tensor> out;
    out.reserve(inputs.size());
    for (const Tensor& each : inputs) out.push_back(each.raw());
    return out;
  }
};

struct CompareOptions {
  int threads = 0;
  std::uint64_t seed = 0, tensors = 0;
  const Rules* rules = nullptr;
  double absolute = 0, relative = 0;
  bool exact = false;
};

// Runs two models on the same inputs. RE_ERROR_VERIFY where they differ; the
// report of the error then has the inputs.
inline Result<Report> compare(const Model& model, const Model& other,
                              const CompareOptions& options = {},
                              const Call& call = {}) {
  detail::Calling its(call);
  auto given = detail::run_options<re_compare_options>(options);
  given.absolute = options.absolute;
  given.relative = options.relative;
  given.exact = options.exact ? 1 : 0;
  return its.make<Report>(re_compare, model.get(), other.get(), &given);
}

// --- reading a graph ---------------------------------------------------------

// Graphs, nodes, attributes and values are views of a walk: small, copied at
// will, valid while the walk lives. Their texts, lists and tensors are the
// model's own. A number that the walk does not have ends the program, with
// std::terminate().
class Node;
class Value;

class Graph {
 public:
  Graph(re_walk* walk, std::int64_t number)
      : walk_(walk),
        number_(number),
        raw_(detail::known<re_graph>(re_walk_graph, walk, number)) {}
  std::int64_t number() const { return number_; }
  std::string_view name() const { return view(raw_.name); }
  re_graph_kind kind() const { return static_cast<re_graph_kind>(raw_.kind); }
  // The numbers of values.
  Numbers inputs() const { return {raw_.inputs, raw_.input_count}; }
  Numbers outputs() const { return {raw_.outputs, raw_.output_count}; }
  Numbers initializers() const {
    return {raw_.initializers, raw_.initializer_count};
  }
  // In the order of computation.
  auto nodes() const;
  Node node(std::int64_t i) const;
  // Of a body: the node that has it.
  std::optional<Node> parent() const;
  // Of a function.
  std::string_view domain() const { return view(raw_.domain); }
  std::string_view type() const { return view(raw_.type); }
  std::string_view overload() const { return view(raw_.overload); }

 private:
  re_walk* walk_;
  std::int64_t number_;
  re_graph raw_;
};

class Attribute {
 public:
  struct From {
    re_walk* walk = nullptr;
    std::int64_t graph = 0, node = 0;
  };
  Attribute(From from, std::int64_t number)
      : from_(from),
        number_(number),
        raw_(detail::known<re_attribute>(re_walk_attribute, from.walk,
                                         from.graph, from.node, number)) {}
  std::string_view name() const { return view(raw_.name); }
  // As in ONNX's AttributeProto.AttributeType. It decides which of those below
  // is set; the others are 0 or empty.
  std::int32_t kind() const { return raw_.kind; }
  float f() const { return raw_.f; }
  std::int64_t i() const { return raw_.i; }
  std::string_view s() const { return view(raw_.s); }
  std::span<const float> floats() const { return list(raw_.floats); }
  Numbers ints() const { return list(raw_.ints); }
  std::span<const re_text> strings() const { return list(raw_.strings); }
  // The numbers of graphs, and one of them.
  Numbers graphs() const { return list(raw_.graphs); }
  // `i` is less than count().
  Graph graph(std::size_t i = 0) const { return {from_.walk, graphs()[i]}; }
  // RE_ERROR_USAGE unless it has so many.
  Result<Tensor> tensor(std::size_t i = 0) const {
    return detail::filled<Tensor, re_tensor>(re_walk_tensor, from_.walk,
                                             from_.graph, from_.node, number_,
                                             static_cast<std::int64_t>(i));
  }
  // The number of its floats, ints, strings, graphs or tensors.
  std::size_t count() const { return raw_.count; }
  // In a function: the attribute of the call whose value this one has.
  std::string_view reference() const { return view(raw_.reference); }
  // The encoded AttributeProto, where the model's file has it.
  std::string_view proto() const { return view(raw_.proto); }

 private:
  template <typename T>
  std::span<const T> list(const T* data) const {
    return {data, data != nullptr ? raw_.count : 0};
  }
  From from_;
  std::int64_t number_;
  re_attribute raw_;
};

class Node {
 public:
  struct From {
    re_walk* walk = nullptr;
    std::int64_t graph = 0;
  };
  Node(From from, std::int64_t number)
      : from_(from),
        number_(number),
        raw_(detail::known<re_node>(re_walk_node, from.walk, from.graph,
                                    number)) {}
  // Its place in its graph.
  std::int64_t number() const { return number_; }
  Graph graph() const { return {from_.walk, from_.graph}; }
  std::string_view domain() const { return view(raw_.domain); }
  std::string_view type() const { return view(raw_.type); }
  std::string_view overload() const { return view(raw_.overload); }
  std::string_view name() const { return view(raw_.name); }
  // The numbers of values; RE_NOTHING where one is left out.
  Numbers inputs() const { return {raw_.inputs, raw_.input_count}; }
  Numbers outputs() const { return {raw_.outputs, raw_.output_count}; }
  // Nothing where one is left out, also beyond the last.
  std::optional<Value> input(std::size_t i) const;
  std::optional<Value> output(std::size_t i) const;
  auto attributes() const {
    return detail::List<Attribute, Attribute::From, std::int64_t>(
        {from_.walk, from_.graph, number_},
        static_cast<std::size_t>(raw_.attribute_count));
  }
  std::optional<Attribute> attribute(std::string_view name) const {
    for (const Attribute each : attributes()) {
      if (each.name() == name) return each;
    }
    return std::nullopt;
  }
  // The body of the function of the model that it calls.
  std::optional<Graph> function() const {
    if (raw_.function == RE_NOTHING) return std::nullopt;
    return Graph(from_.walk, raw_.function);
  }

 private:
  From from_;
  std::int64_t number_;
  re_node raw_;
};

class Value {
 public:
  Value(re_walk* walk, std::int64_t number)
      : walk_(walk),
        number_(number),
        raw_(detail::known<re_value>(re_walk_value, walk, number)) {}
  std::int64_t number() const { return number_; }
  std::string_view name() const { return view(raw_.name); }
  re_origin origin() const { return static_cast<re_origin>(raw_.origin); }
  // The node that computes it.
  std::optional<Node> node() const {
    if (raw_.node == RE_NOTHING || origin() != RE_ORIGIN_NODE)
      return std::nullopt;
    return Node({walk_, raw_.graph}, raw_.node);
  }
  // An output of a graph is one.
  std::size_t readers() const { return raw_.readers; }
  // Of a tensor; 0: not known.
  std::int32_t type() const { return raw_.type; }
  bool has_shape() const { return raw_.has_shape != 0; }
  std::span<const re_dim> shape() const { return {raw_.shape, raw_.rank}; }
  bool is_constant() const { return raw_.is_constant != 0; }
  // RE_ERROR_USAGE unless it is one. What rules folded is computed at the first
  // call.
  Result<Tensor> constant() const {
    return detail::filled<Tensor, re_tensor>(re_walk_constant, walk_, number_);
  }

 private:
  re_walk* walk_;
  std::int64_t number_;
  re_value raw_;
};

inline auto Graph::nodes() const {
  return detail::List<Node, Node::From, std::int64_t>(
      {walk_, number_}, static_cast<std::size_t>(raw_.node_count));
}
inline Node Graph::node(std::int64_t i) const { return {{walk_, number_}, i}; }
inline std::optional<Node> Graph::parent() const {
  if (kind() != RE_GRAPH_BODY) return std::nullopt;
  return Node({walk_, raw_.parent}, raw_.parent_node);
}

namespace detail {

inline std::optional<Value> value_at(re_walk* walk, Numbers all,
                                     std::size_t i) {
  if (i >= all.size() || all[i] == RE_NOTHING) return std::nullopt;
  return Value(walk, all[i]);
}

}  // namespace detail

inline std::optional<Value> Node::input(std::size_t i) const {
  return detail::value_at(from_.walk, inputs(), i);
}
inline std::optional<Value> Node::output(std::size_t i) const {
  return detail::value_at(from_.walk, outputs(), i);
}

// A model to read, as it was when the walk was made.
class Walk : public detail::Handle<re_walk, re_walk_free> {
 public:
  using Handle::Handle;

  static Result<Walk> make(const Model& model, const Call& call = {}) {
    detail::Calling its(call);
    return its.make<Walk>(re_walk_new, model.get());
  }
  // Of a walk that is not empty.
  Graph main() const { return {get(), 0}; }
  Graph graph(std::int64_t number) const { return {get(), number}; }
  Value value(std::int64_t number) const { return {get(), number}; }
  auto graphs() const {
    return detail::List<Graph, re_walk*, std::int64_t>(
        get(), static_cast<std::size_t>(re_walk_graphs(get())));
  }
  auto values() const {
    return detail::List<Value, re_walk*, std::int64_t>(
        get(), static_cast<std::size_t>(re_walk_values(get())));
  }
};

}  // namespace re

#endif
