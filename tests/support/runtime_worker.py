"""Runs models for support/runtimes.py in a separate process and Python, so that its
ONNX Runtime may have another version, and may crash.

Reads pickled (model, optimized, list of feeds) from stdin; answers each with
("ok", [{name: array}, or the error's text]) or ("refused", text)."""

import os
import pickle
import sys

import onnxruntime


def load(model, optimized):
    options = onnxruntime.SessionOptions()
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = (
        level.ORT_ENABLE_ALL if optimized else level.ORT_DISABLE_ALL)
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options,
                                        providers=["CPUExecutionProvider"])


def run(session, feeds):
    names = [output.name for output in session.get_outputs()]
    wanted = {value.name for value in session.get_inputs()}
    feeds = {name: array for name, array in feeds.items() if name in wanted}
    try:
        return dict(zip(names, session.run(names, feeds)))
    except Exception as error:  # pylint: disable=broad-except
        return str(error)


def answer(model, optimized, all_feeds):
    try:
        session = load(model, optimized)
    except Exception as error:  # pylint: disable=broad-except
        return "refused", str(error)
    return "ok", [run(session, feeds) for feeds in all_feeds]


def main():
    source = sys.stdin.buffer
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries is no answer
    while True:
        try:
            request = pickle.load(source)
        except EOFError:
            return
        pickle.dump(answer(*request), sink)
        sink.flush()


if __name__ == "__main__":
    main()
