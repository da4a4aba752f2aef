"""Whether two models compute the same, in ONNX Runtime, unoptimized."""

import ml_dtypes
import numpy as np
import onnxruntime


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        path if isinstance(path, bytes) else str(path), options, providers=["CPUExecutionProvider"])


def grown(model, saved):
    """Inputs with each symbolic dimension longer by one; None if there is none.
    A mask over a cache and new tokens grows by two."""
    has_cache = any(name.startswith("past") for name in saved)
    feeds, grew = {}, False
    for value in model.graph.input:
        if value.name not in saved:
            continue
        array, pad = saved[value.name], []
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            both = has_cache and "mask" in value.name and axis == 1
            pad.append((0, (2 if both else 1) if dim.dim_param else 0))
        grew |= any(after for _, after in pad)
        mode = "edge" if "mask" in value.name else "wrap"
        feeds[value.name] = np.pad(array, pad, mode=mode) if pad else array
    return feeds if grew else None


def with_holes(saved):
    """Inputs with a mask that is no right-padding; None without a mask."""
    mask = saved.get("attention_mask")
    if mask is None or mask.ndim != 2:
        return None
    holes = np.ones_like(mask)
    holes[0, 0] = 0
    holes[-1, mask.shape[1] // 2] = 0
    return {**saved, "attention_mask": holes}


def input_sets(model, saved):
    sets = {"saved": saved, "grown": grown(model, saved),
            "holes": with_holes(saved)}
    return {name: feeds for name, feeds in sets.items() if feeds is not None}


# The tolerance between two ways to compute the same, relative to an element plus
# the typical magnitude. For float16 it is the error of attention from rounded
# scores.
TOLERANCE = {"float64": 1e-7, "float32": 2e-5, "float16": 2e-2,
             "bfloat16": 0.15}
# The minimum, for outputs that only consist of cancellation errors.
LEAST_SCALE = 1e-3


def scale_of(numbers):
    """The typical magnitude of elements. The median ignores a few huge numbers,
    as of masks; zeros are excluded."""
    numbers = np.abs(numbers[numbers != 0])
    return max(float(np.median(numbers)) if numbers.size else 0, LEAST_SCALE)


def moved(feeds):
    """Every number moved by two roundings in a random direction."""
    random = np.random.default_rng(len(feeds))

    def move(array):
        if array.dtype.kind != "f" and array.dtype.name != "bfloat16":
            return array
        step = ml_dtypes.finfo(array.dtype).eps * 2
        signs = random.choice((-1, 1), array.shape)
        return (array * (1 + step * signs)).astype(array.dtype)

    with np.errstate(all="ignore"):
        return {name: move(np.asarray(array)) for name, array in feeds.items()}


def difference(want, got, tolerance=None, near=None):
    """None, or how the second array differs from the first, by element. If the
    first is NaN (a row that sees no key), any number is accepted. `near` is the
    first for moved inputs: numbers may differ as much as that."""
    want, got = np.asarray(want), np.asarray(got)
    if want.shape != got.shape or want.dtype != got.dtype:
        return f"{got.dtype}{got.shape}, was {want.dtype}{want.shape}"
    is_float = want.dtype.kind == "f" or want.dtype.name == "bfloat16"
    if not is_float:
        seen = want == (want if near is None else near)
        return None if np.array_equal(want[seen], got[seen]) else "other values"
    if tolerance is None:
        tolerance = TOLERANCE.get(want.dtype.name, 0)
    want, got = want.astype(np.float64), got.astype(np.float64)
    near = want if near is None else np.asarray(near).astype(np.float64)
    # Numbers that overflow or not depending on the smallest change are ignored.
    seen = ~np.isnan(want) & (np.isfinite(want) == np.isfinite(near))
    want, got, near = want[seen], got[seen], near[seen]
    if not want.size:
        return None
    finite = np.isfinite(want)
    if not np.array_equal(want[~finite], got[~finite]):
        return "other infinities"
    want, got, near = want[finite], got[finite], near[finite]
    scale = scale_of(want) + np.abs(want)
    slack = 16 * np.max(np.abs(near - want), initial=0)
    error = np.max((np.abs(want - got) - slack) / scale, initial=0)
    return None if error <= tolerance else f"relative error {error:.2g}"


def disagreements(original, result, model, saved):
    """Differences of `result` and `original` in ONNX Runtime, on all inputs."""
    before = session(original)
    try:
        after = session(result)
    except Exception as error:  # pylint: disable=broad-except
        return [f"the result does not load: {str(error)[:200]}"]
    names = {value.name for value in before.get_inputs()}
    found = []
    for label, feeds in input_sets(model, saved).items():
        feeds = {name: v for name, v in feeds.items() if name in names}
        try:
            want = before.run(None, feeds)
        except Exception:  # pylint: disable=broad-except
            if label == "saved":
                raise
            continue  # the original itself refuses these inputs
        try:
            got = after.run(None, feeds)
        except Exception as error:  # pylint: disable=broad-except
            found.append(f"{label}: does not run: {str(error)[:200]}")
            continue
        for value, x, y in zip(before.get_outputs(), want, got):
            if (what := difference(x, y)) is not None:
                found.append(f"{label}: {value.name}: {what}")
    return found
