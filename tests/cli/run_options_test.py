"""Every option of `ruleengine run`."""

import json
import os
import unittest

import onnx

from support import make, program, runs


class Options(runs.RunTest):
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
        """All ranks run the main graph; only some may run a branch."""
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
                self.assertIn("a collective would move to another block",
                              done.out + done.err)
                text = (self.folder / "out.onnxtxt").read_text()
                self.assertNotIn("tensor_cast.all",
                                 text.split("then_branch")[1])

    def test_passes_in_front_of_bodies(self):
        """Bodies are ordered before their owner, for any order in the file."""
        self.write("branch.onnxtxt", """
            <ir_version: 10, opset_import: ["" : 23, "tensor_cast" : 1]>
            g (float[1,4,8] x, float[8] w, bool c) => (float[1,4,8] y) {
              s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
              n = LayerNormalization(s, w)
              y = If(c) <then_branch = a () => (float[1,4,8] t) { t = Neg(n) },
                else_branch = b () => (float[1,4,8] e) {
                  d = Abs(x) e = tensor_cast.all_reduce
                    <rank = 0, rank_group = [0,1]> (d) }>
            }""")
        rules = program.ROOT / "rules/sequence_parallel"
        self.run_ok("run", rules / "chain.lua", "branch.onnxtxt",
                    "-o", "shared.onnxtxt")
        self.assertIn("reduce_scatter",
                      (self.folder / "shared.onnxtxt").read_text())
        self.run_ok("run", rules / "return_collectives.lua", "branch.onnxtxt",
                    "-o", "back.onnxtxt", "--set",
                    "return_collectives.all_reduce=acme::AllReduce")
        self.assertEqual((self.folder / "back.onnxtxt").read_text()
                         .count("acme.AllReduce"), 2)

    def test_a_chain_that_is_removed_with_another(self):
        """Only its sizes were read."""
        self.write("sizes.onnxtxt", """
            <ir_version: 10, opset_import: ["" : 23, "tensor_cast" : 1]>
            g (float[1,4,8] x, float[4,8] x2, float[8] w) => (float[4,8] y) {
              s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
              s2 = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x2)
              n2 = RMSNormalization(s2, w)
              z = Shape(n2)
              n = RMSNormalization(s, w)
              y = Reshape(n, z)
            }""")
        self.run_ok("run", program.ROOT / "rules/sequence_parallel/chain.lua",
                    "sizes.onnxtxt", "-o", "out.onnxtxt")
        text = (self.folder / "out.onnxtxt").read_text()
        self.assertEqual(text.count("tensor_cast.reduce_scatter"), 1)
        self.assertNotIn("tensor_cast.all_reduce", text)

    def test_targets(self):
        for target in ("auto", "portable", "onnx", "ort"):
            self.run_ok("run", "cancel.lua", "m.onnx", "--target", target)
        self.run_bad(2, "run", "cancel.lua", "m.onnx", "--target", "portabel",
                     "-o", "x.onnx", says="portable")

    def test_ops_that_a_target_lacks_stay_portable(self):
        self.write("cap.onnxtxt", """
            <ir_version: 10, opset_import: ["" : 17, "ruleengine" : 1]>
            g (float[1,2,3,4] q) => (float[1,2,3,4] y) {
              y = ruleengine.ScaledDotProductAttention
                <num_heads = 2, head_dim = 4, softcap = 9.0, is_causal = 1>
                (q, q, q)
            }""")
        done = self.run_ok("run", "cancel.lua", "cap.onnxtxt", "-o",
                           "cap.out.onnxtxt", "--target", "ort")
        self.assertRegex(
            done.err, "stays portable, ort has no form for it: "
            "group_query_attention: GroupQueryAttention needs heads of one "
            "width, a multiple of 8; multi_head_attention: Multi.* soft cap")

    def test_nodes_with_one_reason_share_a_warning(self):
        call = ("ruleengine.ScaledDotProductAttention <num_heads = 2, "
                "head_dim = 4, softcap = 9.0, is_causal = 1>")
        self.write("caps.onnxtxt", f"""
            <ir_version: 10, opset_import: ["" : 17, "ruleengine" : 1]>
            g (float[1,2,3,4] q) => (float[1,2,3,4] y) {{
              a = {call} (q, q, q)  b = {call} (a, a, a)  y = {call} (b, b, b)
            }}""")
        done = self.run_ok("run", "cancel.lua", "caps.onnxtxt", "-o",
                           "caps.out.onnxtxt", "--target", "ort")
        self.assertEqual(done.err.count("portable, ort has no form"), 1)
        self.assertIn(" and 2 like it stay portable, ort has no form for them",
                      done.err)

    def test_auto(self):
        """The runtime whose ops the model contains decides."""
        graph = """g (float[2,3] x) => (float[2,3] y) {
          a = Neg(x)  b = Neg(a)  %s }"""
        head = '<ir_version: 10, opset_import: ["" : %d, "com.microsoft" : 1]>'
        for opset, last, target in (
                (17, "y = Tanh(b)", "portable"), (23, "y = Tanh(b)", "onnx"),
                (17, "y = com.microsoft.QuickGelu(b)", "ort"),
                (23, "y = com.microsoft.QuickGelu(b)", "onnx")):
            self.write("auto.onnxtxt", head % opset + graph % last)
            self.run_ok("run", "cancel.lua", "auto.onnxtxt", "-o", "out.onnx",
                        "--report", "auto.json")
            report = json.loads((self.folder / "auto.json").read_text())
            self.assertEqual(report["target"], target)

    def test_an_option_for_rewrites_that_are_faster_on_gpus(self):
        self.write("norm.onnx", make.onnx_bytes("""
            <ir_version: 10, opset_import: ["" : 17, "ruleengine" : 1]>
            g (float[1,2,8] x, float[1,2,8] z, float[8] w) => (float[1,2,8] y,
               float[1,2,2,4] a) <int64[4] heads = {1,2,2,4}> {
              s = Add(x, z)
              y = LayerNormalization(s, w)
              r = Reshape(s, heads)
              q = Transpose <perm = [0,2,1,3]> (r)
              h = ruleengine.ScaledDotProductAttention
                <num_heads = 2, head_dim = 4> (q, q, q)
              a = Transpose <perm = [0,2,1,3]> (h)
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
                      ["--opset", "23", "--target", "portable"]):
            self.run_bad(2, "run", "cancel.lua", "m.onnx", *words, "-o",
                         "x.onnx", says="opset")

    def test_an_older_opset_does_nothing(self):
        done = self.run_ok("run", "never.lua", "m.onnx", "--opset", "13")
        self.assertIn("warning: m.onnx: opset 13 was requested, but the model already has opset 17",
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
        done = self.run_ok("run", "swish.lua", "gate.onnx", "-v")
        self.assertIn("Swish is not in the model's opset (opset 17; it was "
                      "added in 24; a model of opset 24 can express it)", done.err)
        # The requested opset is set before the rules run.
        for target in ("auto", "onnx", "ort"):
            self.run_ok("run", "swish.lua", "gate.onnx", "--opset", "24",
                        "--target", target, "-o", "out.onnx")
            self.assertEqual(self.ops("out.onnx"), ["Swish"])

    def test_dry_run(self):
        before = program.state(self.folder)
        done = self.run_ok("run", "cancel.lua", "m.onnx", "--dry-run", "-o",
                           "out.onnx")
        self.assertEqual(program.state(self.folder), before)
        self.assertIn("cancel", done.err)

    def test_require_match(self):
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx",
                    "--require-match")
        done = program.run("run", "cancel.lua", "out.onnx", "-o", "again.onnx",
                           "--require-match", cwd=self.folder)
        self.assertEqual(done.code, 1)
        self.assertIn("out.onnx: no rule rewrote anything", done.err)
        self.assertEqual((self.folder / "again.onnx").read_bytes(),
                         (self.folder / "out.onnx").read_bytes())

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
                     says=["grow.lua", "at most 8 MiB", "that the engine uses for rules",
                           "--limit-memory"])

    def test_quiet_and_verbose(self):
        words = ["run", "cancel.lua", "never.lua", "m.onnx"]
        self.assertEqual(self.run_ok(*words, "-q").err, "")
        plain = self.run_ok(*words).err
        for part in ("rule", "matches", "rewrites", "rejected", "time",
                     "cancel"):
            self.assertIn(part, plain)
        self.assertNotIn("\nnever ", plain)
        self.assertIn("\nnever ", "\n" + self.run_ok(*words, "-v").err)

    def test_no_table_without_a_match(self):
        err = self.run_ok("run", "never.lua", "m.onnx").err
        self.assertTrue(err.startswith("1 rule matched nowhere\n"), err)

    def test_no_warning_for_rules_that_took_no_part(self):
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
        self.assertIn("small took no part: its `when` returned false\n", err)
        self.assertNotIn("nowhere", err)
        # A setting of a rule that is off gives a warning.
        err = self.run_ok("run", "pack.lua", "m.onnx", "--set",
                          "a.deep=true").err
        self.assertIn("warning: m.onnx: the setting a.deep=true changes nothing, "
                      "since a took no part (enable = false)\n", err)
        self.assertNotIn("warning", self.run_ok(
            "run", "pack/a.lua", "m.onnx", "--set", "a.enable=false").err)
        err = self.run_ok("run", "pack.lua", "m.onnx", "--set",
                          "pack.enable=true").err
        self.assertNotIn("took no part", err)

    def test_a_hint_if_nothing_was_rewritten(self):
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
            self.assertTrue(lines[0].startswith("warning: m.onnx: Skipping"),
                            lines[0])
            self.assertIn("because it may", lines[0])
            self.assertTrue(lines[0].endswith(" (warn)"), lines[0])
        self.write("n.onnx", (self.folder / "m.onnx").read_bytes())
        for words in ([], ["-q"]):
            done = self.run_ok("run", "warn.lua", "m.onnx", "n.onnx", "-o",
                               "out", *words)
            for name in "m.onnx", "n.onnx":
                self.assertEqual(
                    done.err.count(f"warning: {name}: Skipping"), 1, done.err)


if __name__ == "__main__":
    unittest.main()
