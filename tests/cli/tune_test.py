"""`tune`, `run --if-faster` and `run --bench`: the rewrites that save time."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import onnx
from onnx import numpy_helper

from support import make, program, runs

PRETEND = f"{sys.executable} {program.ROOT}/tests/support/runtimes/pretend.py"

# Two sites of one kind for `relu`, one of another kind; one site for `twice`.
MODEL = """g (float[N,4] x, float[N,2] z) => (float[N,4] y, float[N,2] w) {
    a = Relu(x)
    b = Neg(a)
    c = Relu(b)
    d = Add(c, c)
    y = Neg(d)
    w = Relu(z)
  }"""
RELU = make.rule("op.Relu(x)", "op.Max(m.x, 0.0)")
TWICE = make.rule("op.Add(x, x)", "op.Mul(m.x, 2.0)")
RULES = ["relu.lua", "twice.lua"]


class Tune(runs.RunTest):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", make.onnx_bytes(MODEL))
        self.write("relu.lua", RELU)
        self.write("twice.lua", TWICE)

    def tune(self, pretend, *more, verb="tune", run=None):
        return (run or self.run_ok)(
            verb, *RULES, "m.onnx", "-o", "out.onnx", "--runtime", PRETEND,
            *more, env={"RULEENGINE_PRETEND": json.dumps(pretend)})

    def ops(self, name="out.onnx"):
        model = onnx.load(self.folder / name)
        return [node.op_type for node in model.graph.node]

    def is_model(self):
        return ((self.folder / "out.onnx").read_bytes() ==
                (self.folder / "m.onnx").read_bytes())

    def test_rule_that_costs(self):
        done = self.tune({"costs": {"Max": 3, "Mul": 0.1}}, "--report", "r.json")
        self.assertEqual(self.ops().count("Relu"), 3)
        self.assertIn("Mul", self.ops())
        self.assertRegex(done.err, r"relu +3 +-6\.000 ms +left out\n")
        self.assertRegex(done.err, r"twice +1 +\+0\.900 ms +kept\n")
        self.assertRegex(done.err, r"standard: 6\.000 -> 5\.100 ms, 1\.176 ")
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(report["tuned"]["runtime"], "pretend 1.0")
        self.assertEqual(report["tuned"]["best"],
                         {"target": "standard",
                          "without": [f"{self.folder.name}/relu"], "with": []})
        rejected = [each for rule in report["rules"]
                    for each in rule["rejected"]]
        self.assertEqual({each["reason"] for each in rejected},
                         {"it does not pay in the runtime that was measured"})

    def test_kind_that_costs(self):
        done = self.tune({"costs": {"Max": 0.1}, "nodes": {"Max w": 2}})
        self.assertEqual(self.ops().count("Relu"), 1)
        self.assertRegex(done.err, r"relu: Relu float\[N,2\] +1 +-1\.000 ms "
                         "+left out")

    def test_site_that_costs(self):
        done = self.tune({"costs": {"Max": 0.1}, "nodes": {"Max c": 2}})
        self.assertEqual(self.ops().count("Relu"), 1)
        self.assertRegex(done.err, r"relu at c +1 +-1\.000 ms +left out")

    # The rule as a whole is slower, and so is its kind of sites.
    def test_site_that_gains(self):
        done = self.tune({"costs": {"Max": 3}, "nodes": {"Max c": 0.1}})
        self.assertEqual(self.ops().count("Relu"), 2)
        self.assertRegex(done.err, r"relu at c +1 +\+0\.900 ms +kept")

    def test_nothing_pays(self):
        done = self.tune({"costs": {"Max": 3, "Mul": 3}})
        self.assertTrue(self.is_model())
        self.assertIn("nothing is measurably faster", done.err)

    def test_no_difference(self):
        done = self.tune({"costs": {}})
        self.assertTrue(self.is_model())
        self.assertIn("left out, no difference", done.err)

    # Gains of 0.3 % each cannot be measured one by one.
    def test_small_gains_together(self):
        self.tune({"costs": {"Max": 0.9987, "Mul": 0.9962}})
        self.assertIn("Max", self.ops())

    def test_if_faster(self):
        done = self.tune({"costs": {"Max": 3, "Mul": 0.1}}, "--if-faster",
                         verb="run")
        self.assertEqual(self.ops().count("Relu"), 3)
        self.assertIn("Mul", self.ops())
        self.assertNotIn("standard ", done.err)

    def test_replay(self):
        pretend = {"costs": {"Max": 3, "Mul": 0.1}}
        self.tune(pretend, "--record", "times.json")
        first = (self.folder / "out.onnx").read_bytes()
        done = self.run_ok("tune", *RULES, "m.onnx", "-o", "out.onnx",
                           "--replay", "times.json")
        self.assertEqual((self.folder / "out.onnx").read_bytes(), first)
        self.assertIn("pretend 1.0", done.err)
        self.run_bad(2, "tune", "relu.lua", "m.onnx", "--replay", "times.json",
                     says="the measurements are not those of this run")

    def test_bad_measurements(self):
        for text, says in (("", "cannot be read"), ("[]", "cannot be read"),
                           ('{"runtime": "r", "measurements": [1]}',
                            "cannot be read"),
                           ('{"runtime": "r", "measurements": []}',
                            "not those of this run")):
            self.write("bad.json", text)
            self.run_bad(2, "tune", *RULES, "m.onnx", "--replay", "bad.json",
                         says=says)
        self.run_bad(2, "tune", *RULES, "m.onnx", "--replay", "none.json",
                     says="cannot be read")

    def test_record_replaces_no_input(self):
        """Nor to another output, nor if nothing was measured."""
        external = make.model("g (float[2] x) => (float[2] y) "
                              "<float[2] w = {1, 2}> { y = Mul(x, w) }")
        weight, = external.graph.initializer
        weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight),
                                                weight.name))
        onnx.save(external, self.folder / "e.onnx", save_as_external_data=True,
                  location="e.bin", size_threshold=0)
        self.write("x.npy.zip", b"")
        self.write("old.json", "{}")
        before = program.state(self.folder)
        for model, more, says in (
                ("m.onnx", ["--record", "m.onnx"], "the name of a rule"),
                ("m.onnx", ["--record", "relu.lua"], "the name of a rule"),
                ("m.onnx", ["--record", "x.npz"], "the name of a rule"),
                ("m.onnx", ["--record", "x.npy.zip", "--inputs", "x.npy.zip"],
                 "would replace another file"),
                ("m.onnx", ["--record", "r.json", "--report", "r.json"],
                 "would replace another file"),
                ("e.onnx", ["--record", "e.bin"], "the data of a model"),
                ("m.onnx", ["--record", "old.json", "--runtime", "false"], "")):
            with self.subTest(more=more):
                self.run_bad(2, "tune", *RULES, model, *more, says=says)
                self.assertEqual(program.state(self.folder), before)

    def test_an_unread_target(self):
        done = self.tune({"costs": {"Mul": 0.1}, "refuses": "Mul"})
        self.assertTrue(self.is_model())
        self.assertIn("no kernel for Mul", done.err)

    def test_other_results(self):
        done = self.tune({"costs": {"Mul": 0.1}, "wrong": "Mul"})
        self.assertTrue(self.is_model())
        self.assertIn("gives other results", done.err)

    def test_noise_on_stdout(self):
        self.tune({"costs": {"Mul": 0.1}, "says": ["loading", "okay", ""]})
        self.assertIn("Mul", self.ops())

    def bad(self, pretend, code, says, *more):
        before = program.state(self.folder)
        self.tune(pretend, *more, run=lambda *a, **k:
                  self.run_bad(code, *a, says=says, **k))
        self.assertEqual(program.state(self.folder), before)

    def test_runtime_that_fails(self):
        self.bad({"dies": True}, 2, "no space left in the pretence")
        self.bad({"refuses": "Neg"}, 2, "no kernel for Neg")
        # For a result too: a timeout is no verdict on it.
        for op in "Neg", "Mul":
            self.bad({"hangs": op}, 5, "the runtime gives no answer",
                     "--limit-time", "3")
        self.bad({"says": ["x" * 1000] * 20, "times": 100}, 2, "no answer")
        self.run_bad(2, "tune", *RULES, "m.onnx", "--runtime", "no-such-program",
                     says="not found")

    def test_runtime_with_helpers(self):
        """Its helpers, which hold the pipe open, end with the runtime."""
        helper = 'import os, subprocess, sys; ' \
            'print("ok", subprocess.Popen(["sleep", "60"]).pid, flush=True); '
        start = time.monotonic()
        self.write("dies.py", helper + "sys.stdin.readline(); os._exit(3)")
        self.run_bad(2, "run", *RULES, "m.onnx", "--bench", "--runtime",
                     f"{sys.executable} dies.py", says="exit code 3")
        self.write("ends.py", helper + "[print('seconds 1' if line[0] == 'r' else "
                   "'error', flush=True) for line in sys.stdin if line[0] in 'or']")
        done = self.run_ok("run", *RULES, "m.onnx", "--dry-run", "--bench",
                           "--runtime", f"{sys.executable} ends.py")
        self.assertLess(time.monotonic() - start, 30)
        helper, = re.findall(r"(\d+): 1000", done.err)
        # It may be a zombie that its parent did not reap yet.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            status = pathlib.Path(f"/proc/{helper}/status").read_text()
            self.assertIn("zombie", status)

    def test_process_of_a_runtime(self):
        """It starts with the signals of this process, none ignored."""
        self.write("status.sh", """
signals() { grep -E 'Sig(Blk|Ign)' $1 | tr -d '\\n\\t'; }
while read word rest; do
  case $word in
    run) echo seconds 1 ;;
    load) echo ok $(signals /proc/$$/status) ;;
    *) echo error ;;
  esac
done
""")
        done = self.run_ok("run", *RULES, "m.onnx", "--dry-run", "--bench",
                           "--runtime", "exec sh status.sh")
        said, = re.findall(r"SigBlk:(\w+)SigIgn:(\w+):", done.err)
        # SIGXFSZ, which the program ignores.
        self.assertFalse((int(said[0], 16) | int(said[1], 16)) & 1 << 24)

    def test_names_that_are_not_ascii(self):
        model = onnx.load(self.folder / "m.onnx")
        model.graph.input[0].name = model.graph.node[0].input[0] = "größe"
        onnx.save(model, self.folder / "names.onnx")
        done = self.run_ok(
            "run", *RULES, "names.onnx", "--dry-run", "--bench", "--time", "1",
            "--runtime", "onnxruntime",
            env={"PATH": f"{pathlib.Path(sys.executable).parent}"
                 ":/usr/bin:/bin"})
        self.assertIn("times as fast", done.err)

    def test_errors_without_end(self):
        """Of the runtime and of a helper; the last output is reported."""
        self.write("loud.py", """import os, subprocess, sys
subprocess.Popen(["yes", "x" * 1000], stdout=2)
print("ok loud", flush=True)
for line in sys.stdin:
    sys.stderr.write("y" * 1_000_000)
    if line[0] != "l":
        print("seconds 0.1" if line[0] == "r" else "error", flush=True)
""")
        self.run_ok("run", *RULES, "m.onnx", "--dry-run", "--bench",
                    "--runtime", f"{sys.executable} loud.py")
        self.write("dies.py", """import sys
sys.stdin.readline()
sys.exit("y" * 1_000_000 + "\\nno more memory")
""")
        self.run_bad(2, "run", *RULES, "m.onnx", "--bench", "--runtime",
                     f"{sys.executable} dies.py", says="no more memory")

    def test_outputs_that_cannot_be_read(self):
        for write in ("os.mkfifo(f)", "open(f, 'w')", "os.mkdir(f)",
                      "numpy.savez(f, [None])"):
            self.write("odd.py", f"""import numpy, os, sys
for line in sys.stdin:
    word, *rest = line.rstrip("\\n").split("\\t")
    if word == "outputs": f = rest[0]; {write}
    print("seconds\\t0.1" if word == "run" else "ok", flush=True)
""")
            done = self.run_ok("run", *RULES, "m.onnx", "--dry-run", "--bench",
                               "--runtime", f"{sys.executable} odd.py")
            self.assertIn("the runtime gave no outputs to compare", done.err)

    def test_signal(self):
        """It leaves no process and no file."""
        self.write("hangs.py", "import sys, time\n"
                   "print(*sys.stdin.readline().split(), flush=True)\n"
                   "import os, tempfile\n"
                   "folder = os.path.join(tempfile.gettempdir(),"
                   " os.listdir(tempfile.gettempdir())[0])\n"
                   "os.makedirs(folder + '/its/own')\n"
                   "open(folder + '/its/own/file', 'w').close()\n"
                   "open('running', 'w').close()\n"
                   "time.sleep(60)")
        temporary = self.folder / "temporary"
        temporary.mkdir()
        with subprocess.Popen(
                [program.PROGRAM, "run", *RULES, "m.onnx", "--dry-run",
                 "--bench", "--runtime", f"exec {sys.executable} hangs.py"],
                cwd=self.folder, stderr=subprocess.PIPE,
                env={**os.environ, "TMPDIR": str(temporary)}) as run:
            while not (self.folder / "running").exists():
                time.sleep(0.01)
            self.assertTrue(list(temporary.iterdir()))
            run.send_signal(signal.SIGTERM)
            # A process that still runs holds the pipe open.
            run.stderr.read()
            self.assertEqual(run.wait(), -signal.SIGTERM)
        self.assertEqual(list(temporary.iterdir()), [])

    def test_usage(self):
        for more, says in ((["--jobs", "2"], "jobs disturb what is measured"),
                           (["--if-faster"], "is measured already"),
                           (["--runtime", "ours", "--replay", "t.json"],
                            "with --if-faster only")):
            self.run_bad(2, "run", *RULES, "m.onnx", "--bench", *more,
                         says=says)
        for more in (["--runtime", "ours"], ["--time", "3"]):
            self.run_bad(2, "run", *RULES, "m.onnx", *more,
                         says="nothing is measured")
        pipe = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "pipe"
        os.mkfifo(pipe)
        for what in ".", pipe:
            self.run_bad(2, "tune", "m.onnx", "--replay", what,
                         says="no regular file")

    def test_threads(self):
        self.write("threads.py", """import os, sys
for line in sys.stdin:
    if line.startswith("run"): print("seconds\\t0.1", flush=True)
    else: print("ok\\t" + os.environ["RULEENGINE_THREADS"] + " threads" if line.startswith("load") else "error", flush=True)
""")
        done = self.run_ok("run", *RULES, "m.onnx", "--dry-run", "--bench",
                           "--threads", "3", "--runtime",
                           f"{sys.executable} threads.py")
        self.assertIn("3 threads: 100.000 -> 100.000 ms", done.err)
        self.assertIn("the runtime gave no outputs to compare", done.err)

    def test_nothing_to_measure(self):
        done = self.run_ok("run", "never.lua", "m.onnx", "--bench")
        self.assertIn("nothing was rewritten, so nothing is measured", done.err)

    def test_bench(self):
        done = self.tune({"costs": {"Mul": 0.1}}, "--bench", verb="run")
        self.assertRegex(done.err, r"pretend 1\.0: 6\.000 -> 5\.100 ms, 1\.176 "
                         r"\(1\.176 to 1\.176\) times as fast")

    def test_ours(self):
        done = self.run_ok("run", *RULES, "m.onnx", "-o", "out.onnx", "--bench",
                           "--time", "1")
        self.assertRegex(done.err, r"ruleengine [0-9.]+: [0-9.]+ -> [0-9.]+ ms")
        self.run_ok("tune", *RULES, "m.onnx", "-o", "out.onnx", "--time", "1")

    def test_all_rules_by_default(self):
        self.run_ok("tune", "m.onnx", "-o", "out.onnx", "--time", "1",
                    "--dry-run")

    def test_shipped_adapter(self):
        done = self.run_ok("tune", *RULES, "m.onnx", "-o", "out.onnx",
                           "--runtime", "onnxruntime", "--time", "2",
                           env={"PATH": f"{pathlib.Path(sys.executable).parent}"
                                ":/usr/bin:/bin"})
        self.assertRegex(done.err, r"noise of onnxruntime \d")

    def test_adapter_of_the_documents(self):
        text = (program.ROOT / "docs" / "tune.md").read_text()
        adapter, = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertLessEqual(len(adapter.splitlines()), 12)
        self.write("adapter.py", adapter)
        done = self.run_ok("tune", *RULES, "m.onnx", "-o", "out.onnx",
                           "--runtime", f"{sys.executable} adapter.py",
                           "--time", "2")
        self.assertIn("noise of", done.err)


if __name__ == "__main__":
    unittest.main()
