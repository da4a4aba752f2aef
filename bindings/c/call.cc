#include "bindings/c/call.h"

namespace ruleengine::c {

Call::Call(const re_call* given) : given_(options_of(given)) {
  if (!(given_.seconds >= 0)) {
    throw misuse("`seconds` is no time", "a number that is not negative");
  }
  if (given_.stop != nullptr) {
    // Not held: any number of calls share one.
    link_.emplace(given_.stop->source.get_token(), Passes{own_});
  }
  deadline_ = (given_.seconds > 0 ? Deadline(given_.seconds) : Deadline())
                  .or_when(own_.get_token());
}

api::Progress Call::progress() {
  if (given_.progress == nullptr) return {};
  return [this](std::uint64_t done, std::uint64_t total) {
    if (given_.progress(given_.user, done, total) != 0) own_.request_stop();
  };
}

}  // namespace ruleengine::c

re_error* re_stop_new(re_stop** stop) {
  return ruleengine::c::guarded([&] {
    ruleengine::c::clear(stop, "`stop`");
    *stop = new re_stop();
  });
}

void re_stop_request(re_stop* stop) {
  if (stop != nullptr) stop->source.request_stop();
}

void re_stop_free(re_stop* stop) { delete stop; }

int re_buffer_append(re_buffer* buffer, const void* data, std::size_t size) {
  if (buffer == nullptr) return -1;
  if (data == nullptr && size > 0) {
    buffer->misused = true;
    return -1;
  }
  try {
    buffer->text.append(static_cast<const char*>(data), size);
    return 0;
  } catch (...) {
    buffer->failed = true;
    return -1;
  }
}
