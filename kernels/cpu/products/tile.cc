#include "kernels/cpu/products/tile.h"

#include <algorithm>
#include <type_traits>

#include "runtime/vectors.h"

#if RULEENGINE_XSMM
#include <libxsmm.h>
#include <sys/mman.h>

#include <atomic>
#endif

namespace ruleengine::kernels {
namespace {

template <typename T, std::int64_t kColumns>
void multiply_rows(const TileShape& s, const T* a, const T* b, T* c) {
  for (std::int64_t i = 0; i < s.rows; ++i, a += s.terms, c += kColumns) {
    T sums[kColumns] = {};
    for (std::int64_t t = 0; t < s.terms; ++t) {
      const T x = a[t];
      const T* row = b + t * kColumns;
      for (std::int64_t j = 0; j < kColumns; ++j) sums[j] += x * row[j];
    }
    std::copy_n(sums, kColumns, c);
  }
}

template <typename T>
void multiply_by_loops(const TileShape& s, const T* a, const T* b, T* c) {
  runtime::for_vectors([&]() RULEENGINE_INLINE {
    switch (s.columns / kTileStep) {
      case 1:
        return multiply_rows<T, 16>(s, a, b, c);
      case 2:
        return multiply_rows<T, 32>(s, a, b, c);
      case 3:
        return multiply_rows<T, 48>(s, a, b, c);
      default:
        return multiply_rows<T, 64>(s, a, b, c);
    }
  });
}

// Without instructions for bytes: as floats, which hold sums of so many terms
// exactly.
void multiply_as_floats(const TileShape& s, const std::uint8_t* a,
                        const std::int8_t* b, std::int32_t* c) {
  constexpr std::int64_t kTerms = 64, kColumns = kTileColumns<float>;
  static_assert(kTerms * 255 * 128 < 1 << 24);
  alignas(64) float x[kTileRows * kTerms], y[kTerms * kColumns];
  alignas(64) float sums[kTileRows * kColumns];
  const std::int64_t count = s.rows * s.columns;
  std::fill_n(c, count, 0);
  for (std::int64_t first = 0; first < s.terms; first += kTerms) {
    const std::int64_t terms = std::min(kTerms, s.terms - first);
    runtime::for_vectors([&]() RULEENGINE_INLINE {
      for (std::int64_t i = 0; i < s.rows; ++i) {
        const std::uint8_t* row = a + i * s.terms + first;
        for (std::int64_t t = 0; t < terms; ++t) x[i * terms + t] = row[t];
      }
      for (std::int64_t t = 0; t < terms; t += kTileGroup) {
        const std::int8_t* group = b + (first + t) * s.columns;
        for (std::int64_t j = 0; j < s.columns; ++j) {
          for (std::int64_t i = 0; i < kTileGroup; ++i) {
            y[(t + i) * s.columns + j] = group[j * kTileGroup + i];
          }
        }
      }
    });
    multiply_tile<float>({s.rows, s.columns, terms}, x, y, sums);
    runtime::for_vectors([&]() RULEENGINE_INLINE {
      for (std::int64_t i = 0; i < count; ++i) {
        c[i] += static_cast<std::int32_t>(sums[i]);
      }
    });
  }
}

#if RULEENGINE_XSMM

// Whether memory that was written may be run; hardened systems forbid it, and
// libxsmm does not notice.
bool may_run_made_code() {
  constexpr std::size_t kPage = 4096;
  void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  *static_cast<char*>(page) = 1;
  const bool may = ::mprotect(page, kPage, PROT_READ | PROT_EXEC) == 0;
  ::munmap(page, kPage);
  return may;
}

// For the vectors of this process, which are wider than the common ones.
bool has_xsmm() {
  static const bool has = [] {
    if (!may_run_made_code()) return false;
    libxsmm_init();
    // What lies behind CPX has nothing that the products here need.
    libxsmm_set_target_archid(runtime::vector_bits() >= 512
                                  ? std::clamp(libxsmm_cpuid(),
                                               LIBXSMM_X86_AVX512_CORE,
                                               LIBXSMM_X86_AVX512_CPX)
                                  : LIBXSMM_X86_AVX2);
    return true;
  }();
  return has;
}

// libxsmm reads columns first, so its matrices are ours transposed.
template <typename Dispatch, typename Number>
auto dispatched(Dispatch dispatch, const TileShape& s, Number alpha,
                int flags) {
  const auto columns = static_cast<int>(s.columns);
  const auto terms = static_cast<int>(s.terms);
  const Number beta = 0;
  const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  return dispatch(columns, static_cast<int>(s.rows), terms, &columns, &terms,
                  &columns, &alpha, &beta, &flags, &prefetch);
}

auto make(const float* /*type*/, const TileShape& s) {
  return dispatched(libxsmm_smmdispatch, s, 1.0F, LIBXSMM_GEMM_FLAG_NONE);
}

auto make(const double* /*type*/, const TileShape& s) {
  return dispatched(libxsmm_dmmdispatch, s, 1.0, LIBXSMM_GEMM_FLAG_NONE);
}

auto make(const BFloat16* /*type*/, const TileShape& s) {
  return dispatched(libxsmm_bsmmdispatch, s, 1.0F, LIBXSMM_GEMM_FLAG_VNNI_A);
}

// Only for processors with AVX512-VNNI: for others with AVX-512, libxsmm makes
// code that is wrong.
libxsmm_subimmfunction make(const std::int32_t* /*type*/, const TileShape& s) {
  if (libxsmm_get_target_archid() < LIBXSMM_X86_AVX512_CLX) return nullptr;
  return dispatched(libxsmm_subimmdispatch, s, 1, LIBXSMM_GEMM_FLAG_VNNI_A);
}

// The code for a shape, by the type of its sums, or BFloat16; nullptr where
// there is none.
template <typename T>
auto made(const TileShape& s) {
  using Code = decltype(make(static_cast<const T*>(nullptr), s));
  using Sum = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;
  constexpr std::int64_t kWidths = kTileColumns<Sum> / kTileStep;
  static std::atomic<Code> codes[kWidths][kTileRows][kTileTerms / kTileStep] =
      {};
  if (runtime::vector_bits() < 256 || !has_xsmm()) return Code(nullptr);
  std::atomic<Code>& code =
      codes[s.columns / kTileStep - 1][s.rows - 1][s.terms / kTileStep - 1];
  Code out = code.load(std::memory_order_acquire);
  if (out == nullptr) {
    out = make(static_cast<const T*>(nullptr), s);
    code.store(out, std::memory_order_release);
  }
  return out;
}

#endif

}  // namespace

template <typename T>
void multiply_tile(const TileShape& shape, const T* a, const T* b, T* c) {
#if RULEENGINE_XSMM
  if (const auto code = made<T>(shape)) return code(b, a, c);
#endif
  multiply_by_loops(shape, a, b, c);
}

void multiply_tile(const TileShape& shape, const std::uint8_t* a,
                   const std::int8_t* b, std::int32_t* c) {
#if RULEENGINE_XSMM
  if (const auto code = made<std::int32_t>(shape)) {
    return code(reinterpret_cast<const char*>(b), a, c);
  }
#endif
  multiply_as_floats(shape, a, b, c);
}

bool has_bfloat16_tiles() {
#if RULEENGINE_XSMM
  return runtime::vector_bits() >= 512 && has_xsmm() &&
         libxsmm_get_target_archid() >= LIBXSMM_X86_AVX512_CPX;
#else
  return false;
#endif
}

void multiply_tile([[maybe_unused]] const TileShape& shape,
                   [[maybe_unused]] const BFloat16* a,
                   [[maybe_unused]] const BFloat16* b,
                   [[maybe_unused]] float* c) {
#if RULEENGINE_XSMM
  const auto bits = [](const BFloat16* x) {
    return reinterpret_cast<const libxsmm_bfloat16*>(x);
  };
  made<BFloat16>(shape)(bits(b), bits(a), c);
#endif
}

template void multiply_tile(const TileShape&, const float*, const float*,
                            float*);
template void multiply_tile(const TileShape&, const double*, const double*,
                            double*);

}  // namespace ruleengine::kernels
