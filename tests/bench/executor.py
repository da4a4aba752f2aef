#!/usr/bin/env python3
"""`ruleengine bench` beside ONNX Runtime: whole models, attention and other ops
alone, and models before and after `ruleengine run`.

Runs of both alternate within the same seconds. The result is the median of the
ratios of consecutive runs, ours over theirs, with quartiles.
"""

import argparse
import json
import pathlib
import re
import statistics
import tempfile
import time

import make_decoder
import make_networks
import measure
import numpy as np
import onnx
import onnxruntime

LAYERS, LENGTH = 4, 128
ATTENTION = [512, 2048, 8192]
# Inputs, the type of the result and the node, in ONNX's text; types without a
# shape are of [1024, 1024]. Further names are in CONSTANTS;
# `p` is positive, and `w` a constant.
LINEAR = "(x, scale, middle8, w, scale, zero8, scale, middle8)"
TINY = " ".join(f"v{i + 1} = {'Add Mul Sub'.split()[i % 3]}(v{i}, half)"
                for i in range(200))
OPS = {
    "200 tiny nodes": f"float[4] v0 -> float: {TINY} y = Neg(v200)",
    "Abs": "float x -> float: Abs(x)",
    "Neg": "float x -> float: Neg(x)",
    "Floor": "float x -> float: Floor(x)",
    "Round": "float x -> float: Round(x)",
    "Reciprocal": "float x -> float: Reciprocal(x)",
    "Sqrt": "float p -> float: Sqrt(p)",
    "Exp": "float x -> float: Exp(x)",
    "Log": "float p -> float: Log(p)",
    "Sin": "float x -> float: Sin(x)",
    "Tanh": "float x -> float: Tanh(x)",
    "Erf": "float x -> float: Erf(x)",
    "Sigmoid": "float x -> float: Sigmoid(x)",
    "Gelu": "float x -> float: Gelu(x)",
    "Gelu by tanh": "float x -> float: Gelu<approximate=\"tanh\">(x)",
    "Relu": "float x -> float: Relu(x)",
    "LeakyRelu": "float x -> float: LeakyRelu(x)",
    "PRelu": "float x, float[1024] s -> float: PRelu(x, s)",
    "Clip": "float x -> float: Clip(x, zero, one)",
    "HardSwish": "float x -> float: HardSwish(x)",
    "HardSigmoid": "float x -> float: HardSigmoid(x)",
    "Elu": "float x -> float: Elu(x)",
    "Softplus": "float x -> float: Softplus(x)",
    "Mish": "float x -> float: Mish(x)",
    "Not": "bool x -> bool: Not(x)",
    "IsNaN": "float x -> bool: IsNaN(x)",
    "Add": "float x -> float: Add(x, x)",
    "Add of a row": "float x, float[1024] r -> float: Add(x, r)",
    "Add of a column": "float x, float[1024,1] r -> float: Add(x, r)",
    "Add of a scalar": "float x -> float: Add(x, half)",
    "Add of axes": "float[8,32,64,64] x, float[8,1,64,1] r -> float: Add(x, r)",
    "Add of a mask":
        "float[1,16,256,256] x, float[1,1,256,256] r -> float: Add(x, r)",
    "Add of outer": "float[1024,1] x, float[1,1024] r -> float: Add(x, r)",
    "Add of int64": "int64 x -> int64: Add(x, x)",
    "Add of float16": "float16 x -> float16: Add(x, x)",
    "Add of double": "double x -> double: Add(x, x)",
    "Sub": "float x, float r -> float: Sub(x, r)",
    "Mul": "float x, float r -> float: Mul(x, r)",
    "Mul of int32": "int32 x, int32 r -> int32: Mul(x, r)",
    "Div": "float x, float r -> float: Div(x, r)",
    "Div of int32": "int32 x -> int32: Div(x, three)",
    "Div of int64": "int64 x -> int64: Div(x, axis1)",
    "Mod of int32": "int32 x -> int32: Mod(x, three)",
    "Mod of float": "float x -> float: Mod<fmod=1>(x, half)",
    "Max": "float x, float r -> float: Max(x, r)",
    "Min of three": "float x, float r, float t -> float: Min(x, r, t)",
    "Sum of three": "float x, float r, float t -> float: Sum(x, r, t)",
    "Mean of three": "float x, float r, float t -> float: Mean(x, r, t)",
    "Pow 2": "float x -> float: Pow(x, two)",
    "Pow 3": "float x -> float: Pow(x, cube)",
    "Pow half": "float p -> float: Pow(p, half)",
    "Pow 1.7": "float p -> float: Pow(p, odd)",
    "Pow -0.5": "float p -> float: Pow(p, inverse)",
    "Pow of two": "float p, float r -> float: Pow(p, r)",
    "Greater": "float x, float r -> bool: Greater(x, r)",
    "Greater than a scalar": "float x -> bool: Greater(x, half)",
    "Equal of int64": "int64 x -> bool: Equal(x, axis1)",
    "And": "bool x, bool r -> bool: And(x, r)",
    "BitwiseAnd": "int32 x, int32 r -> int32: BitwiseAnd(x, r)",
    "Where": "bool c, float x, float r -> float: Where(c, x, r)",
    "Where of a scalar": "bool c, float x -> float: Where(c, x, half)",
    "Where of a mask": "bool[1,1,256,256] c, float[1,16,256,256] x -> "
                       "float: Where(c, x, half)",
    "Softmax": "float x -> float: Softmax(x)",
    "Softmax of float16": "float16 x -> float16: Softmax(x)",
    "Softmax in the middle": "float[16,64,1024] x -> float: Softmax<axis=1>(x)",
    "LogSoftmax": "float x -> float: LogSoftmax(x)",
    "LayerNormalization": "float x, float[1024] s, float[1024] b -> "
                          "float: LayerNormalization(x, s, b)",
    "LayerNormalization of float16":
        "float16 x, float16[1024] s, float16[1024] b -> "
        "float16: LayerNormalization(x, s, b)",
    "RMSNormalization":
        "float x, float[1024] s -> float: RMSNormalization(x, s)",
    "BatchNormalization":
        "float[1,64,128,128] x, float[64] s, float[64] b, float[64] m -> "
        "float: BatchNormalization(x, s, b, m, s)",
    "InstanceNormalization":
        "float[1,64,128,128] x, float[64] s, float[64] b -> "
        "float: InstanceNormalization(x, s, b)",
    "GroupNormalization":
        "float[1,64,128,128] x, float[64] s, float[64] b -> "
        "float: GroupNormalization<num_groups=8>(x, s, b)",
    "LpNormalization": "float x -> float: LpNormalization(x)",
    "ReduceMean": "float x -> float: ReduceMean(x, last)",
    "ReduceMean of the first": "float x -> float: ReduceMean(x, first)",
    "ReduceMean of images":
        "float[1,64,128,128] x -> float: ReduceMean(x, image)",
    "ReduceSum": "float x -> float: ReduceSum(x, last)",
    "ReduceSum of the first": "float x -> float: ReduceSum(x, first)",
    "ReduceSum of the middle":
        "float[16,64,1024] x -> float: ReduceSum(x, middle)",
    "ReduceSum of all": "float x -> float: ReduceSum(x)",
    "ReduceSum of int64": "int64 x -> int64: ReduceSum(x, last)",
    "ReduceMax": "float x -> float: ReduceMax(x, last)",
    "ReduceMax of the first": "float x -> float: ReduceMax(x, first)",
    "ReduceMax of the middle":
        "float[16,64,1024] x -> float: ReduceMax(x, middle)",
    "ReduceL2": "float x -> float: ReduceL2(x, last)",
    "ArgMax": "float x -> int64: ArgMax<axis=1>(x)",
    "ArgMax of the first": "float x -> int64: ArgMax(x)",
    "CumSum": "float x -> float: CumSum(x, axis1)",
    "CumSum of the first": "float x -> float: CumSum(x, axis0)",
    "TopK": "float x -> float: y, i = TopK(x, ten)",
    "TopK of many": "float[1,1048576] x -> float: y, i = TopK(x, ten)",
    "Transpose": "float x -> float: Transpose(x)",
    "Transpose of heads":
        "float[1,1024,16,64] x -> float: Transpose<perm=[0,2,1,3]>(x)",
    "Transpose of keys":
        "float[1,1024,16,64] x -> float: Transpose<perm=[0,2,3,1]>(x)",
    "Transpose to NHWC":
        "float[1,64,128,128] x -> float: Transpose<perm=[0,2,3,1]>(x)",
    "Transpose to NCHW":
        "float[1,128,128,64] x -> float: Transpose<perm=[0,3,1,2]>(x)",
    "Transpose of bytes": "uint8 x -> uint8: Transpose(x)",
    "Transpose of float16": "float16 x -> float16: Transpose(x)",
    "Transpose of all":
        "float[32,32,32,32] x -> float: Transpose(x)",
    "Concat": "float x, float r -> float: Concat<axis=1>(x, r)",
    "Concat of the first": "float x, float r -> float: Concat<axis=0>(x, r)",
    "Concat of narrow":
        "float[65536,8] x, float[65536,8] r -> float: Concat<axis=1>(x, r)",
    "Split": "float x -> float: y, z = Split<axis=1,num_outputs=2>(x)",
    "Slice": "float x -> float: Slice(x, from, to)",
    "Slice with steps": "float x -> float: Slice(x, from, to, axes, steps)",
    "Slice backward": "float x -> float: Slice(x, end, begin, axes, back)",
    "Gather": "float[4096,256] x, int32[4096] i -> float: Gather(x, i)",
    "Gather of columns":
        "float x, int32[1024] i -> float: Gather<axis=1>(x, i)",
    "GatherElements": "float x, int32 i -> float: GatherElements<axis=1>(x, i)",
    "GatherND": "float[1024,1024] x, int64[1024,1] i -> float: GatherND(x, i)",
    "ScatterND":
        "float x, int64[1,1] i, float[1,1024] u -> float: ScatterND(x, i, u)",
    "Pad": "float[1,64,128,128] x -> float: Pad(x, pads)",
    "Pad by reflection":
        "float[1,64,128,128] x -> float: Pad<mode=\"reflect\">(x, pads)",
    "Pad by edge":
        "float[1,64,128,128] x -> float: Pad<mode=\"edge\">(x, pads)",
    "Expand": "float[1024] x -> float: Expand(x, square)",
    "Expand of a column": "float[1024,1] x -> float: Expand(x, square)",
    "Tile": "float[256,1024] x -> float: Tile(x, twice)",
    "Trilu": "float x -> float: Trilu<upper=0>(x)",
    "DepthToSpace":
        "float[1,64,128,128] x -> float: DepthToSpace<blocksize=2>(x)",
    "OneHot": "int64[1024] i -> float: OneHot(i, depth, onoff)",
    "NonZero": "bool x -> int64: NonZero(x)",
    "Cast to float": "float16 x -> float: Cast<to=1>(x)",
    "Cast to float16": "float x -> float16: Cast<to=10>(x)",
    "Cast to int64": "float x -> int64: Cast<to=7>(x)",
    "Cast to int32": "float x -> int32: Cast<to=6>(x)",
    "Cast to uint8": "float x -> uint8: Cast<to=2>(x)",
    "Cast to double": "float x -> double: Cast<to=11>(x)",
    "Cast to bool": "float x -> bool: Cast<to=9>(x)",
    "Cast from bool": "bool x -> float: Cast<to=1>(x)",
    "Cast from int64": "int64 x -> float: Cast<to=1>(x)",
    "Cast from int32": "int32 x -> float: Cast<to=1>(x)",
    "Cast int32 to int64": "int32 x -> int64: Cast<to=7>(x)",
    "Cast int64 to int32": "int64 x -> int32: Cast<to=6>(x)",
    "Cast to bfloat16 and back": "float x -> float: Cast<to=16>(x)",
    "Cast to float8e4m3fn and back": "float x -> float: Cast<to=17>(x)",
    "Cast to float8e5m2 and back": "float x -> float: Cast<to=19>(x)",
    "Cast to int4 and back": "float x -> float: Cast<to=22>(x)",
    "QuantizeLinear": "float x -> uint8: QuantizeLinear(x, scale, middle8)",
    "QuantizeLinear per axis": "float x, float[1024] s, uint8[1024] z -> "
                               "uint8: QuantizeLinear<axis=0>(x, s, z)",
    "QuantizeLinear per last axis":
        "float x, float[1024] s, uint8[1024] z -> "
        "uint8: QuantizeLinear<axis=1>(x, s, z)",
    "QuantizeLinear to int4 and back":
        "float x -> float: QuantizeLinear(x, scale, zero4)",
    "DequantizeLinear": "uint8 x -> float: DequantizeLinear(x, scale, middle8)",
    "DequantizeLinear per axis": "uint8 x, float[1024] s, uint8[1024] z -> "
                                 "float: DequantizeLinear<axis=0>(x, s, z)",
    "DequantizeLinear per last axis":
        "uint8 x, float[1024] s, uint8[1024] z -> "
        "float: DequantizeLinear<axis=1>(x, s, z)",
    "DynamicQuantizeLinear":
        "float x -> uint8: y, s, z = DynamicQuantizeLinear(x)",
    "Conv 3x3": "float[1,64,56,56] x, float[64,64,3,3] w -> "
                "float: Conv<pads=[1,1,1,1]>(x, w)",
    "Conv 3x3 stride 2":
        "float[1,256,14,14] x, float[256,256,3,3] w -> "
        "float: Conv<pads=[1,1,1,1], strides=[2,2]>(x, w)",
    "Conv 1x1":
        "float[1,256,56,56] x, float[64,256,1,1] w -> float: Conv(x, w)",
    "Conv 7x7 stride 2": "float[1,3,224,224] x, float[64,3,7,7] w -> "
                         "float: Conv<pads=[3,3,3,3], strides=[2,2]>(x, w)",
    **{f"Conv depthwise {k}x{k} stride {s} of {c}, {n}":
       f"float[1,{c},{n},{n}] x, float[{c},1,{k},{k}] w -> float: "
       f"Conv<pads=[{','.join([str(k // 2)] * 4)}], strides=[{s},{s}], "
       f"group={c}>(x, w)"
       for k, s, c, n in [(3, 1, 96, 56), (3, 1, 384, 14), (3, 2, 96, 112),
                          (5, 1, 240, 28), (5, 2, 240, 28), (5, 1, 960, 7),
                          (7, 1, 96, 56)]},
    "Conv 1-D": "float[1,80,3000] x, float[384,80,3] w -> "
                "float: Conv<pads=[1,1]>(x, w)",
    "Conv 3-D": "float[1,16,16,32,32] x, float[32,16,3,3,3] w -> "
                "float: Conv<pads=[1,1,1,1,1,1]>(x, w)",
    "ConvTranspose":
        "float[1,64,28,28] x, float[64,32,4,4] w -> "
        "float: ConvTranspose<pads=[1,1,1,1], strides=[2,2]>(x, w)",
    "MaxPool": "float[1,64,112,112] x -> "
               "float: MaxPool<kernel_shape=[3,3], strides=[2,2]>(x)",
    "AveragePool": "float[1,64,112,112] x -> "
                   "float: AveragePool<kernel_shape=[3,3], strides=[2,2]>(x)",
    "GlobalAveragePool": "float[1,64,112,112] x -> float: GlobalAveragePool(x)",
    "MatMulInteger": "uint8[128,768] x, int8[768,768] w -> "
                     "int32: MatMulInteger(x, w, middle8, zero8)",
    "MatMulInteger wide": "uint8[128,768] x, int8[768,3072] w -> "
                          "int32: MatMulInteger(x, w, middle8, zero8)",
    "QLinearMatMul": "uint8[128,768] x, int8[768,768] w -> "
                     f"uint8: QLinearMatMul{LINEAR}",
    "QLinearMatMul wide": "uint8[128,768] x, int8[768,3072] w -> "
                          f"uint8: QLinearMatMul{LINEAR}",
    "ConvInteger": "uint8[1,64,56,56] x, int8[64,64,3,3] w -> "
                   "int32: ConvInteger<pads=[1,1,1,1]>(x, w, middle8, zero8)",
    "QLinearConv": "uint8[1,64,56,56] x, int8[64,64,3,3] w -> "
                   f"uint8: QLinearConv<pads=[1,1,1,1]>{LINEAR}",
}
# What results of types that numpy lacks are made float by.
BACK = {"Cast": "Cast<to=1>(t)",
        "QuantizeLinear": "DequantizeLinear(t, scale, zero4)"}
CONSTANTS = """float zero = {0}, float one = {1}, float two = {2},
    float cube = {3}, float half = {0.5}, float odd = {1.7},
    float inverse = {-0.5}, int32 three = {3}, float scale = {0.02},
    uint8 middle8 = {128}, int8 zero8 = {0}, int4 zero4 = {0},
    int64[1] first = {0},
    int64[1] middle = {1}, int64[1] last = {-1}, int64[2] image = {2, 3},
    int64 axis0 = {0}, int64 axis1 = {1}, int64[1] ten = {10},
    int64[2] from = {0, 1}, int64[2] to = {1024, 1023},
    int64[2] axes = {0, 1}, int64[2] steps = {1, 2}, int64[2] back = {1, -1},
    int64[2] end = {0, 1023}, int64[2] begin = {1024, -1025},
    int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1},
    int64[2] square = {1024, 1024}, int64[2] twice = {2, 2},
    int64 depth = {1024}, float[2] onoff = {0, 1}"""
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
            kind = re.fullmatch(r"tensor\((.*)\)", each.type)[1]
            self.inputs[each.name] = (
                np.ones(shape, np.int64) if kind == "int64"
                else random.integers(0, 256, shape, kind) if "int" in kind
                else random.integers(0, 2, shape).astype(bool)
                if kind == "bool"
                else random.standard_normal(shape, np.float32).astype(
                    {"float": "float32"}.get(kind, kind)))
            if each.name == "p":
                self.inputs["p"] = np.abs(self.inputs["p"])

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


def one_op(path, text):
    given, node = text.split(": ", 1)
    given, made = given.split(" -> ")
    given = re.sub(r"(\w+) (\w+)", r"\1[1024,1024] \2", given)
    if path.stem.endswith("back"):
        node = f"t = {node} y = {BACK[re.match('[A-Za-z]+', node)[0]]}"
    elif " = " not in node:
        node = f"y = {node}"
    model = onnx.parser.parse_model(
        f'''<ir_version: 10, opset_import: ["": 23]>
        g ({given}) => ({made}[] y) <{CONSTANTS}> {{ {node} }}''')
    random = np.random.default_rng(0)
    for each in [i for i in model.graph.input if i.name == "w"]:
        model.graph.input.remove(each)
        kind = each.type.tensor_type
        shape = [d.dim_value for d in kind.shape.dim]
        model.graph.initializer.append(onnx.numpy_helper.from_array(
            random.standard_normal(shape, np.float32)
            if kind.elem_type == onnx.TensorProto.FLOAT
            else random.integers(-100, 100, shape, np.int8), "w"))
    onnx.save(model, path)


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
                one_op(path, what)
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
