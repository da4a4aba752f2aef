"""Random graphs around each rule: the result computes the same on every rank and
is a valid model. RULEENGINE_INSTANCES is the number for each rule,
RULEENGINE_SEED the first seed."""

import os
import unittest

import numpy as np
import onnx

from support import (dialect, draft, numbers, program, random_attention,
                     random_chains, random_layers, random_ranks, random_soup,
                     ranks, tier)

INSTANCES = int(os.environ.get("RULEENGINE_INSTANCES",
                               tier.sample(20, 1000)))
MHA = "decompose_multihead_attention"
SWIN, SWIN_V2 = "decompose_swin_attention", "decompose_swin_v2_attention"


def options(rule, *names):
    return [word for name in names for word in ("--set", f"{rule}.{name}=true")]


# rule: (its file, settings, the generator of instances, the number of ranks, the
# share of instances that it has to rewrite)
RULES = {
    MHA: ("attention/decompose_multihead_attention",
          options(MHA, "cross_attention", "masks", "sequence_first"),
          random_attention.multihead_attention, (1,), 0.5),
    SWIN:
        ("attention/decompose_swin_attention", options(SWIN, "any_bias"),
         random_attention.window_attention, (1,), 0.5),
    SWIN_V2:
        ("attention/decompose_swin_v2_attention", options(SWIN_V2, "any_bias"),
         random_attention.cosine_window_attention, (1,), 0.5),
    "fuse_masked_attention":
        ("attention/fuse_masked_attention", [],
         random_attention.masked_attention, (1,), 0.2),
    "wrap_functional_sdpa":
        ("attention/wrap_functional_sdpa", [],
         random_attention.functional_attention, (1,), 0.5),
    "merge_linear":
        ("linear/merge_linear", [], random_layers.sibling_layers, (1,), 0.3),
    "lift_combine_quant":
        ("quantization/lift_combine_quant", [], random_layers.quantized_views,
         (1,), 0.4),
    "sequence_parallel_p1":
        ("sequence_parallel/p1", [], random_ranks.stack, (1, 2, 2, 4), 0.2),
    "sequence_parallel_p2":
        ("sequence_parallel/p2", [], random_ranks.stack, (1, 2, 2, 4), 0.1),
    "sequence_parallel_p3":
        ("sequence_parallel/p3", [], random_ranks.stack, (1, 2, 2, 4), 0.05),
    "sequence_parallel_chain":
        ("sequence_parallel/chain", [], random_chains.residual_chain,
         (2, 2, 4), 0.5),
    "sequence_parallel_uneven_chain":
        ("sequence_parallel/chain", ["--set", "chain.uneven=true"],
         random_chains.residual_chain, (2, 3, 4), 0.6),
    "gather_narrow":
        ("sequence_parallel/gather_narrow", [], random_chains.gathered,
         (2, 2, 4), 0.1),
    "gather_rows":
        ("sequence_parallel/gather_rows", [], random_chains.gathered,
         (2, 2, 4), 0.05),
    "sequence_parallel_chains":
        ("sequence_parallel", options("sequence_parallel", "enable"),
         random_chains.residual_chain, (1, 2, 2, 4), 0.3),
    "sequence_parallel":
        ("sequence_parallel", options("sequence_parallel", "enable"),
         random_ranks.stack, (1, 2, 2, 4), 0.2),
    "example_linear_tanh_to_linear_relu":
        ("examples/linear_tanh_to_linear_relu", [],
         random_layers.activated_layers, (1,), 0.5),
}


class RuleSoundness(program.ProgramTest):
    """One test per rule, added below."""

    def instances(self, rule):
        """{seed: (file, inputs by rank, outputs by rank)}."""
        _, _, make, ranks, _ = RULES[rule]
        found = {}
        for seed in range(tier.SEED, tier.SEED + INSTANCES):
            sketch = draft.Draft([seed, len(rule)], ranks[seed % len(ranks)])
            model, wanted = make(sketch)
            source = self.write(f"m{seed}.onnx", model.SerializeToString())
            found[seed] = source, sketch.feeds, wanted
        return found

    def check(self, rule):
        path, settings, _, _, share = RULES[rule]
        instances = self.instances(rule)
        self.run_ok("run", program.ROOT / "rules" / f"{path}.lua", *settings,
                    *[source for source, _, _ in instances.values()],
                    "-o", "out", "-q", "--jobs", "2", "--target", "portable",
                    timeout=600)
        rewritten = 0
        for seed, (source, feeds, wanted) in instances.items():
            result = self.folder / "out" / f"m{seed}.rewritten.onnx"
            if result.read_bytes() == source.read_bytes():
                continue
            rewritten += 1
            with self.subTest(rule=rule, seed=seed):
                found = self.complaints(onnx.load(source), onnx.load(result),
                                        feeds, wanted)
                self.assertFalse(found, "\n  ".join(["", *found]))
        self.assertGreaterEqual(rewritten, share * INSTANCES)

    def check_programs(self, make, share):
        """Each rank has its own program, which takes its slices."""
        chain = program.ROOT / "rules/sequence_parallel/chain.lua"
        instances, files = {}, []
        for seed in range(tier.SEED, tier.SEED + INSTANCES):
            sketch = draft.Draft([seed, 5], (2, 3, 4)[seed % 3])
            model, wanted = make(sketch)
            own = [self.write(f"m{seed}r{rank}.onnx", ranks.program_of(
                model, rank).SerializeToString())
                   for rank in range(len(wanted))]
            instances[seed] = own, sketch.feeds, wanted
            files += own
        self.run_ok("run", chain, *options("chain", "entry", "uneven"), *files,
                    "-o", "out/", "-q", "--jobs", "2", timeout=600)
        rewritten = 0
        for seed, (own, feeds, wanted) in instances.items():
            results = [self.folder / "out" / f.name.replace(
                ".onnx", ".rewritten.onnx") for f in own]
            if results[0].read_bytes() == own[0].read_bytes():
                continue
            rewritten += 1
            got = dialect.evaluate_each([onnx.load(f) for f in results], feeds)
            for rank, outputs in enumerate(wanted):
                for name, want in outputs.items():
                    with self.subTest(seed=seed, rank=rank, output=name):
                        self.assertFalse(numbers.difference(want,
                                                            got[rank][name]))
        self.assertGreaterEqual(rewritten, share * INSTANCES)

    def test_sequence_parallel_entries(self):
        self.check_programs(random_chains.entered_chains, 0.5)

    def test_sequence_parallel_soup(self):
        self.check_programs(random_soup.soup, 0.15)

    @staticmethod
    def complaints(model, result, feeds, wanted):
        """Errors of the result; `wanted` are outputs by rank."""
        onnx.checker.check_model(result)
        if (model.graph.input != result.graph.input
                or model.graph.output != result.graph.output):
            return ["the graph's inputs or outputs changed"]
        found, got = [], dialect.evaluate_ranks(result, feeds)
        for rank, outputs in enumerate(wanted):
            for name, want in outputs.items():
                what = numbers.difference(want, got[rank][name])
                found += [f"rank {rank}: {name}: {what}"] if what else []
        if (len(wanted) == 1 and result.functions
                and dialect.has_bodies(result)):
            found += RuleSoundness.complaints_of_runtime(result, feeds[0],
                                                         wanted[0])
        for value in result.graph.value_info:
            said = value.type.tensor_type
            shape = [d.dim_value for d in said.shape.dim]
            array = np.asarray(got[0][value.name])
            if said.HasField("shape") and 0 not in shape and (
                    shape != list(array.shape)):
                found.append(f"{value.name} is said to be {shape}, "
                             f"but is {array.shape}")
        return found

    @staticmethod
    def complaints_of_runtime(result, feeds, wanted):
        """Errors in ONNX Runtime, which executes the bodies. It cannot be fed
        some types of numbers."""
        if any(a.dtype.kind == "V" for a in feeds.values()):
            return []
        try:
            session = numbers.session(result.SerializeToString())
        except Exception as error:  # pylint: disable=broad-except
            return [f"it does not load: {str(error)[:300]}"]
        # It rounds float16 after each op, even if the result is float.
        halves = any(a.dtype == np.float16 for a in feeds.values())
        slack = 0.1 if halves else 0
        found = []
        for name, got in zip(wanted, session.run(list(wanted), feeds)):
            what = numbers.difference(wanted[name], got,
                                      max(slack, numbers.TOLERANCE.get(
                                          got.dtype.name, 0)))
            found += [f"runtime: {name}: {what}"] if what else []
        return found


def add_test(rule):
    setattr(RuleSoundness, f"test_{rule}", lambda self: self.check(rule))


for rule_name in RULES:
    add_test(rule_name)

if __name__ == "__main__":
    unittest.main()
