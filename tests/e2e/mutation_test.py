"""Mutants of the examples of every rule that ships: whatever a rule makes of
them computes the same, in the reference and in ONNX Runtime.
RULEENGINE_INSTANCES says how many of each rule, RULEENGINE_SEED from where on."""

import json
import os
import unittest

import numpy as np
import onnx

from support import dialect, mutate, numbers, program

INSTANCES = int(os.environ.get("RULEENGINE_INSTANCES", "100"))
SEED = int(os.environ.get("RULEENGINE_SEED", "0"))
RULES = program.ROOT / "rules"
LEAST_REWRITTEN = 0.02  # of the mutants of each rule
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

    def mutants(self, files):
        """[(path, model, feeds, outputs)], INSTANCES of them."""
        models = [m for file in files for m in mutate.examples(file)]
        self.assertTrue(models, files)
        found, seed = [], SEED
        while len(found) < INSTANCES and seed < SEED + 10 * INSTANCES:
            made = mutate.mutant(models[seed % len(models)], seed)
            if made is not None:
                source = self.write(f"m{seed}.onnx", made[0].SerializeToString())
                found.append((source, *made))
            seed += 1
        return found

    def check(self, rules, files, target="portable"):
        mutants = self.mutants(files)
        run = ["run", *rules, "-q", "--jobs", "2", "--target", target]
        self.run_ok(*run, *[source for source, *_ in mutants], "-o", "out",
                    "--report", "r.json", timeout=600)
        bold = {report["model"] for report in json.loads(
            (self.folder / "r.json").read_text()) for each in
            report["assumptions"] if each["text"].startswith(SEEN)}
        rewritten = 0
        for source, model, feeds, outputs in mutants:
            result = self.folder / "out" / source.name.replace(
                ".onnx", ".rewritten.onnx")
            if result.read_bytes() == source.read_bytes():
                continue
            rewritten += 1
            with self.subTest(mutant=source.name):
                found = complaints(model, result, feeds, outputs)
                if found and str(source) in bold:
                    self.run_ok(*run, source, "-o", "exact.onnx", "--exact")
                    found = complaints(model, self.folder / "exact.onnx", feeds,
                                       outputs)
                self.assertFalse(found, "\n  ".join(["", *found]))
        # Else all is well because nothing happens.
        self.assertGreaterEqual(rewritten, LEAST_REWRITTEN * len(mutants))


def complaints(model, path, feeds, wanted):
    """What is wrong with the result in the file; `wanted` are outputs."""
    result = onnx.load(path)
    onnx.checker.check_model(result)
    if (model.graph.input != result.graph.input
            or model.graph.output != result.graph.output):
        return ["the graph's inputs or outputs changed"]
    judges = {}
    if not any(n.domain == "com.microsoft" for n in result.graph.node):
        judges["reference"] = (
            wanted, lambda: dialect.evaluate(result, feeds))
    original = in_runtime(model, feeds)
    # The runtime knows no op of the dialect, but bodies and what is lowered.
    is_ours = any(n.domain in dialect.DOMAINS for n in model.graph.node)
    if original is None and (not judges or is_ours):
        original = wanted if in_runtime(result, feeds) else None
    if original is not None:
        judges["runtime"] = original, lambda: numbers_of(result, feeds)
    found = []
    for judge, (want, evaluate) in judges.items():
        try:
            got = evaluate()
        except Exception as error:  # pylint: disable=broad-except
            # The reference insists on what a mask's sizes promise; the
            # runtime executes the body, which broadcasts as Add does.
            # numpy has no largest of nothing.
            if "zero-size array to reduction" in str(error):
                continue
            if judge == "runtime" or "runtime" not in judges:
                found.append(f"{judge}: does not run: {str(error)[:300]}")
            continue
        # A float that halves were computed for is no better than they; the
        # runtime leaves out casts there and back.
        tolerance = max(numbers.TOLERANCE.get(np.dtype(t).name, 0) for t in [
            *(np.asarray(a).dtype for a in [*feeds.values(), *want.values()]),
            *casts(model)])
        for name, array in want.items():
            # How long the other axes are where one is 0, nothing tells.
            if np.size(array) == 0 == np.size(got[name]):
                continue
            what = numbers.difference(array, got[name], tolerance)
            found += [f"{judge}: {name}: {what}"] if what else []
    return found


def casts(model):
    """The types that something is cast to."""
    return [onnx.helper.tensor_dtype_to_np_dtype(a.i) for n in model.graph.node
            for a in n.attribute if n.op_type == "Cast" and a.name == "to"]


def numbers_of(model, feeds):
    session = numbers.session(model.SerializeToString())
    names = [o.name for o in model.graph.output]
    return dict(zip(names, session.run(names, feeds)))


def in_runtime(model, feeds):
    """Outputs; None where ONNX Runtime does not take the model. Of nothing it is
    not asked: some of its kernels divide by sizes, which ends the process, as
    does Split where a part is left out."""
    if any(array.size == 0 for array in feeds.values()) or any(
            n.op_type == "Split" and "" in n.output for n in model.graph.node):
        return None
    try:
        return numbers_of(model, feeds)
    except Exception:  # pylint: disable=broad-except
        return None


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
