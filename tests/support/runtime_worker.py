"""Runs models for support/runtimes.py in a separate process and Python, so that its
ONNX Runtime may have another version, and may crash.

Reads pickled questions from stdin and answers each with ("ok", ...) or ("refused",
text):
  ("run", model, optimized, list of feeds): [{name: array}, or the error's text]
  ("infer", model, options): the model with inferred shapes"""

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


def run_all(model, optimized, all_feeds):
    session = load(model, optimized)
    return [run(session, feeds) for feeds in all_feeds]


def infer(model, options):
    # The Python of the oldest ONNX Runtime has no ONNX package.
    import onnx.shape_inference  # pylint: disable=import-outside-toplevel
    model = onnx.ModelProto.FromString(model)
    model = onnx.shape_inference.infer_shapes(model, **options)
    return model.SerializeToString()


def answer(kind, *arguments):
    try:
        return "ok", {"run": run_all, "infer": infer}[kind](*arguments)
    except Exception as error:  # pylint: disable=broad-except
        return "refused", str(error)


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
