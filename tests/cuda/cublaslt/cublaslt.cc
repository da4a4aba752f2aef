// A stand-in for cuBLASLt, for tests where there is no GPU: products of
// matrices on the CPU, as work on a stream of the stand-in for the driver. It
// knows what kernels/cuda/cublaslt.cc asks for.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "tests/cuda/standin/standin.h"

#define RULEENGINE_EXPORT extern "C" __attribute__((visibility("default")))
// The first line of each function: counts it, and lets it fail.
#define RULEENGINE_CALL(name) \
  if (ruleengine::standin::fails(#name)) return CUBLAS_STATUS_INTERNAL_ERROR

namespace {

using Bytes = std::vector<std::byte>;

// The attributes that were set.
struct Attributes {
  std::map<int, Bytes> all;

  cublasStatus_t set(int which, const void* value, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(value);
    all[which] = Bytes(bytes, bytes + size);
    return CUBLAS_STATUS_SUCCESS;
  }
  template <typename T>
  T get(int which, T otherwise) const {
    const auto found = all.find(which);
    if (found == all.end()) return otherwise;
    T out;
    if (found->second.size() != sizeof(T)) return otherwise;
    std::memcpy(&out, found->second.data(), sizeof(T));
    return out;
  }
};

struct Description : Attributes {
  cublasComputeType_t compute;
};

struct Layout : Attributes {
  cudaDataType_t type;
  std::int64_t rows, columns, ld;

  bool is_half() const { return type != CUDA_R_32F; }

  std::int64_t batch() const {
    return get<std::int32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1);
  }
  std::int64_t step() const {
    return get<std::int64_t>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0);
  }
};

template <typename T>
double load(const void* data, std::int64_t i) {
  return static_cast<float>(static_cast<const T*>(data)[i]);
}

double load(cudaDataType_t type, const void* data, std::int64_t i) {
  switch (type) {
    case CUDA_R_16F:
      return load<__half>(data, i);
    case CUDA_R_16BF:
      return load<__nv_bfloat16>(data, i);
    default:
      return load<float>(data, i);
  }
}

void store(cudaDataType_t type, void* data, std::int64_t i, double value) {
  const auto rounded = static_cast<float>(value);
  switch (type) {
    case CUDA_R_16F:
      static_cast<__half*>(data)[i] = __float2half(rounded);
      break;
    case CUDA_R_16BF:
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16(rounded);
      break;
    default:
      static_cast<float*>(data)[i] = rounded;
  }
}

// The library's is that by tanh.
double gelu(double x) {
  const double u = 0.79788456080286536 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(u));
}

// To 10 bits of mantissa.
double in_tf32(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 11)), exponent - 11);
}

bool adds_bias(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
}

// A product as its descriptions say, column-major.
struct Job {
  Layout a, b, c;
  bool transpose_a, transpose_b;
  cublasLtEpilogue_t epilogue;
  const void* bias;
  const void *a_data, *b_data;
  const void* c_data;
  void* d_data;
  float alpha, beta;
  bool is_tf32;

  std::int64_t m() const { return transpose_a ? a.columns : a.rows; }
  std::int64_t n() const { return transpose_b ? b.rows : b.columns; }
  std::int64_t k() const { return transpose_a ? a.rows : a.columns; }
  bool fits() const {
    return k() == (transpose_b ? b.columns : b.rows) && m() == c.rows &&
           n() == c.columns && a.ld >= a.rows && b.ld >= b.rows &&
           c.ld >= c.rows && a.batch() == c.batch() && b.batch() == c.batch();
  }

  double at(const Layout& l, const void* data, bool is_transposed,
            std::int64_t batch, std::int64_t row, std::int64_t column) const {
    if (is_transposed) std::swap(row, column);
    return load(l.type, data, batch * l.step() + column * l.ld + row);
  }
  template <typename... Place>
  double factor(const Place&... place) const {
    const double value = at(place...);
    return is_tf32 ? in_tf32(value) : value;
  }

  double element(std::int64_t batch, std::int64_t i, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t t = 0; t < k(); ++t) {
      sum += factor(a, a_data, transpose_a, batch, i, t) *
             factor(b, b_data, transpose_b, batch, t, j);
    }
    sum *= alpha;
    if (beta != 0) sum += beta * at(c, c_data, false, batch, i, j);
    if (adds_bias(epilogue)) sum += load(c.type, bias, i);
    const bool has_relu = epilogue == CUBLASLT_EPILOGUE_RELU ||
                          epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
    const bool has_gelu = epilogue == CUBLASLT_EPILOGUE_GELU ||
                          epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
    return has_relu ? std::max(sum, 0.0) : has_gelu ? gelu(sum) : sum;
  }

  void run() const {
    for (std::int64_t batch = 0; batch < c.batch(); ++batch) {
      for (std::int64_t j = 0; j < n(); ++j) {
        for (std::int64_t i = 0; i < m(); ++i) {
          store(c.type, d_data, batch * c.step() + j * c.ld + i,
                element(batch, i, j));
        }
      }
    }
  }
};

template <typename T, typename Handle>
cublasStatus_t make(Handle* out, T value) {
  *out = reinterpret_cast<Handle>(new T(std::move(value)));
  return CUBLAS_STATUS_SUCCESS;
}

// Also where it fails.
template <typename T>
cublasStatus_t drop(const char* function, void* handle) {
  delete static_cast<T*>(handle);
  return ruleengine::standin::fails(function) ? CUBLAS_STATUS_INTERNAL_ERROR
                                              : CUBLAS_STATUS_SUCCESS;
}

}  // namespace

// Another one for programs under test.
RULEENGINE_EXPORT std::size_t cublasLtGetVersion() {
  const char* told = std::getenv("RULEENGINE_STANDIN_CUBLASLT");
  return told == nullptr ? CUBLAS_VERSION : std::strtoul(told, nullptr, 10);
}

RULEENGINE_EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t* out) {
  RULEENGINE_CALL(cublasLtCreate);
  return make(out, Attributes());
}

RULEENGINE_EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return drop<Attributes>("cublasLtDestroy", handle);
}

RULEENGINE_EXPORT cublasStatus_t
cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t compute,
                         cudaDataType_t scale) {
  RULEENGINE_CALL(cublasLtMatmulDescCreate);
  const bool is_known =
      compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (!is_known || scale != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  return make(out, Description{{}, compute});
}

RULEENGINE_EXPORT cublasStatus_t
cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  return drop<Description>("cublasLtMatmulDescDestroy", description);
}

RULEENGINE_EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t which,
    const void* value, std::size_t size) {
  RULEENGINE_CALL(cublasLtMatmulDescSetAttribute);
  return reinterpret_cast<Description*>(description)->set(which, value, size);
}

RULEENGINE_EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(
    cublasLtMatrixLayout_t* out, cudaDataType type, std::uint64_t rows,
    std::uint64_t columns, std::int64_t ld) {
  RULEENGINE_CALL(cublasLtMatrixLayoutCreate);
  return make(out, Layout{{},
                          type,
                          static_cast<std::int64_t>(rows),
                          static_cast<std::int64_t>(columns),
                          ld});
}

RULEENGINE_EXPORT cublasStatus_t
cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return drop<Layout>("cublasLtMatrixLayoutDestroy", layout);
}

RULEENGINE_EXPORT cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which,
    const void* value, std::size_t size) {
  RULEENGINE_CALL(cublasLtMatrixLayoutSetAttribute);
  return reinterpret_cast<Layout*>(layout)->set(which, value, size);
}

RULEENGINE_EXPORT cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) {
  RULEENGINE_CALL(cublasLtMatmulPreferenceCreate);
  return make(out, Attributes());
}

RULEENGINE_EXPORT cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return drop<Attributes>("cublasLtMatmulPreferenceDestroy", preference);
}

RULEENGINE_EXPORT cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                     cublasLtMatmulPreferenceAttributes_t which,
                                     const void* value, std::size_t size) {
  RULEENGINE_CALL(cublasLtMatmulPreferenceSetAttribute);
  return reinterpret_cast<Attributes*>(preference)->set(which, value, size);
}

// The algorithm keeps the alignment that it was promised. One that adds parts
// of sums in half precision is none that a program wants, nor one that was
// chosen without knowing where the bias is.
RULEENGINE_EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t out,
    cublasLtMatmulPreference_t preference, int wanted,
    cublasLtMatmulHeuristicResult_t* found, int* count) {
  RULEENGINE_CALL(cublasLtMatmulAlgoGetHeuristic);
  if (wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
  found[0] = {};
  const auto& wishes = *reinterpret_cast<Attributes*>(preference);
  const auto alignment = wishes.get<std::uint32_t>(
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 256);
  found[0].algo.data[0] = alignment;
  const auto& how = *reinterpret_cast<Description*>(description);
  const auto epilogue =
      how.get(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  const auto& result = *reinterpret_cast<Layout*>(out);
  const auto schemes =
      wishes.get<std::uint32_t>(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                CUBLASLT_REDUCTION_SCHEME_MASK);
  constexpr std::uint32_t kInResult =
      CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  const bool has_bias =
      how.get<std::uintptr_t>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 0) != 0;
  if ((result.is_half() && (schemes & kInResult) != 0) ||
      (adds_bias(epilogue) && !has_bias)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  // Some epilogues have no algorithm for a batch, and some are found out late.
  const bool is_batch = result.batch() > 1;
  if (is_batch && epilogue == CUBLASLT_EPILOGUE_RELU) {
    found[0].state = CUBLAS_STATUS_NOT_SUPPORTED;
  }
  *count = is_batch && epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ? 0 : 1;
  return *count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

RULEENGINE_EXPORT cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
    const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
    cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
    cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t,
    const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t,
    cudaStream_t stream) {
  RULEENGINE_CALL(cublasLtMatmul);
  const auto& how = *reinterpret_cast<Description*>(description);
  Job job{
      .a = *reinterpret_cast<Layout*>(a_layout),
      .b = *reinterpret_cast<Layout*>(b_layout),
      .c = *reinterpret_cast<Layout*>(c_layout),
      .transpose_a =
          how.get(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N) == CUBLAS_OP_T,
      .transpose_b =
          how.get(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N) == CUBLAS_OP_T,
      .epilogue =
          how.get(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT),
      .bias = how.get<const void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr),
      .a_data = a,
      .b_data = b,
      .c_data = c,
      .d_data = d,
      .alpha = *static_cast<const float*>(alpha),
      .beta = *static_cast<const float*>(beta),
      .is_tf32 = how.compute == CUBLAS_COMPUTE_32F_FAST_TF32};
  const auto is_aligned = [&](const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % algorithm->data[0] == 0;
  };
  const bool has_bias = adds_bias(job.epilogue);
  // A factor that the product is written over would be lost.
  if (!job.fits() || a == d || b == d || !is_aligned(a) || !is_aligned(b) ||
      !is_aligned(c) || !is_aligned(d) || (has_bias && !is_aligned(job.bias))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::vector<const void*> uses = {a, b, c, d, workspace};
  if (has_bias) uses.push_back(job.bias);
  ruleengine::standin::add_work(stream, "a product", std::move(uses),
                                [job = std::move(job)] { job.run(); });
  return CUBLAS_STATUS_SUCCESS;
}
