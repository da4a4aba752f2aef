#!/usr/bin/env python3
"""The Python package beside onnxscript: many small models in one process, a
BERT in place of optimize_for_ort, and a fleet of models."""

import os
import pathlib
import sys
import tempfile
import textwrap

import make_model
import measure

MODELS = 1000
PACKAGE = measure.ROOT / "build" / "python"
# Both in one process, in turn, on the same messages; rules once. onnxscript's
# rules are those that it has by default.
MANY = textwrap.dedent("""
    import sys, time
    import onnx
    import onnx_ir
    import ruleengine
    from onnxscript import rewriter
    pack, *paths = sys.argv[1:]
    rules = ruleengine.RuleSet(None if pack == "all" else pack)

    def ours_of_bytes(data):
        return rules.rewrite(data, target="portable").model

    def ours_of_ir(data):
        model = onnx_ir.from_proto(onnx.load_from_string(data))
        out = rules.rewrite(model, target="portable").model
        return onnx_ir.to_proto(out).SerializeToString()

    def theirs(data):
        model = onnx_ir.from_proto(onnx.load_from_string(data))
        return onnx_ir.to_proto(rewriter.rewrite(model)).SerializeToString()

    files = [open(path, "rb").read() for path in paths]
    seconds = [0.0, 0.0, 0.0]
    counts = [0, 0, 0]
    for i, data in enumerate(files):
        for j, work in enumerate((ours_of_bytes, ours_of_ir, theirs)):
            if j and i % 20:  # the slower ones on a sample
                continue
            begun = time.perf_counter()
            work(data)
            seconds[j] += time.perf_counter() - begun
            counts[j] += 1
    print(*(c / s for c, s in zip(counts, seconds)))
""")
# One model, by one of them: seconds, anonymous MiB at most while it works, and
# blocks that are fused.
ONE = textwrap.dedent("""
    import re, sys, threading, time
    import onnx, onnx_ir
    peak, is_done = [0], threading.Event()
    def watch():
        while not is_done.is_set():
            status = open("/proc/self/status").read()
            now = int(re.search("RssAnon:\\s+(\\d+)", status)[1]) // 1024
            peak[0] = max(peak[0], now)
            time.sleep(0.001)
    how, path, to = sys.argv[1:]
    if how == "ours":
        import ruleengine
    else:
        from onnxscript.rewriter import ort_fusions
    watcher = threading.Thread(target=watch)
    watcher.start()
    begun = time.perf_counter()
    model = onnx_ir.load(path)
    if how == "ours":
        model = ruleengine.rewrite(model, target="ort").model
    else:
        model, _ = ort_fusions.optimize_for_ort(model)
    seconds = time.perf_counter() - begun
    is_done.set()
    watcher.join()
    fused = sum("Attention" in node.op_type for node in model.graph)
    onnx_ir.save(model, to)
    print(seconds, peak[0], fused)
""")
AGREE = textwrap.dedent("""
    import sys
    import numpy as np, onnxruntime
    def run(path):
        session = onnxruntime.InferenceSession(path)
        draw = np.random.default_rng(0)
        feed = {i.name: draw.standard_normal(
            [d if isinstance(d, int) else 16 for d in i.shape]).astype("f4")
            for i in session.get_inputs()}
        return session.run(None, feed)
    print(max(np.abs(a - b).max() for a, b in zip(*map(run, sys.argv[1:]))))
""")
FLEET = textwrap.dedent("""
    import sys, time
    from dask import distributed
    from ruleengine import fleet
    if __name__ == "__main__":
        folder, to, count = sys.argv[1:]
        with distributed.LocalCluster(
                n_workers=int(count), threads_per_worker=1,
                dashboard_address=None) as cluster, \\
                distributed.Client(cluster) as client:
            fleet.rewrite([], to, cluster=client)
            begun = time.perf_counter()
            table = fleet.rewrite(folder, to, cluster=client,
                                  report=to + "/report.parquet")
            print(len(table), (table.status == "ok").sum(),
                  time.perf_counter() - begun)
""")


def python(script, *arguments):
    """The words that a script prints."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(script)
        file.flush()
        return measure.run(["env", f"PYTHONPATH={PACKAGE}", sys.executable,
                            file.name, *arguments]).output.split()


def write_models(folder):
    """Models of 200 nodes, of which no two are equal."""
    folder.mkdir()
    for i in range(MODELS):
        path = folder / f"m{i:03}.onnx"
        make_model.make(path, 6, 8 + 8 * (i % 8), 2)
        with open(path, "ab") as file:  # field 6 of ModelProto: doc_string
            file.write(make_model.message(6, str(i)))


def many_models(folder):
    paths = sorted(folder.iterdir())
    rows = []
    for pack in ("all", "attention", "quantization"):
        in_bytes, ir, theirs = map(float, python(MANY, pack, *paths))
        for kind, ours in (("bytes", in_bytes), ("onnx_ir", ir)):
            rows.append(measure.Row(
                f"1,000 models of 200 nodes, {kind}, rules of {pack}: as fast "
                "as onnxscript's rewriter, times", ours / theirs, 50,
                at_least=True,
                detail=f"{ours:.0f} and {theirs:.1f} models per second"))
    return rows


def one_model(folder):
    model = folder / "bert.onnx"
    make_model.make(model, 12, 768, 12, external=True)
    found = {}
    for how in ("ours", "theirs"):
        seconds, peak, fused = map(float, python(ONE, how, model,
                                                 folder / f"{how}.onnx"))
        found[how] = seconds, peak
        [most] = python(AGREE, model, folder / f"{how}.onnx")
        print(f"{how}: {fused:.0f} blocks, differs by {most}", file=sys.stderr)
    (ours, our_peak), (theirs, their_peak) = found["ours"], found["theirs"]
    return [
        measure.Row("BERT-base in onnx_ir: seconds beside optimize_for_ort",
                    ours / theirs, 1,
                    detail=f"{ours:.2f} and {theirs:.2f} s"),
        measure.Row("the same: peak of anonymous memory", our_peak / their_peak, 1,
                    detail=f"{our_peak:.0f} and {their_peak:.0f} MiB")]


def fleet(folder, models):
    rows = []
    for workers in (1, 2, 4):
        count, right, seconds = map(float, python(
            FLEET, models, folder / f"to{workers}", workers))
        if count != right or count != MODELS:
            raise RuntimeError("not all models were rewritten")
        rows.append(seconds)
    return [measure.Row(
        f"1,000 models, {workers} workers: as fast as one, times",
        rows[0] / seconds, min(workers, len(os.sched_getaffinity(0))) * 0.9,
        at_least=True, detail=f"{seconds:.1f} s")
        for workers, seconds in zip((1, 2, 4), rows)]


def bench(folder):
    measure.run([measure.ROOT / "cmake/setup.sh", "build", "release",
                 "ruleengine", "python_package"])
    models = folder / "models"
    write_models(models)
    return many_models(models) + one_model(folder) + fleet(folder, models)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        measure.show(bench(pathlib.Path(name)))
