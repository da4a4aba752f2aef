"""The runtime's side of `ruleengine tune`: answers lines on standard input.

    load<TAB>MODEL<TAB>INPUTS   ok<TAB>NAME
    run<TAB>TIMES               seconds<TAB>SECONDS
    outputs<TAB>FILE            ok

Each line has one answer, or `error<TAB>TEXT`. The end of the input ends the
program. docs/tune.md has more.
"""

import os
import sys
import time

import numpy


def array(output):
    """The output as NumPy writes it without pickling."""
    if not isinstance(output, numpy.ndarray):
        output = output.numpy()
    return output.astype(str) if output.dtype == object else output


def serve(name, load):
    """Answers until the input ends.

    name: of the runtime, with its version.
    load(path, feed) loads a model and returns a function that runs it with feed,
    a dict of arrays by the names of the inputs, and returns the outputs in their
    order.
    """
    # What libraries print, in Python or in C, is no answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    run = None
    for line in sys.stdin:
        word, *rest = line.rstrip("\n").split("\t")
        try:
            if word == "load":
                run = load(rest[0], dict(numpy.load(rest[1])))
                answer = f"ok\t{name}"
            elif word == "run":
                start = time.perf_counter()
                for _ in range(int(rest[0])):
                    run()
                answer = f"seconds\t{time.perf_counter() - start!r}"
            elif word == "outputs":
                numpy.savez(rest[0], *map(array, run()))
                answer = "ok"
            else:
                answer = f"error\tno command {word!r}"
        except Exception as error:
            text = " ".join(str(error).split())
            answer = f"error\t{type(error).__name__}: {text}"
        print(answer, file=answers, flush=True)
