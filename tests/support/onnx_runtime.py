"""The contents of core/ops/onnx_runtime.h, from the installed ONNX Runtime.
`python -m support.onnx_runtime` prints the tables."""

import collections
import pathlib
import tempfile

import onnx
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

NO_END = 2**31 - 1


def session(model, optimized=None):
    """The model loaded, all optimizations on; `optimized`: where to save it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if optimized:
        options.graph_optimization_level = (
            onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC)
        options.optimized_model_filepath = str(optimized)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def relu(opset):
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> '
        "g (float[1] x) => (float[1] y) { y = Relu(x) }")


def newest_opset():
    """The newest opset that it loads."""
    for opset in range(onnx.defs.onnx_opset_version(), 0, -1):
        try:
            session(relu(opset))
        except Exception:  # pylint: disable=broad-except
            continue
        return opset
    raise AssertionError("it loads no opset")


def implied_opsets():
    """(domain, version) of its default imports, which it writes when it saves."""
    with tempfile.TemporaryDirectory() as folder:
        saved = pathlib.Path(folder) / "m.onnx"
        session(relu(newest_opset()), saved)
        return sorted((o.domain, o.version) for o in onnx.load(saved).opset_import)


def serves(kernel, version):
    """A kernel without an end of its versions counts for the first one."""
    first, last = kernel
    return first == version or (first < version <= last != NO_END)


def last_kernels():
    """(op, last opset with a kernel) of ops that have later versions without one."""
    kernels = collections.defaultdict(set)
    for kernel in runtime.get_all_opkernel_def():
        if kernel.domain == "":
            kernels[kernel.op_name].add(tuple(kernel.version_range))
    versions = collections.defaultdict(dict)
    newest = newest_opset()
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain or schema.deprecated or schema.since_version > newest:
            continue
        # An op with a function body runs without a kernel.
        versions[schema.name][schema.since_version] = (
            any(serves(kernel, schema.since_version) for kernel in kernels[schema.name])
            or schema.has_function or schema.has_context_dependent_function)
    for name, runs in sorted(versions.items()):
        lost = [b for a, b in zip(sorted(runs), sorted(runs)[1:]) if runs[a] and not runs[b]]
        if lost:
            assert not any(runs[version] for version in runs if version > lost[0]), name
            yield name, lost[0] - 1


if __name__ == "__main__":
    print(f"// {onnxruntime.__version__}")
    for domain, version in implied_opsets():
        print(f'    ImpliedOpset{{"{domain}", {version}}},')
    for op, opset in last_kernels():
        print(f'    LastKernel{{"{op}", {opset}}},')
