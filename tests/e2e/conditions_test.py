"""Every condition of every rule has a witness: without it, or without a part of
it, an example or a near miss of a rule fails.

A condition is a `need`, a `refuse` or an `assume`, with the operands of `and` as
its parts; and in a pattern a fact, a number or an attribute. Conditions in shared
fragments count too. For a condition without a witness, add a near miss that it
rejects to support/near_misses; a condition that rejects nothing can be removed.
"""

import itertools
import re
import shutil
import unittest

from support import near_misses, program, tier
from support.near_misses import words

RULES = program.ROOT / "rules"
CALL = re.compile(r"(?<!function )\b(need|refuse|assume)\(")
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
    ("simplify/parts_of_shape.lua", "op.Gather{shape", ':shape "1"'),
]
# The replacement for a removed call.
GONE = {"need": "(function(value) return value end)(",
        "refuse": "(function() end)(",
        "assume": "(function() end)("}
# A fact, after a pattern or as a statement on a variable.
FACT = re.compile(r'(?P<of>(?:\b[a-z_][\w.]*)?):(?:shape|rank|type|fits|const)'
                  r'(?:\((?:[^()]|\([^()]*\))*\)| ?"[^"]*")')
STATEMENT = re.compile(r"(?:^|;|\bfunction\([^()]*\)|\b(?:then|do|else))\s*$")
# The value of an attribute or input in a call of an op.
NUMBERS = r"-?\d[\d.]*|\{-?\d[-\d, ]*\}"
SAID = re.compile(r'(?:(?!outputs\b)\b[a-z_]+ = |[,(] ?)(?P<value>' + NUMBERS +
                  r'|(?<== )"[^"]*")(?=[,)} ])')
NESTED = re.compile(r'"[^"]*"|\([^()[\]{}]*\)|\[[^()[\]{}]*\]|\{[^()[\]{}]*\}')


def flat(text):
    """The text with the contents of brackets and quotes replaced by "_"."""
    while (less := NESTED.sub(lambda m: "_" * len(m[0]), text)) != text:
        text = less
    return text


def joined(text, start):
    """(start, end) of the operands of `and` in an expression that begins at
    `start` and ends at a comma or bracket, and in its parentheses."""
    end = start + re.search(r"[,)]|$", flat(text[start:start + 2000])).start()
    words = list(re.finditer(r"\b(and|or)\b", flat(text[start:end])))
    begins = [start, *(start + word.end() for word in words)]
    ends = [*(start + word.start() for word in words), end]
    around = ["", *(word[0] for word in words), ""]
    for i, part in enumerate(zip(begins, ends)):
        if "and" in around[i:i + 2]:
            yield part
        inner = re.match(r"\s*\(", text[part[0]:part[1]])
        if inner:
            yield from joined(text, part[0] + inner.end())


def before(text, spot):
    """The text of the line before the spot."""
    return text[text.rfind("\n", 0, spot) + 1:spot]


def conditions(text, end):
    """(spot, condition, the text without it) of `need` and similar calls."""
    for call in CALL.finditer(text, 0, end):
        spot, line = call.start(), before(text, call.start())
        if "--" in line:
            continue
        gone = "local _ = " * bool(STATEMENT.search(line)) + GONE[call[1]]
        yield (spot, text[spot:].split("\n", 1)[0],
               text[:spot] + gone + text[call.end():])
        if call[1] == "need":
            for a, b in joined(text, call.end()):
                yield spot, text[a:b].strip(), text[:a] + " true " + text[b:]


def pattern_conditions(text, begin, end):
    """The same for conditions of a pattern, between two places."""
    for fact in FACT.finditer(text, begin, end):
        line = before(text, fact.start())
        stands_alone = fact["of"] and STATEMENT.search(line)
        if "--" not in line and (stands_alone or not fact["of"]):
            rest = f"local _ = {fact['of']}" if stands_alone else ""
            yield (fact.start(), fact[0],
                   text[:fact.start()] + rest + text[fact.end():])
    for said in SAID.finditer(text, begin, end):
        line = before(text, said.start())
        if "--" not in line and re.search(r"\b(op|cast)[.\[]", line):
            yield (said.start(), said[0].strip(", "), text[:said.start("value")]
                   + "any" + text[said.end("value"):])


def patterns(text):
    """(begin, end) of text with patterns: in a rule `match` and the text before
    the rule, in a library all of it."""
    rule = text.find("return rule")
    if rule < 0:
        return [(0, len(text))]
    match = re.compile(r"^  match = .*?end,$", re.S | re.M).search(text, rule)
    return [(0, rule), match.span()] if match else [(0, rule)]


def weakened(text):
    """(line, condition, the text without it) of each condition."""
    end = text.find("  examples = {")
    found = [conditions(text, end if end > 0 else len(text))]
    found += [pattern_conditions(text, *span) for span in patterns(text)]
    for spot, gone, weaker in itertools.chain(*found):
        yield text.count("\n", 0, spot) + 1, gone, weaker


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
