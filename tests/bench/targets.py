#!/usr/bin/env python3
"""What runtimes make of every target: the table in docs/targets.md.

    python3 -m venv /tmp/runtimes && /tmp/runtimes/bin/pip install \
        -r tests/bench/runtimes.txt
    /tmp/runtimes/bin/python tests/bench/targets.py [--write] [MODEL...]

Each model is run as it is and as each target writes it, in turn, in every
runtime that this Python has, with one thread. Without MODEL: one layer of BERT,
GPT-2, ViT and a decoder with rotary embeddings. Takes about half an hour.
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

import make_decoder
import make_networks
import measure

ADAPTERS = pathlib.Path(__file__).with_name("adapters.py")
DOCUMENT = measure.ROOT / "docs" / "targets.md"
FIRST, LAST = "<!-- tests/bench/targets.py -->\n", "<!-- end -->\n"
TARGETS = ["standard", "portable", "onnx", "ort", "openvino", "tensorrt"]
MODULES = {"onnxruntime": "onnxruntime", "openvino": "openvino",
           "tract": "tract", "tvm": "tvm", "iree": "iree.compiler",
           "MNN": "MNN", "onnx2torch": "onnx2torch"}
LENGTH = 128


@dataclasses.dataclass
class Try:
    """What a runtime made of a target's result for one model."""
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
    """None where the runtime does not run the model itself."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    bin_folder = pathlib.Path(sys.executable).parent
    done = subprocess.run(
        [measure.PROGRAM, "run", *sorted((measure.ROOT / "rules").glob("*.lua")),
         model, "--dry-run", "-q", "--target", target, "--bench",
         "--runtime", command(runtime), "--time", str(seconds),
         *(["--dims", dims] if dims else []), "--threads", "1",
         "--report", report],
        env=os.environ | {"RULEENGINE_THREADS": "1",
                          "PATH": f"{bin_folder}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"  {runtime}: {model.stem}: {done.stderr.strip()[-400:]}",
              file=sys.stderr)
        return None
    measured = json.loads(report.read_text())["measured"]
    why = measured["failed"]
    other = why.startswith("gives other results")
    return Try(other or not why, not why,
               1 if why else measured["speedup"]["median"],
               measured["runtime"], why)


def cell(tries):
    """Of one runtime and target."""
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


def networks(folder):
    """The models, and the sizes of their inputs."""
    dims = {"bert": f"B=1,S={LENGTH}", "gpt2": "B=1", "vit": "",
            "decoder": f"B=1,S={LENGTH}"}
    models = {folder / f"{name}.onnx": each for name, each in dims.items()}
    bert, gpt, vit, decoder = models
    make_networks.bert(bert, 1)
    make_networks.gpt(gpt, 1, LENGTH)
    make_networks.vit(vit, 1)
    make_decoder.make(decoder, 1, 768, 12, 4)
    return models


def table(models, runtimes, folder, seconds):
    lines = ["| runtime | models | " + " | ".join(
        f"`{each}`" for each in TARGETS) + " |",
             "|---|---|" + "---|" * len(TARGETS)]
    for runtime in runtimes:
        tries = {target: [] for target in TARGETS}
        name = runtime
        for model, dims in models.items():
            for target in TARGETS:
                tried = attempt(runtime, target, model, dims, folder,
                                seconds)
                if tried is None:
                    break
                name = tried.name
                tries[target].append(tried)
                print(f"  {name}: {model.stem}, {target}: "
                      f"{tried.why[:200] or f'{tried.speedup:.3f}'}",
                      file=sys.stderr, flush=True)
        count = len(tries[TARGETS[0]])
        if not count:
            continue
        lines.append(f"| {name} | {count} of {len(models)} | " + " | ".join(
            cell(tries[target]) for target in TARGETS) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--dims", default="", help="sizes of their inputs")
    parser.add_argument("--write", action="store_true",
                        help="put the table into docs/targets.md")
    parser.add_argument("--only", help="a runtime")
    parser.add_argument("--time", type=float, default=10,
                        help="seconds for each measurement, about; 10")
    arguments = parser.parse_args()
    runtimes = ["ours"] + [name for name, module in MODULES.items()
                           if installed(module)]
    if arguments.only:
        runtimes = [arguments.only]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        models = dict.fromkeys(arguments.models, arguments.dims) \
            or networks(folder)
        text = (f"{datetime.date.today()}, one thread: "
                f"{', '.join(each.stem for each in models)}.\n\n"
                + table(models, runtimes, folder, arguments.time))
    print(text)
    if arguments.write:
        before, rest = DOCUMENT.read_text().split(FIRST)
        DOCUMENT.write_text(before + FIRST + text + LAST
                            + rest.split(LAST)[1])


if __name__ == "__main__":
    main()
