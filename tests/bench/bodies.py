#!/usr/bin/env python3
"""Kernels beside the function bodies that the standard has for their ops.

A kernel of such an op is worth its lines only where it is much faster. Both
models are run in turn by `ruleengine bench`; the ratio is the time of the
kernel over that of the body, with a confidence of 95 %.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import onnx
from onnx import helper

# (op, domain, attributes, sizes of float inputs, number of outputs)
CASES = [
    ("LinearAttention", "", {"q_num_heads": 8, "kv_num_heads": 8,
                             "update_rule": "linear"},
     [(1, 256, 512)] * 3, 2),
    ("LinearAttention", "", {"q_num_heads": 8, "kv_num_heads": 8,
                             "update_rule": "linear"},
     [(1, 1, 512)] * 3 + [(1, 8, 64, 64)], 2),
    ("CausalConvWithState", "", {}, [(1, 512, 256), (512, 1, 4)], 2),
    ("CausalConvWithState", "", {}, [(1, 512, 1), (512, 1, 4), (512,),
                                     (1, 512, 3)], 2),
    ("FlexAttention", "ai.onnx.preview", {}, [(1, 8, 256, 64)] * 3, 1),
    ("MeanVarianceNormalization", "", {}, [(1, 64, 56, 56)], 1),
    ("LayerNormalization", "", {}, [(1, 256, 768), (768,)], 1),
    ("RMSNormalization", "", {}, [(1, 256, 768), (768,)], 1),
    ("Softmax", "", {}, [(8, 256, 256)], 1),
    ("Gelu", "", {}, [(1, 256, 3072)], 1),
    ("HardSwish", "", {}, [(1, 64, 56, 56)], 1),
    ("Mish", "", {}, [(1, 64, 56, 56)], 1),
    ("ReduceL2", "", {}, [(256, 768)], 1),
]


def body_of(schema, node, types, opset):
    """The function of this call."""
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= opset]
        data = schema.get_function_with_opset_version(versions[-1])
    else:
        versions = schema.context_dependent_function_opset_versions
        data = schema.get_context_dependent_function_with_opset_version(
            versions[-1], node.SerializeToString(),
            [t.SerializeToString() for t in types])
    function = onnx.FunctionProto.FromString(data)
    if all(each.domain for each in function.opset_import):
        function.opset_import.append(helper.make_opsetid("", opset))
    del function.output[len(node.output):]
    return function


def models_of(op, domain, attributes, shapes, outputs):
    """The op alone, and a call of its body."""
    schema = onnx.defs.get_schema(op, domain)
    opset = onnx.defs.onnx_opset_version()
    inputs = [helper.make_tensor_value_info(f"x{i}", onnx.TensorProto.FLOAT, s)
              for i, s in enumerate(shapes)]
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, [i.name for i in inputs], names,
                            domain=domain, **attributes)
    body = body_of(schema, node, [i.type for i in inputs], opset)
    given = {a.name for a in node.attribute}
    defaults = [v.default_value for k, v in schema.attributes.items()
                if v.default_value.name and k not in given]
    call = helper.make_node(body.name, [i.name for i in inputs], names,
                            domain="bench", **attributes)
    call.attribute.extend(defaults)
    body.domain = "bench"
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("bench", 1),
               helper.make_opsetid("ai.onnx.preview", 1)]

    def model(made, functions):
        graph = helper.make_graph(
            [made], "g", inputs, [onnx.ValueInfoProto(name=n) for n in names])
        return helper.make_model(graph, opset_imports=imports, ir_version=12,
                                 functions=functions)
    return model(node, []), model(call, [body])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ruleengine", default="build/ruleengine")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print("| op | inputs | kernel, ms | body, ms | kernel / body |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / name for name in ("op.onnx", "body.onnx")]
        for case in CASES:
            for path, model in zip(paths, models_of(*case)):
                onnx.save(model, path)
            done = subprocess.run(
                [options.ruleengine, "bench", *paths[:1], "--against", paths[1],
                 "--threads", str(options.threads), "--json"],
                check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            ratio = found["ratio"]
            shapes = ", ".join("x".join(map(str, s)) for s in case[3])
            print(f"| {case[0]} | {shapes} | {found['ms']['median']:.3f} "
                  f"| {found['against']['ms']['median']:.3f} "
                  f"| {ratio['median']:.3f} ({ratio['low']:.3f} to "
                  f"{ratio['high']:.3f}) |", flush=True)


if __name__ == "__main__":
    main()
