#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/arena.h"
#include "core/base/diagnostic.h"
#include "core/base/names.h"
#include "core/base/result.h"
#include "core/base/small_vector.h"
#include "core/base/suggest.h"
#include "core/base/utf8.h"

namespace ruleengine {
namespace {

TEST_CASE("names: equal text has one id, in order of first use") {
  Names names;
  const Name a = names.intern("a");
  const Name b = names.intern(std::string("b"));
  CHECK(a != b);
  CHECK(names.intern("a") == a);
  CHECK(names.find("b") == b);
  CHECK_FALSE(names.find("c").valid());
  CHECK(names.text(b) == "b");
  CHECK(names.size() == 2);
  CHECK(names.intern("") == names.intern(std::string_view()));
}

TEST_CASE("names: a view is not copied, a copy outlives its source") {
  Names names;
  const std::string stays = "stays";
  CHECK(names.text(names.intern_view(stays)).data() == stays.data());
  Name copied;
  {
    std::string gone = "a name too long for any small string to hold";
    copied = names.intern(gone);
    gone.assign(gone.size(), '#');
  }
  CHECK(names.text(copied) == "a name too long for any small string to hold");
}

TEST_CASE("names: are found after the table grew") {
  Names names;
  constexpr std::size_t kMany = 300'000;  // some share a hash
  for (std::size_t i = 0; i < kMany; ++i) names.intern(std::to_string(i));
  CHECK(names.size() == kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    REQUIRE(names.find(std::to_string(i)).index() == i);
  }
}

TEST_CASE("names: reserve keeps all names") {
  Names names;
  for (int i = 0; i < 20; ++i) names.intern(std::to_string(i));
  names.reserve(0);
  names.reserve(1000);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(names.find(std::to_string(i)).index() == i);
  }
  CHECK(names.intern("new").index() == 20);
  CHECK(names.intern_view("new").index() == 20);
}

TEST_CASE("arena: aligned, stable, zeroed") {
  Arena arena;
  CHECK(arena.array<int>(0).empty());
  std::vector<std::span<std::uint64_t>> all;
  for (std::size_t i = 1; i < 300; ++i) {
    arena.array<char>(1);  // misaligns the next one
    all.push_back(arena.array<std::uint64_t>(i));
    const auto at = reinterpret_cast<std::uintptr_t>(all.back().data());
    REQUIRE(at % alignof(std::uint64_t) == 0);
    for (std::uint64_t& x : all.back()) {
      REQUIRE(x == 0);
      x = i;
    }
  }
  for (std::size_t i = 1; i < 300; ++i) REQUIRE(all[i - 1].back() == i);
  const std::span<char> large = arena.array<char>(5u << 20);
  large.back() = 'x';
  CHECK(arena.bytes() > 5u << 20);
  const std::string text = "copied";
  const std::string_view copy = arena.copy(std::string_view(text));
  CHECK(copy == text);
  CHECK(copy.data() != text.data());
}

TEST_CASE("diagnostics: absent parts are omitted, text cannot forge lines") {
  Diagnostic d;
  d.what = "a name is defined twice";
  CHECK(d.text() == "error: a name is defined twice");
  d.where = "m.onnx: node 'a\n  hint:     run this'";
  d.found = "2";
  CHECK(d.text() ==
        "error: a name is defined twice\n"
        "  where:    m.onnx: node 'a\\x0a  hint:     run this'\n"
        "  found:    2");
  CHECK(printable("\x1b[31mred\x7f") == "\\x1b[31mred\\x7f");
  CHECK(printable("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(printable("123456", 4) == "1234...");
  // Line separators, marks of direction, no width, noncharacters, tags.
  for (const char* hidden :
       {"\xc2\x80", "\xc2\xad", "\xd8\x9c", "\xe2\x80\x8b", "\xe2\x80\xa8",
        "\xe2\x80\xae", "\xe2\x81\xa6", "\xef\xbb\xbf", "\xef\xbf\xbe",
        "\xef\xb7\x90", "\xf0\x9f\xbf\xbe", "\xf3\xa0\x81\x81",
        "\xf4\x8f\xbf\xbf"}) {
    CHECK(is_utf8(hidden));
    CHECK(printable(hidden).starts_with("\\x"));
    CHECK(printable(printable(hidden)) == printable(hidden));
  }
  for (const char* shown : {"\xc2\xa0", "\xe6\x97\xa5", "\xef\xbf\xbd",
                            "\xf0\x9f\x98\x80", "\xee\x80\x80"}) {
    CHECK(printable(shown) == shown);
  }
  CHECK(!is_utf8("\xed\xa0\x80"));
  CHECK(!is_utf8("a\xc3"));
  CHECK(!is_utf8("\x80"));
  CHECK(printable("12345", 4) == "1234...");
  CHECK(printable("1234", 4) == "1234");
  Diagnostic all{ErrorKind::kModel,
                 std::string(2001, 'a'),
                 "w",
                 "e",
                 std::string(2001, 'f'),
                 "h"};
  CHECK(all.text() == "error: " + std::string(2000, 'a') +
                          "...\n  where:    w\n  expected: e\n  found:    " +
                          std::string(2000, 'f') + "...\n  hint:     h");
}

// The first and the last code point of each encoded length.
TEST_CASE("printed text is UTF-8 without controls") {
  for (const char* text :
       {" ", "~", "\xc2\xa0", "\xdf\xbf", "\xe0\xa0\x80", "\xe1\x80\x80",
        "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbd", "\xf0\x90\x80\x80",
        "\xf1\x80\x80\x80", "\xf4\x8f\xbf\xbd"}) {
    CHECK(printable(text) == text);
    CHECK(printable(text + std::string("a")) == text + std::string("a"));
  }
  const auto escaped = [](std::string_view text) {
    std::string out;
    for (const unsigned char c : text) {
      out += "\\x";
      for (const int digit : {c >> 4, c & 15}) out += "0123456789abcdef"[digit];
    }
    return out;
  };
  for (const char* text : {"\x1f",
                           "\x7f",
                           "\x80",
                           "\xbf",
                           "\xc0\x80",
                           "\xc1\xbf",
                           "\xc2\x80",
                           "\xc2\x9f",
                           "\xe0\x80\x80",
                           "\xe0\x9f\xbf",
                           "\xed\xa0\x80",
                           "\xed\xbf\xbf",
                           "\xf0\x80\x80\x80",
                           "\xf0\x8f\xbf\xbf",
                           "\xf4\x90\x80\x80",
                           "\xf5\x80\x80\x80",
                           "\xff",
                           "\xc3",
                           "\xe2\x82",
                           "\xf1\x80\x80"}) {
    CHECK(printable(text) == escaped(text));
    CHECK(printable(text + std::string("a")) == escaped(text) + "a");
  }
  CHECK(printable("\xe2\x82\xc3\xa9") == "\\xe2\\x82\xc3\xa9");
}

TEST_CASE("results hold a value or an error") {
  const Result<int> good = 3;
  CHECK(good.ok());
  CHECK(*good == 3);
  const Result<int> bad = Diagnostic{.what = "no"};
  CHECK_FALSE(bad);
  CHECK(bad.error().what == "no");
  CHECK(Status().ok());
  CHECK_FALSE(Status(Diagnostic{}).ok());
}

TEST_CASE("small vectors: short or long, they behave like a vector") {
  for (int size : {0, 1, 4, 5, 100}) {
    CAPTURE(size);
    SmallVector<int, 4> made;
    std::vector<int> same;
    for (int i = 0; i < size; ++i) {
      made.push_back(i * 7 % 5);
      same.push_back(i * 7 % 5);
    }
    CHECK(std::ranges::equal(made, same));
    SmallVector<int, 4> copy = made;
    CHECK(copy == made);
    copy.append(same);
    CHECK(copy.size() == 2 * same.size());
    SmallVector<int, 4> moved = std::move(copy);
    CHECK(moved.size() == 2 * same.size());
    moved = made;
    CHECK(std::ranges::equal(moved, same));
    moved.erase_if([](int i) { return i == 2; });
    std::erase(same, 2);
    CHECK(std::ranges::equal(moved, same));
    moved.sort_unique();
    CHECK(moved.size() <= 4);
    CHECK(std::ranges::is_sorted(moved));
    moved.resize(7, 9);
    CHECK(moved.back() == 9);
    moved.clear();
    CHECK(moved.empty());
  }
}

TEST_CASE("small vectors: pushing an own item while it grows") {
  SmallVector<int, 2> list = {1, 2};
  list.push_back(list[0]);
  CHECK(list == SmallVector<int, 2>{1, 2, 1});
}

TEST_CASE("edit distance of two words") {
  const std::tuple<const char*, const char*, std::size_t> kWords[] = {
      {"", "", 0},         {"abc", "", 3},    {"kitten", "sitting", 3},
      {"ab", "ba", 1},     {"abc", "abd", 1}, {"abcdef", "bacdfe", 2},
      {"abcd", "cdab", 4}, {"AbZ", "aBz", 0}, {"[", "{", 1},
      {"@", "`", 1},       {"a", "xay", 2},   {"xab", "yba", 2}};
  for (const auto& [a, b, edits] : kWords) {
    CAPTURE(a);
    CAPTURE(b);
    CHECK(edit_distance(a, b) == edits);
    CHECK(edit_distance(b, a) == edits);
  }
}

TEST_CASE("how similar a suggestion has to be") {
  const auto near = [](std::string_view word,
                       std::vector<std::string_view> known) {
    return nearest(word, known);
  };
  CHECK(near("a", {"ab"}) == "ab");
  CHECK(near("ab", {"ax"}) == "ax");
  CHECK(near("ab", {"abcd"}) == "");
  CHECK(near("abcde", {"abcxy"}) == "abcxy");
  CHECK(near("abcde", {"abxyz"}) == "");
  CHECK(near("abcd", {"abxy"}) == "");
  CHECK(near("b", {"", "ba", "bc"}) == "ba");
  CHECK(near("abcde", {"abcxy", "abcdx", "abxde"}) == "abcdx");
  const std::string longest(64, 'a'), longer(65, 'a');
  CHECK(near(longest, {longer}) == "");
  CHECK(near(longest, {longest}) == longest);
  CHECK(near(longer, {longest}) == "");
}

TEST_CASE("did you mean: the nearest word, or the list of words") {
  const std::vector<std::string> known = {"axis", "axes", "keepdims"};
  const std::pair<const char*, const char*> kWords[] = {
      {"axs", "did you mean 'axis'?"},
      {"AXES", "did you mean 'axes'?"},
      {"keepdmis", "did you mean 'keepdims'?"},
      {"q", "known: axis, axes, keepdims"},
      {"", "known: axis, axes, keepdims"}};
  for (const auto& [word, hint] : kWords)
    CHECK(suggestion(word, known) == hint);
  const std::vector<std::string> one = {"x"};
  CHECK(suggestion("y", one) == "known: x");  // shares no letter with it
  CHECK(suggestion("y", std::vector<std::string>(21, "word")).empty());
  CHECK(suggestion("y", std::vector<std::string>(20, "word")).size() == 125);
  CHECK(suggestion("y", std::vector<std::string>()).empty());
  CHECK(suggestion(std::string(1000, 'a'), known) ==
        "known: axis, axes, keepdims");
  const std::vector<std::string_view> names = {"Add", "And"};
  CHECK(did_you_mean(names) == "did you mean 'Add' or 'And'?");
  CHECK(did_you_mean({}).empty());
}

}  // namespace
}  // namespace ruleengine
