"""Step c: attention of 40 shapes: seconds on the device, beside PyTorch's."""

import dataclasses
import math

import rivals
from tool import ATTENTION, Trouble, Weights, fill_row
from wire import integers, write_model

GOAL = 700e12  # operations in a second, of the first shape on an H200
AHEAD = 1.25   # of PyTorch, the geometric mean


@dataclasses.dataclass
class Shape:
    b: int
    hq: int
    hkv: int
    sq: int
    skv: int
    d: int
    causal: bool = False
    mask: str = ""  # "", "keys" or "full": a bias
    dtype: str = "bfloat16"

    def name(self):
        return (f"B{self.b} H{self.hq}/{self.hkv} S{self.sq}/{self.skv} "
                f"D{self.d} {self.dtype}" + " causal" * self.causal +
                f" {self.mask}" * bool(self.mask))

    def mask_dims(self):
        return [self.b, 1, self.sq if self.mask == "full" else 1, self.skv]

    def options(self):
        """Of cuda_attention_bench."""
        sizes = {"batch": self.b, "q-heads": self.hq, "kv-heads": self.hkv,
                 "q-length": self.sq, "kv-length": self.skv, "size": self.d,
                 "type": self.dtype,
                 "bias-rows": self.mask_dims()[2] if self.mask else 0}
        return [f"--{name}={value}" for name, value in sizes.items()] + \
            ["--causal"] * self.causal

    def operations(self):
        pairs = self.sq * self.skv
        if self.causal:  # both are as long
            pairs = self.sq * (self.sq + 1) // 2
        return 4 * self.b * self.hq * pairs * self.d


def shapes():
    half = {"dtype": "float16"}
    out = [Shape(1, 64, 8, 16384, 16384, 128)]
    # Prefill of decoders.
    for s in (512, 1024, 2048, 4096, 8192, 16384):
        out.append(Shape(1, 32, 8, s, s, 128, causal=True))
    for s in (1024, 4096, 16384):
        out.append(Shape(1, 32, 8, s, s, 64, causal=True))
    out += [Shape(4, 16, 16, 2048, 2048, 128, causal=True, **half),
            Shape(2, 32, 32, 4096, 4096, 128, causal=True, **half),
            Shape(1, 32, 32, 2048, 2048, 96, causal=True, **half),
            Shape(1, 8, 4, 2048, 2048, 256, causal=True),
            Shape(1, 32, 8, 2048, 2048, 128, mask="full"),
            Shape(4, 32, 8, 64, 4096, 128, mask="full")]
    # Encoders, and models of images.
    out += [Shape(32, 12, 12, 128, 128, 64, mask="keys", **half),
            Shape(8, 16, 16, 384, 384, 64, mask="keys", **half),
            Shape(8, 16, 16, 512, 512, 64, **half),
            Shape(1, 12, 12, 512, 512, 64, **half),
            Shape(64, 12, 12, 197, 197, 64, **half),
            Shape(16, 16, 16, 577, 577, 64, **half),
            Shape(4, 16, 16, 1024, 1024, 80, **half),
            Shape(1, 16, 16, 1024, 1024, 64, mask="full", **half),
            Shape(1, 24, 24, 4608, 4608, 128),
            Shape(1, 16, 16, 8192, 8192, 128, **half),
            Shape(2, 10, 10, 4096, 4096, 64, **half),
            Shape(2, 20, 20, 1024, 1024, 64, **half),
            Shape(2, 10, 10, 4096, 77, 64, **half),
            Shape(2, 20, 20, 1024, 77, 64, **half)]
    # Decoding.
    for s in (512, 2048, 8192, 16384):
        out.append(Shape(1, 32, 8, 1, s, 128))
    out += [Shape(32, 32, 8, 1, 2048, 128), Shape(8, 64, 8, 1, 16384, 128),
            Shape(16, 32, 8, 1, 4096, 64, mask="keys"),
            Shape(1, 32, 32, 1, 4096, 128, **half),
            Shape(64, 32, 8, 1, 1024, 128),
            Shape(4, 32, 8, 8, 4096, 128, mask="full")]
    return out


def few():
    """For the stand-ins."""
    return [Shape(1, 4, 2, 16, 16, 16, causal=True),
            Shape(2, 2, 2, 1, 24, 8, mask="keys", dtype="float16")]


def write_chain(path, shape, count, weights):
    type_ = shape.dtype
    heads = [shape.b, shape.hkv, shape.skv, shape.d]
    given = [weights.tensor("q", type_, [shape.b, shape.hq, shape.sq, shape.d]),
             weights.tensor("k", type_, heads), weights.tensor("v", type_, heads),
             integers("zero", [4], [0] * 4), integers("one", [4], [1] * 4)]
    if shape.mask:
        given.append(weights.tensor("m", type_, shape.mask_dims()))
    mask = ", m" if shape.mask else ""
    nodes = ["a0 = Add(q, x)"] + [
        f"a{i + 1} = Attention<is_causal = {int(shape.causal)}>"
        f"(a{i}, k, v{mask})" for i in range(count)]
    nodes.append(f"y = Slice(a{count}, zero, one)")
    write_model(path, [("x", type_, [1])], [("y", type_, [1] * 4)], given,
                nodes)


def measure_all(setting, deadline):
    rows = []
    weights = Weights(setting.folder)
    wanted = few() if setting.is_standin else shapes()
    for i, shape in enumerate(wanted):
        row = {"shape": shape.name(), "seconds": None, "torch": None,
               "plans": None, "why": ""}
        rows.append(row)
        ran = fill_row(
            row, setting, f"attention-{i}",
            lambda path, count, its=shape: write_chain(path, its, count,
                                                       weights), deadline,
            is_quick=shape.operations() < 2e10)
        if not ran:
            continue
        if row["seconds"] is not None:
            row["operations_per_second"] = shape.operations() / row["seconds"]
        try:
            row["torch"] = rivals.attention_seconds(shape)
        except Trouble:
            pass  # said at the start
        except Exception as error:
            row["why"] = f"PyTorch: {' '.join(str(error).split())[:150]}"
    # What is left of the time.
    for row, shape in zip(rows, wanted) if ATTENTION.exists() else ():
        try:
            row["plans"] = setting.attention(*shape.options(),
                                             deadline=deadline)
        except Trouble as trouble:
            if not deadline.left():
                break
            row["why"] = row["why"] or f"cuDNN's plans: {trouble}"
    return rows


def best_plan(row):
    """Seconds of the fastest plan that cuDNN has; None where it has none."""
    plans = (row["plans"] or {}).get("candidates", [])
    return min((its["seconds"] for its in plans if "seconds" in its),
               default=None)


def _mean_line(what, pairs):
    """A line on theirs over ours; none without a pair."""
    ratios = [theirs / ours for theirs, ours in pairs
              if theirs and ours]
    if not ratios:
        return []
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return [f"{what}: {mean:.2f}, {min(ratios):.2f} at least (goal 1), "
            f"{len(ratios)} shapes"]


def summary(rows):
    """Lines on the goals."""
    out = []
    if not any(row["plans"] for row in rows):
        out.append("cuDNN's own best plan: not measured, there is no "
                   "build/cuda_attention_bench or no time was left")
    out += _mean_line("Seconds of cuDNN's best plan over ours",
                      [(best_plan(row), row["seconds"]) for row in rows])
    for key, what in (("chosen", "the plan that is chosen"),
                      ("ours", "the kernel of ours")):
        out += _mean_line(
            f"Seconds of cuDNN's best plan over those of {what}",
            [(best_plan(row), row["plans"][key].get("seconds"))
             for row in rows if row["plans"]])
    first = rows[0].get("operations_per_second") if rows else None
    if first:
        out.append(f"{rows[0]['shape']}: {first / 1e12:.0f} TFLOP/s "
                   f"(goal {GOAL / 1e12:.0f} on an H200)")
    return out + _mean_line(
        f"PyTorch's seconds over ours (goal {AHEAD} for the mean)",
        [(row["torch"], row["seconds"]) for row in rows])
