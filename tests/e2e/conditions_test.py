"""Every condition of every rule has a witness: with it gone, or with a part of
it gone, an example of a rule or a near miss of one fails.

A condition is a `need` or a `refuse`, those in the fragments that rules share
among them; its parts are what `and` joins.
"""

import re
import shutil
import unittest

from support import near_misses, program

RULES = program.ROOT / "rules"
CALL = re.compile(r"(?<!function )\b(need|refuse)\(")
# What the call does when it is gone.
GONE = {"need": "(function(value) return value end)(",
        "refuse": "(function() end)("}
NESTED = re.compile(r'"[^"]*"|\([^()[\]{}]*\)|\[[^()[\]{}]*\]|\{[^()[\]{}]*\}')


def flat(text):
    """Of the same length, without what brackets and quotes hold."""
    while (less := NESTED.sub(lambda m: "_" * len(m[0]), text)) != text:
        text = less
    return text


def joined(text, start):
    """(start, end) of what `and` joins in an expression that begins at `start`
    and ends at a comma or bracket, and in its parentheses."""
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


def weakened(text):
    """(line, what is gone, the text without it) of each condition and part."""
    end = text.find("  examples = {")
    for call in CALL.finditer(text, 0, end if end > 0 else len(text)):
        line = text.count("\n", 0, call.start()) + 1
        if "--" in text[text.rfind("\n", 0, call.start()) + 1:call.start()]:
            continue
        yield (line, text[call.start():].split("\n", 1)[0],
               text[:call.start()] + GONE[call[1]] + text[call.end():])
        if call[1] == "need":
            for a, b in joined(text, call.end()):
                yield line, text[a:b].strip(), text[:a] + " true " + text[b:]


class Conditions(program.ProgramTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(RULES, self.folder / "rules")
        self.texts = {
            str(path.relative_to(RULES)): path.read_text(encoding="utf-8")
            for path in sorted(RULES.glob("*/**/*.lua"))}
        for path, misses in near_misses.OF.items():
            self.texts[path] = near_misses.added(self.texts[path], misses)
            self.put(path, self.texts[path])

    def put(self, path, text):
        (self.folder / "rules" / path).write_text(text, encoding="utf-8")

    def judges(self, path):
        """The rule itself, or those that use the fragments."""
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
            for line, gone, weaker in weakened(text):
                if judges := self.judges(path):
                    self.put(path, weaker)
                    with self.subTest(where=f"{path}:{line}", gone=gone):
                        self.assertNotEqual(self.examples(judges).code, 0)
            self.put(path, text)


if __name__ == "__main__":
    unittest.main()
