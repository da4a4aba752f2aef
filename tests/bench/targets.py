#!/usr/bin/env python3
"""The speed of every target in each runtime.

    python3 -m venv /tmp/runtimes && /tmp/runtimes/bin/pip install \
        -r tests/bench/runtimes.txt
    /tmp/runtimes/bin/python tests/bench/targets.py --write

Each model and the results of each target run in turn, in every runtime that this
Python has, with one thread: the table in docs/targets.md. `--each RUNTIME` gives
a row for each of more models in one runtime: the table in docs/peers.md. Each
table needs an idle machine and half an hour.
"""

import argparse
import dataclasses
import datetime
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

import make_decoder
import make_networks
import measure

ADAPTERS = pathlib.Path(__file__).with_name("adapters.py")
TARGETS = ["standard", "portable", "onnx", "ort", "openvino", "tensorrt"]
MODULES = {"onnxruntime": "onnxruntime", "openvino": "openvino",
           "tract": "tract", "tvm": "tvm", "iree": "iree.compiler",
           "MNN": "MNN", "onnx2torch": "onnx2torch"}

# Layers of realistic size, in the form of exporters, and the sizes of their
# inputs. The table of runtimes uses the first ones.
CASES = {
    "bert_128": (lambda path: make_networks.bert(path, 1), "B=1,S=128"),
    "vit_197": (lambda path: make_networks.vit(path, 1), ""),
    "decoder_128": (lambda path: make_decoder.make(path, 1, 768, 12, 4),
                    "B=1,S=128"),
    "decoder_step_512": (
        lambda path: make_decoder.make(path, 1, 768, 12, 4, cache=True),
        "B=1,S=1,P=511"),
    "bert_512": (lambda path: make_networks.bert(path, 1), "B=1,S=512"),
    "bert_8x64": (lambda path: make_networks.bert(path, 1), "B=8,S=64"),
    "gpt2_256": (lambda path: make_networks.gpt(path, 1, 256), "B=1"),
    "decoder_1024": (lambda path: make_decoder.make(path, 1, 768, 12, 4),
                     "B=1,S=1024"),
    "decoder_chunk_64": (
        lambda path: make_decoder.make(path, 1, 768, 12, 4, cache=True),
        "B=1,S=64,P=960"),
}
FEW = 4
# The core for both models, since cores differ in speed.
CPU = max(os.sched_getaffinity(0))
PATIENCE = 1800  # seconds for a measurement
TIME_IS_OVER = 5  # the exit code


@dataclasses.dataclass
class Try:
    """The outcome of a target's result for one model in a runtime."""
    read: bool = True
    right: bool = True
    speedup: float = 1
    name: str = ""  # of the runtime
    why: str = ""


def installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def command(runtime):
    if runtime in ("ours", "onnxruntime", "openvino"):
        return runtime
    return f"'{sys.executable}' -W ignore '{ADAPTERS}' {runtime}"


def attempt(runtime, target, model, dims, folder, seconds):
    """None if the runtime does not run the original."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    bin_folder = pathlib.Path(sys.executable).parent
    done = subprocess.run(
        [measure.PROGRAM, "run", *sorted((measure.ROOT / "rules").glob("*.lua")),
         model, "--dry-run", "-q", "--target", target, "--bench",
         "--runtime", command(runtime), "--time", str(seconds),
         *(["--dims", dims] if dims else []), "--threads", "1",
         "--limit-time", str(PATIENCE), "--report", report],
        env=os.environ | {"RULEENGINE_THREADS": "1",
                          "PATH": f"{bin_folder}:{os.environ['PATH']}"},
        preexec_fn=lambda: os.sched_setaffinity(0, {CPU}),
        capture_output=True, text=True, check=False)
    if done.returncode == 2:
        print(f"  {runtime}: {model.stem}: {done.stderr.strip()[-400:]}",
              file=sys.stderr)
        return None
    if done.returncode == TIME_IS_OVER:
        return Try(False, False, why=f"not measured in {PATIENCE} s")
    if done.returncode:
        raise RuntimeError(f"{runtime}, {target}, {model}: {done.stderr}")
    measured = json.loads(report.read_text()).get("measured")
    if measured is None:
        return Try(why="nothing was rewritten")
    why = measured["failed"]
    other = why.startswith("gives other results")
    return Try(other or not why, not why,
               1 if why else measured["speedup"]["median"],
               measured["runtime"], why)


def cell(tries):
    """The cell for one runtime and target."""
    read = [each for each in tries if each.read]
    right = [each for each in read if each.right]
    if not read:
        return "no"
    text = "" if len(read) == len(tries) else f"{len(read)} of {len(tries)}, "
    if len(right) < len(read):
        text += f"{len(read) - len(right)} wrong, "
    ratios = [each.speedup for each in right]
    if not ratios:
        return text.removesuffix(", ")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"{text}{mean:.2f} ({min(ratios):.2f})"


def tries_of(runtime, path, dims, folder, seconds):
    """By target; empty if the runtime does not run the original."""
    tries = {}
    for target in TARGETS:
        tried = attempt(runtime, target, path, dims, folder, seconds)
        if tried is None:
            return {}
        tries[target] = tried
        print(f"  {tried.name}: {path.stem}, {target}: "
              f"{tried.why[:200] or f'{tried.speedup:.3f}'}",
              file=sys.stderr, flush=True)
    return tries


def named(tries, runtime):
    """The runtime, with its version if something was measured."""
    return next((each.name for tried in tries for each in tried.values()
                 if each.name), runtime)


def of_runtimes(models, runtimes, folder, seconds):
    rows = []
    for runtime in runtimes:
        tries = [each for path, dims in models.items() if
                 (each := tries_of(runtime, path, dims, folder, seconds))]
        if tries:
            rows.append([named(tries, runtime),
                         f"{len(tries)} of {len(models)}",
                         *(cell([each[target] for each in tries])
                           for target in TARGETS)])
    return rows


def of_models(models, runtime, folder, seconds):
    tries = {path.stem: tries_of(runtime, path, dims, folder, seconds)
             for path, dims in models.items()}
    rows = [[name, *(f"{each.speedup:.2f}" if each.right else "-"
                     for each in tried.values())]
            for name, tried in tries.items() if tried]
    mean = ["mean (worst)", *(
        cell([tried[target] for tried in tries.values() if tried])
        for target in TARGETS)]
    return named(filter(None, tries.values()), runtime), rows, mean


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=pathlib.Path,
                        help="instead of the layers above")
    parser.add_argument("--dims", default="", help="sizes of their inputs")
    parser.add_argument("--each", metavar="RUNTIME")
    parser.add_argument("--only", metavar="RUNTIME")
    parser.add_argument("--write", action="store_true",
                        help="put the table into its document")
    parser.add_argument("--time", type=float, default=10,
                        help="seconds for each measurement, about; 10")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        models = dict.fromkeys(arguments.models, arguments.dims)
        for name, (make, dims) in list(CASES.items()) if not models else ():
            if arguments.each or len(models) < FEW:
                models[folder / f"{name}.onnx"] = dims
                make(folder / f"{name}.onnx")
        targets = [f"`{each}`" for each in TARGETS]
        if arguments.each:
            name, rows, mean = of_models(models, arguments.each, folder,
                                         arguments.time)
            table = measure.table([name, *targets], [*rows, mean])
        else:
            runtimes = [arguments.only] if arguments.only else [
                "ours", *(name for name, module in MODULES.items()
                          if installed(module))]
            rows = of_runtimes(models, runtimes, folder, arguments.time)
            table = measure.table(["runtime", "models", *targets], rows)
    names = ", ".join(path.stem for path in models)
    day = datetime.date.today()
    head = textwrap.fill(f"{day}, one thread: {names}.", 120)
    text = f"{head}\n\n{table}"
    print(text)
    if arguments.write:
        measure.put("docs/peers.md" if arguments.each else "docs/targets.md",
                    "targets.py", text)
    if arguments.write and arguments.each:
        measure.put("README.md", "targets.py",
                    f"{day}, {len(rows)} layers, one thread:\n\n" +
                    measure.table([name, *targets], [mean]))


if __name__ == "__main__":
    main()
