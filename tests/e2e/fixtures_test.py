"""Small graphs and facts of their rewritten form: tests/data/fixtures, and the
shared collection if it exists. support/facts.py defines fixtures."""

import json
import pathlib
import unittest

from support import facts, program

RULES = {
    "compose_parallel_linears": "attention/compose_parallel_linears",
    "compose_scaled_dot_product_attention":
        "attention/compose_scaled_dot_product_attention",
    "decompose_multihead_attention": "attention/decompose_multihead_attention",
    "decompose_swin_attention": "attention/decompose_swin_attention",
    "example_linear_tanh_to_linear_relu":
        "examples/linear_tanh_to_linear_relu",
    "fuse_masked_attention": "attention/fuse_masked_attention",
    "lift_combine_quant": "quantization/lift_combine_quant",
    "merge_linear": "linear/merge_linear",
    "normalize_operators": "canonical/normalize_operators",
    "remove_dropout": "canonical/remove_dropout",
    "sequence_parallel": "sequence_parallel",
    "sequence_parallel_p3": "sequence_parallel/p3",
    "wrap_functional_sdpa": "attention/wrap_functional_sdpa",
}
OPTIONS = {"enable_sequence_parallel": "sequence_parallel.enable"}


def find_fixtures():
    """{name: its .json} of fixtures whose rules all exist."""
    found = {}
    for folder in (program.SHARED / "fixtures" / "cases",
                   program.DATA / "fixtures"):
        for path in sorted(folder.glob("*.json")):
            if RULES.keys() >= set(json.loads(path.read_text())["rules"]):
                found[path.stem] = path
    return found


FIXTURES = find_fixtures()


def settings_of(fixture):
    """The fixture's configuration as options of the command line."""
    words = []
    for name, value in fixture.get("config", {}).items():
        option = OPTIONS.get(name, name)
        # A rule given by itself does not know its pack's options.
        if option.split(".")[0] in fixture["rules"]:
            text = str(value).lower() if isinstance(value, bool) else value
            words += ["--set", f"{option}={text}"]
    return words


class Fixtures(program.ProgramTest):
    """One test per fixture, added below."""

    def test_enough_of_them(self):
        self.assertGreaterEqual(len(FIXTURES), 60)
        used = {rule for path in FIXTURES.values()
                for rule in json.loads(path.read_text())["rules"]}
        self.assertEqual(used, RULES.keys())

    def check(self, path):
        fixture = json.loads(path.read_text())
        files = [program.ROOT / "rules" / f"{RULES[rule]}.lua"
                 for rule in fixture["rules"]]
        source = path.with_suffix(".onnx")
        once, twice = self.folder / "once.onnx", self.folder / "twice.onnx"
        settings = [*settings_of(fixture), "--target", "portable"]
        log = self.run_ok("run", *files, source, "-o", once, *settings).err
        self.run_ok("run", *reversed(files), once, "-o", twice, *settings)
        checker = facts.Checker(fixture, pathlib.Path(source), once, twice,
                                log)
        found = checker.complaints()
        self.assertFalse(found, "\n  ".join(["", *found]))


def add_test(name, path):
    setattr(Fixtures, f"test_{name}", lambda self: self.check(path))


for fixture_name, fixture_path in FIXTURES.items():
    add_test(fixture_name, fixture_path)

if __name__ == "__main__":
    unittest.main()
