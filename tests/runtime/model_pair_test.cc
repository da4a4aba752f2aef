// What two models may differ by, as executors with kernels find it.
#include "runtime/verify.h"

#include <doctest/doctest.h>

#include <string>

#include "core/text/parse.h"
#include "kernels/cpu.h"

namespace ruleengine::runtime {
namespace {

std::unique_ptr<ir::Model> model_of(const std::string& text) {
  const char* header =
      "<ir_version: 10, opset_import: [\"\" : 21, \"acme\" : 1]> ";
  auto parsed = text::parse_model(header + text);
  REQUIRE_MESSAGE(parsed.ok(), (parsed ? "" : parsed.error().text()));
  return *std::move(parsed);
}

Verification verified(const std::string& before, const std::string& after,
                      VerifyOptions options = {}) {
  const auto first = model_of(before), second = model_of(after);
  options.backends = {&kernels::cpu()};
  options.threads = 1;
  auto out = verify(*first, *second, options);
  REQUIRE_MESSAGE(out.ok(), (out ? "" : out.error().text()));
  CHECK(out->inputs > 0);
  return *std::move(out);
}

// "" where they agree, else how they differ.
std::string differ(const std::string& before, const std::string& after,
                   const VerifyOptions& options = {}) {
  const Verification found = verified(before, after, options);
  CHECK(found.unverified == "");
  return found.mismatch ? found.mismatch->text : "";
}

std::string of(const std::string& type, const std::string& body) {
  std::string text = "g (T[4,N] x, T[4,N] z) => (T[4,N] y) " + body;
  for (std::size_t at = 0; (at = text.find('T', at)) != std::string::npos;) {
    const bool is_type = text[at + 1] == '[' || text[at + 1] == ' ';
    if (is_type) text.replace(at, 1, type);
    ++at;
  }
  return text;
}

constexpr const char* kFloats[] = {"float", "double", "float16", "bfloat16"};

TEST_CASE("sums in another order agree, in every type") {
  for (const char* type : kFloats) {
    CAPTURE(std::string(type));
    CHECK(differ(of(type, "{ a = Sub(x, z) b = Add(a, x) y = Add(b, z) }"),
                 of(type, "{ a = Add(x, x) b = Sub(z, z) y = Add(a, b) }")) ==
          "");
  }
}

TEST_CASE("an erf is no tanh, in every type") {
  for (const char* type : kFloats) {
    CAPTURE(std::string(type));
    CHECK(differ(of(type, "{ y = Gelu(x) }"),
                 of(type, "{ y = Gelu <approximate = \"tanh\"> (x) }")) != "");
  }
}

TEST_CASE("constants that were multiplied and rounded agree") {
  const std::string apart =
      "<T a = {1.1}, T b = {0.3}> { p = Mul(x, a) y = Mul(p, b) }";
  for (const char* type : kFloats) {
    CAPTURE(std::string(type));
    CHECK(differ(of(type, apart),
                 of(type, "<T c = {0.33}> { y = Mul(x, c) }")) == "");
    CHECK(differ(of(type, apart),
                 of(type, "<T c = {0.34}> { y = Mul(x, c) }")) != "");
  }
}

TEST_CASE("what one model spells and the other does not was rounded") {
  const std::string half =
      "{ a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) "
      "y = Mul(d, half) }";
  CHECK(differ(of("float",
                  "<float root = {1.4142135}, float one = {1.0}, "
                  "float half = {0.5}> " +
                      half),
               of("float", "{ y = Gelu(x) }")) == "");
}

TEST_CASE("also where the other model still spells it once") {
  const auto gelu = [](const std::string& x, const std::string& y) {
    return " a" + y + " = Div(" + x + ", root) b" + y + " = Erf(a" + y + ") c" +
           y + " = Add(b" + y + ", one) d" + y + " = Mul(" + x + ", c" + y +
           ") " + y + " = Mul(d" + y + ", half)";
  };
  const std::string numbers =
      "<float root = {1.4142135}, float one = {1.0}, float half = {0.5}> {";
  CHECK(differ(of("float", numbers + gelu("x", "u") + gelu("u", "y") + " }"),
               of("float", numbers + gelu("x", "u") + " y = Gelu(u) }")) == "");
}

TEST_CASE("an element counts by itself, beside larger ones") {
  const auto filled = [](const char* scores) {
    return "g (float[N,8] x, bool[N,8] m) => (float[N,8] y) "
           "<float low = {-3.4e38}> { s = " +
           std::string(scores) + "(x) y = Where(m, s, low) }";
  };
  CHECK(differ(filled("Sin"), filled("Sin")) == "");
  CHECK(differ(filled("Sin"), filled("Cos")) != "");
}

TEST_CASE("a sum that loses its terms is wrong in its own type") {
  const std::string text =
      "<T large = {T}> { a = Add(x, large) y = Sub(a, large) }";
  const auto with = [&](const char* type, const char* number) {
    std::string out = of(type, text);
    return out.replace(out.find("{T}"), 3, std::string("{") + number + "}");
  };
  CHECK(differ(of("float", "{ y = Identity(x) }"), with("float", "1e6")) != "");
  CHECK(differ(of("double", "{ y = Identity(x) }"), with("double", "1e14")) !=
        "");
}

TEST_CASE("an overflow of the model excuses the result, not its own") {
  const std::string over =
      "<T large = {3e4}, T small = {3e-5}> { a = Mul(x, large) "
      "b = Mul(a, large) c = Mul(b, small) y = Mul(c, small) }";
  const std::string plain =
      "<T large = {3e4}, T small = {3e-5}> { a = Mul(x, large) "
      "b = Mul(a, small) c = Mul(b, large) y = Mul(c, small) }";
  CHECK(differ(of("float16", over), of("float16", plain)) == "");
  CHECK(differ(of("float16", plain), of("float16", over)) != "");
}

TEST_CASE("a kernel without doubles computes in float") {
  const auto quantized = [](const char* scale) {
    return "g (float[N,16] x) => (float[N,16] y) <float scale = {" +
           std::string(scale) +
           "}> { q, s, z = DynamicQuantizeLinear(x) "
           "d = DequantizeLinear(q, s, z) y = Mul(d, scale) }";
  };
  CHECK(differ(quantized("1.5"), quantized("1.5")) == "");
  CHECK(differ(quantized("1.5"), quantized("1.6")) != "");
}

TEST_CASE("float8 is compared in doubles") {
  const auto scaled = [](const char* scale) {
    return "g (float[N,16] x) => (float8e4m3fn[N,16] y) <float scale = {" +
           std::string(scale) +
           "}> { a = Mul(x, scale) y = Cast <to = 17> (a) }";
  };
  CHECK(differ(scaled("1.5"), scaled("1.5")) == "");
  CHECK(differ(scaled("1.5"), scaled("1.51")) != "");
}

TEST_CASE("constants of bodies are doubles too") {
  const auto looped = [](const char* op) {
    return "g (float[N] x, bool c) => (float[N] y) <int64 three = {3}, "
           "bool on = {1}, float step = {0.1}> { y = Loop (three, on, x) "
           "<body = b (int64 i, bool k, float[N] a) => (bool k2, float[N] r) "
           "{ k2 = Identity(k) r = If (c) <then_branch = t () => (float[N] p) "
           "{ p = Add(a, step) }, else_branch = e () => (float[N] q) { q = " +
           std::string(op) + "(a, step) }> }> }";
  };
  CHECK(differ(looped("Mul"), looped("Mul")) == "");
  CHECK(differ(looped("Mul"), looped("Sub")) != "");
}

TEST_CASE("random numbers are the same where their value has its name") {
  const auto drawing = [](const char* name, const char* op) {
    std::string out =
        "g (float[N] x) => (float[N] y, float[N] z) { R = RandomNormalLike(x) "
        "y = Add(x, R) z = OP(x) }";
    for (const auto& [from, to] :
         {std::pair("R", name), std::pair("R", name), std::pair("OP", op)}) {
      const std::string key = std::string(" ") + from;
      std::size_t at = out.find(key + " =");
      if (at == std::string::npos) at = out.find(key + ")");
      if (at == std::string::npos) at = out.find(key + "(");
      out.replace(at + 1, key.size() - 1, to);
    }
    return out;
  };
  CHECK(differ(drawing("r", "Neg"), drawing("r", "Neg")) == "");
  CHECK(differ(drawing("r", "Neg"), drawing("r", "Abs")) != "");
  const Verification other =
      verified(drawing("r", "Neg"), drawing("other", "Neg"));
  CHECK_FALSE(other.mismatch);
  REQUIRE(other.notes.size() == 1);
  CHECK(other.notes[0].find("output 'y'") != std::string::npos);
  CHECK(differ(drawing("r", "Neg"), drawing("other", "Abs")) != "");
}

TEST_CASE("random numbers are left out beside a tolerance too") {
  const auto drawing = [](const std::string& name) {
    return "g (float[4] x) => (float[4] y) { " + name +
           " = RandomNormalLike(x) y = Add(x, " + name + ") }";
  };
  const Verification found = verified(drawing("r"), drawing("other"),
                                      {.tolerance = Tolerance{1e-6, 1e-6}});
  CHECK_FALSE(found.mismatch);
  CHECK(found.left_out == 1);
  CHECK(found.unverified.starts_with("output 'y' depends on random numbers"));
}

TEST_CASE("nodes draw numbers of their own, whatever others do") {
  const std::string head = "g (float[4] x) => (float[4] y) { ";
  const std::string one = head + "r = RandomNormalLike(x) y = Add(x, r) }";
  CHECK(differ(head + "q = RandomNormalLike(x) z = Mul(q, q) "
                      "r = RandomNormalLike(x) y = Add(x, r) }",
               one) == "");
  CHECK(differ(head + "q = RandomNormalLike(x) r = RandomNormalLike(x) "
                      "d = Sub(q, r) y = Add(x, d) }",
               head + "q = RandomNormalLike(x) r = RandomNormalLike(x) "
                      "y = Identity(x) }") != "");
}

TEST_CASE("an output that is never a number is not verified") {
  const std::string text =
      "g (float[N] x) => (float[N] y) <float no = {nan}> "
      "{ y = Add(x, no) }";
  CHECK(verified(text, text).unverified ==
        "output 'y' is NaN or infinite on all inputs that were drawn");
}

TEST_CASE("a tolerance replaces the bounds") {
  const auto scaled = [](const char* by) {
    return of("float",
              "<float c = {" + std::string(by) + "}> { y = Mul(x, c) }");
  };
  CHECK(differ(scaled("1.0"), scaled("1.05")) != "");
  CHECK(differ(scaled("1.0"), scaled("1.05"),
               {.tolerance = Tolerance{.abs = 0, .rel = 0.1}}) == "");
}

}  // namespace
}  // namespace ruleengine::runtime
