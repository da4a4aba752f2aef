"""The backend node tests of the ONNX package, run by `ruleengine exec`.

    conformance.py --program build/ruleengine [--ops Add,Sub] [--kind node,simple]

Each case is written as a model with its inputs inside (initializers of the same
name; nodes for sequences and optionals), and its outputs are compared with the
expected ones with the tolerances of the suite.
"""

import argparse
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.program import SANITIZED, SANITIZERS  # noqa: E402

NARROW = {onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT8E4M3FN,
          onnx.TensorProto.FLOAT8E4M3FNUZ, onnx.TensorProto.FLOAT8E5M2,
          onnx.TensorProto.FLOAT8E5M2FNUZ, onnx.TensorProto.FLOAT8E8M0}


def walk(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from walk(attribute.g)


def ops_of(model):
    return {f"{n.domain}::{n.op_type}" if n.domain else n.op_type
            for n in walk(model.graph)}


@functools.cache
def node_cases():
    """[(name, model, inputs, outputs, rtol, atol)], each as protos or arrays."""
    from onnx.backend.test.case.node import collect_testcases
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(c.name, c.model, c.data_sets[0][0], c.data_sets[0][1],
                 c.rtol, c.atol) for c in collect_testcases(None)]


def file_cases(kind):
    import onnx.backend.test
    root = pathlib.Path(onnx.backend.test.__file__).parent / "data" / kind
    for folder in sorted(root.iterdir()):
        path = folder / "model.onnx"
        if not path.exists():
            continue
        model = onnx.load(path)
        data = folder / "test_data_set_0"
        def read(prefix, values):
            out = []
            for i, value in enumerate(values):
                file = data / f"{prefix}_{i}.pb"
                if not file.exists():
                    break
                which = value.type.WhichOneof("value")
                proto = {"tensor_type": onnx.TensorProto,
                         "sequence_type": onnx.SequenceProto,
                         "optional_type": onnx.OptionalProto}[which]()
                proto.ParseFromString(file.read_bytes())
                out.append(proto)
            return out
        yield (folder.name, model, read("input", model.graph.input),
               read("output", model.graph.output), 1e-3, 1e-7)


def to_array(x):
    """Arrays, lists of them, or None, whatever the form of the test data."""
    if isinstance(x, onnx.TensorProto):
        return numpy_helper.to_array(x)
    if isinstance(x, onnx.SequenceProto):
        return numpy_helper.to_list(x)
    if isinstance(x, onnx.OptionalProto):
        return numpy_helper.to_optional(x)
    return x


def tensor(x, name, elem):
    if isinstance(x, onnx.TensorProto):
        out = onnx.TensorProto()
        out.CopyFrom(x)
        out.name = name
        return out
    array = np.asarray(x)
    if elem == onnx.TensorProto.STRING:
        return helper.make_tensor(name, elem, array.shape,
                                  [str(s).encode() if not isinstance(s, bytes)
                                   else s for s in array.ravel().tolist()])
    out = numpy_helper.from_array(array, name)
    if out.data_type != elem and array.dtype.itemsize == 1:
        out.data_type = elem
    return out


class Holder:
    """A model with its inputs inside."""

    def __init__(self, model, inputs):
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        graph = self.model.graph
        self.nodes = []
        kept = []
        have = {i.name for i in graph.initializer}
        formals = [i for i in graph.input if i.name not in have]
        for formal, value in zip(formals, inputs):
            which = formal.type.WhichOneof("value")
            if which == "tensor_type":
                graph.initializer.append(tensor(
                    value, formal.name, formal.type.tensor_type.elem_type))
                kept.append(formal)
            else:
                self.make(formal.name, formal.type, to_array(value))
        del graph.input[:]
        graph.input.extend(kept)
        nodes = list(graph.node)
        del graph.node[:]
        graph.node.extend(self.nodes + nodes)

    def make(self, name, type_proto, value):
        which = type_proto.WhichOneof("value")
        if which == "tensor_type":
            self.model.graph.initializer.append(
                tensor(value, name, type_proto.tensor_type.elem_type))
        elif which == "sequence_type":
            item = type_proto.sequence_type.elem_type
            if not value:
                self.nodes.append(helper.make_node(
                    "SequenceEmpty", [], [name],
                    dtype=item.tensor_type.elem_type))
                return
            names = [f"{name}_{i}" for i in range(len(value))]
            for each, array in zip(names, value):
                self.make(each, item, array)
            self.nodes.append(helper.make_node("SequenceConstruct", names,
                                               [name]))
        elif which == "optional_type":
            item = type_proto.optional_type.elem_type
            if value is None:
                self.nodes.append(helper.make_node("Optional", [], [name],
                                                   type=item))
            else:
                self.make(name + "_value", item, value)
                self.nodes.append(helper.make_node(
                    "Optional", [name + "_value"], [name]))
        else:
            raise ValueError(which)


def expected(model, outputs):
    """{name: array}, sequences as NAME/0, NAME/1, ..."""
    out = {}
    for formal, value in zip(model.graph.output, outputs):
        array = to_array(value)
        if array is None:
            continue
        if isinstance(array, list):
            for i, each in enumerate(array):
                out[f"{formal.name}/{i}"] = np.asarray(each)
        else:
            out[formal.name] = np.asarray(array)
    return out


def as_numbers(array, like):
    """An array of an .npz as numbers of the expected type."""
    if array.dtype.kind == "V":
        array = array.view(like.dtype) if like.dtype.itemsize == \
            array.dtype.itemsize else array
    if like.dtype.name == "float4_e2m1fn" and array.dtype == np.uint8:
        array = array.view(like.dtype)
    elif like.dtype.kind == "V" or like.dtype.name in (
            "int4", "uint4", "int2", "uint2"):
        array = array.astype(like.dtype)
    return array


def compare(want, got, rtol, atol):
    """None, or how they differ."""
    if want.shape != got.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if want.dtype.kind in "OUS":
        same = [str(a) == str(b) if not isinstance(a, bytes)
                else a.decode() == str(b)
                for a, b in zip(want.ravel().tolist(), got.ravel().tolist())]
        return None if all(same) else f"strings differ: {got} for {want}"
    got = as_numbers(got, want)
    if want.dtype != got.dtype:
        return f"type {got.dtype}, expected {want.dtype}"
    if want.dtype.kind not in "fciub":
        want, got = want.astype(np.float64), got.astype(np.float64)
    if np.allclose(got, want, rtol=rtol, atol=atol, equal_nan=True):
        return None
    with np.errstate(all="ignore"):
        worst = np.nanmax(np.abs(got.astype(np.complex128) -
                                 want.astype(np.complex128)))
    return f"differs by {worst}"


class Crash(Exception):
    """The program died, or a sanitizer stopped it."""


def execute(program, source, result):
    """None, or why `exec` fails."""
    result.unlink(missing_ok=True)
    try:
        done = subprocess.run(
            [program, "exec", source, "--outputs", result],
            env={**os.environ, **SANITIZERS}, capture_output=True, text=True,
            check=False, timeout=120)
    except subprocess.TimeoutExpired:
        return "no end after 120 s"
    if done.returncode < 0 or done.returncode == SANITIZED:
        raise Crash(f"exit code {done.returncode}: {done.stderr}")
    if done.returncode:
        return done.stderr.strip() or f"exit code {done.returncode}"
    return None


def run_case(program, folder, case, rewrite=()):
    """None, or why the case fails."""
    try:
        held = Holder(case[1], case[2]).model
    except (ValueError, TypeError) as error:
        return f"the case cannot be written: {error}"
    source, result = folder / "case.onnx", folder / "out.npz"
    source.write_bytes(held.SerializeToString())
    if rewrite:
        done = subprocess.run([program, "run", *rewrite, source, "-o",
                               folder / "rewritten.onnx", "-q"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            return "run: " + done.stderr.strip()
        source = folder / "rewritten.onnx"
    return execute(program, source, result) or judge(case, load(result))


def load(path):
    with np.load(path, allow_pickle=False) as saved:
        return {key: saved[key] for key in saved.files}


def judge(case, got):
    """None, or how the outputs of a case differ from the expected ones."""
    _, model, _, outputs, rtol, atol = case
    want = expected(model, outputs)
    if set(want) != set(got):
        return f"outputs {sorted(got)}, expected {sorted(want)}"
    for key, array in want.items():
        why = compare(array, got[key], rtol, atol)
        if why:
            return f"{key}: {why}"
    return None


# --- Many cases in one model --------------------------------------------------

BATCH = 64


def batches(all_cases):
    """Lists of cases that fit into one model: of the same opsets, without
    functions."""
    open_ones = {}
    for case in all_cases:
        model = case[1]
        key = (model.ir_version, tuple(sorted(
            (o.domain, o.version) for o in model.opset_import)))
        if model.functions:
            yield [case]
            continue
        batch = open_ones.setdefault(key, [])
        batch.append(case)
        if len(batch) == BATCH:
            yield open_ones.pop(key)
    yield from open_ones.values()


def joined(batch):
    """One model with the nodes of all cases; names of case N begin with cN."""
    out = onnx.ModelProto()
    out.CopyFrom(batch[0][1])
    out.ClearField("graph")
    out.graph.name = "batch"
    for i, case in enumerate(batch):
        held = Holder(case[1], case[2]).model
        graph = onnx.compose.add_prefix(held, f"c{i}:").graph
        for value in (*graph.input, *graph.output):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param:
                    dim.dim_param = f"c{i}{dim.dim_param}"
        for field in "node", "input", "output", "initializer":
            getattr(out.graph, field).extend(getattr(graph, field))
        out.graph.sparse_initializer.extend(graph.sparse_initializer)
    return out


def run_batch(program, folder, batch):
    """{name: None, or why the case fails}. If all together cannot run, each
    runs alone to find the one that cannot; if there is none, all fail."""
    if len(batch) == 1:
        return {batch[0][0]: run_case(program, folder, batch[0])}
    source, result = folder / "batch.onnx", folder / "batch.npz"
    source.write_bytes(joined(batch).SerializeToString())
    why = execute(program, source, result)
    if why is None:
        got = [{} for _ in batch]
        for key, array in load(result).items():
            case, name = key[1:].split(":", 1)
            got[int(case)][name] = array
        return {case[0]: judge(case, own) for case, own in zip(batch, got)}
    alone = {case[0]: run_case(program, folder, case) for case in batch}
    if any(alone.values()):
        return alone
    return {name: f"fails beside others: {why}" for name in alone}


def cases(kinds):
    for kind in kinds:
        yield from node_cases() if kind == "node" else file_cases(kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--ops", help="cases that have one of these ops")
    parser.add_argument("--kind", default="node")
    parser.add_argument("--rewrite", nargs="*", default=())
    options = parser.parse_args()
    wanted = set(options.ops.split(",")) if options.ops else None
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(options.kind.split(",")):
            if wanted and not wanted & ops_of(case[1]):
                continue
            why = run_case(options.program, pathlib.Path(folder), case,
                           options.rewrite)
            passed, failed = passed + (why is None), failed + (why is not None)
            if why:
                print(f"{case[0]}: {why}\n")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
