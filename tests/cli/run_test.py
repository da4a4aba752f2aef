"""`ruleengine run`: inputs and results."""

import itertools
import json
import os
import resource
import time
import unittest

import onnx

from support import make, program, runs

BERT = program.ROOT / "examples" / "bert.onnx"


class Outputs(runs.RunTest):
    def test_beside_the_model(self):
        self.run_ok("run", "cancel.lua", "m.onnx")
        self.assertEqual(self.ops("m.rewritten.onnx"), ["Relu", "Exp"])

    def test_next_to_a_model_in_another_folder(self):
        self.write("deep/er/m.onnx", make.onnx_bytes(make.NEGATIONS))
        self.run_ok("run", "cancel.lua", "deep/er/m.onnx")
        self.assertEqual(self.ops("deep/er/m.rewritten.onnx"),
                         ["Relu", "Exp"])

    def test_named(self):
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx")
        self.assertEqual(self.ops("out.onnx"), ["Relu", "Exp"])
        self.assertFalse((self.folder / "m.rewritten.onnx").exists())

    def test_in_a_folder(self):
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "new/")
        self.assertEqual(self.ops("new/m.rewritten.onnx"), ["Relu", "Exp"])
        self.run_ok("run", "never.lua", "m.onnx", "-o", "new")  # it exists now
        self.assertEqual(self.ops("new/m.rewritten.onnx"), self.ops("m.onnx"))

    def test_models_of_one_name_keep_their_folders(self):
        for name in ("a/x/model.onnx", "a/y/model.onnx", "a/y/other.onnx"):
            self.write(name, make.onnx_bytes(make.NEGATIONS))
        models = ("a/x/model.onnx", "a/y/model.onnx", "a/y/other.onnx")
        done = self.run_ok("run", "cancel.lua", *models, "-o", "out")
        for name in ("x/model", "y/model", "y/other"):
            self.assertEqual(self.ops(f"out/{name}.rewritten.onnx"),
                             ["Relu", "Exp"])
        # One row for each model.
        rows = [line.split() for line in done.err.splitlines()]
        self.assertEqual(rows[0], ["model", "nodes", "after", "rewrites",
                                   "time", "result"])
        self.assertEqual([[*row[:4], row[-1]] for row in rows[1:]],
                         [[f"a/{name}.onnx", "4", "2", "1",
                           f"out/{name}.rewritten.onnx"]
                          for name in ("x/model", "y/model", "y/other")])
        self.run_ok("run", "cancel.lua", *models[1:], "-o", "flat/")
        self.assertEqual(sorted(os.listdir(self.folder / "flat")),
                         ["model.rewritten.onnx", "other.rewritten.onnx"])
        self.run_bad(2, "run", "cancel.lua", models[0], models[0], "-o", "out",
                     says="two models would be written to one file")

    def test_rules_that_ship(self):
        self.run_ok("run", BERT, "-o", self.folder / "all.onnx")
        self.run_ok("run", *program.packs(), BERT, "-o",
                    self.folder / "named.onnx")
        self.assertEqual((self.folder / "all.onnx").read_bytes(),
                         (self.folder / "named.onnx").read_bytes())

    def test_an_older_result_is_replaced(self):
        self.write("out.onnx", b"old")
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx")
        self.assertEqual(self.ops("out.onnx"), ["Relu", "Exp"])

    def test_no_other_file_is_left(self):
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx")
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["cancel.lua", "m.onnx", "never.lua", "out.onnx"])

    def test_the_input_is_unchanged(self):
        path = self.folder / "m.onnx"
        before = path.read_bytes(), path.stat().st_mtime_ns
        self.run_ok("run", "cancel.lua", "m.onnx")
        self.assertEqual((path.read_bytes(), path.stat().st_mtime_ns), before)

    def test_without_a_match_the_bytes_are_equal(self):
        self.run_ok("run", "never.lua", "m.onnx", "-o", "out.onnx")
        self.assertEqual((self.folder / "out.onnx").read_bytes(),
                         (self.folder / "m.onnx").read_bytes())

    def test_odd_bytes_survive_without_a_match(self):
        # Field 1000 of the model, and a varint longer than it needs to be.
        odd = (make.onnx_bytes(make.NEGATIONS) +
               b"\xc2\x3e\x03abc" + b"\x28\x80\x80\x00")
        self.write("odd.onnx", odd)
        self.run_ok("run", "never.lua", "odd.onnx", "-o", "out.onnx")
        self.assertEqual((self.folder / "out.onnx").read_bytes(), odd)

    def test_unknown_fields_survive_a_rewrite(self):
        self.write("odd.onnx",
                   make.onnx_bytes(make.NEGATIONS) + b"\xc2\x3e\x03abc")
        self.run_ok("run", "cancel.lua", "odd.onnx", "-o", "out.onnx")
        self.assertIn(b"\xc2\x3e\x03abc",
                      (self.folder / "out.onnx").read_bytes())

    def test_the_order_of_arguments_is_free(self):
        results = set()
        for i, words in enumerate(itertools.permutations(
                ["cancel.lua", "never.lua", "m.onnx"])):
            self.run_ok("run", *words, "-o", f"{i}.onnx")
            results.add((self.folder / f"{i}.onnx").read_bytes())
        self.assertEqual(len(results), 1)

    def test_two_runs_give_the_same_bytes(self):
        for name in ("a.onnx", "b.onnx"):
            self.run_ok("run", *program.packs(), BERT, "-o", name)
        self.assertEqual((self.folder / "a.onnx").read_bytes(),
                         (self.folder / "b.onnx").read_bytes())

    def test_new_nodes_have_their_origin(self):
        self.run_ok("run", *program.packs(), BERT, "-o", "out.onnx")
        rules = {p.value for node in onnx.load(
                     self.folder / "out.onnx").graph.node
                 for p in node.metadata_props if p.key == "ruleengine.rule"}
        self.assertIn("attention/compose_parallel_linears", rules)
        self.assertFalse([r for r in rules if str(program.ROOT) in r])

    def test_text_in_and_out(self):
        self.write("m.onnxtxt", make.HEADER + make.NEGATIONS)
        self.run_ok("run", "cancel.lua", "m.onnxtxt")
        self.assertEqual(self.ops("m.rewritten.onnx"), ["Relu", "Exp"])
        self.run_ok("run", "cancel.lua", "m.onnxtxt", "-o", "out.onnxtxt")
        text = (self.folder / "out.onnxtxt").read_text()
        self.assertEqual([n.op_type for n in make.model(text).graph.node],
                         ["Relu", "Exp"])

    def test_a_folder_of_rules_is_not_searched_deeper(self):
        self.write("rules/cancel.lua", make.CANCEL)
        self.write("rules/deeper/broken.lua", "this is not Lua")
        self.run_ok("run", "rules", "m.onnx", "-o", "out.onnx")
        self.assertEqual(self.ops("out.onnx"), ["Relu", "Exp"])

    def test_a_rule_named_twice_counts_once(self):
        self.run_ok("run", "cancel.lua", "./cancel.lua",
                    self.folder / "cancel.lua", "m.onnx", "--report", "r.json")
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(len(report["rules"]), 1)
        self.assertEqual(report["rules"][0]["rewrites"], 1)


class SeveralModels(runs.RunTest):
    def setUp(self):
        super().setUp()
        for name in "abcdef":
            self.write(f"{name}.onnx", make.onnx_bytes(
                make.NEGATIONS.replace("Relu", "Abs") if name in "bd"
                else make.NEGATIONS))

    MODELS = [f"{name}.onnx" for name in "abcdef"]

    def test_into_a_folder(self):
        self.run_ok("run", "cancel.lua", *self.MODELS, "-o", "out")
        self.assertEqual(sorted(os.listdir(self.folder / "out")),
                         [f"{n}.rewritten.onnx" for n in "abcdef"])
        self.assertEqual(self.ops("out/b.rewritten.onnx"), ["Abs", "Exp"])

    def test_beside_each(self):
        self.run_ok("run", "cancel.lua", *self.MODELS)
        self.assertEqual(self.ops("c.rewritten.onnx"), ["Relu", "Exp"])

    def test_jobs_change_nothing(self):
        self.run_ok("run", "cancel.lua", *self.MODELS, "-o", "one")
        self.run_ok("run", "cancel.lua", *self.MODELS, "-o", "three",
                    "--jobs", "3")
        self.assertEqual(program.state(self.folder / "one"),
                         program.state(self.folder / "three"))

    def test_one_model_twice(self):
        self.run_bad(2, "run", "cancel.lua", "a.onnx", "a.onnx", "-o", "out",
                     says="two models would be written to one file")

    def test_one_bad_model_is_one_diagnostic(self):
        self.write("c.onnx", b"junk")
        done = program.run("run", "cancel.lua", *self.MODELS, "-o", "out",
                           cwd=self.folder)
        self.assertEqual(done.code, 3)
        self.assertEqual(len(done.diagnostics()), 1, done.err)
        self.assertIn("c.onnx", done.err)
        self.assertFalse((self.folder / "out/c.rewritten.onnx").exists())

    def test_one_bad_model_leaves_the_others(self):
        self.write("c.onnx", b"junk")
        for more in ([], ["--jobs", "3"]):
            done = program.run("run", "cancel.lua", *self.MODELS, "-o", "out",
                               "--report", "r.json", *more, cwd=self.folder)
            self.assertEqual(done.code, 3)
            self.assertEqual(sorted(os.listdir(self.folder / "out")),
                             [f"{n}.rewritten.onnx" for n in "abdef"])
            report = json.loads((self.folder / "r.json").read_text())
            self.assertEqual([entry["model"] for entry in report],
                             self.MODELS)
            self.assertEqual([entry["model"] for entry in report
                              if "error" in entry], ["c.onnx"])
            self.assertEqual(report[2]["error"]["code"], 3)
            self.assertEqual(report[2]["output"], "")
            self.assertEqual(report[3]["rules"][0]["rewrites"], 1)

    def test_a_failure_names_its_model(self):
        self.write("grow.lua", make.rule("op.Abs(x)",
                                         "op.Abs(op.Identity(m.x))"))
        done = program.run("run", "grow.lua", *self.MODELS, "-o", "out",
                           cwd=self.folder)
        self.assertEqual(done.code, 5)
        self.assertEqual(len(done.diagnostics()), 2, done.err)
        for name in "bd":
            self.assertIn(f"{name}.onnx: grow.lua", done.err)
        self.assertEqual(sorted(os.listdir(self.folder / "out")),
                         [f"{n}.rewritten.onnx" for n in "acef"])

    def test_rules_are_loaded_once(self):
        self.write("slow.lua", "for i = 1, 5e6 do end " + make.CANCEL)

        def seconds(*models):
            start = time.monotonic()
            self.run_ok("run", "slow.lua", *models, "-o", "out/a.onnx"
                        if len(models) == 1 else "out")
            return time.monotonic() - start

        (self.folder / "out").mkdir()
        one = min(seconds("a.onnx") for _ in range(3))
        self.assertLess(min(seconds(*self.MODELS) for _ in range(3)), 3 * one)

    def test_the_report_is_an_array(self):
        self.run_ok("run", "cancel.lua", "a.onnx", "b.onnx", "-o", "out",
                    "--report", "r.json")
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual([entry["model"] for entry in report],
                         ["a.onnx", "b.onnx"])


# The form of the report: a type, a tuple of types, {key: form}, or [form] for a
# list. The report has exactly these keys.
COUNTS = dict
COST = {"bytes": float, "products": float, "unknown": int}
REPORT = {
    "tool": str, "version": str, "model": str, "output": str, "target": str,
    "nodes_before": int, "nodes_after": int,
    "ops_before": COUNTS, "ops_after": COUNTS,
    "rules": [{"name": str, "file": str, "phase": str, "matches": int,
               "rewrites": int,
               "rejected": [{"node": str, "reason": str, "value": str}],
               "seconds": (int, float)}],
    "warnings": [{"rule": str, "node": str, "message": str}],
    "assumptions": [{"rule": str, "node": str, "text": str}],
    "seconds": {key: (int, float)
                for key in ("load", "match", "rewrite", "save")},
    "peak_bytes": int,
    "verified": type(None),
    "needs": {"functions": bool, "overloads": bool, "domains": [str],
              "opset": int},
    "cost": {"before": COST, "after": COST, "sizes": dict},
}


class Reports(runs.RunTest):
    def check_form(self, value, form, place="report"):
        if isinstance(form, dict):
            self.assertEqual(list(value), list(form), place)
            for key, inner in form.items():
                self.check_form(value[key], inner, f"{place}.{key}")
        elif isinstance(form, list):
            for i, entry in enumerate(value):
                self.check_form(entry, form[0], f"{place}[{i}]")
        else:
            self.assertIsInstance(value, form, place)

    def report(self, *arguments):
        self.run_ok("run", *arguments, "--report", "r.json")
        return json.loads((self.folder / "r.json").read_text())

    def test_form(self):
        self.check_form(self.report("cancel.lua", "never.lua", "m.onnx"),
                        REPORT)

    def test_the_gain_of_a_rewrite(self):
        self.write("product.onnxtxt", """
            <ir_version: 8, opset_import: ["" : 17]>
            g (float[N,2] x, float[2,3] w) => (float[N,3] y) {
              a = Neg(x)
              b = Neg(a)
              y = MatMul(b, w)
            }""")
        cost = self.report("cancel.lua", "product.onnxtxt", "--dims",
                           "N=10", "-o", "out.onnx")["cost"]
        product = 80 + 24 + 120
        self.assertEqual(cost, {
            "before": {"bytes": product + 4 * 80, "products": 60, "unknown": 0},
            "after": {"bytes": product, "products": 60, "unknown": 0},
            "sizes": {}})

    def test_a_lint_names_nodes_and_changes_nothing(self):
        self.write("lint.lua", "return rule { lint = true, match = "
                   "function(op, x) return op.Neg(x) end }")
        report = self.report("lint.lua", "m.onnx", "-o", "out.onnx")
        (rule,) = report["rules"]
        self.assertEqual((rule["matches"], rule["rewrites"]), (2, 0))
        self.assertEqual(len(rule["found"]), 2)
        self.assertEqual(report["nodes_before"], report["nodes_after"])
        out = self.run_ok("run", "lint.lua", "m.onnx", "-o", "out.onnx")
        self.assertEqual((out.out + out.err).count("lint matches at"), 2)
        found = json.loads(
            self.run_ok("match", "lint.lua", "m.onnx", "--json").out)
        self.assertEqual([each["fires"] for each in found], [True, True])

    def test_numbers(self):
        report = self.report("cancel.lua", "never.lua", "m.onnx", "-o",
                             "out.onnx")
        self.assertEqual(report["tool"], "ruleengine")
        self.assertEqual((report["nodes_before"], report["nodes_after"]),
                         (4, 2))
        self.assertEqual(report["ops_before"], {"Relu": 1, "Neg": 2, "Exp": 1})
        self.assertEqual(report["ops_after"], {"Relu": 1, "Exp": 1})
        self.assertEqual(report["output"], "out.onnx")
        self.assertEqual(report["target"], "portable")
        by_name = {rule["name"]: rule for rule in report["rules"]}
        self.assertEqual(by_name["cancel"]["rewrites"], 1)
        self.assertEqual(by_name["never"]["matches"], 0)
        self.assertGreater(report["peak_bytes"], 1 << 20)

    def test_ops_of_another_domain(self):
        report = self.report(*program.packs(), BERT, "-o", "out.onnx")
        self.assertEqual(
            report["ops_after"]["ruleengine::ScaledDotProductAttention"], 2)
        self.check_form(report, REPORT)

    def test_nodes_of_subgraphs_count(self):
        self.write("if.onnx", make.onnx_bytes("""
            branches (bool c, float[2] x) => (float[2] y) {
              y = If(c) <then_branch = t () => (float[2] a) { a = Neg(x) },
                         else_branch = e () => (float[2] b) { b = Exp(x) }>
            }"""))
        report = self.report("never.lua", "if.onnx")
        self.assertEqual(report["nodes_before"], 3)
        self.assertEqual(report["ops_before"], {"If": 1, "Neg": 1, "Exp": 1})

    def test_rejections(self):
        self.write("picky.lua", make.rule(more="""where = function(m)
            need(false, "never good enough", m.x) end,"""))
        report = self.report("picky.lua", "m.onnx")
        self.check_form(report, REPORT)
        (rejected,) = report["rules"][0]["rejected"]
        self.assertEqual(rejected["reason"], "never good enough")

    def test_with_dry_run(self):
        report = self.report("cancel.lua", "m.onnx", "--dry-run")
        self.assertEqual(report["nodes_after"], 2)
        self.assertFalse((self.folder / "m.rewritten.onnx").exists())

    def test_names_that_are_not_utf8(self):
        model = make.model(make.NEGATIONS)
        model.graph.node[2].name = "qqqq"
        data = model.SerializeToString().replace(b"qqqq", b"\xff\xfe\n\x01")
        self.write("odd.onnx", data)
        self.write("picky.lua", make.rule(more="""where = function(m)
            need(false, "no", m.x) end,"""))
        done = program.run("run", "picky.lua", "odd.onnx", "--report",
                           "r.json", cwd=self.folder)
        self.assertIn(done.code, (0, 3))
        if done.code == 0:
            json.loads((self.folder / "r.json").read_text())

    def test_cannot_be_written(self):
        self.run_bad(7, "run", "cancel.lua", "m.onnx", "--report",
                     "nowhere/r.json", says="nowhere/r.json")
        self.run_bad(7, "run", "cancel.lua", "m.onnx", "--report",
                     "/dev/full", says="/dev/full")
        self.assertFalse((self.folder / "m.rewritten.onnx").exists())

    def test_a_disk_that_becomes_full(self):
        # The report exceeds the limit on file sizes; the result does not.
        self.write("noisy.lua", make.rule("op.Neg(x)", more="""
          where = function(m) need(false, string.rep("no ", 400), m.x) end,
        """))
        nodes = " ".join(f"v{i + 1} = Neg(v{i})" for i in range(40))
        self.write("long.onnx", make.onnx_bytes(
            f"long (float[2] v0) => (float[2] y) {{ {nodes} y = Exp(v40) }}"))
        self.write("out.onnx", b"old")
        limit = (16384, 16384)
        self.run_bad(
            7, "run", "noisy.lua", "long.onnx", "-o", "out.onnx", "--report",
            "r.json", says="r.json",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                  limit))
        self.assertEqual((self.folder / "out.onnx").read_bytes(), b"old")
        self.assertFalse((self.folder / "r.json").exists())


if __name__ == "__main__":
    unittest.main()
