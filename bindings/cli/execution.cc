#include "bindings/cli/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "bindings/cli/session.h"
#include "core/ir/narrow_float.h"
#include "kernels/cpu.h"
#include "runtime/adapt.h"
#include "runtime/random_inputs.h"
#include "runtime/verify.h"

namespace ruleengine::cli {
namespace {

// A raw type of NumPy's becomes the type of that width that the model declares.
void fit_types(const ir::Model& model, runtime::NamedData& inputs,
               runtime::KernelRun& run) {
  const ir::Graph& graph = model.graph;
  for (const ir::ValueId v : graph.block(ir::Graph::main_block()).inputs) {
    const ir::Type* type = graph.value(v).declared;
    if (type == nullptr || !type->is_tensor()) continue;
    for (auto& [name, value] : inputs) {
      if (name != graph.name(v) || !value.is_tensor()) continue;
      const ir::DataType given = value.tensor().dtype();
      const bool is_raw = given == ir::DataType::kUint8 ||
                          given == ir::DataType::kUint16 ||
                          given == ir::DataType::kInt8;
      if (!is_raw || given == type->elem) continue;
      if (runtime::is_packed(type->elem)) {
        value = runtime::packed(value.tensor(), type->elem, run);
      } else if (ir::is_narrow_float(type->elem) &&
                 ir::bit_width(given) == ir::bit_width(type->elem)) {
        value = value.tensor().as(type->elem);
      }
    }
  }
}

constexpr std::int64_t kMostShown = 12;

template <typename T>
std::string elements(const runtime::Tensor& t) {
  std::string out;
  for (std::int64_t i = 0; i < std::min(t.count(), kMostShown); ++i) {
    out += fmt::format("{}{:.9g}", i == 0 ? "" : ", ",
                       static_cast<double>(t.data<T>()[i]));
  }
  return out + (t.count() > kMostShown ? ", ..." : "");
}

std::string text_of(const runtime::Datum& value) {
  if (!value.is_tensor()) return value.text();
  const runtime::Tensor& t = value.tensor();
  std::string all;
  switch (t.dtype()) {
    case ir::DataType::kFloat:
      all = elements<float>(t);
      break;
    case ir::DataType::kDouble:
      all = elements<double>(t);
      break;
    case ir::DataType::kInt64:
      all = elements<std::int64_t>(t);
      break;
    case ir::DataType::kInt32:
      all = elements<std::int32_t>(t);
      break;
    case ir::DataType::kBool:
    case ir::DataType::kUint8:
      all = elements<std::uint8_t>(t);
      break;
    default:
      return t.text();
  }
  return t.text() + " {" + all + "}";
}

std::string text_of(const runtime::Mismatch& mismatch) {
  if (mismatch.output.empty()) return mismatch.text;
  return "output '" + printable(mismatch.output) + "', " + mismatch.text;
}

std::string text_of(const runtime::Executor::Named& inputs) {
  std::string out;
  for (const auto& [name, value] : inputs) {
    out += printable(name) + " = " + text_of(value) + "\n";
  }
  return out;
}

}  // namespace

std::size_t tensor_limit(const Options& options) {
  return options.limit_tensors != 0 ? options.limit_tensors << 20
                                    : runtime::Memory::of_machine() / 4 * 3;
}

Result<runtime::NamedData> read_inputs(const ir::Model& model,
                                       const Options& options) {
  if (options.inputs.empty()) return runtime::NamedData();
  auto read = runtime::read_npz(options.inputs, tensor_limit(options));
  if (!read) return read.error();
  runtime::Threads one(1);
  runtime::KernelRun run{.memory = runtime::Memory::create(), .threads = &one};
  fit_types(model, *read, run);
  return read;
}

Result<engine::FixedSizes> parse_dims(const Options& options, bool may_tie) {
  engine::FixedSizes out;
  for (const std::string& text : options.dims) {
    const std::size_t at = text.rfind('=');
    const std::string name = text.substr(0, at);
    const std::string given = at == text.npos ? "" : text.substr(at + 1);
    std::int64_t size = -1;
    const char* end = given.data() + given.size();
    const auto read = std::from_chars(given.data(), end, size);
    const bool is_size = read.ec == std::errc() && read.ptr == end && size >= 0;
    const bool is_name = may_tie && !given.empty() &&
                         given.find_first_of("-+") != 0 &&
                         given.find_first_not_of("0123456789") != given.npos;
    if (out.contains(name)) {
      return usage("a dimension has two sizes", printable(text),
                   "give each name once");
    }
    if (name.empty() || !(is_size || is_name)) {
      return Diagnostic{.kind = ErrorKind::kUsage,
                        .what = "a size of --dims cannot be read",
                        .expected = may_tie
                                        ? "NAME=SIZE or NAME=NAME, such as "
                                          "batch=2,mask_length=seq"
                                        : "NAME=SIZE, such as batch=2,seq=7",
                        .found = printable(text)};
    }
    if (is_size) {
      out[name] = size;
    } else {
      out[name] = given;
    }
  }
  return out;
}

Result<runtime::InputOptions> input_options(const Options& options) {
  const auto sizes = parse_dims(options, false);
  if (!sizes) return sizes.error();
  runtime::InputOptions out{.seed = options.seed,
                            .deadline = deadline_of(options)};
  for (const auto& [name, size] : *sizes) {
    out.dims.emplace(name, std::get<std::int64_t>(size));
  }
  return out;
}

Result<runtime::NamedData> draw_inputs(runtime::Executor& executor,
                                       const ir::Model& model,
                                       const Options& options) {
  const auto how = input_options(options);
  if (!how) return how.error();
  return runtime::inputs_to_run(executor, model, *how,
                                runtime::Memory::create(tensor_limit(options)));
}

runtime::ExecutorOptions executor_options(const Options& options) {
  return {.find_kernel = kernels::find_cpu_kernel,
          .threads = options.threads,
          .limit_memory = tensor_limit(options),
          .seed = options.seed,
          .deadline = deadline_of(options)};
}

void add_inputs(VerbLine& verb, Options& o, const char* dims) {
  verb.option("--inputs", o.inputs, "an .npz file with an array an input");
  verb.option("--dims", o.dims, dims).separated_by(',');
  verb.option("--seed", o.seed, "of random inputs and random ops; 0");
  verb.option("--threads", o.threads, "one for each core").whole(1, 4096);
  verb.option("--limit-tensors", o.limit_tensors,
              "MiB of tensors at once; three quarters of the machine's")
      .whole(1, std::uint64_t{1} << 40);
}

engine::CompareModels compare_by_kernels(const Options& options, int threads) {
  return [&options, threads](const ir::Model& before, const ir::Model& after,
                             bool assumes) -> Result<engine::Finding> {
    auto inputs = input_options(options);
    if (!inputs) return inputs.error();
    const runtime::VerifyOptions how{.find_kernel = kernels::find_cpu_kernel,
                                     .threads = threads,
                                     .limit_memory = tensor_limit(options),
                                     .deadline = deadline_of(options),
                                     .inputs = *std::move(inputs),
                                     .extremes = !assumes};
    const auto given = read_inputs(before, options);
    if (!given) return given.error();
    auto found = given->empty()
                     ? runtime::verify(before, after, how)
                     : runtime::verify_on(*given, before, after, how);
    if (!found) return found.error();
    engine::Finding out{
        .verified = {found->inputs, found->max_abs, found->max_rel},
        .unverified = std::move(found->unverified)};
    if (found->mismatch) {
      out.difference = text_of(*found->mismatch);
      out.shown_by = text_of(found->shown_by);
    }
    return out;
  };
}

}  // namespace ruleengine::cli
