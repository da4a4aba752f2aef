#include "kernels/cuda/cublaslt.h"

#include <cublasLt.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <bit>
#include <string>

#include "runtime/failure.h"
#include "runtime/preparation.h"

namespace ruleengine::kernels::cuda {
namespace {

#define RULEENGINE_CUBLASLT(each)                                            \
  each(cublasLtGetVersion) each(cublasLtCreate) each(cublasLtDestroy)        \
      each(cublasLtMatmulDescCreate) each(cublasLtMatmulDescDestroy)         \
          each(cublasLtMatmulDescSetAttribute)                               \
              each(cublasLtMatrixLayoutCreate)                               \
                  each(cublasLtMatrixLayoutDestroy)                          \
                      each(cublasLtMatrixLayoutSetAttribute)                 \
                          each(cublasLtMatmulPreferenceCreate)               \
                              each(cublasLtMatmulPreferenceDestroy)          \
                                  each(cublasLtMatmulPreferenceSetAttribute) \
                                      each(cublasLtMatmulAlgoGetHeuristic)   \
                                          each(cublasLtMatmul)

struct Library {
#define RULEENGINE_FIELD(name) decltype(&::name) name = nullptr;
  RULEENGINE_CUBLASLT(RULEENGINE_FIELD)
#undef RULEENGINE_FIELD
  std::string missing;  // why it cannot be used; "": it can
};

Library load() {
  Library out;
  const std::string name =
      fmt::format("libcublasLt.so.{}", CUBLAS_VERSION / 10000);
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    out.missing = fmt::format("there is no {}", name);
    return out;
  }
#define RULEENGINE_LOAD(name)                                               \
  out.name = reinterpret_cast<decltype(out.name)>(::dlsym(library, #name)); \
  if (out.name == nullptr) out.missing = "cuBLASLt lacks " #name;
  RULEENGINE_CUBLASLT(RULEENGINE_LOAD)
#undef RULEENGINE_LOAD
  if (!out.missing.empty()) return out;
  const std::size_t version = out.cublasLtGetVersion();
  if (version / 10000 != CUBLAS_VERSION / 10000) {
    out.missing = fmt::format("{} is of another version: {}", name, version);
  }
  return out;
}

// Constant once loaded, and never unloaded.
const Library& library() {
  static const Library kLibrary = load();
  return kLibrary;
}

void check(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw runtime::Failure{{.kind = ErrorKind::kLimit,
                          .what = "cuBLASLt failed at a product of matrices",
                          .found = fmt::format("status {}", int{status}),
                          .remedy = Remedy::kDevice}};
}

cudaDataType_t type_of(runtime::DataType type) {
  switch (type) {
    case runtime::DataType::kFloat16:
      return CUDA_R_16F;
    case runtime::DataType::kBfloat16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

// A handle of the library, which frees it.
template <auto destroy, typename Handle>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (handle_ != nullptr) (library().*destroy)(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle* place() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};
using Layout =
    Owned<&Library::cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t>;
using Description =
    Owned<&Library::cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t>;
using Preference = Owned<&Library::cublasLtMatmulPreferenceDestroy,
                         cublasLtMatmulPreference_t>;

// What Hopper is said to need; other chips take less.
constexpr std::size_t kWorkspace = std::size_t{32} << 20;

// What vectors need. A plan for more would not serve views, which begin within
// a block.
constexpr std::uintptr_t kMostAlignment = 16;

}  // namespace

// Row-major matrices are the transposes of column-major ones, so out^T = b^T
// a^T is what the library computes.
struct Products::Plan {
  Plan(const Product& p, std::uint32_t alignment, bool tf32,
       cublasLtHandle_t handle);
  void describe(const Product& p, std::uint32_t alignment, bool tf32);

  Description description;
  Layout a, b, out;
  bool is_possible = false;
  cublasLtMatmulAlgo_t algorithm{};
};

namespace {

cublasLtEpilogue_t epilogue_of(const Product& p) {
  switch (p.activation) {
    case Activation::kRelu:
      return p.has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::kGeluTanh:
      return p.has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case Activation::kNone:
      break;
  }
  return p.has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

// A row-major matrix of so many rows and columns, or transposed.
void lay_out(Layout& layout, const Product& p, bool is_transposed,
             std::int64_t rows, std::int64_t columns, std::int64_t step) {
  if (is_transposed) std::swap(rows, columns);
  const Library& lib = library();
  check(lib.cublasLtMatrixLayoutCreate(
      layout.place(), type_of(p.type), static_cast<std::uint64_t>(columns),
      static_cast<std::uint64_t>(rows), columns));
  const auto count = static_cast<std::int32_t>(p.batch);
  check(lib.cublasLtMatrixLayoutSetAttribute(
      layout.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)));
  check(lib.cublasLtMatrixLayoutSetAttribute(
      layout.get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step,
      sizeof(step)));
}

}  // namespace

void Products::Plan::describe(const Product& p, std::uint32_t alignment,
                              bool tf32) {
  const Library& lib = library();
  const bool is_rounded = tf32 && p.type == DataType::kFloat;
  check(lib.cublasLtMatmulDescCreate(
      description.place(),
      is_rounded ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
      CUDA_R_32F));
  const auto set = [&](cublasLtMatmulDescAttributes_t which, auto value) {
    check(lib.cublasLtMatmulDescSetAttribute(description.get(), which, &value,
                                             sizeof(value)));
  };
  const auto op = [](bool is_transposed) {
    return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, op(p.transpose_b));
  set(CUBLASLT_MATMUL_DESC_TRANSB, op(p.transpose_a));
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p));
  // Not yet there, but as aligned as it will be.
  const auto bias = reinterpret_cast<const void*>(std::uintptr_t{alignment});
  if (p.has_bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
}

Products::Plan::Plan(const Product& p, std::uint32_t alignment, bool tf32,
                     cublasLtHandle_t handle) {
  const Library& lib = library();
  describe(p, alignment, tf32);
  lay_out(a, p, p.transpose_a, p.m, p.k, p.a_step);
  lay_out(b, p, p.transpose_b, p.k, p.n, p.b_step);
  lay_out(out, p, false, p.m, p.n, p.m * p.n);
  Preference preference;
  check(lib.cublasLtMatmulPreferenceCreate(preference.place()));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which,
                          auto value) {
    check(lib.cublasLtMatmulPreferenceSetAttribute(preference.get(), which,
                                                   &value, sizeof(value)));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspace});
  // Parts of a sum are added in float, never in the type of the result.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  for (const auto which : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(which, alignment);
  }
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const auto status = lib.cublasLtMatmulAlgoGetHeuristic(
      handle, description.get(), b.get(), a.get(), out.get(), out.get(),
      preference.get(), 1, &found, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return;
  check(status);
  is_possible = count > 0 && found.state == CUBLAS_STATUS_SUCCESS;
  algorithm = found.algo;
}

Products::Products(Session& session, bool tf32)
    : session_(session), tf32_(tf32) {}

Products::~Products() {
  plans_.clear();
  if (handle_ != nullptr) {
    library().cublasLtDestroy(static_cast<cublasLtHandle_t>(handle_));
  }
}

void Products::open() {
  if (handle_ != nullptr) return;
  if (!library().missing.empty()) runtime::decline(library().missing);
  cublasLtHandle_t made = nullptr;
  check(library().cublasLtCreate(&made));
  handle_ = made;
}

const Products::Plan& Products::plan_of(const Product& product,
                                        std::uint32_t alignment) {
  // Of all sizes that a model with changing sizes runs, the last ones.
  constexpr std::size_t kMost = 1024;
  const Key key(product, alignment);
  if (const auto known = plans_.find(key); known != plans_.end()) {
    order_.splice(order_.begin(), order_, known->second.place);
    return *known->second.plan;
  }
  auto made = std::make_unique<Plan>(product, alignment, tf32_,
                                     static_cast<cublasLtHandle_t>(handle_));
  if (plans_.size() >= kMost) {
    plans_.erase(order_.back());
    order_.pop_back();
  }
  order_.push_front(key);
  return *(plans_[key] = {std::move(made), order_.begin()}).plan;
}

void Products::run(const Product& product, const ProductData& data) {
  if (!try_run(product, data)) check(CUBLAS_STATUS_NOT_SUPPORTED);
}

bool Products::try_run(const Product& product, const ProductData& data) {
  const std::byte* c = data.c != nullptr ? data.c : data.out;
  const auto addresses = reinterpret_cast<std::uintptr_t>(data.a) |
                         reinterpret_cast<std::uintptr_t>(data.b) |
                         reinterpret_cast<std::uintptr_t>(c) |
                         reinterpret_cast<std::uintptr_t>(data.bias) |
                         reinterpret_cast<std::uintptr_t>(data.out) |
                         kMostAlignment;
  const std::uint32_t alignment = 1u << std::countr_zero(addresses);
  const Plan& plan = plan_of(product, alignment);
  if (!plan.is_possible) return false;
  const Library& lib = library();
  if (product.has_bias) {
    check(lib.cublasLtMatmulDescSetAttribute(plan.description.get(),
                                             CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                             &data.bias, sizeof(data.bias)));
  }
  if (workspace_ == nullptr) {
    workspace_ = session_.memory()->allocate(kWorkspace);
  }
  check(lib.cublasLtMatmul(
      static_cast<cublasLtHandle_t>(handle_), plan.description.get(),
      &data.alpha, data.b, plan.b.get(), data.a, plan.a.get(), &data.beta, c,
      plan.out.get(), data.out, plan.out.get(), &plan.algorithm,
      workspace_.get(), kWorkspace, session_.stream().add()));
  return true;
}

}  // namespace ruleengine::kernels::cuda
