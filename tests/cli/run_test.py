"""`ruleengine run`: what goes in, what comes out, and every option."""

import itertools
import json
import os
import resource
import time
import unittest

import onnx

from support import graphs, make, program

BERT = program.ROOT / "examples" / "bert.onnx"


class RunTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("cancel.lua", make.CANCEL)
        self.write("never.lua", make.NEVER)
        self.write("m.onnx", make.onnx_bytes(make.NEGATIONS))

    def ops(self, name):
        return [graphs.op(node)
                for node in onnx.load(self.folder / name).graph.node]


class Outputs(RunTest):
    def test_beside_the_model(self):
        self.run_ok("run", "cancel.lua", "m.onnx")
        self.assertEqual(self.ops("m.rewritten.onnx"), ["Relu", "Exp"])

    def test_beside_a_model_elsewhere(self):
        self.write("deep/er/m.onnx", make.onnx_bytes(make.NEGATIONS))
        self.run_ok("run", "cancel.lua", "deep/er/m.onnx")
        self.assertEqual(self.ops("deep/er/m.rewritten.onnx"),
                         ["Relu", "Exp"])

    def test_named(self):
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx")
        self.assertEqual(self.ops("out.onnx"), ["Relu", "Exp"])
        self.assertFalse((self.folder / "m.rewritten.onnx").exists())

    def test_an_older_result_is_replaced(self):
        self.write("out.onnx", b"old")
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx")
        self.assertEqual(self.ops("out.onnx"), ["Relu", "Exp"])

    def test_nothing_else_is_left_behind(self):
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx")
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["cancel.lua", "m.onnx", "never.lua", "out.onnx"])

    def test_the_input_stays_as_it_is(self):
        path = self.folder / "m.onnx"
        before = path.read_bytes(), path.stat().st_mtime_ns
        self.run_ok("run", "cancel.lua", "m.onnx")
        self.assertEqual((path.read_bytes(), path.stat().st_mtime_ns), before)

    def test_nothing_matched_is_byte_for_byte(self):
        self.run_ok("run", "never.lua", "m.onnx", "-o", "out.onnx")
        self.assertEqual((self.folder / "out.onnx").read_bytes(),
                         (self.folder / "m.onnx").read_bytes())

    def test_odd_bytes_survive_when_nothing_matched(self):
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

    def test_the_order_of_arguments_means_nothing(self):
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

    def test_new_nodes_say_where_they_come_from(self):
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


class SeveralModels(RunTest):
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

    def test_two_of_one_name(self):
        self.write("more/a.onnx", make.onnx_bytes(make.NEGATIONS))
        self.run_bad(2, "run", "cancel.lua", "a.onnx", "more/a.onnx", "-o",
                     "out", says=["a.onnx", "more/a.onnx"])

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
        self.write("slow.lua", "for i = 1, 2e7 do end " + make.CANCEL)

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


# The report's form: a type, a tuple of types, {key: form}, or [form] for a
# list. Keys are exactly these.
COUNTS = dict
REPORT = {
    "tool": str, "version": str, "model": str, "output": str, "target": str,
    "nodes_before": int, "nodes_after": int,
    "ops_before": COUNTS, "ops_after": COUNTS,
    "rules": [{"name": str, "file": str, "phase": str, "matches": int,
               "rewrites": int,
               "rejected": [{"node": str, "reason": str, "value": str}],
               "seconds": (int, float)}],
    "warnings": [{"rule": str, "node": str, "message": str}],
    "seconds": {key: (int, float)
                for key in ("load", "match", "rewrite", "save")},
    "peak_bytes": int,
    "verified": type(None),
}


class Reports(RunTest):
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

    def test_a_disk_that_is_full_in_the_end(self):
        # The report is larger than a file may be; the result is not.
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


class Options(RunTest):
    OPTION = make.rule(more="""options = { loud = false, factor = 2.0,
      word = "a" },
      where = function(m)
        need(m.options.loud, "not loud")
        need(m.options.factor == 3, "another factor", m.options.factor)
        need(m.options.word == "b=c.d", "another word", m.options.word)
      end,""")

    def test_set(self):
        self.write("loud.lua", self.OPTION)
        sets = ["--set", "loud.loud=true", "--set", "loud.factor=3",
                "--set", "loud.word=b=c.d"]
        self.run_ok("run", "loud.lua", "m.onnx", "-o", "on.onnx", *sets)
        self.assertEqual(self.ops("on.onnx"), ["Relu", "Exp"])
        self.run_ok("run", "loud.lua", "m.onnx", "-o", "off.onnx", *sets[:4])
        self.assertEqual(len(self.ops("off.onnx")), 4)

    def test_set_wrong(self):
        self.write("loud.lua", self.OPTION)
        for value, says in {
                "nobody.loud=true": "nobody",
                "loud.lound=true": "loud",
                "loud.loud=maybe": "maybe",
                "loud.factor=big": "big",
                "loud": "RULE.OPTION=VALUE",
                "loud.loud": "RULE.OPTION=VALUE",
                "": "RULE.OPTION=VALUE"}.items():
            with self.subTest(value):
                self.run_bad(2, "run", "loud.lua", "m.onnx", "--set", value,
                             says=says)

    def test_set_suggests(self):
        self.write("loud.lua", self.OPTION)
        self.run_bad(2, "run", "loud.lua", "m.onnx", "--set",
                     "loud.facter=3", says="factor")

    def test_collectives_stay_in_their_block(self):
        """What all ranks run once, a branch may run on some of them alone."""
        at = "<rank = 0, rank_group = [0,1]>"
        wide = "<dim = 0, rank = 0, rank_group = [0,1]>"
        for outer, branch in (
                (f"s = tensor_cast.all_reduce {at} (x)",
                 "t = tensor_cast.rms_norm(s, w)"),
                (f"s = tensor_cast.all_gather {wide} (h)",
                 "u = Cast <to = 10> (s) t = Cast <to = 1> (u)"),
                (f"s = tensor_cast.all_gather {wide} (h)",
                 "u = Slice(s, from, to, from) t = Concat <axis = 0> "
                 "(u, u, u, u)"),
                (f"g = tensor_cast.all_gather {wide} (h) "
                 f"s = tensor_cast.all_reduce {at} (x)",
                 "t, r = tensor_cast.add_rms_norm2(s, g, w)")):
            self.write("branch.onnxtxt", f"""
                <ir_version: 10, opset_import: ["" : 18, "tensor_cast" : 1]>
                g (float[4,8] x, float[2,8] h, float[8] w, bool c)
                  => (float[4,8] y)
                <int64[1] from = {{0}}, int64[1] to = {{1}}> {{
                  {outer}
                  y = If(c) <then_branch = a () => (float[4,8] t) {{ {branch} }},
                    else_branch = b () => (float[4,8] e) {{ e = Neg(x) }}>
                }}""")
            done = self.run_ok("run", program.ROOT / "rules/sequence_parallel.lua",
                               "branch.onnxtxt", "-o", "out.onnxtxt", "-v",
                               "--set", "sequence_parallel.enable=true")
            with self.subTest(branch=branch):
                self.assertIn("a collective would be run in another block",
                              done.out + done.err)
                text = (self.folder / "out.onnxtxt").read_text()
                self.assertNotIn("tensor_cast.all",
                                 text.split("then_branch")[1])

    def test_targets(self):
        for target in ("auto", "portable", "onnx", "ort"):
            self.run_ok("run", "cancel.lua", "m.onnx", "--target", target)
        self.run_bad(2, "run", "cancel.lua", "m.onnx", "--target", "portabel",
                     "-o", "x.onnx", says="portable")

    def test_what_a_target_cannot_say_stays_portable(self):
        self.write("cap.onnxtxt", """
            <ir_version: 10, opset_import: ["" : 17, "ruleengine" : 1]>
            g (float[1,2,3,4] q) => (float[1,2,3,4] y) {
              y = ruleengine.ScaledDotProductAttention
                <num_heads = 2, head_dim = 4, softcap = 9.0> (q, q, q)
            }""")
        done = self.run_ok("run", "cancel.lua", "cap.onnxtxt", "-o",
                           "cap.out.onnxtxt", "--target", "ort")
        self.assertRegex(
            done.err, "stays portable, ort has no form for it: "
            "group_query_attention: GroupQueryAttention wants heads of one "
            "width, a multiple of 8; multi_head_attention: Multi.* soft cap")

    def test_what_only_gpus_are_quick_at_is_asked_for(self):
        self.write("norm.onnx", make.onnx_bytes("""
            <ir_version: 10, opset_import: ["" : 17, "ruleengine" : 1]>
            g (float[1,2,8] x, float[1,2,8] z, float[8] w) => (float[1,2,8] y,
               float[1,2,2,4] a) <int64[4] heads = {1,2,2,4}> {
              s = Add(x, z)
              y = LayerNormalization(s, w)
              q = Reshape(s, heads)
              a = ruleengine.ScaledDotProductAttention
                <num_heads = 2, head_dim = 4> (q, q, q)
            }"""))
        for rules, norm in ((["cancel.lua"], "LayerNormalization"),
                            ([program.ROOT / "rules/targets/ort/gpu"],
                             "SkipLayerNormalization")):
            self.run_ok("run", *rules, "norm.onnx", "-o", "out.onnx",
                        "--target", "ort")
            ops = [n.op_type for n in
                   onnx.load(self.folder / "out.onnx").graph.node]
            self.assertIn(norm, ops)
            self.assertIn("MultiHeadAttention", ops)

    def test_opset(self):
        done = self.run_ok("run", "cancel.lua", "m.onnx", "--opset", "23",
                           "-o", "raised.onnx")
        raised = onnx.load(self.folder / "raised.onnx")
        self.assertEqual(raised.opset_import[0].version, 23)
        onnx.checker.check_model(raised)
        self.assertIn(", opset 17 -> 23, raised.onnx", done.err)
        done = self.run_ok("run", "cancel.lua", "m.onnx", "--opset", "17")
        self.assertNotIn("opset", done.err)
        for words in (["--opset", "99"], ["--opset", "-1"],
                      ["--opset", "23", "--target", "ort"]):
            self.run_bad(2, "run", "cancel.lua", "m.onnx", *words, "-o",
                         "x.onnx", says="opset")

    def test_an_older_opset_does_nothing(self):
        done = self.run_ok("run", "never.lua", "m.onnx", "--opset", "13")
        self.assertIn("warning: --opset 13 does nothing: m.onnx is of opset 17",
                      done.err)
        self.assertEqual((self.folder / "m.rewritten.onnx").read_bytes(),
                         (self.folder / "m.onnx").read_bytes())

    def test_an_op_of_a_newer_opset_says_how_to_get_there(self):
        self.write("swish.lua", """return rule {
            match = function(op, x) return op.Mul(x, op.Sigmoid(x)) end,
            rewrite = function(op, m) return op.Swish(m.x) end,
          }""")
        self.write("gate.onnx", make.onnx_bytes(
            "g (float[4] x) => (float[4] y) { s = Sigmoid(x) y = Mul(x, s) }"))
        done = self.run_ok("run", "swish.lua", "gate.onnx", "-v", "--opset",
                           "24", "-o", "raised.onnx")
        self.assertIn("Swish is not in the model's opset (opset 17; it came "
                      "with 24: `--opset 24` raises the result, run the rules "
                      "on that again)", done.err)
        self.run_ok("run", "swish.lua", "raised.onnx", "-o", "out.onnx")
        self.assertEqual(self.ops("out.onnx"), ["Swish"])

    def test_what_is_not_there_yet(self):
        for words in (["--verify"], ["--verify=local"]):
            with self.subTest(words):
                self.run_bad(2, "run", "cancel.lua", "m.onnx", *words,
                             says="not there yet")

    def test_dry_run(self):
        before = program.state(self.folder)
        done = self.run_ok("run", "cancel.lua", "m.onnx", "--dry-run", "-o",
                           "out.onnx")
        self.assertEqual(program.state(self.folder), before)
        self.assertIn("cancel", done.err)

    def test_limit_rewrites(self):
        self.run_ok("run", "cancel.lua", "m.onnx", "--limit-rewrites", "1",
                    "-o", "out.onnx")
        nodes = " ".join(f"v{i + 1} = Neg(v{i})" for i in range(20))
        self.write("long.onnx", make.onnx_bytes(
            f"long (float[2] v0) => (float[2] y) {{ {nodes} y = Exp(v20) }}"))
        self.run_bad(5, "run", "cancel.lua", "long.onnx",
                     "--limit-rewrites", "3", says=["cancel", "3"])

    def test_limit_time(self):
        self.write("slow.lua", make.rule(more="""where = function(m)
            local n = 0
            for i = 1, 2e6 do n = n + i % 7 end
            need(false, "slow")
          end,"""))
        nodes = " ".join(f"v{i + 1} = Neg(v{i})" for i in range(600))
        self.write("long.onnx", make.onnx_bytes(
            f"long (float[2] v0) => (float[2] y) {{ {nodes} y = Exp(v600) }}"))
        self.run_bad(5, "run", "slow.lua", "long.onnx", "--limit-time", "0.5",
                     says="0.5", timeout=20)

    def test_limit_time_is_for_all_models_together(self):
        self.write("slow.lua", make.rule(more="""where = function(m)
            local n = 0
            for i = 1, 3e6 do n = n + i % 7 end
            need(false, "slow")
          end,"""))
        nodes = " ".join(f"v{i + 1} = Neg(v{i})" for i in range(6))
        names = [f"m{i}.onnx" for i in range(60)]
        for name in names:
            self.write(name, make.onnx_bytes(
                f"g (float[2] v0) => (float[2] y) {{ {nodes} y = Exp(v6) }}"))
        done = program.run("run", "slow.lua", *names, "-o", "out",
                           "--limit-time", "1", cwd=self.folder, timeout=20)
        self.assertEqual(done.code, 5)
        left = len(os.listdir(self.folder / "out"))
        self.assertEqual(len(done.diagnostics()), 60 - left)
        self.assertLess(left, 60)

    def test_limit_time_covers_loading(self):
        self.write("load.lua", "for i = 1, 3e7 do end " + make.CANCEL)
        self.run_bad(5, "run", "load.lua", "m.onnx", "--limit-time", "0.01",
                     says="0.01")

    def test_limit_callback_and_load(self):
        self.write("spin.lua", make.rule(
            more="where = function(m) while true do end end,"))
        self.run_bad(5, "run", "spin.lua", "m.onnx", "--limit-callback",
                     "0.2", says=["spin.lua", "0.2"], timeout=10)
        self.write("load.lua", "while true do end")
        self.run_bad(5, "run", "load.lua", "m.onnx", "--limit-load", "0.2",
                     says=["load.lua", "0.2"], timeout=10)

    def test_limit_memory(self):
        self.write("big.lua", make.rule(more="""where = function(m)
            local t = {}
            for i = 1, 3e5 do t[i] = "s" .. i end
          end,"""))
        self.run_ok("run", "big.lua", "m.onnx", "-o", "out.onnx")
        self.run_bad(5, "run", "big.lua", "m.onnx", "--limit-memory", "4",
                     says="big.lua")

    def test_limit_memory_of_what_rules_build(self):
        self.write("grow.lua", make.rule(rewrite="""(function()
            local y = m.x
            for i = 1, 4000 do y = op.Tanh(y) end
            return y
          end)()"""))
        body = " ".join(
            f"a{i} = Neg(x{i}) b{i} = Neg(a{i}) x{i + 1} = Exp(b{i})"
            for i in range(10))
        self.write("long.onnx", make.onnx_bytes(
            f"g (float[2] x0) => (float[2] x10) {{ {body} }}"))
        self.run_ok("run", "grow.lua", "long.onnx", "-o", "out.onnx")
        self.run_bad(5, "run", "grow.lua", "long.onnx", "--limit-memory", "8",
                     says=["grow.lua", "more nodes", "the last 4000 by"])

    def test_quiet_and_verbose(self):
        words = ["run", "cancel.lua", "never.lua", "m.onnx"]
        self.assertEqual(self.run_ok(*words, "-q").err, "")
        plain = self.run_ok(*words).err
        for part in ("rule", "matches", "rewrites", "rejected", "time",
                     "cancel"):
            self.assertIn(part, plain)
        self.assertNotIn("\nnever ", plain)
        self.assertIn("\nnever ", "\n" + self.run_ok(*words, "-v").err)

    def test_rules_that_took_no_part_are_not_said_to_match_nowhere(self):
        rule = make.rule(more="options = {enable = true, deep = false},\n"
                         "when = function(_, o) return o.enable end,")
        for name in "ab":
            self.write(f"pack/{name}.lua", rule)
        self.write("pack.lua", 'return pack { doc = "d", "pack/a", "pack/b",'
                   " options = {enable = false} }")
        self.write("small.lua", make.rule(
            more="when = function(graph) return #graph.inputs == 7 end,"))
        err = self.run_ok("run", "pack.lua", "small.lua", "m.onnx").err
        self.assertIn("2 rules of pack took no part: enable = false\n", err)
        self.assertIn("small took no part: its `when` says no\n", err)
        self.assertNotIn("nowhere", err)
        # A setting of a rule that is off is not silently useless.
        err = self.run_ok("run", "pack.lua", "m.onnx", "--set",
                          "a.deep=true").err
        self.assertIn("warning: --set a.deep=true changes nothing, since a "
                      "took no part (enable = false)\n", err)
        self.assertNotIn("warning", self.run_ok(
            "run", "pack/a.lua", "m.onnx", "--set", "a.enable=false").err)
        err = self.run_ok("run", "pack.lua", "m.onnx", "--set",
                          "pack.enable=true").err
        self.assertNotIn("took no part", err)

    def test_where_nothing_was_rewritten_it_says_what_to_ask(self):
        hint = "`ruleengine explain never.lua m.onnx [NODE]` says why not\n"
        self.assertIn(hint, self.run_ok("run", "never.lua", "m.onnx").err)
        self.write("no.lua", make.rule(
            more="where = function(m) need(false, 'never') end,"))
        err = self.run_ok("run", "never.lua", "no.lua", "m.onnx").err
        self.assertIn("`-v` says why each was rejected\n", err)
        self.assertNotIn("explain", err)
        self.assertNotIn("`-v`", self.run_ok("run", "no.lua", "m.onnx",
                                             "-v").err)
        for rules in (["cancel.lua", "never.lua", "no.lua"], program.packs()):
            err = self.run_ok("run", *rules, "m.onnx").err
            self.assertNotIn("says why", err)

    def test_nothing_on_stdout(self):
        self.assertEqual(self.run_ok("run", "cancel.lua", "m.onnx").out, "")

    def test_warnings_are_lines(self):
        self.write("warn.lua", make.rule(
            match='op.Neg(op.Neg(x)):as "outer"',
            more="""where = function(m)
              refuse(true, "because it may", m.outer) end,"""))
        for words in ([], ["-q"]):
            done = self.run_ok("run", "warn.lua", "m.onnx", *words)
            lines = [line for line in done.err.splitlines()
                     if line.startswith("warning: ")]
            self.assertEqual(len(lines), 1, done.err)
            self.assertIn("because it may", lines[0])
            self.assertIn("Skipping", lines[0])
            self.assertTrue(lines[0].endswith(" (warn)"), lines[0])


if __name__ == "__main__":
    unittest.main()
