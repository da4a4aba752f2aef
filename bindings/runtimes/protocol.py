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


def serve(name, load):
    """Answers until the input ends.

    name: of the runtime, with its version.
    load(path, feed) loads a model and returns a function of a dict of arrays, by
    the names of the inputs, that runs it and returns the outputs in their
    order. The sizes of its inputs are always those of feed.
    """
    # What libraries print, in Python or in C, is no answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    run, feed = None, None
    for line in sys.stdin:
        word, *rest = line.rstrip("\n").split("\t")
        try:
            if word == "load":
                feed = dict(numpy.load(rest[1]))
                run = load(rest[0], feed)
                answer = f"ok\t{name}"
            elif word == "run":
                start = time.perf_counter()
                for _ in range(int(rest[0])):
                    run(feed)
                answer = f"seconds\t{time.perf_counter() - start!r}"
            elif word == "outputs":
                numpy.savez(rest[0], *run(feed))
                answer = "ok"
            else:
                answer = f"error\tno command {word!r}"
        except Exception as error:
            text = " ".join(str(error).split())
            answer = f"error\t{type(error).__name__}: {text}"
        print(answer, file=answers, flush=True)
