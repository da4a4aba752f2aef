#include "runtime/npy.h"

#include <doctest/doctest.h>

#include "runtime/failure.h"
#include "runtime/npz.h"

namespace ruleengine::runtime {
namespace {

Tensor floats(Shape dims, const std::vector<float>& values) {
  auto block = std::make_shared<std::vector<float>>(values);
  return {DataType::kFloat, dims,
          std::shared_ptr<const std::byte>(
              block, reinterpret_cast<const std::byte*>(block->data()))};
}

std::string array(std::string_view header, std::string_view data) {
  std::string out("\x93NUMPY\x01\0", 8);
  out += static_cast<char>(header.size());
  out += '\0';
  return out + std::string(header) + std::string(data);
}

std::string error_of(std::string_view bytes) {
  try {
    read_npy(bytes, *HostMemory::create());
    return "";
  } catch (const Failure& failure) {
    return failure.error.what;
  }
}

TEST_CASE("an array is read as it was written") {
  const std::int64_t dims[] = {2, 3};
  const Tensor t = floats(dims, {1, 2, 3, 4, 5, -6});
  const std::string bytes = npy_of(t);
  CHECK(bytes.size() == 128 + 24);
  const Tensor again = read_npy(bytes, *HostMemory::create());
  CHECK(again.text() == "float[2,3]");
  CHECK(std::ranges::equal(again.values<float>(), t.values<float>()));
  CHECK(npy_of(again) == bytes);
}

TEST_CASE("an archive has a byte for each element below a byte") {
  const std::int64_t dims[] = {3};
  const auto bytes = std::make_shared<std::byte[]>(2);
  bytes[0] = std::byte{0x2f};
  bytes[1] = std::byte{0x05};
  const Tensor t(DataType::kInt4, dims, {bytes, bytes.get()});
  const auto archive = npz_of({{"x", t}});
  REQUIRE(archive.ok());
  const std::string elements("\xff\x02\x05", 3);
  CHECK(archive->find(elements) != std::string::npos);
}

TEST_CASE("strings are read as they were written") {
  const std::int64_t dims[] = {4};
  auto strings = std::make_shared<Strings>(
      Strings{"", "caf\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x8c\x8d"});
  const Tensor again =
      read_npy(npy_of(Tensor(dims, strings)), *HostMemory::create());
  CHECK(again.strings() == *strings);
}

TEST_CASE("strings of no length, and no strings") {
  const auto header = [](std::string_view code, std::string_view shape) {
    return "{'descr': '" + std::string(code) +
           "', 'fortran_order': False, 'shape': " + std::string(shape) + ", }";
  };
  const Tensor none =
      read_npy(array(header("<U5", "(0, 3)"), ""), *HostMemory::create());
  CHECK(none.text() == "string[0,3]");
  CHECK(read_npy(npy_of(none), *HostMemory::create()).text() == "string[0,3]");
  const auto many = array(header("<U0", "(100000000,)"), "");
  const auto memory = HostMemory::create(1 << 20);
  try {
    read_npy(many, *memory);
    FAIL("no failure");
  } catch (const Failure& failure) {
    CHECK(failure.error.kind == ErrorKind::kLimit);
  }
  CHECK(memory->live() == 0);
}

TEST_CASE("strings that NumPy would hold at too much length") {
  const std::int64_t dims[] = {100'000};
  auto strings = std::make_shared<Strings>(100'000);
  (*strings)[7] = std::string(1 << 20, 'a');
  try {
    npy_of(Tensor(dims, strings));
    FAIL("no failure");
  } catch (const Failure& failure) {
    CHECK(failure.error.found == "100000 of 1048576 characters");
  }
}

TEST_CASE("elements that lie column by column") {
  const Tensor t = read_npy(
      array("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
            "\x01\x04\x02\x05\x03\x06"),
      *HostMemory::create());
  CHECK(t.text() == "uint8[2,3]");
  const std::uint8_t expected[] = {1, 2, 3, 4, 5, 6};
  CHECK(std::ranges::equal(t.values<std::uint8_t>(), expected));
}

TEST_CASE("bytes that are not an array are refused") {
  const auto of = [](std::string_view header) {
    return error_of(array(header, "1234"));
  };
  CHECK(error_of("PK") ==
        "the array cannot be read: it is not in NumPy's format");
  CHECK(of("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }") ==
        "the array cannot be read: it is cut short");
  CHECK(of("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }") ==
        "the array cannot be read: element type |O");
  CHECK(of("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }") ==
        "the array cannot be read: its shape is damaged");
  CHECK(of("{'descr': '<f4', 'fortran_order': False, 'shape': (0, -2), }") ==
        "the array cannot be read: its shape is damaged");
  CHECK(of("{'descr': '<f4', 'fortran_order': False, 'shape': (2,x), }") ==
        "the array cannot be read: its shape is damaged");
  CHECK(of("{'descr': '<f4'}") ==
        "the array cannot be read: its header is damaged");
  const std::string whole = npy_of(floats({}, {1}));
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    CHECK(!error_of(std::string_view(whole).substr(0, cut)).empty());
  }
}

}  // namespace
}  // namespace ruleengine::runtime
