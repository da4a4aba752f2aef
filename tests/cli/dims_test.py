"""`run --dims` fixes the named sizes of a model, or ties two of them."""

import unittest

import numpy as np
import onnx

from support import make, program, runs

ATTENTION = """g (float[B,2,S,8] q, float[B,2,T,8] k, float[B,2,T,8] v,
                  float[M,1,1,T] m) => (float[B,2,S,8] y) {
  kt = Transpose <perm = [0,1,3,2]> (k)
  s0 = MatMul(q, kt)
  s = Add(s0, m)
  p = Softmax <axis = -1> (s)
  y = MatMul(p, v)
}"""
ONNX = ("run", "-v", "m.onnx", "-o", "out.onnx", "--target", "onnx")


def sizes(info):
    return [d.dim_value if d.HasField("dim_value") else d.dim_param
            for d in info.type.tensor_type.shape.dim]


class Dims(runs.RunTest):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", make.onnx_bytes(ATTENTION))

    def result(self, dims, model="m.onnx"):
        self.run_ok("run", model, "-o", "out.onnx", "--dims", dims)
        return onnx.load(self.folder / "out.onnx")

    def test_a_size(self):
        graph = self.result("B=2,S=7").graph
        self.assertEqual([sizes(i) for i in graph.input],
                         [[2, 2, 7, 8], [2, 2, "T", 8], [2, 2, "T", 8], ["M", 1, 1, "T"]])
        self.assertEqual(sizes(graph.output[0]), [2, 2, 7, 8])

    def test_two_equal_names(self):
        loose = self.run_ok(*ONNX)
        self.assertIn("the mask may be larger than the scores ('m' float[M,1,1,T]); "
                      "run --dims M=B, if that is always so", loose.err)
        self.assertNotIn("Attention", self.ops("out.onnx"))
        tied = self.run_ok(*ONNX, "--dims", "M=B")
        self.assertNotIn("may be larger", tied.err)
        self.assertIn("Attention", self.ops("out.onnx"))

    def ops(self, name):
        return [n.op_type for n in onnx.load(self.folder / name).graph.node]

    def test_a_chain_of_names(self):
        graph = self.result("M=T,T=S,S=4").graph
        self.assertEqual(sizes(graph.input[3])[0], 4)
        self.assertEqual(sizes(graph.input[1])[2], 4)

    def test_expressions_are_computed(self):
        self.write("past.onnx", make.onnx_bytes(
            """g (float[past] a, float[seq] b) => (float[y] y)
               { y = Concat <axis = 0> (a, b) }"""))
        model = onnx.load(self.folder / "past.onnx")
        model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "past + seq"
        onnx.save(model, self.folder / "past.onnx")
        graph = self.result("past=3", "past.onnx").graph
        self.assertEqual(sizes(graph.output[0]), ["seq + 3"])
        self.assertEqual(sizes(self.result("past=3,seq=1", "past.onnx").graph.output[0]), [4])

    def test_declarations_of_a_value_stay(self):
        model = onnx.load(self.folder / "m.onnx")
        model.graph.input[0].doc_string = "queries"
        model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
        model.graph.input[0].type.denotation = "TENSOR"
        onnx.save(model, self.folder / "m.onnx")
        q = self.result("B=2").graph.input[0]
        self.assertEqual(q.doc_string, "queries")
        self.assertEqual(q.type.denotation, "TENSOR")
        dim = q.type.tensor_type.shape.dim[0]
        self.assertEqual((dim.denotation, dim.dim_value), ("DATA_BATCH", 2))

    def test_bodies_and_functions(self):
        self.write("if.onnx", make.onnx_bytes(
            """g (bool c, float[B] x) => (float[B] y) {
              y = If <then_branch = t () => (float[B] a) { a = Relu(x) },
                      else_branch = e () => (float[B] b) { b = Neg(x) }> (c)
            }"""))
        model = self.result("B=3", "if.onnx")
        body = model.graph.node[0].attribute[0].g
        self.assertEqual(sizes(body.output[0]), [3])
        onnx.checker.check_model(model, full_check=True)

    def test_functions_have_names_of_their_own(self):
        model = make.model("""g (float[B,4] q, float[C,4] r) => (float[B,4] y, float[C,4] z) {
              y = own.F(q) z = own.F(r) }""")
        model.opset_import.add(domain="own", version=1)
        function = onnx.helper.make_function(
            "own", "F", ["a"], ["b"], [onnx.helper.make_node("Relu", ["a"], ["t"]),
                                       onnx.helper.make_node("Exp", ["t"], ["b"])],
            [onnx.helper.make_opsetid("", 17)])
        function.value_info.append(onnx.helper.make_tensor_value_info("t", 1, ["B", 4]))
        model.functions.append(function)
        self.write("f.onnx", model.SerializeToString())
        result = self.result("B=2", "f.onnx")
        self.assertEqual(sizes(result.functions[0].value_info[0]), ["B", 4])
        self.assertEqual(sizes(result.graph.input[0]), [2, 4])

    def test_text(self):
        self.write("t.onnxtxt", '<ir_version: 8, opset_import: ["" : 17]>\n'
                   "g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }\n")
        self.run_ok("run", "t.onnxtxt", "-o", "out.onnxtxt", "--dims", "N=5")
        self.assertIn("(float[5,4] x)", (self.folder / "out.onnxtxt").read_text())

    def test_the_result_is_verified_with_these_sizes(self):
        self.run_ok(*ONNX, "--dims", "M=B,B=2", "--verify")
        feeds = {n: np.ones((2, 2, 3, 8), np.float32) for n in "qkv"}
        feeds["m"] = np.zeros((2, 1, 1, 3), np.float32)
        np.savez(self.folder / "in.npz", **feeds)
        self.run_ok("exec", "out.onnx", "--inputs", "in.npz")

    def test_wrong(self):
        for dims, says in (("B=2,B=3", "a dimension has two sizes"), ("Q=3", "no dimension 'Q'"), ("M=Q", "no dimension 'Q'"),
                           ("Q=3", "known: B, M, S, T"),
                           ("M=T,T=M", "in a circle"),
                           ("S=-1", "NAME=SIZE or NAME=NAME"),
                           ("S", "NAME=SIZE or NAME=NAME"),
                           ("=3", "NAME=SIZE or NAME=NAME"),
                           ("S=99999999999999999999", "NAME=SIZE or NAME=NAME")):
            with self.subTest(dims):
                self.run_bad(2, "run", "m.onnx", "--dims", dims, says=says)
        self.write("less.onnxtxt", '<ir_version: 8, opset_import: ["" : 17]>\n'
                   'g (float["N - 1"] x) => (float["N - 1"] y) { y = Relu(x) }\n')
        self.run_bad(2, "run", "less.onnxtxt", "--dims", "N=0",
                     says="a size of 0 or more")

    def test_sizes_that_contradict_the_model(self):
        op = self.write("op.onnx", make.onnx_bytes(
            """g (float[N,4] x, float[2,4] b) => (float[2,4] y) { y = Add(x, b) }"""))
        self.run_bad(2, "run", op, "--dims", "N=3", says="the sizes contradict the model")
        self.run_ok("run", op, "-o", "out.onnx", "--dims", "N=2")
        stale = self.write("stale.onnx", make.onnx_bytes(
            """g (float[N,4] x, float[2] c, float[3] d) => (float[N,4] y, float z)
               <float[7] e> { y = Relu(x) e = Relu(d) z = ReduceSum <keepdims = 0> (e) }"""))
        self.run_ok("run", stale, "-o", "out.onnx", "--dims", "N=3")
        model = make.model("g (float[N] x) => (float[N] y) { y = Neg(x) }")
        model.ir_version = 3
        model.graph.initializer.append(onnx.numpy_helper.from_array(
            np.ones(4, np.float32), "x"))
        start = self.write("start.onnx", model.SerializeToString())
        self.run_bad(2, "run", start, "--dims", "N=3", says="the sizes contradict the model")
        self.run_ok("run", start, "-o", "out.onnx", "--dims", "N=4")

    def test_the_option_that_helps(self):
        self.write("gelu.lua", make.rule("op.Neg(x)", "op.Gelu(m.x)"))
        self.write("n.onnx", make.onnx_bytes(
            "g (float[4] x) => (float[4] y) { y = Neg(x) }"))
        done = self.run_ok("explain", "gelu.lua", "n.onnx")
        self.assertIn("hint:      run --opset 20", done.out)


if __name__ == "__main__":
    unittest.main()
