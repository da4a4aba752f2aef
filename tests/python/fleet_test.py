"""ruleengine.fleet: one table for many models, on a cluster of processes of
which some die."""

import copy
import os
import pathlib
import signal
import threading
import time
import unittest

import onnx
import pandas

from support import package, program
from support.package import ruleengine

COUNT = 24


class FleetTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        from ruleengine import fleet
        self.fleet = fleet
        self.models = self.folder / "models"
        self.to = self.folder / "to"

    def write_models(self, count=COUNT):
        for i in range(count):
            model = package.attention(seed=i, blocks=1 + i % 3)
            self.write(f"models/{i % 2}/m{i}.onnx", model.SerializeToString())

    def files(self, folder):
        return {str(path.relative_to(folder)): path.read_bytes()
                for path in pathlib.Path(folder).rglob("*") if path.is_file()}

    def expected(self):
        """What the command line makes of the models."""
        out = self.folder / "expected"
        for path in sorted(self.models.rglob("*.onnx")):
            to = out / path.relative_to(self.models)
            to.parent.mkdir(parents=True, exist_ok=True)
            self.run_ok("run", path, "-o", to, "--target", "onnx", "-q")
        return self.files(out)

    def test_a_folder_here(self):
        self.write_models(6)
        report = self.folder / "r.parquet"
        table = self.fleet.rewrite(self.models, self.to, target="onnx",
                                   verify=True, report=report)
        self.assertEqual(self.files(self.to), self.expected())
        self.assertEqual(tuple(table.columns), self.fleet.COLUMNS)
        self.assertEqual(list(table.model), sorted(table.model))
        self.assertEqual(set(table.status), {"ok"})
        self.assertTrue(table.verified.all())
        self.assertEqual(list(table.attention_found),
                         list(table.attention_fused))
        self.assertTrue((table.nodes_after < table.nodes_before).all())
        pandas.testing.assert_frame_equal(
            pandas.read_parquet(report), table, check_dtype=False)

    def test_a_list_with_bad_models(self):
        self.write_models(2)
        bad = self.write("models/bad.onnx", "junk")
        paths = [bad, self.folder / "models/none.onnx",
                 *sorted(self.models.rglob("m*.onnx"))]
        told = []
        table = self.fleet.rewrite(paths, self.to, coverage=False,
                                   progress=lambda *at: told.append(at))
        self.assertEqual(list(table.status),
                         ["ModelError", "ModelError", "ok", "ok"])
        self.assertEqual(list(table.output)[:2], ["", ""])
        self.assertIn("bad.onnx", table.error[0])
        self.assertEqual(told[-1], (4, 4))
        self.assertEqual(set(self.files(self.to)), {"0/m0.onnx", "1/m1.onnx"})

    def test_wrong_arguments(self):
        self.write_models(1)
        path = self.models / "0" / "m0.onnx"
        for arguments in ((self.folder / "none", self.to),
                          ([path, path], self.to)):
            with self.assertRaises(ruleengine.UsageError):
                self.fleet.rewrite(*arguments)
        for options in ({"target": "mars"}, {"verify": "x"}, {"cluster": 0},
                        {"cluster": True}, {"opset": -1}):
            with self.assertRaises(ruleengine.UsageError):
                self.fleet.rewrite([path], self.to, **options)
        with self.assertRaises(ruleengine.UsageError):
            self.fleet.rewrite([path], self.to, "no_pack")
        for options in ({"output": "x"}, {"tagret": "ort"}):
            with self.assertRaises(TypeError):
                self.fleet.rewrite([path], self.to, **options)
        for to in (path.parent, self.models / "0" / ".." / "0"):
            with self.assertRaisesRegex(ruleengine.UsageError, "replace"):
                self.fleet.rewrite([path], to)
        self.assertEqual(len(self.fleet.rewrite([], self.to)), 0)

    def test_names_of_models(self):
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        data = package.small().SerializeToString()
        for name in ("a/m.onnx", "b/n.onnx", "odd \udcff.onnx"):
            self.write(name, data)
        os.chdir("a")
        table = self.fleet.rewrite(["m.onnx", "../b/n.onnx"], "../out")
        self.assertEqual(set(table.status), {"ok"})
        self.assertEqual(set(self.files(self.folder / "out")),
                         {"a/m.onnx", "b/n.onnx"})
        with self.assertRaises(ruleengine.UsageError):
            self.fleet.rewrite(["m.onnx", "./m.onnx"], "../out")
        table = self.fleet.rewrite(["../odd \udcff.onnx"], "../out",
                                   report="../deep/report.parquet")
        self.assertEqual(set(table.status), {"ok"})
        self.assertEqual(len(pandas.read_parquet("../deep/report.parquet")), 1)

    def test_rules_that_change(self):
        path = self.write("models/sw.onnxtxt", package.TEXT)
        for op in ("First", "Second"):
            rule = self.write("my.lua", """
return rule {
  match = function(op, x) return op.Abs(x) end,
  rewrite = function(op, m) return op["com.example"].%s(m.x) end,
}""" % op)
            self.fleet.rewrite([path], self.to, [rule])
            self.assertIn(op, (self.to / "sw.onnxtxt").read_text())

    def test_places_that_are_not_there(self):
        self.write_models(1)
        path = self.models / "0" / "m0.onnx"
        self.write("file", "")
        for models, to, report in (
                ([path], self.folder / "file", None),
                ([path], self.folder / "file" / "x", None),
                ([path], self.to, self.models), (["zzz://m"], self.to, None),
                (["memory://a/m.onnx", path], self.to, None)):
            with self.assertRaises(ruleengine.Error):
                self.fleet.rewrite(models, to, report=report)

    def test_other_file_systems(self):
        import fsspec
        fs = fsspec.filesystem("memory")
        self.addCleanup(fs.store.clear)
        model = package.attention(size=32)
        onnx.save(copy.deepcopy(model), self.folder / "e.onnx",
                  location="e.bin",
                  save_as_external_data=True, size_threshold=1024)
        for name in ("e.onnx", "e.bin"):
            fs.pipe(f"/in/{name}", (self.folder / name).read_bytes())
        fs.pipe("/in/deep/s.onnx", package.small().SerializeToString())
        fs.pipe("/in/junk.onnx", b"junk\xff")
        table = self.fleet.rewrite("memory://in", "memory://out",
                                   target="onnx")
        self.assertEqual(list(table.status), ["ok", "ok", "DecodeError"],
                         list(table.error))
        with self.assertRaisesRegex(ruleengine.UsageError, "replace"):
            self.fleet.rewrite("memory://in", "memory://in/")
        self.assertEqual(sorted(fs.find("/out")), [
            "/out/deep/s.onnx", "/out/e.onnx", "/out/e.onnx.data"])
        fs.get("/out/e.onnx", str(self.folder / "e2.onnx"))
        fs.get("/out/e.onnx.data", str(self.folder / "e2.onnx.data"))
        os.rename(self.folder / "e2.onnx.data", self.folder / "e.onnx.data")
        ruleengine.verify(model, self.folder / "e2.onnx")

    def test_a_cluster_of_which_workers_die(self):
        from dask import distributed
        self.write_models()
        expected = self.expected()
        with distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None) as \
                cluster, distributed.Client(cluster) as client:
            killed = []

            def kill():
                while len(self.files(self.to)) < COUNT // 4:
                    time.sleep(0.01)
                pids = client.run(os.getpid)
                killed.append(min(pids.values()))
                os.kill(killed[0], signal.SIGKILL)
            killer = threading.Thread(target=kill)
            killer.start()
            # Slow enough that a worker is killed in the middle.
            table = self.fleet.rewrite(self.models, self.to, cluster=client,
                                       target="onnx", verify=True)
            killer.join()
        self.assertTrue(killed)
        self.assertEqual(set(table.status), {"ok"}, list(table.error))
        self.assertEqual(self.files(self.to), expected)

    def test_numbers_of_workers(self):
        self.write_models(4)
        table = self.fleet.rewrite(self.models, self.to, cluster=2,
                                   target="onnx")
        self.assertEqual(self.files(self.to), self.expected())
        self.assertFalse({f"{os.uname().nodename}:{os.getpid()}"} &
                         set(table.worker))


if __name__ == "__main__":
    unittest.main()
