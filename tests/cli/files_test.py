"""Files: contents, places, and errors of writing."""

import ctypes
import os
import pathlib
import resource
import shutil
import signal
import stat
import subprocess
import time
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from support import make, program


class FilesTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("cancel.lua", make.CANCEL)
        self.write("never.lua", make.NEVER)
        self.write("m.onnx", make.onnx_bytes(make.NEGATIONS))

    def external(self, name="m.onnx", data="m.onnx.data", count=4096):
        """A model with external data, and its weight."""
        model = make.model(f"""external (float[{count}] x) => (float[{count}] y)
            {{ a = Neg(x) b = Neg(a) y = Add(b, w) }}""")
        weight = np.arange(count, dtype=np.float32)
        tensor = numpy_helper.from_array(weight, "w")
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", data), ("offset", "128"),
                           ("length", str(weight.nbytes))):
            tensor.external_data.add(key=key, value=value)
        model.graph.initializer.append(tensor)
        self.write(data, bytes(128) + weight.tobytes())
        self.write(name, model.SerializeToString())
        return weight

    def location(self, name):
        model = onnx.load(self.folder / name, load_external_data=False)
        (tensor,) = model.graph.initializer
        return {e.key: e.value for e in tensor.external_data}["location"]


class Refusals(FilesTest):
    def test_no_rules(self):
        self.run_bad(2, "match", "m.onnx", says="no rules")
        self.run_bad(2, "run", says="")

    def test_no_model(self):
        self.run_bad(2, "run", "cancel.lua", says="no model")

    def test_neither_rule_nor_model(self):
        self.write("m.pt", b"")
        self.run_bad(2, "run", "cancel.lua", "m.pt", says="m.pt")

    def test_a_folder_of_any_name_is_rules(self):
        (self.folder / "folder.onnx").mkdir()
        self.run_bad(2, "run", "cancel.lua", "folder.onnx", says="no model")

    def test_a_missing_rule(self):
        self.run_bad(4, "run", "nobody.lua", "m.onnx", says="nobody.lua")

    def test_an_empty_folder_of_rules(self):
        (self.folder / "empty").mkdir()
        done = program.run("run", "empty", "m.onnx", cwd=self.folder)
        self.assertIn(done.code, (2, 4))
        self.assertEqual(len(done.diagnostics()), 1, done.err)

    def test_unknown_options_and_verbs(self):
        self.run_bad(2, "run", "cancel.lua", "m.onnx", "--frobnicate")
        self.run_bad(2, "frobnicate", "m.onnx")
        self.run_bad(2)
        self.run_bad(2, "run", "cancel.lua", "m.onnx", "--jobs", "none")
        self.run_bad(2, "run", "cancel.lua", "m.onnx", "--jobs", "0")
        self.run_bad(2, "run", "cancel.lua", "m.onnx", "-o")
        self.run_bad(2, "run", "cancel.lua", "m.onnx", "--limit-time", "-1")

    def test_numbers_that_are_none(self):
        for option, bad in (
                ("--limit-rewrites", ("-1", "1.5", "1e3", "0x10")),
                ("--limit-time", ("0", "0x1p4", "1e300")),
                ("--limit-callback", ("0", "-5")),
                ("--limit-load", ("0", "-0.5")),
                ("--limit-memory", ("0", "1.5", "-18446744073709551615")),
                ("--jobs", ("-1", "257", "1.5")), ("--opset", ("0", "-1")),
                ("--boxes", ("3", "-4294967292")), ("--min", ("-1", "101"))):
            for word in (*bad, "nan", "inf", "-inf", "", "1x", "1 2", "--1",
                         "99999999999999999999999999"):
                verb = {"--boxes": ["draw", "m.onnx", "-o", "x.svg"],
                        "--min": ["coverage", "m.onnx"]}.get(
                            option, ["run", "cancel.lua", "m.onnx"])
                with self.subTest(option=option, word=word):
                    self.run_bad(2, *verb, f"{option}={word}", says=option)

    def test_several_results_are_no_file(self):
        self.write("n.onnx", make.onnx_bytes(make.NEGATIONS))
        for name in ("out.onnx", "out.onnxtxt"):
            self.run_bad(2, "run", "cancel.lua", "m.onnx", "n.onnx", "-o",
                         name, says=[name, "a folder", "several models"])
        (self.folder / "old.onnx").mkdir()
        self.run_ok("run", "cancel.lua", "m.onnx", "n.onnx", "-o", "old.onnx")

    def test_the_output_is_the_input(self):
        os.symlink("m.onnx", self.folder / "link.onnx")
        os.link(self.folder / "m.onnx", self.folder / "twin.onnx")
        (self.folder / "sub").mkdir()
        for name in ("m.onnx", "./m.onnx", "sub/../m.onnx",
                     self.folder / "m.onnx", "link.onnx", "twin.onnx"):
            for rule in ("cancel.lua", "never.lua"):
                with self.subTest(name=name, rule=rule):
                    self.run_bad(2, "run", rule, "m.onnx", "-o", name,
                                 says=[str(name), "replace"])

    def test_the_output_is_the_inputs_data(self):
        self.external()
        self.run_bad(2, "run", "cancel.lua", "m.onnx", "-o", "m.onnx.data")

    def test_the_report_is_the_inputs_data(self):
        self.external(data="d.bin")
        for more in ([], ["--dry-run"]):
            self.run_bad(2, "run", "cancel.lua", "m.onnx", "-o", "out.onnx",
                         "--report", "d.bin", *more, says="data of a model")

    def test_the_outputs_data_is_the_inputs_data(self):
        self.external(name="a.onnx", data="out.onnx.data")
        before = program.state(self.folder)
        done = program.run("run", "cancel.lua", "a.onnx", "-o", "out.onnx",
                           cwd=self.folder)
        self.assertNotEqual(done.code, 0)
        self.assertEqual(program.state(self.folder), before)

    def test_a_result_is_the_data_of_another_model(self):
        for data in ("j.rewritten.onnx", "j.rewritten.onnx.data"):
            with self.subTest(data):
                self.external(name="k.onnx", data=data)
                self.external(name="j.onnx", data="j.bin")
                for models in (["k.onnx", "j.onnx"], ["j.onnx", "k.onnx"]):
                    self.run_bad(2, "run", "cancel.lua", *models,
                                 says=[data, "k.onnx", "data of a model"])
                self.run_ok("run", "cancel.lua", "k.onnx", "j.onnx", "-o",
                            "out")
                (self.folder / data).unlink()

    def sparse(self, name):
        return onnx.helper.make_sparse_tensor(
            numpy_helper.from_array(np.float32([1.5, 2.5]), name),
            numpy_helper.from_array(np.int64([1, 4])), [6])

    def test_text_has_no_words_for_sparse_data(self):
        plain = "sparse (float[6] x) => (float[6] y) { y = Add(x, s) }"
        attribute = make.model(plain.replace("{", "{ s = Constant()"))
        attribute.graph.node[0].attribute.append(
            onnx.helper.make_attribute("sparse_value", self.sparse("v")))
        initializer = make.model(plain)
        initializer.graph.sparse_initializer.append(self.sparse("s"))
        default = make.model(plain.replace("x)", "x, float[6] s)", 1))
        default.graph.sparse_initializer.append(self.sparse("s"))
        for model, found in (
                (attribute, "sparse_tensor attribute 'sparse_value' of "
                 "Constant node of output 's'"),
                (initializer, "sparse initializer 's'"),
                (default, "sparse default of input 's'")):
            with self.subTest(found):
                self.write("s.onnx", model.SerializeToString())
                self.run_bad(7, "run", "cancel.lua", "s.onnx", "-o",
                             "s.onnxtxt", says=found)
                self.assertFalse((self.folder / "s.onnxtxt").exists())
                self.run_ok("run", "cancel.lua", "s.onnx", "-o", "t.onnx")

    def test_the_report_is_the_input(self):
        self.run_bad(2, "run", "cancel.lua", "m.onnx", "--report", "m.onnx",
                     "-o", "out.onnx")

    def test_no_such_folder(self):
        self.run_bad(7, "run", "cancel.lua", "m.onnx", "-o",
                     "nowhere/out.onnx", says="nowhere/out.onnx")
        self.run_bad(7, "run", "never.lua", "m.onnx", "-o",
                     "nowhere/out.onnx", says="nowhere/out.onnx")

    def test_the_output_is_a_folder(self):
        (self.folder / "out.onnx").mkdir()
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx")
        self.assertTrue((self.folder / "out.onnx/m.rewritten.onnx").exists())

    def test_a_folder_that_takes_no_files(self):
        # Root may write everywhere except here.
        self.run_bad(7, "run", "cancel.lua", "m.onnx", "-o",
                     "/proc/out.onnx", says="/proc/out.onnx")

    @unittest.skipIf(os.geteuid() == 0, "root may write into any folder")
    def test_a_read_only_folder(self):
        folder = self.folder / "closed"
        folder.mkdir(mode=0o500)
        self.run_bad(7, "run", "cancel.lua", "m.onnx", "-o",
                     "closed/out.onnx", says="closed/out.onnx")

    def test_a_full_device(self):
        for rule in ("cancel.lua", "never.lua"):
            self.run_bad(7, "run", rule, "m.onnx", "-o", "/dev/full",
                         says="/dev/full")
            self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

    def test_a_full_stdout(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [program.PROGRAM, "print", self.folder / "m.onnx"],
                stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 7, done.stderr)


class FullDisks(FilesTest):
    """A result that does not fit leaves nothing; old files stay."""

    def setUp(self):
        super().setUp()
        model = make.model("""big (float[65536] x) => (float[65536] y)
            { a = Neg(x) b = Neg(a) y = Add(b, w) }""")
        model.graph.initializer.append(numpy_helper.from_array(
            np.ones(65536, np.float32), "w"))
        self.write("big.onnx", model.SerializeToString())

    def test_a_limit_on_file_sizes(self):
        def limit():
            # The default action would kill the process.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

        self.write("out.onnx", b"what was there")
        for rule in ("cancel.lua", "never.lua"):
            self.run_bad(7, "run", rule, "big.onnx", "-o", "out.onnx",
                         preexec_fn=limit, restore_signals=False,
                         says="out.onnx")

    def test_a_limit_on_file_sizes_kills_no_process(self):
        """For each kind of result and of source."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

        self.external(count=65536)
        (self.folder / "out").mkdir()
        for rule in ("cancel.lua", "never.lua"):
            for model in ("big.onnx", "m.onnx"):
                self.run_bad(7, "run", rule, model, "-o", "out/out.onnx",
                             preexec_fn=limit, says="out/out.onnx")
                self.assertEqual(os.listdir(self.folder / "out"), [])
        self.run_bad(7, "run", "cancel.lua", "big.onnx", "-o",
                     "out/out.onnxtxt", preexec_fn=limit)
        names = " ".join(f"v{i + 1} = Neg(v{i})" for i in range(3000))
        self.write("long.onnx", make.onnx_bytes(
            f"g (float[2] v0) => (float[2] y) {{ {names} y = Exp(v3000) }}"))
        with open(self.folder / "stdout", "wb") as small:
            done = subprocess.run(
                [program.PROGRAM, "report", "--json", "long.onnx"],
                cwd=self.folder, stdout=small, stderr=subprocess.PIPE,
                preexec_fn=limit, check=False)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(done.stderr.count(b"error: "), 1)

    def test_a_closed_pipe(self):
        for ignored, code in ((True, 7), (False, -signal.SIGPIPE)):
            with self.subTest(ignored=ignored):
                ours, theirs = os.pipe()
                os.close(ours)
                done = subprocess.run(
                    [program.PROGRAM, "print", "big.onnx", "--weights"],
                    cwd=self.folder, stdout=theirs, stderr=subprocess.PIPE,
                    restore_signals=not ignored, check=False)
                os.close(theirs)
                self.assertEqual(done.returncode, code, done.stderr)

    def test_a_full_file_system(self):
        small = self.folder / "small"
        small.mkdir()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"none", bytes(small), b"tmpfs", 0, b"size=128k") != 0:
            self.skipTest("may not mount")
        try:
            (small / "out.onnx").write_bytes(b"what was there")
            for rule in ("cancel.lua", "never.lua"):
                self.run_bad(7, "run", rule, "big.onnx", "-o",
                             "small/out.onnx", says="small/out.onnx")
        finally:
            libc.umount(bytes(small))

    def test_killed_at_any_time(self):
        """The old result or the new one, complete."""
        self.run_ok("run", "cancel.lua", "big.onnx", "-o", "want.onnx")
        want = (self.folder / "want.onnx").read_bytes()
        begun = time.monotonic()
        self.run_ok("run", "cancel.lua", "big.onnx", "-o", "want.onnx")
        usual = time.monotonic() - begun
        for i in range(25):
            self.write("out.onnx", b"old")
            process = subprocess.Popen(
                [program.PROGRAM, "run", "cancel.lua", "big.onnx", "-o",
                 "out.onnx", "-q"], cwd=self.folder)
            time.sleep(usual * i / 20)
            process.kill()
            process.wait()
            self.assertIn((self.folder / "out.onnx").read_bytes(),
                          (b"old", want))


class ExternalData(FilesTest):
    def test_gets_its_own_copy(self):
        weight = self.external()
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx")
        self.assertEqual(self.location("out.onnx"), "out.onnx.data")
        os.remove(self.folder / "m.onnx.data")
        model = onnx.load(self.folder / "out.onnx")
        self.assertEqual([n.op_type for n in model.graph.node], ["Add"])
        np.testing.assert_array_equal(
            numpy_helper.to_array(model.graph.initializer[0]), weight)

    def test_gets_its_own_copy_elsewhere(self):
        weight = self.external()
        (self.folder / "out").mkdir()
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out/r.onnx")
        model = onnx.load(self.folder / "out/r.onnx")
        np.testing.assert_array_equal(
            numpy_helper.to_array(model.graph.initializer[0]), weight)

    def test_nothing_matched(self):
        weight = self.external()
        self.run_ok("run", "never.lua", "m.onnx", "-o", "out.onnx")
        os.remove(self.folder / "m.onnx")
        model = onnx.load(self.folder / "out.onnx")
        np.testing.assert_array_equal(
            numpy_helper.to_array(model.graph.initializer[0]), weight)

    def test_share_data(self):
        weight = self.external()
        before = os.stat(self.folder / "m.onnx.data").st_mtime_ns
        for rule in ("cancel.lua", "never.lua"):
            self.run_ok("run", rule, "m.onnx", "-o", "out.onnx",
                        "--share-data")
            self.assertEqual(self.location("out.onnx"), "m.onnx.data")
            self.assertFalse((self.folder / "out.onnx.data").exists())
            model = onnx.load(self.folder / "out.onnx")
            np.testing.assert_array_equal(
                numpy_helper.to_array(model.graph.initializer[0]), weight)
        self.assertEqual(os.stat(self.folder / "m.onnx.data").st_mtime_ns,
                         before)

    def test_share_data_elsewhere(self):
        self.external()
        (self.folder / "out").mkdir()
        self.run_bad(2, "run", "cancel.lua", "m.onnx", "-o", "out/r.onnx",
                     "--share-data", says="folder")

    def test_data_in_a_folder_below(self):
        weight = self.external(data="weights/m.bin")
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx")
        shutil.rmtree(self.folder / "weights")
        model = onnx.load(self.folder / "out.onnx")
        np.testing.assert_array_equal(
            numpy_helper.to_array(model.graph.initializer[0]), weight)

    def test_weights_are_not_read(self):
        """A hole of 64 GiB costs nothing to load, match and share."""
        self.external()
        model = onnx.load(self.folder / "m.onnx", load_external_data=False)
        (tensor,) = model.graph.initializer
        del tensor.dims[:]
        tensor.dims.extend([1 << 24, 1 << 10])
        for entry in tensor.external_data:
            if entry.key == "length":
                entry.value = str(1 << 36)
        self.write("m.onnx", model.SerializeToString())
        os.truncate(self.folder / "m.onnx.data", (1 << 36) + 128)
        begun = time.monotonic()
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx",
                    "--share-data", timeout=10)
        self.assertLess(time.monotonic() - begun, 5)


class Permissions(FilesTest):
    def test_a_new_file_is_like_any_other(self):
        old = os.umask(0o027)
        try:
            self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx")
        finally:
            os.umask(old)
        mode = os.stat(self.folder / "out.onnx").st_mode
        self.assertEqual(stat.S_IMODE(mode), 0o640)

    def test_a_link_keeps_pointing(self):
        self.write("real/out.onnx", b"old")
        os.symlink("real/out.onnx", self.folder / "out.onnx")
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx")
        path = pathlib.Path(self.folder / "out.onnx")
        self.assertEqual(len(onnx.load(path).graph.node), 2)


if __name__ == "__main__":
    unittest.main()
