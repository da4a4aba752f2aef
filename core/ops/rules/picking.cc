#include "core/ops/rules/picking.h"

#include <cstring>

namespace ruleengine::ops {

Source::Source(const Call& call, const ir::Literal* t) : tensor_(t) {
  if (t == nullptr || ir::bit_width(t->dtype) < 8) return;
  const auto count = count_of(t->dims);
  // Decoding or joining costs what the whole of it does.
  const bool is_view =
      t->storage == ir::Storage::kRaw || t->storage == ir::Storage::kExternal;
  if (!count || (!is_view && *count > call.limit)) return;
  const auto bytes = ir::raw_bytes(*t, call.model().external.get(), scratch_);
  if (!bytes.ok() ||
      static_cast<std::int64_t>(bytes->size()) < t->byte_size()) {
    return;
  }
  bytes_ = *bytes;
  ok_ = true;
}

const ir::Literal* pick(const Call& call, const ir::Literal* t,
                        const Ints& dims, const Ints& places) {
  const Source source(call, t);
  if (!source.ok()) return nullptr;
  const std::size_t width = source.width();
  const auto out = call.model().arena.array<std::byte>(places.size() * width);
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::memcpy(out.data() + i * width, source.at(places[i]), width);
  }
  return make_tensor(call.model(), t->dtype, dims, out);
}

}  // namespace ruleengine::ops
