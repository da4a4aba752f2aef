"""What a run of the program takes: the time of the processor and the memory."""

import dataclasses
import os
import resource
import subprocess
import tempfile

from support import program as under_test


@dataclasses.dataclass
class Used(under_test.Done):
    seconds: float = 0.0  # of the processor, by the program and what it starts
    mebibytes: float = 0.0  # the most at once


def run(*arguments, cwd, program=None, cpu=60, most=None):
    """The program with these arguments, killed after `cpu` seconds of the
    processor; `most` MiB of address space are all it gets."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        if most is not None:
            resource.setrlimit(resource.RLIMIT_AS, (most << 20, most << 20))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            [program or under_test.PROGRAM, *map(str, arguments)], cwd=cwd,
            stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            env={**os.environ, **under_test.SANITIZERS}, preexec_fn=limit)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(1 << 20).decode("utf-8", "replace"))
    return Used(child.returncode, *texts, usage.ru_utime + usage.ru_stime,
                usage.ru_maxrss / 1024)
