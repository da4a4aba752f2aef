#include "core/ir/literal.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "core/base/arena.h"

namespace ruleengine::ir {
namespace {

using Dims = std::vector<std::int64_t>;

struct TensorWorld {
  Arena arena;

  template <typename T>
  Literal* raw(DataType type, Dims dims, std::vector<T> elements) {
    Literal* t = arena.make<Literal>();
    t->dtype = type;
    t->dims = arena.copy(std::span<const std::int64_t>(dims));
    t->bytes = std::as_bytes(arena.copy(std::span<const T>(elements)));
    return t;
  }
  Literal* floats(Dims dims, float first = 0) {
    std::int64_t n = 1;
    for (std::int64_t d : dims) n *= d;
    std::vector<float> elements;
    for (std::int64_t i = 0; i < n; ++i) {
      elements.push_back(first + static_cast<float>(i));
    }
    return raw(DataType::kFloat, dims, elements);
  }
  Literal* joined(Dims dims, std::int64_t axis, std::vector<LazyPart> parts) {
    Literal* t = arena.make<Literal>();
    t->dtype = parts.at(0).tensor->dtype;
    t->dims = arena.copy(std::span<const std::int64_t>(dims));
    t->storage = Storage::kLazy;
    t->lazy =
        arena.make<Lazy>(arena.copy(std::span<const LazyPart>(parts)), axis);
    return t;
  }
};

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (int v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

std::string numbers(const Literal& t) {
  const auto values = to_doubles(t, nullptr, 1000);
  if (!values) return "none";
  std::string out;
  for (double v : *values) {
    if (!out.empty()) out += " ";
    const auto whole = static_cast<std::int64_t>(v);
    out += static_cast<double>(whole) == v ? std::to_string(whole)
                                           : std::to_string(v);
  }
  return out;
}

TEST_CASE("sizes, with overflow") {
  TensorWorld w;
  Literal t{.dtype = DataType::kInt4, .dims = w.arena.array<std::int64_t>(1)};
  CHECK(t.element_count() == 0);
  const Dims five = {5}, big = {1LL << 40, 1LL << 40}, zero = {1LL << 62, 8, 0};
  t.dims = five;
  CHECK(t.byte_size() == 3);
  t.dims = {};
  CHECK(t.element_count() == 1);
  t.dtype = DataType::kFloat;
  t.dims = big;
  CHECK(t.byte_size() == std::numeric_limits<std::int64_t>::max());
  std::vector<std::byte> scratch;
  CHECK_FALSE(raw_bytes(t, nullptr, scratch).ok());
  t.dims = zero;
  CHECK(t.element_count() == 0);
}

TEST_CASE("packed integers are decoded, and bounded") {
  TensorWorld w;
  Literal t{.dtype = DataType::kInt32, .storage = Storage::kTyped};
  const Dims three = {3}, two = {2}, huge = {1LL << 50};
  t.dims = three;
  const auto packed = bytes_of({0x01, 0xac, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff,
                                0xff, 0xff, 0xff, 0xff, 0x01});
  t.bytes = packed;
  CHECK(numbers(t) == "1 300 -1");
  std::vector<std::byte> scratch;
  CHECK(raw_bytes(t, nullptr, scratch)->size() == 12);
  t.dims = two;  // one too many
  CHECK(numbers(t) == "none");
  t.dims = huge;
  CHECK_FALSE(raw_bytes(t, nullptr, scratch).ok());
  t.dims = three;
  t.bytes = std::span(packed).first(5);  // ends within an element
  CHECK(numbers(t) == "none");
  t.dtype = DataType::kUint4;  // two to an integer
  const auto small = bytes_of({0xa1, 0x01, 0x03});
  t.bytes = small;
  CHECK(numbers(t) == "1 10 3");
}

TEST_CASE("floats have one layout in both storages") {
  TensorWorld w;
  Literal t = *w.floats({2, 2}, 1);
  std::vector<std::byte> scratch;
  CHECK(raw_bytes(t, nullptr, scratch)->data() == t.bytes.data());
  t.storage = Storage::kTyped;
  CHECK(raw_bytes(t, nullptr, scratch)->data() == t.bytes.data());
  CHECK(numbers(t) == "1 2 3 4");
  CHECK(scratch.empty());
}

TEST_CASE("numbers of every kind of element") {
  TensorWorld w;
  CHECK(numbers(*w.raw<std::int8_t>(DataType::kInt8, {2}, {-1, 5})) == "-1 5");
  CHECK(numbers(*w.raw<std::uint8_t>(DataType::kBool, {2}, {2, 0})) == "1 0");
  CHECK(numbers(*w.raw<std::uint16_t>(DataType::kFloat16, {2},
                                      {0x3c00, 0xc000})) == "1 -2");
  CHECK(numbers(*w.raw<std::uint16_t>(DataType::kBfloat16, {1}, {0x4040})) ==
        "3");
  CHECK(numbers(*w.raw<std::uint8_t>(DataType::kFloat8E5M2, {1}, {0x3c})) ==
        "1");
  CHECK(numbers(*w.raw<std::uint8_t>(DataType::kInt4, {3}, {0x7f, 0x08})) ==
        "-1 7 -8");
  CHECK(numbers(*w.raw<std::uint8_t>(DataType::kInt2, {4}, {0xe4})) ==
        "0 1 -2 -1");
  CHECK(numbers(*w.raw<std::uint8_t>(DataType::kFloat4E2M1, {2}, {0x97})) ==
        "6 -0.500000");
  CHECK(numbers(*w.raw<std::uint64_t>(DataType::kUint64, {1}, {7})) == "7");
  CHECK(numbers(*w.raw<float>(DataType::kComplex64, {1}, {1, 2})) == "none");
}

TEST_CASE("integers are exact or refused") {
  TensorWorld w;
  const auto ints = [](const Literal* t) { return to_ints(*t, nullptr, 10); };
  CHECK(ints(w.floats({2}))->at(1) == 1);
  CHECK_FALSE(ints(w.raw<float>(DataType::kFloat, {1}, {0.5f})));
  CHECK_FALSE(ints(w.raw<double>(DataType::kDouble, {1}, {0x1p63})));
  CHECK(ints(w.raw<double>(DataType::kDouble, {1}, {-0x1p63}))->at(0) ==
        std::numeric_limits<std::int64_t>::min());
  CHECK_FALSE(ints(w.raw<std::uint64_t>(DataType::kUint64, {1}, {~0ULL})));
  CHECK_FALSE(ints(w.floats({11})));  // beyond the limit
}

TEST_CASE("lazy: joined along either axis, transposed or not, nested") {
  TensorWorld w;
  const Literal* a = w.floats({2, 3});      // 0 1 2 / 3 4 5
  const Literal* b = w.floats({2, 3}, 10);  // 10 11 12 / 13 14 15
  const Literal* c = w.floats({3, 2}, 20);  // 20 21 / 22 23 / 24 25
  CHECK(numbers(*w.joined({4, 3}, 0, {{a}, {b}})) ==
        "0 1 2 3 4 5 10 11 12 13 14 15");
  const Literal* wide = w.joined({2, 6}, 1, {{a}, {b}});
  CHECK(numbers(*wide) == "0 1 2 10 11 12 3 4 5 13 14 15");
  CHECK(numbers(*w.joined({3, 2}, 0, {{a, true}})) == "0 3 1 4 2 5");
  CHECK(numbers(*w.joined({2, 6}, 1, {{a}, {c, true}})) ==
        "0 1 2 20 22 24 3 4 5 21 23 25");
  const Literal* tall = w.joined({6, 2}, 0, {{wide, true}});
  CHECK(numbers(*tall) == "0 3 1 4 2 5 10 13 11 14 12 15");
  CHECK(numbers(*w.joined({6, 4}, 1, {{tall}, {wide, true}})) ==
        "0 3 0 3 1 4 1 4 2 5 2 5 10 13 10 13 11 14 11 14 12 15 12 15");
  CHECK(numbers(*w.joined({2, 12}, 1, {{tall, true}, {wide}})) ==
        "0 1 2 10 11 12 0 1 2 10 11 12 3 4 5 13 14 15 3 4 5 13 14 15");
  const Literal* both = w.joined({4, 3}, 0, {{a}, {b}});
  CHECK(numbers(*w.joined({3, 4}, 0, {{both, true}})) ==
        "0 3 10 13 1 4 11 14 2 5 12 15");
  CHECK(numbers(*w.joined({2, 3}, 0, {{a}})) == "0 1 2 3 4 5");
  const Literal* scalar = w.floats({});
  CHECK(numbers(*w.joined({}, 0, {{scalar}})) == "0");
  const Literal* none = w.floats({0, 3});
  CHECK(numbers(*w.joined({2, 3}, 0, {{none}, {a}, {none}})) == "0 1 2 3 4 5");
  CHECK(numbers(*w.joined({0, 3}, 0, {{none}, {none}})) == "");
}

TEST_CASE("lazy: parts that are cut along the axis") {
  TensorWorld w;
  const Literal* a = w.floats({2, 3});      // 0 1 2 / 3 4 5
  const Literal* b = w.floats({2, 3}, 10);  // 10 11 12 / 13 14 15
  CHECK(numbers(*w.joined({2, 2}, 1, {{a, false, 1, 2}})) == "1 2 4 5");
  CHECK(numbers(*w.joined({1, 3}, 0, {{a, false, 1, 1}})) == "3 4 5");
  CHECK(numbers(*w.joined({2, 2}, 0, {{a, true, 1, 2}})) == "1 4 2 5");
  CHECK(numbers(*w.joined({3, 1}, 1, {{a, true, 1, 1}})) == "3 4 5");
  CHECK(numbers(*w.joined({2, 4}, 1, {{a, false, 2, 1}, {b}})) ==
        "2 10 11 12 5 13 14 15");
  const Literal* inner = w.joined({2, 4}, 1, {{a}, {b, false, 0, 1}});
  CHECK(numbers(*w.joined({2, 2}, 0, {{inner, true, 2, 2}})) == "2 5 10 13");
  CHECK(numbers(*w.joined({2, 0}, 1, {{a, false, 3, 0}})) == "");
  CHECK(numbers(*w.joined({2, 2}, 1, {{a, false, 2, 2}})) == "none");
  CHECK(numbers(*w.joined({2, 3}, 1, {{a, false, 1, 2}})) == "none");
  CHECK(numbers(*w.joined({2, 2}, 1, {{a, false, -1, 2}})) == "none");
}

TEST_CASE("lazy: parts of elements smaller than a byte share a byte") {
  TensorWorld w;
  const Literal* a = w.raw<std::uint8_t>(DataType::kUint4, {3}, {0x21, 0x03});
  const Literal* b = w.raw<std::uint8_t>(DataType::kUint4, {2}, {0x54});
  const Literal* ab = w.joined({5}, 0, {{a}, {b}});
  CHECK(numbers(*ab) == "1 2 3 4 5");
  std::vector<std::byte> scratch;
  CHECK(raw_bytes(*ab, nullptr, scratch)->size() == 3);
}

TEST_CASE("lazy: parts that do not fit are refused at any depth") {
  TensorWorld w;
  const Literal* a = w.floats({2, 3});
  CHECK(numbers(*w.joined({2, 3}, 0, {{a}, {a}})) == "none");
  CHECK(numbers(*w.joined({2, 6}, 0, {{a}, {a}})) == "none");
  CHECK(numbers(*w.joined({3, 2}, 0, {{a}})) == "none");
  CHECK(numbers(*w.joined({4, 3}, 2, {{a}, {a}})) == "none");
  CHECK(numbers(*w.joined({4, 3}, -1, {{a}, {a}})) == "none");
  const Literal* deep = w.floats({1});
  for (int i = 0; i < 60; ++i) {  // 2^60 elements of one float
    deep = w.joined({2LL << i}, 0, {{deep}, {deep}});
  }
  std::vector<std::byte> scratch;
  CHECK(raw_bytes(*deep, nullptr, scratch).error().kind == ErrorKind::kLimit);
  const Literal* chain = w.floats({1});
  for (int i = 0; i < 100000; ++i) chain = w.joined({1}, 0, {{chain}});
  CHECK(raw_bytes(*chain, nullptr, scratch).error().kind == ErrorKind::kLimit);
}

TEST_CASE("streaming is piecewise, and a failing sink stops it") {
  TensorWorld w;
  const Literal* a = w.floats({700, 600});
  const Literal* both = w.joined({600, 1400}, 1, {{a, true}, {a, true}});
  std::vector<std::byte> all;
  std::size_t largest = 0;
  REQUIRE(stream_bytes(*both, nullptr, [&](auto piece) -> Status {
            largest = std::max(largest, piece.size());
            all.insert(all.end(), piece.begin(), piece.end());
            return {};
          }).ok());
  CHECK(largest <= 1 << 20);
  REQUIRE(all.size() == 600 * 1400 * 4);
  const auto at = [&](std::size_t row, std::size_t column) {
    float value = 0;
    std::memcpy(&value, all.data() + (row * 1400 + column) * 4, 4);
    return value;
  };
  for (std::size_t r = 0; r < 600; ++r) {
    for (std::size_t c = 0; c < 1400; ++c) {
      REQUIRE(at(r, c) == static_cast<float>(c % 700 * 600 + r));
    }
  }
  int calls = 0;
  const Status stopped = stream_bytes(*both, nullptr, [&](auto) -> Status {
    ++calls;
    return Diagnostic{.what = "disk full"};
  });
  CHECK(stopped.error().what == "disk full");
  CHECK(calls == 1);
}

struct OneFile : ExternalData {
  std::vector<float> data = {1, 2, 3};
  int reads = 0;
  Result<std::span<const std::byte>> read(const ExternalRef& ref,
                                          std::int64_t length) override {
    ++reads;
    return std::as_bytes(std::span<const float>(data))
        .subspan(static_cast<std::size_t>(ref.offset),
                 static_cast<std::size_t>(length));
  }
};

TEST_CASE("external data is only read on demand") {
  TensorWorld w;
  OneFile file;
  const Dims two = {2};
  Literal t{.dtype = DataType::kFloat,
            .storage = Storage::kExternal,
            .dims = two,
            .external = {"w.bin", 4, 8}};
  const Literal same = t;
  CHECK(equal_bits(t, same, &file));
  CHECK(file.reads == 0);
  CHECK(to_doubles(t, &file, 10)->at(1) == 3);
  CHECK(file.reads == 1);
  CHECK_FALSE(to_doubles(t, nullptr, 10));
  CHECK(equal_bits(t, *w.floats({2}, 2), &file));
  CHECK_FALSE(equal_bits(t, *w.floats({2}, 1), &file));
}

TEST_CASE("equal bits") {
  TensorWorld w;
  const Literal* a = w.floats({2, 3});
  CHECK(equal_bits(*a, *w.floats({2, 3}), nullptr));
  CHECK_FALSE(equal_bits(*a, *w.floats({3, 2}), nullptr));
  CHECK_FALSE(equal_bits(*a, *w.floats({2, 3}, 1), nullptr));
  CHECK(equal_bits(*w.joined({2, 3}, 0, {{a}}), *w.floats({2, 3}), nullptr));
  const auto zero = [&](float z) {
    return w.raw<float>(DataType::kFloat, {1}, {z});
  };
  CHECK_FALSE(equal_bits(*zero(0.0f), *zero(-0.0f), nullptr));
  // Padding after the last element is ignored.
  const auto small = [&](std::uint8_t last) {
    return w.raw<std::uint8_t>(DataType::kUint4, {3}, {0x21, last});
  };
  CHECK(equal_bits(*small(0x03), *small(0x73), nullptr));
  CHECK_FALSE(equal_bits(*small(0x03), *small(0x04), nullptr));
  const std::vector<std::string_view> x = {"a", "b"}, y = {"a", "c"};
  const Dims two = {2};
  Literal s{.dtype = DataType::kString,
            .storage = Storage::kStrings,
            .dims = two,
            .strings = x};
  Literal r = s;
  CHECK(equal_bits(s, r, nullptr));
  r.strings = y;
  CHECK_FALSE(equal_bits(s, r, nullptr));
}

}  // namespace
}  // namespace ruleengine::ir
