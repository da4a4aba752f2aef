// The innermost products: blocks that lie in the caches, contiguous and of a
// small number of shapes. libxsmm makes code for them on the machine it runs
// on; where it is missing, or the system allows no such code, loops compute
// them. Internal to kernels/cpu.
#pragma once

#include <cstdint>

namespace ruleengine::kernels {

// A block of `rows` x `terms` times one of `terms` x `columns`. Columns and
// terms are multiples of kTileStep.
struct TileShape {
  std::int64_t rows, columns, terms;
};

inline constexpr std::int64_t kTileStep = 16;
inline constexpr std::int64_t kTileRows = 32;    // at most
inline constexpr std::int64_t kTileTerms = 512;  // at most
// At most; a whole number of the widest vectors.
template <typename T>
inline constexpr std::int64_t kTileColumns = 256 / sizeof(T);

constexpr std::int64_t tile_rounded(std::int64_t n) {
  return (n + kTileStep - 1) / kTileStep * kTileStep;
}

// c = a * b; all are row-major and contiguous. Each element of c is a sum in
// the order of its terms.
template <typename T>
void multiply_tile(const TileShape& shape, const T* a, const T* b, T* c);

// A bfloat16: the upper half of a float. As terms of b, those of two rows lie
// next to each other, column after column.
enum class BFloat16 : std::uint16_t {};
// Whether there is code for them; sums are rounded as products of pairs.
bool has_bfloat16_tiles();
void multiply_tile(const TileShape& shape, const BFloat16* a, const BFloat16* b,
                   float* c);

// Terms of b that lie next to each other where it holds bytes: column after
// column of kTileGroup terms, then those of the next terms.
inline constexpr std::int64_t kTileGroup = 4;
// The same for bytes, exactly; kTileColumns<std::int32_t> columns at most.
void multiply_tile(const TileShape& shape, const std::uint8_t* a,
                   const std::int8_t* b, std::int32_t* c);

}  // namespace ruleengine::kernels
