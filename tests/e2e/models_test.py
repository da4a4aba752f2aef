"""Real exports through every pack: attention fused, numbers kept.

Every model of tests/data and, if it exists, of the shared collection, for the
target portable and one other, or all. Per model and target: the run succeeds;
its result is valid, has the fused ops of tests/data/models.json, computes the
same as the original in ONNX Runtime, and is deterministic; and a second run
leaves it unchanged byte for byte.

`python3 tests/e2e/models_test.py --record` raises the recorded minimum of
models that are not fused completely yet; it never lowers a minimum.
"""

import concurrent.futures
import json
import pathlib
import sys
import tempfile
import unittest

import numpy as np
import onnx

from support import graphs, numbers, program, tier

TABLE = program.DATA / "models.json"
SHARED = program.SHARED / "models"
EXPECTED = json.loads(TABLE.read_text())
# The first model of the README is not stored twice.
ELSEWHERE = {"bert.ts17_eager": program.ROOT / "examples" / "bert.onnx"}


def find_models():
    """{name: (model, inputs)}; the clone's own files take precedence."""
    paths = {}
    for folder in (SHARED, program.DATA / "models"):
        for path in sorted(folder.glob("*.onnx")):
            paths[path.stem] = (path, path.with_suffix(".npz"))
    for name, path in ELSEWHERE.items():
        paths[name] = (path, program.DATA / "models" / f"{name}.npz")
    return paths


MODELS = find_models()
TARGETS = ("portable", "onnx", "ort")


def rewrite(source, result, target):
    return program.run("run", *program.packs(), source, "-o", result,
                       "--target", target, "-q")


def check_repeats(source, first, folder, target):
    again, second = folder / "again.onnx", folder / "second.onnx"
    found = []
    rewrite(source, again, target)
    if not again.exists() or again.read_bytes() != first.read_bytes():
        found.append("two runs gave different bytes")
    done = rewrite(first, second, target)
    if done.code:
        found.append(f"run on its own result: {done.err[:300]}")
    elif second.read_bytes() != first.read_bytes():
        found.append("a second run changed the result")
    return found


def check_fusion(name, model):
    """(fused nodes, complaints)."""
    expected = EXPECTED.get(name)
    fused, left = graphs.fused(model), graphs.products_left(model)
    if expected is None:
        return fused, []
    of = f"{fused} of {expected['blocks']} blocks fused, {left} products left"
    if fused > expected["blocks"]:
        return fused, [f"too many: {of}"]
    if expected["complete"] and (fused < expected["blocks"] or left):
        return fused, [of]
    if fused < expected["at_least"]:
        return fused, [f"{of}; were {expected['at_least']}"]
    return fused, []


def check_numbers(name, source, result, inputs):
    expected = EXPECTED.get(name, {"runs": True})
    if not expected["runs"] or not inputs.exists():
        return []
    with np.load(inputs) as saved:
        feeds = {key: saved[key] for key in saved.files}
    return numbers.disagreements(source, result, onnx.load(source), feeds)


def check(job):
    """(fused nodes, complaints) of one model for one target; runs in a process
    of its own."""
    name, target = job
    source, inputs = MODELS[name]
    before = source.read_bytes()
    with tempfile.TemporaryDirectory(prefix="ruleengine-test-") as temporary:
        folder = pathlib.Path(temporary)
        result = folder / "result.onnx"
        done = rewrite(source, result, target)
        if done.code:
            return 0, [f"exit code {done.code}: {done.err[:400]}"]
        model = onnx.load(result)
        fused, found = check_fusion(name, model)
        try:
            onnx.checker.check_model(model)
        except Exception as error:  # pylint: disable=broad-except
            found.append(f"not valid: {str(error)[:300]}")
        found += check_numbers(name, source, result, inputs)
        found += check_repeats(source, result, folder, target)
    if source.read_bytes() != before:
        found.append("the input was changed")
    return fused, found


def targets_of(names):
    """{name: targets}: other targets in turn, unless all are requested."""
    others = TARGETS[1:]
    return {name: TARGETS if tier.IS_ALL else
            (TARGETS[0], others[(i + tier.TURN) % len(others)])
            for i, name in enumerate(names)}


def check_all(targets):
    jobs = [(name, target) for name in targets for target in targets[name]]
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        return dict(zip(jobs, pool.map(check, jobs)))


RESULTS = {}


def setUpModule():
    RESULTS.update(check_all(targets_of(sorted(MODELS))))


class Models(unittest.TestCase):
    """One test per model and target, added below."""

    def test_enough_of_them(self):
        self.assertGreaterEqual(len(MODELS), 20)
        for name in EXPECTED:
            if EXPECTED[name]["complete"]:
                self.assertGreater(EXPECTED[name]["blocks"], 0, name)

    def test_a_rule_that_never_matches_leaves_every_byte(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            (folder / "never.lua").write_text(
                'return rule { doc = "none",\n'
                'match = function(op, x) return op.Celu(op.Mish(x)) end,\n'
                'rewrite = function(op, m) return m.x end }\n')
            paths = {name: path for name, (path, _) in MODELS.items()
                     if path.stem == name}
            done = program.run("run", folder / "never.lua", *paths.values(),
                               "-o", folder / "out", "-q")
            self.assertEqual(done.code, 0, done.err)
            for name, path in paths.items():
                result = folder / "out" / f"{name}.rewritten.onnx"
                self.assertEqual(result.read_bytes(), path.read_bytes(), name)


def add_test(name, target):
    def test(self):
        _, found = RESULTS[name, target]
        self.assertFalse(found, f"{name}:\n  " + "\n  ".join(found))
    setattr(Models, f"test_{target}_" + name.replace(".", "_"), test)


for model_name, model_targets in targets_of(sorted(MODELS)).items():
    for model_target in model_targets:
        add_test(model_name, model_target)


def record():
    names = sorted(set(MODELS) & set(EXPECTED))
    results = check_all({name: TARGETS[:1] for name in names})
    for (name, _), (fused, found) in results.items():
        if not found:
            EXPECTED[name]["at_least"] = max(EXPECTED[name]["at_least"], fused)
        print(name, fused, "of", EXPECTED[name]["blocks"], *found, sep="  ")
    rows = [f'"{name}": {json.dumps(row)}' for name, row in EXPECTED.items()]
    TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        unittest.main()
