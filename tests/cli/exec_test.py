"""`ruleengine exec`: invalid and empty arrays, and limits."""

import io
import unittest
import zipfile

import numpy as np
from support import program

NEG = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N] x) => (float[N] y) { y = Neg(x) }"""
SAME = """<ir_version: 8, opset_import: ["" : 17]>
g (string[N] s) => (string[N] y) { y = Identity(s) }"""
SIZE = """<ir_version: 8, opset_import: ["" : 17]>
g (string[N] s) => (int64 n) { n = Size(s) }"""
NO_INPUT = """<ir_version: 8, opset_import: ["" : 17]>
g () => (float[2] y) { y = Constant <value = float[2] {1,2}> () }"""


def header(descr, shape):
    """The start of a .npy file."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"descr": descr, "fortran_order": False, "shape": shape})
    return out.getvalue()


def calls(depth):
    """A model of functions that call each other."""
    functions = "".join(
        f"""
<domain: "f", opset_import: ["" : 17, "f" : 1]>
f{i} (x) => (y) {{ y = {f"f.f{i + 1}" if i < depth - 1 else "Neg"}(x) }}"""
        for i in range(depth))
    return ("""<ir_version: 9, opset_import: ["" : 17, "f" : 1]>
g (float[3] x) => (float[3] y) { y = f.f0(x) }""" + functions)


class Exec(program.ProgramTest):
    def archive(self, **members):
        """Bytes for each name, stored uncompressed."""
        with zipfile.ZipFile(self.folder / "in.npz", "w") as zip_file:
            for name, content in members.items():
                zip_file.writestr(f"{name}.npy", content)

    def test_it_reads_its_own_output(self):
        self.write("m.onnxtxt", SAME)
        for words in ([], [""], ["", "a", "\u00e4\u20ac"], ["x\0y", "\0a"]):
            with self.subTest(words):
                np.savez(self.folder / "in.npz", s=np.array(words, "U"))
                for source in ("in.npz", "again.npz"):
                    self.run_ok("exec", "m.onnxtxt", "--inputs", source,
                                "--outputs", "out.npz")
                    with np.load(self.folder / "out.npz") as out:
                        self.assertEqual(out["y"].tolist(), words)
                        np.savez(self.folder / "again.npz", s=out["y"])

    def test_an_archive_without_arrays(self):
        self.write("m.onnxtxt", NO_INPUT)
        self.archive()
        self.run_ok("exec", "m.onnxtxt", "--inputs", "in.npz")
        self.write("x.onnxtxt", NEG)
        self.run_bad(3, "exec", "x.onnxtxt", "--inputs", "in.npz",
                     says="input 'x' is missing")

    def test_the_error_names_what_does_not_fit(self):
        """Errors have the schema's name of the input or attribute, and both values."""
        for node, a, b, what, expected, found in (
                ("Gemm(a, b)", "float[2,3]", "float[4,5]",
                 "wrong shape of input 'B'", "3 rows", "float[4,5]"),
                ("Gemm(a, b)", "float[3]", "float[4,5]",
                 "wrong rank of input 'A'", "2", "float[3]"),
                ("Where(a, b, b)", "float[3]", "float[3]",
                 "wrong type of input 'condition'", "bool", "float[3]"),
                ("Sum(a, a, b)", "float[3]", "double[3]",
                 "wrong type of input 'data_0' (index 2)", "float", "double[3]"),
                ('Gelu <approximate = "x"> (a)', "float[3]", "float[3]",
                 "wrong value of attribute 'approximate'", "none or tanh", '"x"'),
                ("LpNormalization <p = 3> (a)", "float[3]", "float[3]",
                 "wrong value of attribute 'p'", "1 or 2", "3"),
                ("com.microsoft.BiasGelu(a, b)", "float16[2,3]", "float16[5]",
                 "shapes do not broadcast to each other",
                 "sizes that are equal or 1", "3 and 5"),
                ("com.microsoft.Inverse(a)", "float[2,3]", "float[3]",
                 "wrong shape of input 0", "square matrices", "float[2,3]")):
            with self.subTest(node, a=a, b=b):
                self.write("m.onnxtxt", f"""<ir_version: 10,
 opset_import: ["" : 20, "com.microsoft" : 1]>
g ({a} a, {b} b) => (y) {{ y = {node} }}""")
                self.run_bad(3, "exec", "m.onnxtxt", "--random", says=[
                    f"error: {what}\n", f"expected: {expected}\n",
                    f"found:    {found}\n"])

    def test_arrays_that_lie(self):
        self.write("m.onnxtxt", NEG)
        self.write("s.onnxtxt", SIZE)
        self.archive(x=header("<f4", (0, -5)))
        self.run_bad(2, "exec", "m.onnxtxt", "--inputs", "in.npz",
                     says="its shape is damaged")
        self.archive(s=header("<U0", (10 ** 8,)))
        self.run_bad(5, "exec", "s.onnxtxt", "--inputs", "in.npz",
                     "--limit-tensors", 10, says="--limit-tensors raises it")
        # The directory of the archive says that the member has 3 GB.
        self.archive(x=header("<f4", (3,)) + bytes(12))
        content = bytearray((self.folder / "in.npz").read_bytes())
        entry = content.rindex(b"PK\x01\x02")
        content[entry + 24:entry + 28] = (3 << 30).to_bytes(4, "little")
        self.write("in.npz", bytes(content))
        self.run_bad(2, "exec", "m.onnxtxt", "--inputs", "in.npz",
                     says="the archive is damaged")

    def test_drawing_looks_at_the_deadline(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17]>
            g (float[300000000] x) => (float[300000000] y) { y = Neg(x) }""")
        self.run_bad(5, "exec", "m.onnxtxt", "--random", "--limit-time", 0.3,
                     "--limit-tensors", 4000, says="while inputs are drawn")

    def test_bands_are_memory(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17]>
            g () => (float[?,?] y) <int64 bands = {2147483647}, int64 one = {1},
                float low = {0.0}, float high = {0.1}> {
              y = MelWeightMatrix(bands, one, one, low, high)
            }""")
        self.run_bad(5, "exec", "m.onnxtxt", "--limit-tensors", 100,
                     says="--limit-tensors raises it", timeout=10)

    def test_strings_are_memory(self):
        lines = "".join(f"s{i + 1} = StringConcat(s{i}, s{i})\n"
                        for i in range(28))
        self.write("m.onnxtxt", """<ir_version: 9, opset_import: ["" : 20]>
            g (string[1] s0) => (int64 n) {""" + lines + "n = Size(s28) }")
        np.savez(self.folder / "in.npz", s0=np.array(["ab"]))
        done = self.run_bad(5, "exec", "m.onnxtxt", "--inputs", "in.npz",
                            "--limit-tensors", 10,
                            says="--limit-tensors raises it")
        self.assertNotIn("--limit-memory", done.err)

    def test_strings_with_a_large_total(self):
        words = np.array(["a"] * 20_000)
        self.write("wide.onnxtxt", """<ir_version: 9, opset_import: ["" : 20]>
            g (string[N] s, string[1] t) => (string[M] y) {
              y = Concat <axis = 0> (s, t)
            }""")
        np.savez(self.folder / "in.npz", s=words, t=np.array(["b" * 100_000]))
        self.run_bad(5, "exec", "wide.onnxtxt", "--inputs", "in.npz",
                     "--outputs", "out.npz", says="length of the longest")

    def test_mutual_calls_of_functions(self):
        np.savez(self.folder / "in.npz", x=np.array([1, 2, 3], "f4"))
        self.write("m.onnxtxt", calls(400))
        self.run_ok("exec", "m.onnxtxt", "--inputs", "in.npz", "--outputs",
                    "out.npz")
        with np.load(self.folder / "out.npz") as out:
            self.assertEqual(out["y"].tolist(), [-1, -2, -3])
        # No call of the main graph is too deep: the first 400 functions call
        # the others, which were called before.
        chains = calls(800).replace(
            "{ y = f.f0(x) }", "{ z = f.f400(x) y = f.f0(z) }", 1)
        self.write("m.onnxtxt", chains)
        self.run_bad(3, "exec", "m.onnxtxt", "--inputs", "in.npz",
                     says="call each other too deep")
        self.write("m.onnxtxt", calls(3000))
        self.run_bad(3, "exec", "m.onnxtxt", "--inputs", "in.npz",
                     says="call each other too deep")


if __name__ == "__main__":
    unittest.main()
