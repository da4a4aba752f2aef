"""A result and its data are complete or absent, at whatever point a run is
killed, and whatever other runs do to the same result. Every test visits all
system calls from the first one that opens a file to write."""

import os
import signal
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from support import make, program, tier, tracer

COUNT = 600  # too large to stay inside a model


class WholeTest(program.ProgramTest):
    """Two models of equal sizes with different results."""

    OPS = {"a": "Add", "b": "Mul"}
    REFUSED = None  # system calls, as tracer.refuse takes them
    EVERY = 1       # one of so many calls

    def setUp(self):
        super().setUp()
        if self.REFUSED and not tracer.CAN_REFUSE:
            self.skipTest("the numbers of system calls are others here")
        self.write("cancel.lua", make.CANCEL)
        self.write("never.lua", make.NEVER)
        self.weights = {}
        for name, op in self.OPS.items():
            model = make.model(f"""m (float[{COUNT}] x) => (float[{COUNT}] y)
                {{ p = Neg(x) q = Neg(p) y = {op}(q, w) }}""")
            self.weights[name] = np.full(COUNT, ord(name), np.float32)
            tensor = numpy_helper.from_array(self.weights[name], "w")
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=f"{name}.bin")
            model.graph.initializer.append(tensor)
            self.write(f"in/{name}.bin", self.weights[name].tobytes())
            self.write(f"in/{name}.onnx", model.SerializeToString())
        (self.folder / "out").mkdir()
        self.last = 0  # call of a run

    def command(self, name, rule="cancel.lua", *more):
        return [program.PROGRAM, "run", rule, f"in/{name}.onnx", "-o",
                "out/r.onnx", "-q", *more]

    def run_to_end(self, name, *more):
        self.assertEqual(self.traced(name, *more).go(), 0)

    def traced(self, name, *more):
        return tracer.Traced(self.command(name, *more), self.folder,
                             self.REFUSED)

    def standing(self):
        """Which complete result exists; None if there is none."""
        path = self.folder / "out/r.onnx"
        if not path.exists():
            return None
        model = onnx.load(path)  # with its data
        onnx.checker.check_model(str(path))
        (weight,) = model.graph.initializer
        op = model.graph.node[-1].op_type
        for name, meant in self.OPS.items():
            if op == meant:
                np.testing.assert_array_equal(
                    numpy_helper.to_array(weight), self.weights[name])
                return name
        self.fail(f"a result with {op}")

    def names(self):
        return sorted(os.listdir(self.folder / "out"))

    def data_of_result(self):
        model = onnx.load(self.folder / "out/r.onnx", load_external_data=False)
        return sorted({entry.value for tensor in model.graph.initializer
                       for entry in tensor.external_data
                       if entry.key == "location"})

    def check_clean(self, also=()):
        """The result and its data, and nothing else."""
        self.assertEqual(
            self.names(), sorted(["r.onnx", *self.data_of_result(), *also]))

    def empty(self):
        for name in self.names():
            (self.folder / "out" / name).unlink()

    def calls(self, name, *more):
        first, last = tracer.first_write(self.command(name, *more),
                                         self.folder, self.REFUSED)
        self.last = last
        return [*range(first, last, tier.sample(5, 1) * self.EVERY), last]


class Killed(WholeTest):
    LEAVES_DATA = False  # without locks nothing is removed

    def end(self, run):
        run.kill()

    def check_what_is_left(self, also):
        """The next run cleans up."""

    def at_every_call(self, name, *more, before=None, also=()):
        """Kills a run of `name` over a result of `before` at each call; then
        checks the next run."""
        def prepare():
            self.empty()
            if before:
                self.run_to_end(before, *more)

        prepare()
        calls, seen = self.calls(name, *more), set()
        for call in calls:
            with self.subTest(call=call):
                prepare()
                run = self.traced(name, *more)
                self.assertTrue(run.to_call(call))
                self.end(run)
                seen.add(self.standing())
                self.assertIn(self.standing(), (before, name))
                self.check_what_is_left(also)
                self.run_to_end(name, *more)
                self.assertEqual(self.standing(), name)
                if not self.LEAVES_DATA:
                    self.check_clean(also)
        self.assertEqual(seen, {before, name})

    def test_over_nothing(self):
        self.at_every_call("b")

    def test_over_an_older_result(self):
        self.at_every_call("b", before="a")

    def test_over_its_own_result(self):
        self.at_every_call("b", before="b")
        self.assertEqual(self.data_of_result(), ["r.onnx.data"])

    def test_with_a_report(self):
        self.at_every_call("b", "cancel.lua", "--report", "out/r.json",
                           before="a", also=["r.json"])

    def test_a_model_without_a_match(self):
        """The data keeps its name, which the next run finds."""
        self.at_every_call("b", "never.lua")
        self.assertEqual(self.data_of_result(), ["b.bin"])

    def test_killing_the_run_that_cleans_up(self):
        """Killed after all renames; then the next run during its cleaning."""
        def left_behind():
            self.empty()
            self.run_to_end("a")
            run = self.traced("b")
            while self.standing() == "a" and run.next_call():
                pass
            run.kill()

        left_behind()
        for call in self.calls("a"):
            with self.subTest(call=call):
                left_behind()
                run = self.traced("a")
                run.to_call(call)
                self.end(run)
                self.assertIn(self.standing(), ("a", "b"))
                self.run_to_end("a")
                self.assertEqual(self.standing(), "a")
                if not self.LEAVES_DATA:
                    self.check_clean()


class Ended(Killed):
    """By a signal that can be caught: only the result is left."""

    SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    EVERY = 2

    @classmethod
    def setUpClass(cls):
        """Restores signals, which tests in the background ignore."""
        super().setUpClass()
        for each in cls.SIGNALS:
            if signal.getsignal(each) == signal.SIG_IGN:
                signal.signal(each, signal.SIG_DFL)

    def end(self, run):
        number = self.SIGNALS[run.calls % len(self.SIGNALS)]
        last = run.calls >= self.last
        # A run that cleans up has more calls than the counted one.
        self.assertIn(run.go(number), {-number, 0 if last else -number})

    def check_what_is_left(self, also):
        if self.standing():
            self.check_clean(set(also) & set(self.names()))
        else:
            self.assertEqual(self.names(), [])


class Together(WholeTest):
    """Two runs to one result: one stops at a call, the other runs to its
    end, and the first continues."""

    LEAVES_DATA = False

    def interleaved(self, first, second, before=None):
        self.empty()
        for call in self.calls(first):
            with self.subTest(call=call):
                self.empty()
                if before:
                    self.run_to_end(before)
                run = self.traced(first)
                run.to_call(call)
                self.run_to_end(second)
                self.assertEqual(self.standing() or second, second)
                yield run
                self.assertIn(self.standing(), (first, second))
                if not self.LEAVES_DATA:
                    self.check_clean()

    def test_one_after_the_other(self):
        for before in (None, "a", "b"):
            for run in self.interleaved("a", "b", before):
                self.assertEqual(run.go(), 0)

    def test_of_the_same_model(self):
        for before in (None, "a"):
            for run in self.interleaved("b", "b", before):
                self.assertEqual(run.go(), 0)

    def test_the_first_is_killed(self):
        for run in self.interleaved("a", "b", "a"):
            run.kill()
            self.assertIn(self.standing(), ("a", "b"))
            self.run_to_end("b")

    def test_the_first_ends_by_a_signal(self):
        for run in self.interleaved("a", "a", "b"):
            self.assertEqual(run.go(signal.SIGTERM), -signal.SIGTERM)
            self.assertEqual(self.standing(), "a")
            if self.names() != sorted(["r.onnx", *self.data_of_result()]):
                self.run_to_end("a")  # the run cannot tell which data is in use


NO_TMPFILE = {tracer.OPENAT: (tracer.EOPNOTSUPP, 2, os.O_TMPFILE)}
NO_EXCHANGE = {tracer.RENAMEAT2: tracer.EINVAL}
NO_LOCKS = {tracer.FLOCK: tracer.ENOLCK}


class KilledWithoutTemporaryFiles(Killed):
    REFUSED = {**NO_TMPFILE, **NO_EXCHANGE}
    EVERY = 3


class EndedWithoutTemporaryFiles(Ended):
    REFUSED = {**NO_TMPFILE, **NO_EXCHANGE}
    EVERY = 3


class KilledWithoutLocks(Killed):
    REFUSED = NO_LOCKS
    LEAVES_DATA = True
    EVERY = 5


class TogetherWithoutTemporaryFiles(Together):
    REFUSED = NO_TMPFILE
    EVERY = 5


class TogetherWithoutExchange(Together):
    REFUSED = NO_EXCHANGE
    LEAVES_DATA = True  # of a result that appears between the check and the rename
    EVERY = 5


class TogetherWithoutLocks(Together):
    REFUSED = NO_LOCKS
    LEAVES_DATA = True
    EVERY = 5


class Names(WholeTest):
    """The names of the data of results, and the files that are removed."""

    def test_the_ordinary_name(self):
        self.run_to_end("a")
        self.assertEqual(self.names(), ["r.onnx", "r.onnx.data"])

    def test_the_same_bytes_again(self):
        for name in ("a", "b", "b", "a", "a"):
            self.run_to_end(name)
            first = program.state(self.folder / "out")
            self.run_to_end(name)
            self.assertEqual(program.state(self.folder / "out"), first)
            self.check_clean()
            self.assertEqual(self.standing(), name)

    def test_an_older_result_under_another_name_stays_whole(self):
        for kept in ("kept.onnx", "kept.onnx.old"):
            with self.subTest(kept):
                self.empty()
                self.run_to_end("a")
                path = self.folder / "out" / kept
                path.write_bytes((self.folder / "out/r.onnx").read_bytes())
                for name in ("b", "a", "b"):
                    self.run_to_end(name)
                    self.assertEqual(self.standing(), name)
                    np.testing.assert_array_equal(
                        numpy_helper.to_array(
                            onnx.load(path).graph.initializer[0]),
                        self.weights["a"])

    def test_a_file_of_another_owner_stays(self):
        self.write("out/r.onnx.data", b"not ours")
        self.run_to_end("a")
        self.run_to_end("b")
        self.assertEqual(
            (self.folder / "out/r.onnx.data").read_bytes(), b"not ours")
        self.check_clean(["r.onnx.data"])

    def test_a_result_without_data_takes_the_data_away(self):
        self.run_to_end("a")
        self.write("in/plain.onnx", make.onnx_bytes(make.NEGATIONS))
        self.run_ok("run", "cancel.lua", "in/plain.onnx", "-o", "out/r.onnx")
        self.assertEqual(self.names(), ["r.onnx"])

    def test_temporary_names_of_other_results_stay(self):
        other = "out/.ruleengine-0123456789abcdef-1-0.tmp"
        self.write(other, b"of a run that may live elsewhere")
        self.run_to_end("a")
        self.assertTrue((self.folder / other).exists())

    def test_a_link_is_no_data_of_ours(self):
        self.write("store/weights", b"elsewhere")
        os.symlink("../store/weights", self.folder / "out/r.onnx.data")
        self.run_to_end("a")
        self.run_to_end("b")
        self.assertEqual((self.folder / "store/weights").read_bytes(),
                         b"elsewhere")
        self.assertTrue((self.folder / "out/r.onnx.data").is_symlink())


if __name__ == "__main__":
    unittest.main()
