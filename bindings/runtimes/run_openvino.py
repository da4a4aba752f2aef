"""OpenVINO's Python package as a runtime of `ruleengine tune`.

RULEENGINE_THREADS sets the threads (OpenVINO's default: one for each core),
RULEENGINE_DEVICE the device (CPU), RULEENGINE_PRECISION the precision that
OpenVINO computes in (f32).
"""

import os

import openvino

import protocol


def load(path, feed):
    core = openvino.Core()
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": os.environ.get("RULEENGINE_PRECISION",
                                                   "f32")}
    if "RULEENGINE_THREADS" in os.environ:
        settings["INFERENCE_NUM_THREADS"] = os.environ["RULEENGINE_THREADS"]
    model = core.compile_model(path, os.environ.get("RULEENGINE_DEVICE", "CPU"),
                               settings)

    inputs = []
    for each in model.inputs:
        names = each.names & feed.keys()
        if not names:
            raise ValueError(f"no value for the input {each.any_name}")
        inputs.append(feed[names.pop()])

    def run():
        outputs = model(inputs)
        return [outputs[each] for each in model.outputs]

    return run


protocol.serve(f"openvino {openvino.__version__.split('-')[0]}", load)
