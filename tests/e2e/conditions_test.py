"""Every condition of every rule has a witness: without it, or without a part of
it, an example or a near miss of a rule fails.

A condition is a `need`, a `refuse` or an `assume`, with the operands of `and` as
its parts; and in a pattern a fact, a number or an attribute. Conditions in shared
fragments count too. For a condition without a witness, add a near miss that it
rejects to support/near_misses; a condition that rejects nothing can be removed.
"""

import shutil
import unittest

from support import near_misses, program, tier
from support.near_misses import words
from support.weaker import weakened

RULES = program.ROOT / "rules"
# Without these the result would have another shape, which the engine rejects
# too. They stay, since they document the pattern.
# (file, part of the line, condition)
OF_SHAPES = [
    ("attention/wrap_functional_sdpa.lua", "", 'mask:fits "B H S T"'),
    ("canonical/gather_as_slice.lua", "", 'places:const "_"'),
    ("canonical/joined_keys.lua", "", 'a:shape "... _ _"'),
    ("canonical/joined_keys.lua", "op.MatMul(q, a)", "axis = -1"),
    ("canonical/merged_batch.lua", "op.MatMul(merged", ':shape "X K L"'),
    ("canonical/merged_batch.lua", "op.ReduceMax(merged", "{-1}"),
    ("lib/attention.lua", "op.Expand(sink, any)", "axis = -1"),
    ("canonical/shape_of_transpose.lua", "", 'places:const "_"'),
    ("simplify/parts_of_shape.lua", "op.Gather{shape", ':shape "1"'),
]
class Conditions(program.ProgramTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(RULES, self.folder / "rules")
        self.texts = {
            str(path.relative_to(RULES)): path.read_text(encoding="utf-8")
            for path in sorted(RULES.glob("*/**/*.lua"))}
        for path, misses in near_misses.OF.items():
            self.texts[path] = words.added(self.texts[path], misses)
            self.put(path, self.texts[path])

    def put(self, path, text):
        (self.folder / "rules" / path).write_text(text, encoding="utf-8")

    def judges(self, path):
        """The rule itself, or the rules that use the fragments."""
        name = path.removeprefix("lib/").removesuffix(".lua")
        used = f'lib "{name}"'
        return [p for p, text in self.texts.items() if "examples = {" in text
                and (p == path or used in text)]

    def examples(self, paths):
        return program.run("test", *(self.folder / "rules" / p for p in paths))

    def test_near_misses(self):
        done = self.examples(sorted(near_misses.OF))
        self.assertEqual(done.code, 0, done.out + done.err)

    def test_nothing_is_missed(self):
        for path, text in self.texts.items():
            for line, gone, weaker in tier.every(10, list(weakened(text))):
                there = text.splitlines()[line - 1]
                if any(each[0] == path and each[1] in there and each[2] == gone
                       for each in OF_SHAPES):
                    continue
                if judges := self.judges(path):
                    self.put(path, weaker)
                    done = self.examples(judges)
                    with self.subTest(where=f"{path}:{line}", gone=gone):
                        self.assertNotIn(" near '", done.err, "no Lua")
                        self.assertNotEqual(done.code, 0)
            self.put(path, text)


if __name__ == "__main__":
    unittest.main()
