"""ONNX Runtime's Python package as a runtime of `ruleengine tune`.

RULEENGINE_THREADS sets the threads (ONNX Runtime's default: one for each
core), RULEENGINE_PROVIDERS the execution providers, separated by commas.
"""

import os

import onnxruntime

import protocol


def load(path, _feed):
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
    return lambda feed: session.run(None, feed)


protocol.serve(f"onnxruntime {onnxruntime.__version__}", load)
