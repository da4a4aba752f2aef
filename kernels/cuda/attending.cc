#include "kernels/cuda/attending.h"

#include <limits>
#include <string>

#include "kernels/cuda/attending_steps.h"
#include "kernels/strided.h"

namespace ruleengine::kernels::cuda {
namespace {

Tensor scalar_of(const Preparation& p, Session& session, DataType type,
                 double value) {
  Tensor out = p.allocate(type, {});
  fill(session, out, bits_of(value, type));
  return out;
}

void need_size(std::optional<std::int64_t> size) {
  if (!size) decline("the size of a head is not known");
  if (*size < 1 || *size > device::kMostHeadSize) {
    decline("the size of a head is not 1 to " +
            std::to_string(device::kMostHeadSize) + ": " +
            std::to_string(*size));
  }
}

bool is_length_known(const Preparation& p, std::size_t input) {
  const ir::Type* type = p.input_type(input);
  return type != nullptr && type->has_shape && type->rank() >= 3 &&
         type->dims[type->rank() - 2].known();
}

void check_heads(const GpuAttending& a) {
  const HeadView &q = a.q, &k = a.k, &v = a.v;
  const bool fits = k.batch == q.batch && v.batch == q.batch &&
                    k.size == q.size && v.rows == k.rows &&
                    v.heads == k.heads && k.heads > 0 && q.heads % k.heads == 0;
  if (fits) return;
  fail("queries, keys and values do not fit each other");
}

AttentionPointers pointers_of(const GpuAttending& a, std::byte* to) {
  AttentionPointers at{.q = a.q.data,
                       .k = a.k.data,
                       .v = a.v.data,
                       .o = to,
                       .scale = static_cast<float>(a.scale),
                       .cap = static_cast<float>(a.cap)};
  if (a.lengths.is_there()) {
    at.q_lengths = a.lengths.queries();
    at.kv_lengths = a.lengths.keys();
  }
  if (a.offsets.is_there()) {
    at.q_offsets = a.offsets.of(0);
    at.k_offsets = a.offsets.of(1);
    at.v_offsets = a.offsets.of(2);
    at.o_offsets = a.offsets.of(3);
  }
  if (a.has_sinks()) at.sink = a.sinks.data<float>();
  return at;
}

struct Planned {
  const AttentionParts& parts;
  AttentionEngine& engine;
  AttentionDescription description;
  AttentionPlan plan;
  bool in_buckets;
};

// Adds the plan to the work; whether it took it.
bool execute(Call& c, const Planned& p, const GpuAttending& a, std::byte* to) {
  AttentionPointers at = pointers_of(a, to);
  Tensor bias, log_sums;
  if (a.has_mask()) {
    bias = p.parts.bias_of(c, a.mask);
    at.bias = bias.data<std::byte>();
  }
  if (a.is_guarded) {
    log_sums =
        c.allocate(DataType::kFloat, Dims{a.q.batch, a.q.heads, a.q.rows, 1});
    at.statistics = log_sums.mutable_data<std::byte>();
  }
  if (!p.engine.execute(c, p.description, p.plan, at)) return false;
  if (a.has_mask() || a.lengths.is_there() || a.left >= 0) {
    device::AttentionArgs args = attention_args(a, to);
    if (a.is_guarded) args.log_sums = log_sums.mutable_data<float>();
    clear_hidden(p.parts.session(), p.parts.type(), args);
  }
  return true;
}

// Tries a plan, which is trusted where it is right, and refused where it is
// wrong.
void try_once(Call& c, const Planned& p, const GpuAttending& a) {
  const auto run = [&](const GpuAttending& of, std::byte* to) {
    return execute(c, p, of, to);
  };
  try {
    const Verdict found = try_plan(
        c, p.parts,
        p.in_buckets ? within_bucket(c, p.parts.session(), a, p.description)
                     : a,
        run);
    if (found == Verdict::kRight) p.plan.trust();
    if (found == Verdict::kWrong) {
      p.engine.refuse(p.description, {.what = "the plan gives wrong results"});
    }
  } catch (const runtime::cuda::DriverFailure& failure) {
    if (failure.is_memory()) return p.engine.postpone(p.description);
    if (failure.is_fault()) p.engine.refuse(p.description, failure.error);
    throw;
  }
}

// Whether a plan gives right results, which its first use finds out. What is
// recorded waits for nothing, so nothing is tried there.
bool is_trusted(Call& c, const Planned& p, const GpuAttending& a) {
  if (!p.plan.is_trusted() && !p.parts.session().is_recording() &&
      !p.engine.is_postponed(p.description)) {
    try_once(c, p, a);
  }
  return p.plan.is_trusted();
}

// Whether a plan of cuDNN computes it.
bool run_plan(Call& c, const AttentionParts& parts, const GpuAttending& a,
              std::byte* to) {
  AttentionEngine* const engine = parts.session().attention();
  if (engine == nullptr || parts.type() == DataType::kFloat) return false;
  if (a.has_band() && a.q.rows == 1 && !a.ends_meet) {
    const auto all_seen = without_band(c, a, parts.type());
    return all_seen && all_seen->k.rows > 0 &&
           run_plan(c, parts, *all_seen, to);
  }
  const bool in_bucket = parts.has_any_length() && fits_buckets(a);
  const auto description = description_of(a, parts.type(), in_bucket);
  if (!description) return false;
  const auto plan = engine->plan_for(*description);
  if (!plan) return false;
  if (in_bucket && parts.runs_often()) engine->build_ahead(*description);
  const Planned planned{parts, *engine, *description, *plan, in_bucket};
  return is_trusted(c, planned, a) &&
         execute(c, planned, in_bucket ? in_buckets(c, parts.session(), a) : a,
                 to);
}

}  // namespace

std::optional<std::int64_t> known_head_size(const Preparation& p,
                                            std::size_t input,
                                            std::string_view heads) {
  const ir::Type* type = p.input_type(input);
  if (type == nullptr || !type->has_shape || type->rank() < 3) return {};
  const ir::Dim last = type->dims[type->rank() - 1];
  if (!last.known()) return {};
  if (type->rank() != 3) return last.size();
  const std::int64_t count = p.attribute_int(heads);
  return count > 0 ? std::optional(last.size() / count) : std::nullopt;
}

AttentionParts::AttentionParts(const Preparation& p, Session& session,
                               DataType type,
                               std::optional<std::int64_t> qk_size,
                               std::optional<std::int64_t> v_size)
    : session_(session),
      type_(type),
      has_any_length_(!is_length_known(p, kQ) || !is_length_known(p, kK)),
      runs_often_(p.arranges_weights()) {
  need_size(qk_size);
  need_size(v_size);
  // All that a run may call, so that none loads code.
  kernel_of(session, "attention", "join_attention", type, kFloats);
  session.kernel("caches", "key_lengths");
  if (type == DataType::kFloat) return;
  kernel_of(session, "hidden", "clear_hidden", type, kFloats);
  kernel_of(session, "trial", "random", type, kFloats);
  session.attention();
  zero_ = scalar_of(p, session, type, 0);
  least_ =
      scalar_of(p, session, type, -std::numeric_limits<double>::infinity());
}

Tensor AttentionParts::bias_of(Call& c, const Tensor& mask) const {
  if (mask.dtype() != DataType::kBool) return mask;
  Tensor out = c.allocate(type_, mask.dims());
  select(session_, mask, zero_, least_, out);
  return out;
}

void GpuAttending::set_mask(const Call& c, std::size_t input) {
  const Tensor& given = c.input(input);
  const std::int64_t full[] = {q.batch, q.heads, q.rows, k.rows};
  bool fits = given.rank() <= 4;
  for (std::size_t i = 0; fits && i < given.rank(); ++i) {
    const std::size_t axis = 4 - given.rank() + i;
    const std::int64_t size = given.dim(i);
    fits = size == 1 || size == full[axis] || (axis == 3 && size <= full[3]);
  }
  if (!fits) {
    c.wrong_shape(input, "one that broadcasts to " + runtime::shape_text(full));
  }
  mask = given;
  if (given.rank() > 0) mask_keys = given.dim(given.rank() - 1);
}

void GpuAttending::run(Call& c, const AttentionParts& parts, Tensor& to) const {
  check_heads(*this);
  if (to.count() == 0) return;
  if (k.rows == 0) return fill(parts.session(), to, 0);
  auto* data = to.mutable_data<std::byte>();
  if (run_plan(c, parts, *this, data)) return;
  run_flash(c, parts.session(), parts.type(), attention_args(*this, data));
}

}  // namespace ruleengine::kernels::cuda
