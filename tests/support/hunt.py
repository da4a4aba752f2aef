"""Runs rules over mutants of their examples, and what they make of them in the
reference and in every ONNX Runtime that counts: on ordinary and on extreme
numbers, and with each size that is known by a name as 0 and as 1."""

import json
import re

import numpy as np
import onnx

from support import dialect, mutate, numbers, program, runtimes

# Of nothing ONNX Runtime's own attention is not computed (docs/targets.md).
EMPTY = re.compile(r"running (Attention|MultiHeadAttention|GroupQueryAttention)"
                   " node|" + runtimes.ENDED)
# It has no kernel for what its optimizer makes of a product of doubles.
FLAW = "Failed to find kernel for com.microsoft.FusedMatMul"
# What random masks and sizes do not hold to; `--exact` is right without it.
BOLD = ("each query sees a key", "there are as many values as keys")


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
    halves = any(array.itemsize == 2 for array in made.all_feeds[0].values())
    if is_ours and (made.extreme == "endless" or made.extreme and halves):
        return []  # the reference's own arithmetic is no better than another
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
    # The reference computes halves in halves: at their limits it is no judge.
    is_needed = not made.extreme or not (is_judged or halves)
    if is_needed and not any(
            n.domain == "com.microsoft" for n in result.graph.node):
        # The reference insists on what a mask's sizes promise; runtimes execute
        # the body, which broadcasts as Add does.
        got = reference(result, made.all_feeds)
        found += [f"reference: {text}" for text in differences(
            made, by_reference, got, is_judged)]
    return found


def is_judge(runtime, feeds, newest, plain, want):
    """Whether what a runtime makes of the original is what it should be. The
    newest refuses what older ones compute without looking; optimized ones believe
    sizes that are stale, and their products over nothing are what was in the
    memory."""
    if any(isinstance(outputs, str) for outputs in (newest, plain, want)):
        return False
    return not runtime.optimized or not is_empty(feeds) and not any(
        numbers.difference(plain[name], array, 0.2)
        for name, array in want.items())


def without_keys(runtime, result, all_feeds, got):
    """The outputs, but those of the oldest runtime's own attention over no keys,
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
    """Texts. `wanted` has more than `got` where the inputs were moved too."""
    moved = wanted[len(got):] or wanted
    for i, (feeds, want, near, outputs) in enumerate(
            zip(made.all_feeds, wanted, moved, got)):
        if isinstance(want, str) or isinstance(near, str):
            continue
        if isinstance(outputs, str):
            # numpy has no largest of nothing.
            if not (may_refuse or "zero-size array to red" in outputs
                    or FLAW in outputs
                    or is_empty(feeds) and EMPTY.search(outputs)):
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
