"""The CPU time and memory of a run of the program."""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile

from support import program as under_test


@dataclasses.dataclass
class Used(under_test.Done):
    seconds: float = 0.0  # CPU time of the program and its children
    mebibytes: float = 0.0  # the peak


# The kernel counts the memory of the parent for a new process, so a small process
# starts the program and reports its usage.
STARTER = """
import json, os, resource, sys
cpu, most, *command = json.loads(sys.argv[1])
child = os.fork()
if not child:
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
    if most is not None:
        resource.setrlimit(resource.RLIMIT_AS, (most << 20, most << 20))
    os.execv(command[0], command)
_, status, usage = os.wait4(child, 0)
with os.fdopen(int(sys.argv[2]), "w") as out:
    json.dump([os.waitstatus_to_exitcode(status),
               usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024], out)
"""


def run(*arguments, cwd, program=None, cpu=60, most=None):
    """Runs the program with these arguments. It is killed after `cpu` seconds of
    CPU time, and gets `most` MiB of address space."""
    command = json.dumps([cpu, most, str(program or under_test.PROGRAM),
                          *map(str, arguments)])
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, \
            tempfile.TemporaryFile() as told:
        subprocess.run(
            [sys.executable, "-ISc", STARTER, command, str(told.fileno())],
            cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            check=True, pass_fds=[told.fileno()],
            env={**os.environ, **under_test.SANITIZERS})
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(1 << 20).decode("utf-8", "replace"))
        told.seek(0)
        code, seconds, mebibytes = json.load(told)
    return Used(code, *texts, seconds, mebibytes)
