"""`ruleengine collectives`: bytes that ranks send, before and after rules."""

import json
import unittest

from support import program

MODEL = """<ir_version: 10,
  opset_import: ["" : 18, "acme" : 1, "tensor_cast" : 1]>
g (float[4,8] x, float[4,8] v) => (float[4,8] y, float[4,8] z) {
  [first] a = acme.AllReduce(x)
  y = Neg(a)
  [second] b = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (v)
  z = Abs(b)
}"""

ADOPT = """return rule {
  phase = "canonical",
  match = function(op, x) return op.acme.AllReduce(x) end,
  rewrite = function(op, m)
    return op.tensor_cast.all_reduce{m.x, rank = 0, rank_group = {0, 1}}
  end,
}"""
DROP = """return rule {
  match = function(op, x, r, g)
    return op.Neg(op.tensor_cast.all_reduce{x, rank = r, rank_group = g})
  end,
  rewrite = function(op, m) return op.Neg(m.x) end,
}"""
KEEP = """return rule {
  match = function(op, x)
    return op.tensor_cast.all_reduce{x, attrs = any}
  end,
  where = function(m) need(false, "it is meant", m.x) end,
  rewrite = function(op, m) return m.x end,
}"""


class CollectivesTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("m.onnxtxt", MODEL)
        for name, rule in (("adopt", ADOPT), ("drop", DROP), ("keep", KEEP)):
            self.write(f"{name}.lua", rule)

    def asked(self, *words):
        return self.run_ok("collectives", "adopt.lua", "drop.lua", "keep.lua",
                           "m.onnxtxt", *words).out

    def test_before_is_what_canonical_rules_alone_make_of_it(self):
        found, = json.loads(self.asked("--json"))
        self.assertEqual(found["before"], {
            "all_reduce": {"nodes": 2, "bytes": 256, "unknown": 0}})
        self.assertEqual(found["after"], {
            "all_reduce": {"nodes": 1, "bytes": 128, "unknown": 0}})

    def test_what_was_turned_down_where_one_stays(self):
        found, = json.loads(self.asked("--json"))
        self.assertEqual(found["rejected"], [
            {"rule": "keep", "node": "second", "reason": "it is meant",
             "value": "'v' float[4,8]"}])

    def test_as_a_text(self):
        lines = [line.split() for line in self.asked().splitlines()]
        self.assertEqual(lines, [
            ["m.onnxtxt:", "a", "rank", "sends"],
            ["op", "before", "bytes", "after", "bytes"],
            ["all_reduce", "2", "256", "B", "1", "128", "B"],
            ["all", "2", "256", "B", "1", "128", "B"],
            ["second", "stays"],
            ["rule:", "keep"],
            ["reason:", "it", "is", "meant"],
            ["value:", "'v'", "float[4,8]"]])


if __name__ == "__main__":
    unittest.main()
