"""The supported versions of ONNX Runtime: the oldest with the ops that targets
write, and the newest, without optimizations and with all of them. Each runs in its
own process, since some kernels crash (for sizes of 0)."""

import dataclasses
import pathlib
import pickle
import subprocess
import sys
import threading

import onnx

from support import numbers, program

WORKER = pathlib.Path(__file__).with_name("runtime_worker.py")
MOST_SECONDS = 120  # for one model; then its process ends
ENDED = "the process of the runtime ended"


def oldest_python():
    """The Python with the oldest ONNX Runtime; installs it if needed."""
    done = subprocess.run([program.ROOT / "cmake" / "setup.sh", "oldest-python"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          check=True)
    return done.stdout.decode().strip()


class Worker:
    """A process with one version of ONNX Runtime, started when needed."""

    def __init__(self, find_python):
        self.find_python = find_python
        self.process = None

    def ask(self, *question):
        """The answer of runtime_worker; ("refused", ENDED) if it ended."""
        if self.process is None:
            # Isolated: otherwise support/numbers.py would replace the module numbers.
            self.process = subprocess.Popen(
                [self.find_python(), "-I", WORKER], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process = self.process
        clock = threading.Timer(MOST_SECONDS, process.kill)
        clock.start()
        try:
            pickle.dump(question, process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (EOFError, BrokenPipeError):
            self.close()
            return "refused", ENDED
        finally:
            clock.cancel()

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


@dataclasses.dataclass
class Runtime:
    name: str
    worker: Worker
    optimized: bool

    def outputs(self, model, all_feeds):
        """A dict of arrays for each of the feeds, or the text of an error."""
        verdict, found = self.worker.ask("run", model, self.optimized, all_feeds)
        if verdict == "refused" and found == ENDED and len(all_feeds) > 1:
            return [self.outputs(model, [feeds])[0] for feeds in all_feeds]
        return found if verdict == "ok" else [found] * len(all_feeds)


OLDEST, NEWEST = Worker(oldest_python), Worker(lambda: sys.executable)
RUNTIMES = [Runtime(f"{name}, {'optimized' if optimized else 'as it is'}", worker,
                    optimized)
            for name, worker in (("newest", NEWEST), ("oldest", OLDEST))
            for optimized in (False, True)]


def infer_shapes(model, **options):
    """onnx.shape_inference.infer_shapes in the process of NEWEST, since the ONNX
    package aborts on some models."""
    verdict, found = NEWEST.ask("infer", model.SerializeToString(), options)
    if verdict == "refused":
        raise onnx.shape_inference.InferenceError(found)
    return onnx.ModelProto.FromString(found)


def close():
    for worker in (OLDEST, NEWEST):
        worker.close()
