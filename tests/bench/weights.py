#!/usr/bin/env python3
"""Models of gigabytes cost as much as their graph and `cp` of the data.

Needs 12 GB of disk in the temporary folder and memory to keep them cached.
"""

import json
import os
import pathlib
import tempfile

import make_model
import measure
import rule_texts


def cp(folder, *paths):
    (folder / "copy").mkdir(exist_ok=True)
    return ["cp", *paths, folder / "copy"]


def copies(commands, results, rounds):
    """The best of some rounds of commands that write `results`. Earlier results
    are removed and the disk is idle, so that no command waits for another."""
    def at_rest():
        for path in results:
            path.unlink(missing_ok=True)
        os.sync()

    return measure.in_turn(commands, rounds, True, at_rest, min)


def cpu_ratio(usage):
    """CPU time, since the wall clock includes waits for a shared disk."""
    ours, theirs = usage["ours"].cpu, usage["cp"].cpu
    return measure.Row("  run / cp, CPU", ours / theirs, 1.2,
                       detail=f"{ours:.2f} s against {theirs:.2f} s")


def parse_ratio(folder, model):
    """(protobuf's seconds / ours, detail), by the in-process benchmark."""
    program = pathlib.Path(measure.PROGRAM).parent / "bench"
    if not os.access(program, os.X_OK):
        print(f"weights: no {program} (cmake --build build --target bench)")
        return None
    os.environ["RULEENGINE_BENCH_MODEL"] = str(model)
    out = folder / "bench.json"
    measure.run([program, "--benchmark_filter=file", f"--benchmark_out={out}",
                 "--benchmark_out_format=json"])
    times = {entry["name"].split("/")[0]: entry["real_time"]
             for entry in json.loads(out.read_text())["benchmarks"]}
    ours, theirs = times["load_file"], times["parse_file"]
    return theirs / ours, f"{theirs / 1e6:.0f} ms against {ours / 1e6:.2f} ms"


def single_file(folder, rules):
    model = folder / "single.onnx"
    # Just under 2 GiB, the most that protobuf can parse.
    make_model.make(model, 40, 1024, 16)
    size = model.stat().st_size
    rows = []
    if (ratio := parse_ratio(folder, model)) is not None:
        rows.append(measure.Row(
            f"{size / 2 ** 30:.2f} GiB in one file: protobuf's parse / load",
            ratio[0], 100, at_least=True, detail=ratio[1]))
    result = folder / "result.onnx"
    ours = [measure.PROGRAM, "run", *rules, model, "-o", result, "-q"]
    usage = copies({"cp": cp(folder, model), "ours": ours},
                   [result, folder / "copy" / model.name], 7)
    rows.append(measure.Row(
        "  run / cp, wall", usage["ours"].wall / usage["cp"].wall, 1.2,
        detail=f"{usage['ours'].wall:.2f} s against {usage['cp'].wall:.2f} s"))
    rows.append(cpu_ratio(usage))
    rows.append(measure.Row("  anonymous MiB", usage["ours"].anonymous, 32,
                            detail=f"peak with the mapping "
                                   f"{usage['ours'].peak:.0f} MiB"))
    model.unlink()
    return rows


def external_data(folder, rules):
    model = folder / "external.onnx"
    make_model.make(model, 20, 2048, 16, external=True)
    data = pathlib.Path(f"{model}.data")
    size = data.stat().st_size
    result = folder / "result.onnx"
    ours = [measure.PROGRAM, "run", *rules, model, "-o", result, "-q"]
    copied = folder / "copy"
    usage = copies({"cp": cp(folder, model, data), "ours": ours,
                    "share": [*ours, "--share-data"]},
                   [result, pathlib.Path(f"{result}.data"),
                    copied / model.name, copied / data.name], 5)
    rows = [
        measure.Row(f"{size / 2 ** 30:.2f} GiB of external data: run / cp",
                    usage["ours"].wall / usage["cp"].wall, 1.2,
                    detail=f"{usage['ours'].wall:.2f} s against "
                           f"{usage['cp'].wall:.2f} s"),
        cpu_ratio(usage),
        measure.Row("  --share-data, seconds", usage["share"].wall, 0.2),
        measure.Row("  --share-data, peak MiB", usage["share"].peak),
    ]
    rows.append(measure.Row("  --share-data, bytes of weights read",
                            weights_read(folder, model, data, rules), 0))
    return rows


def weights_read(folder, model, data, rules):
    """The bytes of the data file that were read into memory: the cache of the
    file is dropped first, and fincore counts its pages afterwards."""
    fd = os.open(data, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)

    def cached():
        done = measure.run(["fincore", "--bytes", "--noheadings", "--output",
                            "res", data])
        return int(done.output.strip() or 0)

    before = cached()
    measure.run([measure.PROGRAM, "run", *rules, model, "-o",
                 folder / "shared.onnx", "-q", "--share-data"])
    return max(0, cached() - before)


def bench(folder):
    rules = rule_texts.write(folder / "weights", rule_texts.HITS)
    return single_file(folder, rules) + external_data(folder, rules)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        measure.show(bench(pathlib.Path(temporary)))
