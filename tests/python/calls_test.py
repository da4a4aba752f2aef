"""What goes on around calls: interrupts, progress, threads, forks, the end of
the interpreter, and what is left of objects."""

import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

import numpy as np
import onnx

from support import package, program
from support.package import ruleengine

ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(
    [str(package.FOLDER), str(program.ROOT / "tests")])}
X = np.ones(1, np.float32)
ENDLESS = """
return rule {
  match = function(op, x) return op.Neg(x) end,
  where = function() while true do end end,
  rewrite = function(op, m) return op.Abs(m.x) end,
}
"""
LONG = package.attention(blocks=1000)


def python(code, *arguments, timeout=60):
    """Runs the code in another process."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments], env=ENV,
        capture_output=True, text=True, timeout=timeout, check=False)


class InterruptTest(unittest.TestCase):
    """Ctrl-C ends a call at once."""

    def interrupted(self, call):
        """The seconds from the signal to the exception."""
        sent = []

        def send():
            time.sleep(0.3)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=send)
        thread.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                call()
            return time.monotonic() - sent[0]
        finally:
            thread.join()

    def test_a_model_that_runs(self):
        session = ruleengine.Session(package.slow())
        self.assertLess(self.interrupted(lambda: session.run({"x": X})), 0.5)
        fine = ruleengine.Session(package.small())
        self.assertEqual(len(fine.run({"x": np.ones((2, 3), np.float32)})), 1)

    def test_rules_that_run(self):
        rules = ruleengine.RuleSet(ENDLESS, callback_seconds=1000)
        self.assertLess(
            self.interrupted(lambda: rules.rewrite(package.small())), 0.5)

    def test_a_handler_that_raises(self):
        def handler(*_):
            raise LookupError("mine")
        before = signal.signal(signal.SIGUSR1, handler)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        session = ruleengine.Session(package.slow())
        thread = threading.Timer(
            0.2, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        thread.start()
        with self.assertRaisesRegex(LookupError, "mine"):
            session.run({"x": X})
        thread.join()

    def test_a_handler_that_does_not(self):
        heard = []
        before = signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        thread = threading.Timer(
            0.1, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        thread.start()
        with self.assertRaises(ruleengine.LimitError):
            ruleengine.Session(package.slow()).run({"x": X}, seconds=0.5)
        thread.join()
        self.assertEqual(heard, [1])


class ProgressTest(unittest.TestCase):
    def test_it_is_told(self):
        told = []
        ruleengine.rewrite(LONG, progress=lambda *at: told.append(at))
        self.assertTrue(told)
        self.assertTrue(all(0 < done <= total for done, total in told))
        self.assertEqual(told, sorted(told))

    def test_a_callback_that_raises(self):
        def fail(*_):
            raise LookupError("mine")
        rules = ruleengine.RuleSet()
        with self.assertRaisesRegex(LookupError, "mine"):
            rules.rewrite(LONG, progress=fail)
        self.assertEqual(package.fused(
            rules.rewrite(package.attention(), target="onnx").model), 1)

    def test_bars(self):
        code = """
            import sys
            if sys.argv[1:]:
                sys.modules["tqdm"] = sys.modules["tqdm.auto"] = None
            from support import package
            package.ruleengine.rewrite(package.attention(blocks=1000),
                                       progress=True)
            """
        for arguments in ([], ["without tqdm"]):
            done = python(code, *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("rewriting", done.stderr)


class ThreadsTest(unittest.TestCase):
    def at_once(self, *calls):
        """The results of the calls, each in a thread; or their exceptions."""
        out = [None] * len(calls)

        def do(i):
            try:
                out[i] = calls[i]()
            except Exception as error:  # pylint: disable=broad-except
                out[i] = error
        threads = [threading.Thread(target=do, args=[i])
                   for i in range(len(calls))]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return out

    def test_each_its_own(self):
        model = package.attention()
        expected = ruleengine.rewrite(model, target="onnx").model
        calls = [lambda: ruleengine.rewrite(model, target="onnx").model] * 8
        self.assertEqual(self.at_once(*calls), [expected] * 8)

    def test_one_set_one_model_one_session(self):
        rules = ruleengine.RuleSet()
        model = ruleengine.Model.from_bytes(
            package.attention().SerializeToString())
        expected = rules.rewrite(model).model.to_bytes()
        calls = [lambda: rules.rewrite(model).model.to_bytes()] * 8
        self.assertEqual(self.at_once(*calls), [expected] * 8)
        session = ruleengine.Session(model)
        x = np.ones((1, 3, 16), np.float32)
        [y] = session.run({"x": x}).values()
        calls = [lambda: session.run({"x": x})] * 8
        for each in self.at_once(*calls):
            self.assertEqual(each["o0"].tobytes(), y.tobytes())

    def test_both_ways_round(self):
        one, other = (ruleengine.Model.from_bytes(
            package.attention().SerializeToString()) for _ in range(2))
        found = self.at_once(*[lambda: ruleengine.verify(one, other),
                               lambda: ruleengine.verify(other, one)] * 3)
        self.assertTrue(all(each.verified for each in found), found)

    def test_one_of_two_objects_is_in_use(self):
        models = [ruleengine.Model.from_bytes(
            package.small().SerializeToString()) for _ in range(7)]
        busy = models[3]
        endless = ruleengine.RuleSet(ENDLESS, callback_seconds=1000)

        def use():
            with self.assertRaises(ruleengine.LimitError):
                endless.rewrite(busy, seconds=1)
        thread = threading.Thread(target=use)
        thread.start()
        time.sleep(0.2)
        found = self.at_once(*[
            lambda its=its: ruleengine.verify(its, busy, seconds=20)
            for its in models])
        thread.join()
        self.assertTrue(all(getattr(each, "verified", None)
                            for each in found), found)

    def test_others_run_meanwhile(self):
        """A call does not hold the interpreter."""
        session = ruleengine.Session(package.slow())
        thread = threading.Thread(
            target=lambda: self.assertRaises(
                ruleengine.LimitError, session.run, {"x": X}, seconds=1))
        thread.start()
        begun, turns = time.monotonic(), 0
        while time.monotonic() - begun < 0.5:
            turns += 1
        thread.join()
        self.assertGreater(turns, 10000)

    def test_waiting_has_an_end(self):
        session = ruleengine.Session(package.slow())
        thread = threading.Thread(
            target=lambda: self.assertRaises(
                ruleengine.LimitError, session.run, {"x": X}, seconds=1))
        thread.start()
        time.sleep(0.2)
        begun = time.monotonic()
        with self.assertRaises(ruleengine.LimitError):
            session.run({"x": X}, seconds=0.1)
        self.assertLess(time.monotonic() - begun, 0.6)
        thread.join()


class ForkTest(unittest.TestCase):
    def child(self, work):
        """The exit code of a child that does the work; a hang is ended."""
        pid = os.fork()
        if pid == 0:
            try:
                signal.alarm(20)
                work()
                os._exit(0)
            except BaseException as error:  # pylint: disable=broad-except
                sys.stderr.write(f"{type(error)}: {error}\n")
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_objects_of_the_parent(self):
        model = package.attention()
        rules = ruleengine.RuleSet()
        loaded = ruleengine.Model.from_bytes(model.SerializeToString())
        expected = rules.rewrite(loaded).model.to_bytes()

        def work():
            assert rules.rewrite(loaded).model.to_bytes() == expected
            ruleengine.rewrite(model, verify=True)
        self.assertEqual(self.child(work), 0)

    def test_sessions_say_so(self):
        session = ruleengine.Session(package.attention(), threads=2)
        x = np.ones((1, 3, 16), np.float32)
        session.run({"x": x})

        def work():
            try:
                session.run({"x": x})
            except ruleengine.UsageError as error:
                assert "forked" in str(error)
                return
            raise AssertionError("no error")
        self.assertEqual(self.child(work), 0)
        self.assertEqual(len(session.run({"x": x})), 1)

    def test_while_a_call_runs(self):
        session = ruleengine.Session(package.slow())
        rules = ruleengine.RuleSet()
        thread = threading.Thread(
            target=lambda: self.assertRaises(
                ruleengine.LimitError, session.run, {"x": X}, seconds=1.5))
        thread.start()
        time.sleep(0.3)

        def work():
            rules.rewrite(package.attention())
            try:
                session.run({"x": X})
            except ruleengine.UsageError:
                return
            raise AssertionError("no error")
        self.assertEqual(self.child(work), 0)
        thread.join()

    def test_objects_that_are_not_taken_are_free(self):
        fine, busy = (ruleengine.Model.from_bytes(
            package.slow().SerializeToString()) for _ in range(2))
        thread = threading.Thread(
            target=lambda: self.assertRaises(
                ruleengine.LimitError, ruleengine.verify, busy, busy,
                seconds=1.5))
        thread.start()
        time.sleep(0.3)

        def work():
            try:
                ruleengine.verify(fine, busy)
            except ruleengine.UsageError:
                fine.text(seconds=5)
                return
            raise AssertionError("no error")
        self.assertEqual(self.child(work), 0)
        thread.join()

    def test_multiprocessing(self):
        code = """
            import multiprocessing
            from support import package
            rules = package.ruleengine.RuleSet()
            def work(seed):
                model = package.attention(seed=seed)
                return rules.rewrite(model).model.SerializeToString()
            if __name__ == "__main__":
                with multiprocessing.get_context("fork").Pool(2) as pool:
                    assert pool.map(work, range(6)) == [*map(work, range(6))]
            """
        done = python(code)
        self.assertEqual(done.returncode, 0, done.stderr)


class EndTest(unittest.TestCase):
    """The interpreter ends in the middle of a call."""

    def test_with_threads_that_run(self):
        code = """
            import threading, time
            from support import package
            import numpy as np
            def work():
                package.ruleengine.Session(package.slow()).run(
                    {"x": np.ones(1, np.float32)})
            for _ in range(3):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(0.3)
            print("end", flush=True)
            """
        begun = time.monotonic()
        done = python(code)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "end\n", ""))
        self.assertLess(time.monotonic() - begun, 10)

    def test_with_objects_that_are_left(self):
        code = """
            from support import package
            import sys
            model = package.ruleengine.Model.from_bytes(
                package.attention().SerializeToString())
            sys.kept = [package.ruleengine.rewrite(model), model,
                        package.ruleengine.Session(model)]
            class Late:
                def __del__(self):
                    package.ruleengine.rewrite(package.attention())
            kept = Late()
            """
        done = python(code)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_calls_of_handlers_at_the_end(self):
        code = """
            import atexit
            def work():
                print(package.fused(package.ruleengine.rewrite(
                    package.attention(), target="onnx").model))
            atexit.register(work)  # which runs after those of the package
            from support import package
            atexit.register(work)
            """
        done = python(code)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "1\n1\n", ""))

    def test_no_more_threads(self):
        code = """
            import resource, time
            from support import package
            data = package.attention().SerializeToString()
            size = int(open("/proc/self/statm").read().split()[0]) * 4096
            resource.setrlimit(resource.RLIMIT_AS, (size + 2 ** 21,) * 2)
            try:
                package.ruleengine.Model.from_bytes(data)
            except package.ruleengine.LimitError:
                print("limit")
            """
        begun = time.monotonic()
        done = python(code)
        self.assertEqual((done.returncode, done.stdout), (0, "limit\n"),
                         done.stderr)
        self.assertLess(time.monotonic() - begun, 8)

    def test_another_interpreter(self):
        code = """
            import _xxsubinterpreters as interpreters
            from support import package
            other = interpreters.create()
            try:
                interpreters.run_string(other, "import ruleengine")
            except interpreters.RunFailedError as error:
                assert "main interpreter" in str(error)
            interpreters.destroy(other)
            print(package.ruleengine.rewrite(package.small()).report.target)
            """
        done = python(code)
        self.assertEqual(done.stdout, "portable\n", done.stderr)

    def test_a_file_that_is_cut_short(self):
        code = """
            import os, sys
            from support import package
            R, path = package.ruleengine, sys.argv[1]
            open(path, "wb").write(
                package.attention(size=256).SerializeToString())
            model = R.Model(path)
            os.truncate(path, 5000)
            for work in (lambda: model.to_bytes(), lambda: R.rewrite(model),
                         lambda: R.verify(model, model),
                         lambda: model.save(path + ".2")):
                try:
                    work()
                    print("no error")
                except R.ModelError:
                    pass
            """
        with tempfile.TemporaryDirectory() as folder:
            done = python(code, f"{folder}/m.onnx")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)


class LeftTest(unittest.TestCase):
    def test_import_is_quick(self):
        code = """
            import time
            begun = time.perf_counter()
            import ruleengine
            print(time.perf_counter() - begun)
            import sys
            assert "numpy" not in sys.modules and "onnx" not in sys.modules
            """
        done = python(code)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(float(done.stdout), 1)

    def test_nothing_leaks(self):
        data = package.attention(size=64).SerializeToString()
        rules = ruleengine.RuleSet()
        x = np.ones((1, 3, 64), np.float32)

        def work():
            model = ruleengine.Model.from_bytes(bytearray(data))
            result = rules.rewrite(model)
            ruleengine.Session(result.model).run({"x": x})
            for bad in (data[:100], b"junk"):
                try:
                    rules.rewrite(bad)
                except ruleengine.ModelError:
                    pass
            try:
                rules.rewrite(model, seconds=1e-9)
            except ruleengine.LimitError:
                pass
            return sys.getrefcount(data)

        def kept():
            gc.collect()
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1])
        for _ in range(50):
            references = work()
        before = kept()
        for _ in range(300):
            self.assertEqual(work(), references)
        # Pages; a model that is kept each time would be 20,000.
        self.assertLess(kept() - before, 1500)

    def test_a_result_keeps_what_it_needs(self):
        data = bytearray(package.attention(size=64).SerializeToString())
        result = ruleengine.rewrite(ruleengine.Model.from_bytes(bytes(data)),
                                    target="onnx")
        out = result.model
        del result
        gc.collect()
        self.assertEqual(package.fused(out.to_proto()), 1)
        ruleengine.verify(onnx.ModelProto.FromString(bytes(data)), out)


if __name__ == "__main__":
    unittest.main()
