#!/usr/bin/env python3
"""The gain of ONNX Runtime from a rewritten model: seconds of one inference of
the original over those of each target's result, in alternating runs, with all
of the runtime's own optimizations and with none."""

import pathlib
import statistics
import tempfile
import time

import make_decoder
import make_model
import measure
import numpy as np
import onnxruntime

LAYERS, HIDDEN, HEADS, GROUPS = 6, 384, 6, 2
SHAPES = {"1 x 128": (1, 128), "8 x 64": (8, 64)}
TARGETS = ["portable", "onnx", "ort"]
LEVELS = {"optimized by the runtime": "ORT_ENABLE_ALL",
          "as it is": "ORT_DISABLE_ALL"}


def session(path, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(
        onnxruntime.GraphOptimizationLevel, level)
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"])


def seconds(sessions, feeds, rounds=15):
    """{name: median} of alternating runs; the first round warms up."""
    runs = {name: [] for name in sessions}
    for _ in range(rounds + 1):
        for name, one in sessions.items():
            begun = time.perf_counter()
            one.run(None, feeds)
            runs[name].append(time.perf_counter() - begun)
    return {name: statistics.median(taken[1:])
            for name, taken in runs.items()}


def of_model(folder, kind, original):
    files = {"original": original}
    packs = sorted((measure.ROOT / "rules").glob("*.lua"))
    for target in TARGETS:
        files[target] = folder / f"{kind}.{target}.onnx"
        measure.run([measure.PROGRAM, "run", *packs, files["original"], "-o",
                     files[target], "--target", target, "-q"])
    rows = []
    for label, level in LEVELS.items():
        sessions = {name: session(path, level)
                    for name, path in files.items()}
        for shape, (batch, length) in SHAPES.items():
            feeds = {"x": np.random.default_rng(0).standard_normal(
                (batch, length, HIDDEN)).astype(np.float32)}
            taken = seconds(sessions, feeds)
            rows += [measure.Row(
                f"latency of {kind} for {target}, {shape}, {label}: original "
                "over ours", taken["original"] / taken[target],
                detail=f"{taken['original'] * 1e3:.1f} ms, "
                       f"{taken[target] * 1e3:.1f} ms") for target in TARGETS]
    return rows


def bench(folder):
    encoder, decoder = folder / "encoder.onnx", folder / "decoder.onnx"
    make_model.make(encoder, LAYERS, HIDDEN, HEADS)
    make_decoder.make(decoder, LAYERS, HIDDEN, HEADS, GROUPS)
    return [*of_model(folder, "an encoder", encoder),
            *of_model(folder, "a decoder", decoder)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        measure.show(bench(pathlib.Path(temporary)))
