#!/usr/bin/env python3
"""`ruleengine bench` beside ONNX Runtime: whole models, attention and other ops
alone, and models before and after `ruleengine run`.

Runs of both alternate within the same seconds. The result is the median of the
ratios of consecutive runs, ours over theirs, with quartiles.
"""

import argparse
import json
import pathlib
import statistics
import tempfile
import time

import make_decoder
import make_networks
import measure
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto

LAYERS, LENGTH = 4, 128
ATTENTION = [512, 2048, 8192]
# (op, element types in and out, attributes, further inputs) of [1024, 1024].
OPS = {
    "Cast to float": ("Cast", "FLOAT16", "FLOAT", "to=1", ""),
    "Cast to float16": ("Cast", "FLOAT", "FLOAT16", "to=10", ""),
    "Cast to int64": ("Cast", "FLOAT", "INT64", "to=7", ""),
    "Add": ("Add", "FLOAT", "FLOAT", "", "x"),
    "Add of float16": ("Add", "FLOAT16", "FLOAT16", "", "x"),
    "Softmax": ("Softmax", "FLOAT", "FLOAT", "", ""),
    "Tanh": ("Tanh", "FLOAT", "FLOAT", "", ""),
    "Erf": ("Erf", "FLOAT", "FLOAT", "", ""),
    "Exp": ("Exp", "FLOAT", "FLOAT", "", ""),
    "Sigmoid": ("Sigmoid", "FLOAT", "FLOAT", "", ""),
    "Gelu": ("Gelu", "FLOAT", "FLOAT", "", ""),
    "Sqrt": ("Sqrt", "FLOAT", "FLOAT", "", ""),
    "ReduceMean": ("ReduceMean", "FLOAT", "FLOAT", "", "axes"),
    "QuantizeLinear": ("QuantizeLinear", "FLOAT", "UINT8", "", "scale, zero"),
    "DequantizeLinear": ("DequantizeLinear", "UINT8", "FLOAT", "",
                         "scale, zero"),
}
# (op, type of the result, attributes, inputs). The first input is given, the
# others are constants: shapes hold random numbers, those without are a scale or
# a zero point.
SCALED = "float uint8 {} float int8"
IMAGE, KERNELS = "uint8[1,64,56,56]", "int8[64,64,3,3]"
WINDOWS = {
    "Conv 3x3": ("Conv", "FLOAT", "pads=[1,1,1,1]",
                 "float[1,64,56,56] float[64,64,3,3]"),
    "Conv 3x3 stride 2": ("Conv", "FLOAT", "pads=[1,1,1,1], strides=[2,2]",
                          "float[1,256,14,14] float[256,256,3,3]"),
    "Conv 1x1": ("Conv", "FLOAT", "", "float[1,256,56,56] float[64,256,1,1]"),
    "Conv 7x7 stride 2": ("Conv", "FLOAT", "pads=[3,3,3,3], strides=[2,2]",
                          "float[1,3,224,224] float[64,3,7,7]"),
    "Conv depthwise": ("Conv", "FLOAT", "pads=[1,1,1,1], group=96",
                       "float[1,96,56,56] float[96,1,3,3]"),
    "Conv 1-D": ("Conv", "FLOAT", "pads=[1,1]",
                 "float[1,80,3000] float[384,80,3]"),
    "Conv 3-D": ("Conv", "FLOAT", "pads=[1,1,1,1,1,1]",
                 "float[1,16,16,32,32] float[32,16,3,3,3]"),
    "ConvTranspose": ("ConvTranspose", "FLOAT", "pads=[1,1,1,1], strides=[2,2]",
                      "float[1,64,28,28] float[64,32,4,4]"),
    "MaxPool": ("MaxPool", "FLOAT", "kernel_shape=[3,3], strides=[2,2]",
                "float[1,64,112,112]"),
    "AveragePool": ("AveragePool", "FLOAT",
                    "kernel_shape=[3,3], strides=[2,2]", "float[1,64,112,112]"),
    "GlobalAveragePool": ("GlobalAveragePool", "FLOAT", "",
                          "float[1,64,112,112]"),
    "MatMulInteger": ("MatMulInteger", "INT32", "",
                      "uint8[128,768] int8[768,768] uint8 int8"),
    "MatMulInteger wide": ("MatMulInteger", "INT32", "",
                           "uint8[128,768] int8[768,3072] uint8 int8"),
    "QLinearMatMul": ("QLinearMatMul", "UINT8", "", "uint8[128,768] " +
                      SCALED.format("int8[768,768]") + " float uint8"),
    "QLinearMatMul wide": ("QLinearMatMul", "UINT8", "", "uint8[128,768] " +
                           SCALED.format("int8[768,3072]") + " float uint8"),
    "ConvInteger": ("ConvInteger", "INT32", "pads=[1,1,1,1]",
                    f"{IMAGE} {KERNELS} uint8 int8"),
    "QLinearConv": ("QLinearConv", "UINT8", "pads=[1,1,1,1]",
                    f"{IMAGE} {SCALED.format(KERNELS)} float uint8"),
}
PACKS = ["attention", "canonical", "linear"]


class Peer:
    """The model in ONNX Runtime, on inputs of its shapes."""

    def __init__(self, path, threads, dims):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Otherwise its threads would occupy the cores while ours run.
        options.add_session_config_entry("session.intra_op.allow_spinning",
                                         "0")
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"])
        random = np.random.default_rng(0)
        self.inputs = {}
        for each in self.session.get_inputs():
            shape = [dims.get(d, 1) if isinstance(d, str) else d
                     for d in each.shape]
            self.inputs[each.name] = (
                np.ones(shape, np.int64) if "int64" in each.type
                else random.integers(0, 256, shape, np.uint8)
                if "uint8" in each.type
                else random.standard_normal(shape, np.float32).astype(
                    np.float16 if "float16" in each.type else np.float32))

    def run(self, count):
        """Seconds of each of so many runs."""
        out = []
        for _ in range(count):
            begin = time.perf_counter()
            self.session.run(None, self.inputs)
            out.append(time.perf_counter() - begin)
        return out


def ours(path, threads, inputs, count):
    usage = measure.run([measure.PROGRAM, "bench", path, "--inputs", inputs,
                         "--rounds", max(count, 6), "--threads", threads,
                         "--json"])
    return json.loads(usage.output), usage.peak


def compare(name, path, threads, dims, rounds, runs):
    peer = Peer(path, threads, dims)
    inputs = path.with_suffix(".npz")
    np.savez(inputs, **peer.inputs)
    peer.run(2)
    ratios, times, theirs = [], [], []
    for _ in range(rounds):
        other = statistics.median(peer.run(runs)) * 1e3
        result, peak = ours(path, threads, inputs, runs)
        times.append(result["ms"]["median"])
        theirs.append(other)
        ratios.append(times[-1] / other)
    low, _, high = statistics.quantiles(ratios, n=4)
    print(f"| {name} | {threads} | {statistics.median(times):.2f} | "
          f"{statistics.median(theirs):.2f} | "
          f"**{statistics.median(ratios):.2f}** ({low:.2f} to {high:.2f}) | "
          f"{result['peak_bytes'] / 2 ** 20:.1f} | "
          f"{result['held_bytes'] / max(1, result['peak_bytes']):.3f} | "
          f"{peak:.0f} |", flush=True)


def fused(name, path, threads, inputs, target):
    """Compares the model after the rules for a target with the original."""
    after = path.with_suffix(".fused.onnx")
    packs = [measure.ROOT / "rules" / f"{pack}.lua" for pack in PACKS]
    measure.run([measure.PROGRAM, "run", *packs, path, "-o", after, "-q",
                 "--target", target])
    result = json.loads(measure.run(
        [measure.PROGRAM, "bench", after, "--against", path, "--inputs",
         inputs, "--threads", threads, "--json"]).output)
    ratio, against = result["ratio"], result["against"]
    print(f"| {name} | {threads} | {result['ms']['median']:.2f} | "
          f"{against['ms']['median']:.2f} | **{ratio['median']:.2f}** "
          f"({ratio['low']:.2f} to {ratio['high']:.2f}) | "
          f"{result['peak_bytes'] / 2 ** 20:.1f} | "
          f"{against['peak_bytes'] / 2 ** 20:.1f} |", flush=True)


def make_models(folder, layers):
    paths = {name: folder / f"{name}.onnx"
             for name in ("bert", "vit", "gpt2", "llama")}
    make_networks.bert(paths["bert"], layers)
    make_networks.vit(paths["vit"], layers)
    make_networks.gpt(paths["gpt2"], layers, LENGTH)
    make_decoder.make(paths["llama"], layers, 1024, 16, 4)
    return paths


def one_op(path, op, given, made, attributes, more):
    given, made = (getattr(TensorProto, name) for name in (given, made))
    names = {TensorProto.DataType.Name(t).lower(): t for t in (given, made)}
    x, y = (next(n for n, t in names.items() if t == each)
            for each in (given, made))
    path.write_bytes(onnx.parser.parse_model(
        f'''<ir_version: 10, opset_import: ["": 21]>
        g ({x}[1024,1024] x) => ({y}[1024,1024] y)
          <float scale = {{0.02}}, uint8 zero = {{128}}, int64[1] axes = {{-1}}>
        {{ y = {op}{f"<{attributes}>" if attributes else ""}(
             x{f", {more}" if more else ""}) }}''').SerializeToString())


def window_op(path, op, made, attributes, inputs):
    random = np.random.default_rng(0)
    types, constants, names = [], [], []
    for i, text in enumerate(inputs.split()):
        kind, _, dims = text.rstrip("]").partition("[")
        shape = [int(d) for d in dims.split(",")] if dims else []
        names.append(f"x{i}")
        value = (random.standard_normal(shape) if kind == "float"
                 else random.integers(-100 if kind == "int8" else 0, 100, shape)
                 ) if shape else {"float": 0.02, "uint8": 128, "int8": 0}[kind]
        types.append((getattr(TensorProto, kind.upper()), shape))
        constants.append(onnx.numpy_helper.from_array(
            np.asarray(value, kind if kind != "float" else np.float32),
            names[-1]))
    node = onnx.parser.parse_node(
        f"y = {op}{f'<{attributes}>' if attributes else ''}"
        f"({', '.join(names)})")
    value = onnx.helper.make_tensor_value_info
    onnx.save(onnx.helper.make_model(
        onnx.helper.make_graph(
            [node], "g", [value(names[0], *types[0])],
            [value("y", getattr(TensorProto, made), None)], constants[1:]),
        opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), path)


def bench(folder, options):
    dims = {"B": 1, "S": LENGTH}
    paths = make_models(folder, options.layers)
    heading = ("ours ms | theirs ms | ratio | peak MiB | held / peak | "
               "process MiB |")
    print(f"| model | threads | {heading}\n|---|---|---|---|---|---|---|---|")
    for threads in options.threads:
        for name, path in paths.items():
            if options.only in name:
                compare(name, path, threads, dims, options.rounds, 6)
    for threads in options.threads:
        for kind in ("Attention", "MultiHeadAttention"):
            for length in ATTENTION:
                name = f"{kind} {length}"
                if options.only not in name:
                    continue
                path = folder / f"{kind}{length}.onnx"
                make_networks.attention(path, kind, length)
                compare(name, path, threads, {}, options.rounds, 6)
    for threads in options.threads:
        for name, what in OPS.items():
            if options.only in name:
                path = folder / f"{name}.onnx"
                one_op(path, *what)
                compare(name, path, threads, {}, options.rounds, 20)
        for name, what in WINDOWS.items():
            if options.only in name:
                path = folder / f"{name}.onnx"
                window_op(path, *what)
                compare(name, path, threads, {}, options.rounds, 20)
    print("\n| fused | threads | after ms | before ms | ratio | peak MiB | "
          "before |\n|---|---|---|---|---|---|---|")
    for threads in options.threads:
        for name, path in paths.items():
            for target in ("portable", "ort", "onnx"):
                if options.only in name:
                    fused(f"{name} for {target}", path, threads,
                          path.with_suffix(".npz"), target)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="", help="part of a name")
    with tempfile.TemporaryDirectory() as temporary:
        bench(pathlib.Path(temporary), parser.parse_args())
