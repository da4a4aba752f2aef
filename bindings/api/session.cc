#include "bindings/api/session.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "bindings/api/models.h"
#include "runtime/failure.h"

namespace ruleengine::api {
namespace {

// kUsage unless the dims have `found` strings, or bytes of the type.
Status check_size(std::span<const std::int64_t> dims, ir::DataType type,
                  std::size_t found) {
  const bool is_string = type == ir::DataType::kString;
  try {
    const std::int64_t count = runtime::count_of(dims);
    const std::size_t expected = is_string ? static_cast<std::size_t>(count)
                                           : runtime::bytes_of(type, count);
    if (found == expected) return {};
    const char* unit = is_string ? " strings" : " bytes";
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "a tensor has another size than its shape says",
                      .expected = runtime::text_of(type, dims) + ", " +
                                  std::to_string(expected) + unit,
                      .found = std::to_string(found) + unit};
  } catch (runtime::Failure& failure) {
    failure.error.kind = ErrorKind::kUsage;
    return failure.error;
  }
}

// Where the bytes of inputs lie.
using Ranges = std::vector<std::span<const std::byte>>;

// The tensor with bytes of its own, where it has those of an input.
runtime::Tensor apart(const runtime::Tensor& t, const Ranges& ranges) {
  const std::byte* at = t.bytes().data();
  const std::less<> before;
  const bool is_inside = std::ranges::any_of(ranges, [&](const auto& range) {
    return !range.empty() && !before(at, range.data()) &&
           before(at, range.data() + range.size());
  });
  if (!is_inside) return t;
  auto copy = runtime::HostMemory::create()->allocate(t.byte_size());
  std::ranges::copy(t.bytes(), copy.get());
  return {t.dtype(), t.dims(), std::move(copy)};
}

// A copy in which ops of the user's own have their bodies.
Result<std::shared_ptr<ir::Model>> with_bodies(const ir::Model& model,
                                               const engine::OpBodies& bodies,
                                               const Limits& limits) {
  auto copy = copy_of(model, limits);
  const auto written = bodies.write(*copy, {.runs = true});
  if (!written) return written.error();
  return copy;
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(
    const ir::Model& model, const engine::OpBodies& bodies,
    const ExecutionOptions& options) {
  auto own = with_bodies(model, bodies, options.limits);
  if (!own) return own.error();
  std::unique_ptr<Session> out(new Session(options));
  out->model_ = *std::move(own);
  const Status ready =
      on_device(out->how_, [&its = *out] { return its.prepare(); });
  if (!ready) return ready.error();
  return out;
}

Status Session::prepare() {
  auto made = executor_options(how_);
  if (!made) return made.error();
  runtime::ExecutorOptions& how = *made;
  how.runs_often = true;
  how.progress = [this](std::size_t done, std::size_t all) {
    if (progress_) progress_(done, all);
  };
  executor_ = nullptr;  // its memory is free for the next one
  auto executor = runtime::Executor::create(*model_, std::move(how));
  if (!executor) return executor.error();
  executor_ = *std::move(executor);
  device_ = how_.device;
  return {};
}

template <typename Work>
auto Session::with_executor(const Progress& progress, const Work& work) {
  using Out = decltype(work());
  progress_ = progress;
  auto out = on_device(how_, [&]() -> Out {
    // On another device than the last time.
    if (device_ != how_.device || executor_ == nullptr) {
      if (Status s = prepare(); !s) return s.error();
    }
    return work();
  });
  progress_ = {};
  if (!out) {
    Diagnostic error = out.error();
    if (error.where.empty()) error.where = model_->path;
    return Out(std::move(error));
  }
  if (auto status = check_end(*model_, how_.limits.deadline); !status) {
    return Out(status.error());
  }
  return out;
}

Status Session::warm_up(const runtime::NamedData& inputs,
                        const Progress& progress) {
  return with_executor(progress, [&] { return executor_->warm_up(inputs); });
}

Result<runtime::NamedData> Session::run(const runtime::NamedData& inputs,
                                        const Progress& progress) {
  auto outputs =
      with_executor(progress, [&] { return executor_->run(inputs); });
  if (!outputs) return outputs;
  Ranges ranges;
  for (const auto& [name, value] : inputs) {
    runtime::for_each_tensor(
        value, [&](const auto& t) { ranges.push_back(t.bytes()); });
  }
  for (auto& [name, value] : *outputs) {
    value = runtime::each_tensor(
        value, [&](const auto& t) { return apart(t, ranges); });
  }
  return outputs;
}

Result<engine::Finding> compare(const ir::Model& before, const ir::Model& after,
                                const engine::OpBodies& bodies,
                                const ExecutionOptions& options) {
  const auto one = with_bodies(before, bodies, options.limits);
  if (!one) return one.error();
  const auto other = with_bodies(after, bodies, options.limits);
  if (!other) return other.error();
  auto found = compare_by_kernels(options)(**one, **other, {});
  if (!found) return found;
  for (const ir::Model* each : {&before, &after}) {
    const Status s = check_end(*each, options.limits.deadline);
    if (!s) return s.error();
  }
  return found;
}

Status verdict_of(const engine::Finding& found) {
  if (!found.difference.empty()) {
    return Diagnostic{.kind = ErrorKind::kVerify,
                      .what = "the models compute different results",
                      .found = found.difference,
                      .hint = "the report has the inputs that show it"};
  }
  if (found.unverified.empty()) return {};
  return Diagnostic{.kind = ErrorKind::kVerify,
                    .what = "the models cannot be compared",
                    .found = found.unverified};
}

Result<runtime::Datum> tensor_of(std::int32_t type,
                                 std::span<const std::int64_t> dims,
                                 std::span<const std::byte> bytes) {
  const auto dtype = static_cast<ir::DataType>(type);
  if (!ir::is_known(dtype) || ir::bit_width(dtype) == 0) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "the type of a tensor is unknown",
                      .expected = "a TensorProto.DataType",
                      .found = std::to_string(type)};
  }
  if (auto s = check_size(dims, dtype, bytes.size()); !s) return s.error();
  const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
  if (at % alignof(std::max_align_t) == 0) {
    // Not owned.
    return runtime::Datum(
        runtime::Tensor(dtype, dims,
                        std::shared_ptr<const std::byte>(
                            std::shared_ptr<void>(), bytes.data())));
  }
  auto copy = runtime::HostMemory::create()->allocate(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return runtime::Datum(runtime::Tensor(dtype, dims, std::move(copy)));
}

Result<runtime::Datum> strings_of(std::span<const std::int64_t> dims,
                                  std::span<const std::string_view> strings) {
  auto fits = check_size(dims, ir::DataType::kString, strings.size());
  if (!fits) return fits.error();
  return runtime::Datum(runtime::Tensor(
      dims,
      std::make_shared<runtime::Strings>(strings.begin(), strings.end())));
}

}  // namespace ruleengine::api
