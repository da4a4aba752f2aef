"""The base of tests of verbs that only read: a model and three rules."""

from support import make, program


class VerbsTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("cancel.lua", make.CANCEL)
        self.write("never.lua", make.NEVER)
        self.write("picky.lua", make.rule(more="""where = function(m)
            need(m.x:dim(0) == 3, "the size is not 3", m.x:dim(0)) end,"""))
        model = make.model(make.NEGATIONS)
        for node in model.graph.node:
            node.name = f"the_{node.output[0]}"
        self.write("m.onnx", model.SerializeToString())

    def asks(self, *arguments):
        """The output of a verb that must not write anything."""
        before = program.state(self.folder)
        done = self.run_ok(*arguments)
        self.assertEqual(program.state(self.folder), before)
        return done.out
