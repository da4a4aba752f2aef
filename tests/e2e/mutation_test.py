"""Mutants of the examples of every rule that ships: whatever a rule makes of
them computes the same, in the reference and in every ONNX Runtime that counts.
RULEENGINE_INSTANCES says how many of each rule, RULEENGINE_SEED from where on."""

import json
import os
import re
import unittest

import numpy as np
import onnx

from support import dialect, mutate, numbers, program, runtimes

INSTANCES = int(os.environ.get("RULEENGINE_INSTANCES", "100"))
SEED = int(os.environ.get("RULEENGINE_SEED", "0"))
RULES = program.ROOT / "rules"
# Of nothing ONNX Runtime's own attention is not computed (docs/targets.md).
EMPTY = re.compile(r"running (Attention|MultiHeadAttention|GroupQueryAttention)"
                   " node|" + runtimes.ENDED)
# The oldest has no kernel for what its optimizer makes of a product of doubles.
FLAW = "Failed to find kernel for com.microsoft.FusedMatMul"
LEAST_REWRITTEN = 0.01  # of the mutants of each rule
# What random masks do not hold to; `--exact` is right without it.
SEEN = "each query sees a key"


def rule_files():
    """All with examples; rule_soundness_test runs many ranks."""
    texts = {path: path.read_text(encoding="utf-8")
             for path in sorted(RULES.glob("*/**/*.lua"))
             if path.parent.name != "sequence_parallel"}
    return [path for path, text in texts.items()
            if "examples" in text and "changes_meaning" not in text]


class Mutation(program.ProgramTest):
    """One test per rule file and one for the packs, added below."""

    @classmethod
    def tearDownClass(cls):
        runtimes.close()

    def mutants(self, files):
        """[(path, mutate.Made)], INSTANCES of them."""
        models = [m for file in files for m in mutate.examples(file)]
        self.assertTrue(models, files)
        found, seed = [], SEED
        while len(found) < INSTANCES and seed < SEED + 10 * INSTANCES:
            made = mutate.mutant(models[seed % len(models)], seed)
            if made is not None:
                found.append((self.write(f"m{seed}.onnx",
                                         made.model.SerializeToString()), made))
            seed += 1
        return found

    def check(self, rules, files, target="portable"):
        mutants = self.mutants(files)
        run = ["run", *rules, "-q", "--jobs", "2", "--target", target]
        self.run_ok(*run, *[source for source, _ in mutants], "-o", "out",
                    "--report", "r.json", timeout=600)
        assumed = {report["model"]: [a["text"] for a in report["assumptions"]]
                   for report in json.loads((self.folder / "r.json").read_text())}
        rewritten = 0
        for source, made in mutants:
            result = self.folder / "out" / source.name.replace(
                ".onnx", ".rewritten.onnx")
            if result.read_bytes() == source.read_bytes():
                continue
            rewritten += 1
            with self.subTest(mutant=source.name, extreme=made.extreme):
                found = complaints(made, result)
                if found and any(made.extreme or text.startswith(SEEN)
                                 for text in assumed[str(source)]):
                    self.run_ok(*run, source, "-o", "exact.onnx", "--exact")
                    found = complaints(made, self.folder / "exact.onnx")
                self.assertFalse(found, "\n  ".join(["", *found]))
        # Else all is well because nothing happens.
        self.assertGreaterEqual(rewritten, LEAST_REWRITTEN * len(mutants))


def complaints(made, path):
    """What is wrong with the result in the file."""
    model, result = made.model, onnx.load(path)
    onnx.checker.check_model(result)
    if (model.graph.input != result.graph.input
            or model.graph.output != result.graph.output):
        return ["the graph's inputs or outputs changed"]
    # What a rounding of the inputs makes of the outputs, the order of sums may.
    all_feeds = made.all_feeds + [numbers.moved(feeds)
                                  for feeds in made.all_feeds if made.extreme]
    by_reference = reference(model, all_feeds)
    # The runtimes know no op of the dialect, but bodies and what is lowered.
    is_ours = any(n.domain in dialect.DOMAINS for n in model.graph.node)
    if is_ours and made.extreme == "endless":
        return []  # of what is no number nobody promises anything
    is_judged, newest, found = False, None, []
    for runtime in runtimes.RUNTIMES:
        want = runtime.outputs(model.SerializeToString(), all_feeds)
        got = runtime.outputs(result.SerializeToString(), made.all_feeds)
        # The newest refuses what older ones compute without looking.
        newest = newest or want
        want = [n if isinstance(n, str) else w for n, w in zip(newest, want)]
        if is_ours and all(isinstance(w, str) for w in want):
            want = by_reference
            if all(isinstance(g, str) for g in got):
                continue  # an op without a body
        is_judged |= any(not isinstance(w, str) for w in want)
        found += [f"{runtime.name}: {text}" for text in differences(
            made, want, got, False)]
    # The reference computes halves in halves: at their limits it is no judge.
    is_needed = not (made.extreme and is_judged)
    if is_needed and not any(
            n.domain == "com.microsoft" for n in result.graph.node):
        # The reference insists on what a mask's sizes promise; runtimes execute
        # the body, which broadcasts as Add does.
        got = reference(result, made.all_feeds)
        found += [f"reference: {text}" for text in differences(
            made, by_reference, got, is_judged)]
    return found


def reference(model, all_feeds):
    """As Runtime.outputs."""
    def outputs(feeds):
        try:
            return dialect.evaluate(model, feeds)
        except Exception as error:  # pylint: disable=broad-except
            return str(error)

    with np.errstate(all="ignore"):
        return [outputs(feeds) for feeds in all_feeds]


def differences(made, wanted, got, may_refuse):
    """Texts. `wanted` has more than `got` where the inputs were moved too."""
    moved = wanted[len(got):] or wanted
    for i, (feeds, want, near, outputs) in enumerate(
            zip(made.all_feeds, wanted, moved, got)):
        if isinstance(want, str) or isinstance(near, str):
            continue
        if isinstance(outputs, str):
            is_empty = any(a.size == 0 for a in feeds.values())
            # numpy has no largest of nothing.
            if not (may_refuse or "zero-size array to red" in outputs
                    or FLAW in outputs
                    or is_empty and EMPTY.search(outputs)):
                yield f"feeds {i}: does not run: {outputs[:300]}"
            continue
        # A float that halves were computed for is no better than they; the
        # runtime leaves out casts there and back.
        tolerance = max(numbers.TOLERANCE.get(np.dtype(t).name, 0) for t in [
            *(np.asarray(a).dtype for a in [*feeds.values(), *want.values()]),
            *casts(made.model)])
        for name, array in want.items():
            # How long the other axes are where one is 0, nothing tells.
            if np.size(array) == 0 == np.size(outputs[name]):
                continue
            what = numbers.difference(array, outputs[name], tolerance,
                                      near[name])
            if what:
                yield f"feeds {i}: {name}: {what}"


def casts(model):
    """The types that something is cast to."""
    return [onnx.helper.tensor_dtype_to_np_dtype(a.i) for n in model.graph.node
            for a in n.attribute if n.op_type == "Cast" and a.name == "to"]


def add_test(name, *arguments):
    setattr(Mutation, f"test_{name}", lambda self: self.check(*arguments))


for rule_file in rule_files():
    add_test("_".join(rule_file.relative_to(RULES).with_suffix("").parts),
             [rule_file], [rule_file])
ATTENTION = sorted(RULES.glob("attention/*.lua")) + sorted(
    RULES.glob("canonical/*.lua"))
for kind in ("portable", "onnx", "ort"):
    add_test(f"packs_{kind}", program.packs(), ATTENTION, kind)

if __name__ == "__main__":
    unittest.main()
