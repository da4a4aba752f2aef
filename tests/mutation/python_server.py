"""Runs Python tests on request, each time in a fork that starts at once.

Started by units.py with the folder of the tests. Prints the names of all tests on
one line; then, for each line {"tests", "env", "cpu", "wall"}, runs those tests
up to the first failure and answers {"ok", "failed", "cpu"}.
"""

import json
import os
import pathlib
import sys
import unittest

from mutation import units

# Tests that do not test the program, or that measure time.
LEFT_OUT = ("layers_test", "schemata_test", "timing")


def flat(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from flat(each)
        else:
            yield each


def names(folder):
    loader = unittest.TestLoader()
    found = []
    for path in sorted(pathlib.Path(folder).glob("**/*_test.py")):
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        if not any(word in module for word in LEFT_OUT):
            found += [test.id() for test in
                      flat(loader.loadTestsFromName(module))]
    return found


def child(request, pipe):
    os.setsid()
    units.limit(request["cpu"])
    os.environ.update(request["env"])
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    result = unittest.TestResult()
    result.failfast = True
    unittest.TestLoader().loadTestsFromNames(request["tests"]).run(result)
    bad = result.failures + result.errors
    if bad:
        test = bad[0][0]  # or a subtest, which cannot run alone
        os.write(pipe, getattr(test, "test_case", test).id().encode())
    os._exit(1 if bad or result.unexpectedSuccesses else 0)


def answer(request):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            child(request, writing)
        finally:
            os._exit(2)
    os.close(writing)
    with units.killed_after(pid, request["wall"]):
        _, status, usage = os.wait4(pid, 0)
    failed = os.read(reading, 4096).decode()
    os.close(reading)
    return {"ok": status == 0, "failed": failed,
            "cpu": usage.ru_utime + usage.ru_stime}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of tests is no answer
    print(json.dumps(names(sys.argv[1])), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
