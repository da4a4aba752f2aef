#!/usr/bin/env python3
"""adapters.py RUNTIME: adapts a runtime from PyPI for `ruleengine tune`.

iree, MNN, onnx2torch, tract and tvm. All use one thread. Compilers compile for
the sizes of the inputs, untuned, when the model is loaded.
"""

import importlib.metadata
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings" / "runtimes"))
import protocol  # noqa: E402 pylint: disable=import-error,wrong-import-position

# pylint: disable=import-error,import-outside-toplevel


def names(model):
    weights = {each.name for each in model.graph.initializer}
    return [each.name for each in model.graph.input
            if each.name not in weights]


def convert(name, path, result, *options):
    """Runs the package's own converter; raises if it writes no result."""
    done = subprocess.run([pathlib.Path(sys.executable).parent / name,
                           *options], capture_output=True, text=True,
                          check=False)
    said = (done.stdout + done.stderr).strip()
    if done.returncode or not result.exists():
        raise ValueError(said[-500:] or f"{name} cannot convert {path}")


def tract(path, feed):
    import tract as library
    model = library.onnx().load(path).into_model()
    inputs = [model.input_name(i) for i in range(model.input_count())]
    runnable = model.into_runnable()
    arrays = [np.ascontiguousarray(feed[name]) for name in inputs]
    return lambda: [each.to_numpy() for each in runnable.run(arrays)]


def onnx2torch(path, feed):
    import onnx2torch as library
    import torch
    torch.set_num_threads(1)
    model = onnx.load(path)
    module = library.convert(model).eval()
    tensors = [torch.from_numpy(feed[name]) for name in names(model)]

    def run():
        with torch.no_grad():
            outputs = module(*tensors)
        one = isinstance(outputs, torch.Tensor)
        return [each.numpy() for each in ([outputs] if one else outputs)]

    return run


def tvm(path, feed):
    os.environ["TVM_NUM_THREADS"] = "1"
    import tvm as library
    from tvm.relax import VirtualMachine
    from tvm.relax.frontend.onnx import from_onnx
    model = onnx.load(path)
    inputs = names(model)
    module = from_onnx(model, shape_dict={
        name: list(feed[name].shape) for name in inputs})
    machine = VirtualMachine(library.compile(module, "llvm"), library.cpu())
    tensors = [library.runtime.tensor(feed[name]) for name in inputs]

    def run():
        outputs = machine["main"](*tensors)
        one = hasattr(outputs, "numpy")
        return [each.numpy() for each in ([outputs] if one else outputs)]

    return run


def iree(path, feed):
    from iree import compiler, runtime
    with tempfile.TemporaryDirectory() as folder:
        imported = pathlib.Path(folder) / "model.mlir"
        convert("iree-import-onnx", path, imported, path, "-o", imported)
        code = compiler.compile_file(
            str(imported), target_backends=["llvm-cpu"], input_type="onnx",
            extra_args=["--iree-llvmcpu-target-cpu=host"])
    module = runtime.load_vm_flatbuffer(code, driver="local-sync")
    model = onnx.load(path)
    device = runtime.get_device("local-sync")
    arrays = [runtime.asdevicearray(device, feed[name])
              for name in names(model)]
    function = module[model.graph.name]

    def run():
        outputs = function(*arrays)
        one = not isinstance(outputs, (list, tuple))
        return [each.to_host() for each in ([outputs] if one else outputs)]

    return run


def mnn(path, feed):
    from MNN import expr, nn
    model = onnx.load(path)
    inputs = names(model)
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "model.mnn"
        convert("mnnconvert", path, result, "-f", "ONNX", "--modelFile",
                path, "--MNNModel", result, "--bizCode", "x")
        module = nn.load_module_from_file(
            str(result), inputs, [each.name for each in model.graph.output])

    values = []
    for name in inputs:
        array = np.ascontiguousarray(feed[name])
        whole = array.dtype.kind in "iub"
        values.append(expr.const(
            array.astype(np.int32 if whole else np.float32),
            list(array.shape), expr.NCHW, expr.int if whole else expr.float))
    return lambda: [np.array(each.read()) for each in module.forward(values)]


PACKAGES = {"iree": (iree, "iree-base-compiler"), "MNN": (mnn, "MNN"),
            "onnx2torch": (onnx2torch, "onnx2torch"),
            "tract": (tract, "tract"), "tvm": (tvm, "apache-tvm")}

if __name__ == "__main__":
    load, package = PACKAGES[sys.argv[1]]
    protocol.serve(f"{sys.argv[1]} {importlib.metadata.version(package)}",
                   load)
