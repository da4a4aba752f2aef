#!/usr/bin/env python3
"""The C library in the process of a tool: beside the command line, beside the
rewriter of onnxscript, many rounds, many threads, a model of 2 GB."""

import os
import statistics
import subprocess
import sys
import textwrap

import make_model
import measure

BUILD = measure.ROOT / "build"
MODELS = 1000
# The same in the other's process: models in memory, rules once. One rule, or
# those that it has by default.
THEIRS = textwrap.dedent("""
    import sys, time
    import onnx
    from onnxscript import ir, rewriter
    from onnxscript.rewriter import pattern
    one = pattern.RewriteRule(lambda op, x: op.Neg(op.Neg(x)),
                              lambda op, x: op.Identity(x))
    rules = {"one": {"pattern_rewrite_rules": [one]}, "all": {}}[sys.argv[1]]
    files = [open(path, "rb").read() for path in sys.argv[2:]]
    begun = time.perf_counter()
    for data in files:
        model = ir.from_proto(onnx.load_from_string(data))
        rewriter.rewrite(model, **rules)
        ir.to_proto(model).SerializeToString()
    print(len(files), time.perf_counter() - begun)
""")


def build(folder):
    """The program of embedded.c."""
    measure.run([measure.ROOT / "cmake/setup.sh", "build", "release",
                 "ruleengine", "ruleengine_shared"])
    program = folder / "embedded"
    measure.run(["gcc", "-O2", measure.ROOT / "tests/bench/embedded.c", "-o",
                 program, f"-I{measure.ROOT / 'bindings/c'}", f"-L{BUILD}",
                 "-lruleengine", f"-Wl,-rpath,{BUILD}"])
    return program


def per_second(command):
    count, seconds = measure.run(command).output.split()[-2:]
    return int(count) / float(seconds)


def beside_the_command_line(folder, program):
    model = folder / "bert.onnx"
    make_model.make(model, 12, 768, 12)
    library, command = [], []
    for _ in range(15):
        library.append(float(measure.run(
            [program, "once", model, folder / "a.onnx"]).output))
        command.append(measure.run(
            [measure.PROGRAM, "run", model, "-o", folder / "b.onnx",
             "-q"]).cpu)
    ours, theirs = statistics.median(library), statistics.median(command)
    same = (folder / "a.onnx").read_bytes() == (folder / "b.onnx").read_bytes()
    if not same:
        raise RuntimeError("the results differ")
    return [measure.Row(
        "BERT, 12 layers: CPU of the library / of the command line",
        ours / theirs, 1, detail=f"{ours * 1e3:.0f} and {theirs * 1e3:.0f} ms")]


def many_models(folder, program):
    """Models of 200 nodes, of which no two are equal."""
    paths = []
    for i in range(MODELS):
        path = folder / f"m{i}.onnx"
        make_model.make(path, 6, 8 + 8 * (i % 8), 2)
        with open(path, "ab") as file:  # field 6 of ModelProto: doc_string
            file.write(make_model.message(6, str(i)))
        paths.append(path)
    script = folder / "theirs.py"
    script.write_text(THEIRS)
    rows = []
    for pack, rules in (("all", "all"), ("attention", "all"),
                        ("quantization", "one")):
        theirs = per_second([sys.executable, script, rules, *paths[:50]])
        ours = per_second([program, "many", 1, pack, *paths])
        rows.append(measure.Row(
            f"1,000 models of 200 nodes, rules of {pack}: as fast as the "
            f"rewriter of onnxscript with {rules}, times", ours / theirs, 50,
            at_least=True,
            detail=f"{ours:.0f} and {theirs:.1f} models per second"))
    return rows


def threads(folder, program):
    """Threads with handles of their own scale as processes do."""
    paths = sorted(folder.glob("m*.onnx"))[:400]

    def rate(count):
        return per_second([program, "many", count, "all", *paths])

    cores = min(len(os.sched_getaffinity(0)), 8)
    running = [subprocess.Popen([program, "many", "1", "all", *paths],
                                stdout=subprocess.PIPE, text=True)
               for _ in range(8)]
    seconds = [float(each.communicate()[0].split()[1]) for each in running]
    processes = 8 * len(paths) / statistics.mean(seconds)
    return [
        measure.Row(f"{cores} threads on as many cores: as fast as one, times",
                    rate(cores) / rate(1), 0.9 * cores, at_least=True),
        measure.Row("eight threads: as fast as eight processes, times",
                    rate(8) / processes, 0.9, at_least=True)]


def many_rounds(folder, program):
    model = folder / "small.onnx"
    make_model.make(model, 1, 8, 2)
    early, late = map(int, measure.run(
        ["env", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0", program,
         "rounds", 10000, model]).output.split())
    return [measure.Row("10,000 rounds: bytes more than after 100",
                        late - early, 0, detail=f"{late} bytes in use")]


def large_model(folder, program):
    model = folder / "large.onnx"
    make_model.make(model, 10, 2048, 16, external=True)
    size = sum(path.stat().st_size for path in folder.glob("large.onnx*"))
    usage = measure.run([program, "once", model, folder / "result.onnx"],
                        poll=True)
    return [measure.Row(
        f"a model of {size / 1e9:.1f} GB: anonymous memory, MiB",
        usage.anonymous, 200, detail=f"{usage.cpu:.2f} s of CPU")]


def bench(folder):
    program = build(folder)
    rows = beside_the_command_line(folder, program)
    rows += many_models(folder, program)
    rows += threads(folder, program)
    rows += many_rounds(folder, program)
    return rows + large_model(folder, program)


if __name__ == "__main__":
    import pathlib
    import tempfile
    with tempfile.TemporaryDirectory() as name:
        measure.show(bench(pathlib.Path(name)))
