// Products of matrices by cuBLASLt, from the library that is on the machine.
// Internal to kernels/cuda.
#pragma once

#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "kernels/cuda/session.h"
#include "runtime/tensor.h"

namespace ruleengine::kernels::cuda {

// What is done with an element of a product before it is stored.
enum class Activation : std::uint8_t { kNone, kRelu, kGeluTanh };

// out = activation(alpha op(a) op(b) + beta c + bias), for each of a batch;
// row-major. Numbers of half precision are multiplied exactly and added in
// float.
struct Product {
  runtime::DataType type;  // float, float16 or bfloat16
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;  // out is m x n
  std::int64_t batch = 1;
  // Elements from a matrix of the batch to the next; 0: always the same.
  std::int64_t a_step = 0, b_step = 0;
  bool has_bias = false;  // a row that is added to each row
  Activation activation = Activation::kNone;
  bool adds = false;  // whether beta is not 0

  auto operator<=>(const Product&) const = default;
};

struct ProductData {
  const std::byte *a, *b;
  std::byte* out;
  const std::byte* c = nullptr;     // laid out as `out`; nullptr: `out`
  const std::byte* bias = nullptr;  // [n]
  float alpha = 1, beta = 0;
};

// The products of one session: a handle, the algorithm for each product, and
// memory to compute in. Belongs to the thread of the session.
class Products {
 public:
  // `tf32`: whether factors of float32 are rounded to it.
  Products(Session& session, bool tf32);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // Declines where the library is missing or of another version.
  void open();
  // Adds the product to the work; no size is 0. Throws Failure.
  void run(const Product& product, const ProductData& data);
  // The same; false where the library has no algorithm for it.
  bool try_run(const Product& product, const ProductData& data);

 private:
  struct Plan;
  using Key = std::pair<Product, std::uint32_t>;  // and the alignment
  struct Entry {
    std::unique_ptr<Plan> plan;
    std::list<Key>::iterator place;  // in order_
  };
  const Plan& plan_of(const Product& product, std::uint32_t alignment);

  Session& session_;
  const bool tf32_;
  void* handle_ = nullptr;
  std::map<Key, Entry> plans_;
  std::list<Key> order_;  // what was used last is first
  std::shared_ptr<std::byte> workspace_;
};

}  // namespace ruleengine::kernels::cuda
