"""Runs rules over mutants of their examples, and the results in the reference and
in every supported ONNX Runtime: with ordinary and extreme numbers, and with each
symbolic size as 0 and as 1."""

import json
import re

import numpy as np
import onnx

from support import dialect, mutate, numbers, program, runtimes

# Attention ops of ONNX Runtime fail for empty inputs (docs/targets.md), and its
# product does not broadcast 1 to 0.
EMPTY = re.compile(r"running (Attention|MultiHeadAttention|GroupQueryAttention)"
                   " node|left operand cannot broadcast|" + runtimes.ENDED)
# It has no kernel for the result of its optimizer for a product of doubles.
FLAW = "Failed to find kernel for com.microsoft.FusedMatMul"
# Assumptions that random masks and sizes violate; `--exact` does not need them.
BOLD = ("each query sees a key", "there are as many values as keys")


class RuleFails(Exception):
    """The program refuses the rules, or a rule fails or never ends where it is
    applied."""


def mutants(files, begin, most):
    """(name, mutate.Made) of the seeds from `begin` on, `most` seeds."""
    models = [m for file in files for m in mutate.examples(file)]
    assert models, files
    for seed in range(begin, begin + most):
        made = mutate.mutant(models[seed % len(models)], seed)
        if made is not None:
            yield f"m{seed}", made


def verdicts(folder, rules, found, target="portable"):
    """(name, extreme, complaints) of each mutant that the rules rewrite."""
    sources = {}
    for name, made in found:
        sources[name] = folder / f"{name}.onnx"
        sources[name].write_bytes(made.model.SerializeToString())
    run = ["run", *rules, "-q", "--jobs", "2", "--target", target]

    def run_ok(*words):
        done = program.run(*run, *words, cwd=folder, timeout=600)
        if done.code in (2, 4) or "feeds itself for ever" in done.err:
            raise RuleFails(done.err)
        assert done.code == 0, (done.code, done.err)

    run_ok(*sources.values(), "-o", "out", "--report", "r.json")
    reports = json.loads((folder / "r.json").read_text())
    assumed = {report["model"]: [a["text"] for a in report["assumptions"]]
               for report in reports}
    for name, made in found:
        source = sources[name]
        result = folder / "out" / f"{name}.rewritten.onnx"
        if result.read_bytes() == source.read_bytes():
            continue
        wrong = complaints(made, result)
        if wrong and any(made.extreme or text.startswith(BOLD)
                         for text in assumed[str(source)]):
            run_ok(source, "-o", "exact.onnx", "--exact")
            wrong = complaints(made, folder / "exact.onnx")
        yield name, made.extreme, wrong


def complaints(made, path):
    """Errors of the result in the file."""
    model, result = made.model, onnx.load(path)
    onnx.checker.check_model(result)
    if (model.graph.input != result.graph.input
            or model.graph.output != result.graph.output):
        return ["the graph's inputs or outputs changed"]
    # The order of sums may change outputs as much as a rounding of inputs does.
    all_feeds = made.all_feeds + [numbers.moved(feeds)
                                  for feeds in made.all_feeds if made.extreme]
    by_reference = reference(model, all_feeds)
    # The runtimes run bodies and lowered ops, but no other op of the dialect.
    is_ours = any(n.domain in dialect.DOMAINS for n in model.graph.node)
    halves = any(array.itemsize == 2 for array in made.all_feeds[0].values())
    if is_ours and (made.extreme == "endless" or made.extreme and halves):
        return []  # the arithmetic of the reference is no more precise
    is_judged, newest, plain, found = False, None, None, []
    for runtime in runtimes.RUNTIMES:
        want = runtime.outputs(model.SerializeToString(), all_feeds)
        got = runtime.outputs(result.SerializeToString(), made.all_feeds)
        newest = newest or want
        plain = plain if runtime.optimized else want
        if is_ours and all(isinstance(w, str) for w in want):
            want = by_reference
            if all(isinstance(g, str) for g in got):
                continue  # an op without a body
        else:
            want = [w if is_judge(runtime, *rest, w) else "not asked"
                    for *rest, w in zip(all_feeds, newest, plain, want)]
        is_judged |= any(not isinstance(w, str) for w in want)
        found += [f"{runtime.name}: {text}" for text in differences(
            made, want, without_keys(runtime, result, made.all_feeds, got),
            False)]
    # The reference computes float16 in float16, so it is unusable at its limits.
    is_needed = not made.extreme or not (is_judged or halves)
    if is_needed and not any(
            n.domain == "com.microsoft" for n in result.graph.node):
        # The reference checks the sizes of a mask; runtimes execute the body,
        # which broadcasts as Add does.
        got = reference(result, made.all_feeds)
        found += [f"reference: {text}" for text in differences(
            made, by_reference, got, is_judged)]
    return found


def is_judge(runtime, feeds, newest, plain, want):
    """Whether a runtime computes the original correctly. The newest refuses
    inputs that older ones do not check; optimized ones use stale sizes, and their
    empty products have undefined elements."""
    if any(isinstance(outputs, str) for outputs in (newest, plain, want)):
        return False
    # The oldest leaves out the batch of some attention in double.
    if any(np.shape(newest[name]) != np.shape(array)
           for name, array in want.items()):
        return False
    return not runtime.optimized or not is_empty(feeds) and not any(
        numbers.difference(plain[name], array, 0.2)
        for name, array in want.items())


def without_keys(runtime, result, all_feeds, got):
    """The outputs, without those of the oldest runtime's attention over no keys,
    which are NaN (docs/targets.md)."""
    if runtime.worker is runtimes.NEWEST or not any(
            n.op_type == "MultiHeadAttention" for n in result.graph.node):
        return got
    return ["running MultiHeadAttention node" if is_empty(feeds) else outputs
            for feeds, outputs in zip(all_feeds, got)]


def is_empty(feeds):
    return any(array.size == 0 for array in feeds.values())


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
    """Texts of differences. `wanted` may also have results of moved inputs."""
    moved = wanted[len(got):] or wanted
    for i, (feeds, want, near, outputs) in enumerate(
            zip(made.all_feeds, wanted, moved, got)):
        if isinstance(want, str) or isinstance(near, str):
            continue
        if isinstance(outputs, str):
            # numpy has no maximum of an empty array.
            if not (may_refuse or "zero-size array to red" in outputs
                    or FLAW in outputs
                    or is_empty(feeds) and EMPTY.search(outputs)):
                yield f"feeds {i}: does not run: {outputs[:300]}"
            continue
        # A float from float16 numbers is no more precise than these, since the
        # runtime removes casts to float16 and back.
        tolerance = max(numbers.TOLERANCE.get(np.dtype(t).name, 0) for t in [
            *(np.asarray(a).dtype for a in [*feeds.values(), *want.values()]),
            *casts(made.model)])
        for name, array in want.items():
            # If one axis is 0, the other sizes are not determined.
            if np.size(array) == 0 == np.size(outputs[name]):
                continue
            what = numbers.difference(array, outputs[name], tolerance,
                                      near[name])
            if what:
                yield f"feeds {i}: {name}: {what}"


def casts(model):
    """The target types of casts."""
    return [onnx.helper.tensor_dtype_to_np_dtype(a.i) for n in model.graph.node
            for a in n.attribute if n.op_type == "Cast" and a.name == "to"]
