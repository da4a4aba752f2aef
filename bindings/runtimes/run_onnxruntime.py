"""ONNX Runtime's Python package as a runtime of `ruleengine tune`.

RULEENGINE_THREADS sets the threads (ONNX Runtime's default: one for each
core), RULEENGINE_PROVIDERS the execution providers, separated by commas.
"""

import os

import onnxruntime

import protocol


# NumPy has no such type; inputs come as its bits.
BFLOAT16 = "tensor(bfloat16)"
BFLOAT16_OF_ONNX = 16


def value(array, kind):
    if kind == BFLOAT16:
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
            array.view("uint16"), BFLOAT16_OF_ONNX)
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


def load(path, feed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = int(os.environ.get("RULEENGINE_THREADS", 0))
    # Idle threads would take time from the other model, which runs in turn.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    providers = os.environ.get("RULEENGINE_PROVIDERS")
    session = onnxruntime.InferenceSession(
        path, options,
        providers=providers.split(",") if providers
        else onnxruntime.get_available_providers())
    missing = set(providers.split(",") if providers else ()) - set(
        session.get_providers())
    if missing:
        raise ValueError(f"no provider {', '.join(sorted(missing))}")
    kinds = {each.name: each.type for each in session.get_inputs()}
    whole = BFLOAT16 in (each.type for each in session.get_outputs())
    values = {name: value(array, kinds.get(name))
              if whole or kinds.get(name) == BFLOAT16 else array
              for name, array in feed.items()}
    if whole:
        return lambda: session.run_with_ort_values(None, values)
    return lambda: session.run(None, values)


protocol.serve(f"onnxruntime {onnxruntime.__version__}", load)
