"""OpenVINO's Python package as a runtime of `ruleengine tune`.

RULEENGINE_THREADS sets the threads (OpenVINO's default: one for each core),
RULEENGINE_DEVICE the device (CPU), RULEENGINE_PRECISION the precision that
OpenVINO computes in (f32).
"""

import os

import openvino

import protocol


def load(path, _feed):
    core = openvino.Core()
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": os.environ.get("RULEENGINE_PRECISION",
                                                   "f32")}
    if "RULEENGINE_THREADS" in os.environ:
        settings["INFERENCE_NUM_THREADS"] = os.environ["RULEENGINE_THREADS"]
    model = core.compile_model(path, os.environ.get("RULEENGINE_DEVICE", "CPU"),
                               settings)

    def run(feed):
        outputs = model({name: feed[name] for each in model.inputs
                         for name in each.names if name in feed})
        return [outputs[each] for each in model.outputs]

    return run


protocol.serve(f"openvino {openvino.__version__.split('-')[0]}", load)
