"""The base of tests of `ruleengine run`: a model and two rules."""

import onnx

from support import graphs, make, program


class RunTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("cancel.lua", make.CANCEL)
        self.write("never.lua", make.NEVER)
        self.write("m.onnx", make.onnx_bytes(make.NEGATIONS))

    def ops(self, name):
        return [graphs.op(node)
                for node in onnx.load(self.folder / name).graph.node]
