"""The program under test on a GPU, or on stand-ins for its libraries; weights
from one file for each type."""

import array
import dataclasses
import importlib.util
import json
import os
import pathlib
import random
import struct
import subprocess
import time

import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("RULEENGINE",
                                      ROOT / "build" / "ruleengine"))
STANDIN = PROGRAM.parent / "cuda" / "standin"
ATTENTION = PROGRAM.parent / "cuda_attention_bench"
BYTES = {"float": 4, "float16": 2, "bfloat16": 2, "int64": 8}
CALL = 90  # seconds for one call of the program at most
BLOCK = 1 << 16  # elements after which weights repeat
BELOW_NOISE = "below the noise"  # why there are no seconds


class Trouble(Exception):
    """Why a figure is missing."""


class Deadline:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return max(0.0, self.end - time.monotonic())


def libraries():
    """Folders of NVIDIA's packages for Python, where there are any."""
    spec = importlib.util.find_spec("nvidia")
    found = spec.submodule_search_locations if spec else []
    return [str(path) for folder in found or []
            for path in sorted(pathlib.Path(folder).glob("*/lib"))]


@dataclasses.dataclass
class Setting:
    """How all steps run."""
    folder: pathlib.Path  # for models
    is_standin: bool
    models: pathlib.Path | None = None
    rounds: int = 20
    plans: pathlib.Path | None = None  # a folder; what the user has otherwise

    def environment(self):
        paths = [str(STANDIN)] if self.is_standin else libraries()
        paths += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
        plans = {"RULEENGINE_PLANS": str(self.plans)} if self.plans else {}
        return {**os.environ, **plans, "LD_LIBRARY_PATH": ":".join(paths)}

    def run(self, *arguments, deadline, codes=(0,), program=PROGRAM):
        """The output of the program; Trouble where it fails."""
        try:
            done = subprocess.run(
                [program, *map(str, arguments)], env=self.environment(),
                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                check=False, timeout=max(0.1, min(CALL, deadline.left())))
        except subprocess.TimeoutExpired:
            raise Trouble("out of time") from None
        except OSError as error:
            raise Trouble(str(error)) from None
        if done.returncode not in codes:
            raise Trouble(" ".join(done.stderr.split())[:300] or
                          f"exit code {done.returncode}")
        return done.stdout

    def bench(self, model, *options, deadline, codes=(0,)):
        """What `bench --json` finds on the GPU."""
        return parsed(self.run(
            "bench", model, "--device", "cuda", "--json", "--rounds",
            self.rounds, *options, deadline=deadline, codes=codes))

    def attention(self, *options, deadline):
        """What cuda_attention_bench finds."""
        return parsed(self.run("--rounds", self.rounds, *options,
                               deadline=deadline, program=ATTENTION))


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        raise Trouble("no JSON was printed") from None


def on_cpu(found):
    """The ops that the CPU computes, by how often."""
    return found["nodes"].get("cpu", {})


# --- Models ---------------------------------------------------------------------


def _packed(dtype, values):
    if dtype == "int64":
        return array.array("q", values).tobytes()
    if dtype == "float16":
        return struct.pack(f"<{len(values)}e", *values)
    single = array.array("f", values).tobytes()
    if dtype == "float":
        return single
    return b"".join(single[i + 2:i + 4] for i in range(0, len(single), 4))


class Weights:
    """Files of a folder, from which the tensors of all models take their bytes:
    those of a type overlap, and repeat."""

    def __init__(self, folder, scale=1.0):
        self.folder, self.scale = folder, scale
        self.sizes = {}  # of files
        self.taken = 0

    def tensor(self, name, dtype, dims):
        """A tensor with bytes that are drawn from a normal distribution."""
        length = BYTES[dtype]
        for dim in dims:
            length *= dim
        file = f"{dtype}-{self.scale}.bin"
        # Neighbours differ.
        self.taken += 1
        offset = self.taken % 61 * 4096
        self._need(file, dtype, offset + length)
        return wire.tensor(name, dtype, dims,
                           *wire.external(file, offset, length))

    def order(self, name, count):
        """The numbers below `count` in some order."""
        values = list(range(count))
        random.Random(0).shuffle(values)
        file = f"order-{count}.bin"
        (self.folder / file).write_bytes(_packed("int64", values))
        return wire.tensor(name, "int64", [count],
                           *wire.external(file, 0, 8 * count))

    def _need(self, file, dtype, size):
        if size <= self.sizes.get(file, 0):
            return
        draw = random.Random(1)
        block = _packed(dtype, [draw.gauss(0, self.scale)
                                for _ in range(BLOCK)])
        with open(self.folder / file, "ab") as out:
            while out.tell() < size:
                out.write(block)
            self.sizes[file] = out.tell()


def time_chained(setting, name, link, deadline, is_quick):
    """Seconds on the device of one link, and what bench found: `link(count)`
    writes a model with a chain of so many. Two chains run in turn, and the
    difference has neither copies nor launches of the host in it; where it is
    not above 0, there are no seconds. Nodes that are quick are more and run
    more often, since noise does not shrink with them."""
    long = 5 if setting.is_standin else 65 if is_quick else 9
    if is_quick and not setting.is_standin:
        setting = dataclasses.replace(setting, rounds=4 * setting.rounds)
    short = setting.folder / f"{name}-short.onnx"
    more = setting.folder / f"{name}-long.onnx"
    link(short, 1)
    link(more, long)
    found = setting.bench(more, "--against", short, deadline=deadline)
    apart = (found["ms"]["median"] - found["against"]["ms"]["median"]) / 1e3
    return apart / (long - 1) if apart > 0 else None, found


def fill_row(row, setting, name, link, deadline, is_quick):
    """Puts what time_chained finds into a row of a table; whether it ran."""
    try:
        seconds, found = time_chained(setting, name, link, deadline, is_quick)
    except Trouble as trouble:
        row["why"] = str(trouble)
        return False
    row.update(seconds=seconds, on_cpu=on_cpu(found),
               recorded=found["recorded"])
    if seconds is None:
        row["why"] = BELOW_NOISE
    return True
