#!/usr/bin/env python3
"""The serving packs on deep and on heavy models: seconds over layers of the
example's tensor-parallel decoder, and memory while 4 GB of linears are merged."""

import importlib.util
import pathlib
import tempfile

import make_model
import measure
import onnx

LAYERS = [50, 100, 200, 400, 800]
PATH = measure.ROOT / "examples" / "tensor_parallel_decoder.py"
SPEC = importlib.util.spec_from_file_location(PATH.stem, PATH)
example = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(example)


class InPieces(example.Decoder):
    """Separate sums and norms: chains that are sharded as a whole."""

    def op(self, kind, *inputs, domain="", outputs=1, **attributes):
        if kind != "add_rms_norm2":
            return super().op(kind, *inputs, domain=domain, outputs=outputs,
                              **attributes)
        total = self.op("Add", *inputs[:2])
        return [self.op("LayerNormalization", total, inputs[2]), total]


def deep(folder, kind, name):
    packs = sorted((measure.ROOT / "rules").glob("*.lua"))
    costs, nodes = [], []
    for layers in LAYERS:
        shape = example.Shape(layers=layers, tokens=8, hidden=24, heads=4,
                              inner=48, quantize=True)
        model = kind(shape, 0, 2).model()
        path = folder / "deep.onnx"
        onnx.save(model, path)
        nodes.append(len(model.graph.node))
        costs.append(min(measure.run(
            [measure.PROGRAM, "run", *packs, path, "-o", folder / "out.onnx",
             "-q", "--set", "sequence_parallel.enable=true"]).cpu
            for _ in range(5)))
    detail = ", ".join(f"{count} nodes: {cost:.3f} s"
                       for count, cost in zip(nodes, costs))
    return [
        measure.Row(f"every pack, {LAYERS[0]} to {LAYERS[-1]} quantized layers"
                    f"{name}: exponent", measure.exponent(LAYERS, costs), 1.10,
                    detail=detail),
        measure.Row(f"200 layers{name}, s", costs[LAYERS.index(200)], 1),
        measure.Row(f"{nodes[-1]} nodes{name}, s", costs[-1], 1),
    ]


def heavy(folder):
    path = folder / "heavy.onnx"
    make_model.make(path, layers=5, hidden=4096, heads=32, external=True)
    size = sum(f.stat().st_size for f in folder.glob("heavy.onnx*")) / 2 ** 30
    usage = measure.run([measure.PROGRAM, "run",
                         measure.ROOT / "rules" / "linear.lua", path, "-o",
                         folder / "merged.onnx"], poll=True)
    assert "merge_linear" in usage.output, usage.output
    return [measure.Row(f"merging {size:.1f} GiB: anonymous MiB",
                        usage.anonymous, 200,
                        detail=f"peak {usage.peak:.0f} MiB, "
                               f"{usage.wall:.1f} s")]


def bench(folder):
    return (deep(folder, example.Decoder, "")
            + deep(folder, InPieces, " in pieces") + heavy(folder))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        measure.show(bench(pathlib.Path(temporary)))
