"""The rivals on the same GPU: PyTorch and ONNX Runtime, where they are."""

import functools
import time

from tool import Trouble

NAMES = {"float": "float32", "float16": "float16", "bfloat16": "bfloat16"}


@functools.cache
def torch():
    """The module, with a GPU; Trouble without one."""
    try:
        import torch as found
    except Exception as error:
        raise Trouble(f"no PyTorch ({error})") from None
    if not found.cuda.is_available():
        raise Trouble("PyTorch finds no GPU")
    return found


@functools.cache
def onnxruntime():
    try:
        import onnxruntime as found
    except Exception as error:
        raise Trouble(f"no ONNX Runtime ({error})") from None
    if "CUDAExecutionProvider" not in found.get_available_providers():
        raise Trouble("ONNX Runtime has no CUDA")
    return found


def absent():
    """A line for each that is not there."""
    out = []
    for each in (torch, onnxruntime):
        try:
            each()
        except Trouble as trouble:
            out.append(f"{trouble}: left out")
    return out


def dtype_of(name):
    return getattr(torch(), NAMES[name])


def replay_seconds(work, repeats=8, replays=12):
    """Median seconds on the device of `work`, recorded `repeats` times in a
    graph."""
    t = torch()
    stream = t.cuda.Stream()
    with t.cuda.stream(stream):
        for _ in range(3):
            work()
    stream.synchronize()
    graph = t.cuda.CUDAGraph()
    with t.cuda.graph(graph):
        for _ in range(repeats):
            work()
    times = []
    for _ in range(replays):
        begin, end = (t.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / repeats)
    return sorted(times)[len(times) // 2]


def wall_seconds(work, rounds=20):
    """Median seconds of a call that is waited for, on the host."""
    t = torch()
    times = []
    for i in range(rounds + 3):
        t.cuda.synchronize()
        begun = time.perf_counter()
        work()
        t.cuda.synchronize()
        if i >= 3:
            times.append(time.perf_counter() - begun)
    return sorted(times)[len(times) // 2]


def attention_seconds(shape):
    """PyTorch's scaled_dot_product_attention, the backend that it chooses."""
    t = torch()
    how = {"device": "cuda", "dtype": dtype_of(shape.dtype)}
    q = t.randn(shape.b, shape.hq, shape.sq, shape.d, **how)
    k, v = (t.randn(shape.b, shape.hkv, shape.skv, shape.d, **how)
            for _ in range(2))
    mask = t.randn(*shape.mask_dims(), **how) if shape.mask else None
    more = {"enable_gqa": True} if shape.hq != shape.hkv else {}

    def work():
        return t.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=shape.causal, **more)

    with t.no_grad():
        return replay_seconds(work)


def onnxruntime_seconds(path, feeds, rounds=20):
    """A session's run on CUDA, inputs and outputs on the host."""
    ort = onnxruntime()
    options = ort.SessionOptions()
    options.log_severity_level = 3
    try:
        session = ort.InferenceSession(
            str(path), options, providers=["CUDAExecutionProvider",
                                           "CPUExecutionProvider"])
        times = []
        for i in range(rounds + 3):
            begun = time.perf_counter()
            session.run(None, feeds)
            if i >= 3:
                times.append(time.perf_counter() - begun)
    except Exception as error:
        raise Trouble(" ".join(str(error).split())[:200]) from None
    return sorted(times)[len(times) // 2]
