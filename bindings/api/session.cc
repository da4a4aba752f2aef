#include "bindings/api/session.h"

#include <cstring>
#include <utility>

#include "bindings/api/models.h"
#include "runtime/failure.h"

namespace ruleengine::api {
namespace {

Diagnostic misuse(std::string what, std::string expected, std::string found) {
  return {.kind = ErrorKind::kUsage,
          .what = std::move(what),
          .expected = std::move(expected),
          .found = std::move(found)};
}

// The number of elements; kUsage where it is not `found`, in units of `what`.
Result<std::int64_t> count_of(std::span<const std::int64_t> dims,
                              ir::DataType type, std::size_t found) {
  try {
    const std::int64_t count = runtime::count_of(dims);
    const std::size_t expected = type == ir::DataType::kString
                                     ? static_cast<std::size_t>(count)
                                     : runtime::bytes_of(type, count);
    if (found == expected) return count;
    return misuse("a tensor has another size than its shape says",
                  runtime::text_of(type, dims) + ", " +
                      std::to_string(expected) +
                      (type == ir::DataType::kString ? " strings" : " bytes"),
                  std::to_string(found));
  } catch (runtime::Failure& failure) {
    failure.error.kind = ErrorKind::kUsage;
    return failure.error;
  }
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(
    const ir::Model& model, const ExecutionOptions& options) {
  std::unique_ptr<Session> out(new Session());
  out->model_ = copy_of(model, options.limits);
  out->deadline_ = options.limits.deadline;
  auto executor =
      runtime::Executor::create(*out->model_, executor_options(options));
  if (!executor) return executor.error();
  out->executor_ = *std::move(executor);
  return out;
}

Result<runtime::NamedData> Session::run(const runtime::NamedData& inputs) {
  auto outputs = executor_->run(inputs);
  if (!outputs) {
    Diagnostic error = outputs.error();
    if (error.where.empty()) error.where = model_->path;
    return error;
  }
  if (auto status = check_end(*model_, deadline_); !status) {
    return status.error();
  }
  return outputs;
}

Result<runtime::Datum> tensor_of(std::int32_t type,
                                 std::span<const std::int64_t> dims,
                                 std::span<const std::byte> bytes) {
  const auto dtype = static_cast<ir::DataType>(type);
  if (!ir::is_known(dtype) || ir::bit_width(dtype) == 0) {
    return misuse("the type of a tensor is unknown", "a TensorProto.DataType",
                  std::to_string(type));
  }
  const auto count = count_of(dims, dtype, bytes.size());
  if (!count) return count.error();
  const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
  if (at % alignof(std::max_align_t) == 0) {
    // Not owned.
    return runtime::Datum(
        runtime::Tensor(dtype, dims,
                        std::shared_ptr<const std::byte>(
                            std::shared_ptr<void>(), bytes.data())));
  }
  auto copy = runtime::Memory::create()->allocate(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return runtime::Datum(runtime::Tensor(dtype, dims, std::move(copy)));
}

Result<runtime::Datum> strings_of(std::span<const std::int64_t> dims,
                                  std::span<const std::string_view> strings) {
  const auto count = count_of(dims, ir::DataType::kString, strings.size());
  if (!count) return count.error();
  return runtime::Datum(runtime::Tensor(
      dims,
      std::make_shared<runtime::Strings>(strings.begin(), strings.end())));
}

}  // namespace ruleengine::api
