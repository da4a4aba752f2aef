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
        self.assertIn("junk" and "bad.onnx", table.error[0])
        self.assertEqual(told[-1], (4, 4))
        self.assertEqual(set(self.files(self.to)), {"0/m0.onnx", "1/m1.onnx"})

    def test_wrong_arguments(self):
        self.write_models(1)
        path = self.models / "0" / "m0.onnx"
        for arguments in ((self.folder / "none", self.to),
                          ([path, path], self.to)):
            with self.assertRaises(ruleengine.UsageError):
                self.fleet.rewrite(*arguments)
        with self.assertRaises(ruleengine.UsageError):
            self.fleet.rewrite([path], self.to, ruleengine.RuleSet())
        with self.assertRaises(ruleengine.UsageError):
            self.fleet.rewrite([path], self.to, output="x")
        self.assertEqual(len(self.fleet.rewrite([], self.to)), 0)

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
        table = self.fleet.rewrite("memory://in", "memory://out",
                                   target="onnx")
        self.assertEqual(list(table.status), ["ok", "ok"], list(table.error))
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
        self.assertGreater(len(set(table.worker)), 1)

    def test_numbers_of_workers(self):
        self.write_models(4)
        table = self.fleet.rewrite(self.models, self.to, cluster=2,
                                   target="onnx")
        self.assertEqual(self.files(self.to), self.expected())
        self.assertFalse({f"{os.uname().nodename}:{os.getpid()}"} &
                         set(table.worker))


if __name__ == "__main__":
    unittest.main()
