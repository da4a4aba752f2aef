"""Mutants of rules: a rule without one of its conditions, or with another
replacement."""

import itertools
import re

CALL = re.compile(r"(?<!function )\b(need|refuse|assume)\(")
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


# What may stand in a replacement, and what it becomes.
OTHERS = [(r"\bop\.Add\(", "op.Sub("), (r"\bop\.Sub\(", "op.Add("),
          (r"\bop\.Mul\(", "op.Div("), (r"\bop\.Div\(", "op.Mul("),
          (r"\bop\.Max\(", "op.Min("), (r"\bop\.Min\(", "op.Max("),
          (r"\bop\.ReduceMean\b", "op.ReduceSum"),
          (r"\bop\.ReduceMax\b", "op.ReduceMean"),
          (r"\bop\.Sqrt\(", "op.Abs("), (r"\bop\.Erf\(", "op.Tanh("),
          (r"\bop\.Softmax\b", "op.LogSoftmax"),
          (r"(?<![\w.{])\d+\.\d+", lambda m: f"{float(m[0]) * 1.01:g}"),
          (r"(?<![\w.])([1-9])(?=[,})])", lambda m: str(int(m[1]) - 1)),
          (r"\{0, 2, 1, 3\}", "{0, 1, 2, 3}"), (r"\baxis = -1\b", "axis = -2"),
          (r"\bm\.q\b", "m.k"), (r"\bm\.a\b", "m.b"), (r"\bm\.w\b", "m.b")]


def replaced(text):
    """(line, what was there, the text with another) of each place in `rewrite`."""
    span = re.compile(r"^  rewrite = .*?^  end,$", re.S | re.M).search(text)
    if not span:
        return
    for old, new in OTHERS:
        for found in re.finditer(old, span[0]):
            if "--" in before(span[0], found.start()):
                continue
            begin = span.start() + found.start()
            end = span.start() + found.end()
            other = found.expand(new) if isinstance(new, str) else new(found)
            yield (text.count("\n", 0, begin) + 1, found[0],
                   text[:begin] + other + text[end:])
