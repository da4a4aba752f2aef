"""The backend tests of the ONNX package, and those that fail.

conformance_failures.txt names each case that fails, with the reason. The test
fails for a case that fails and is not named, and for one that is named and passes:
the number of cases that pass can only grow. ./test --all runs them under the
sanitizers too.
"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import conformance  # noqa: E402
from support import program, tier  # noqa: E402

KNOWN = pathlib.Path(__file__).with_name("conformance_failures.txt")
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")


def known_failures():
    """{case: why it fails}."""
    lines = (line.split(":", 1) for line in KNOWN.read_text().splitlines()
             if line and not line.startswith("#"))
    return {name.strip(): why.strip() for name, why in lines}


class Conformance(unittest.TestCase):
    def test_every_case(self):
        known = known_failures()
        all_cases = list(conformance.cases(KINDS))
        self.assertEqual(set(known) - {case[0] for case in all_cases}, set())
        alone = [[case] for case in all_cases if case[0] in known]
        batches = alone + list(conformance.batches(
            case for case in all_cases if case[0] not in known))
        for tested in tier.sample(program.programs()[:1], program.programs()):
            passed = 0
            with tempfile.TemporaryDirectory() as folder:
                for batch in batches:
                    passed += self.check(tested, pathlib.Path(folder), batch,
                                         known)
            print(f"conformance: {passed} of {len(all_cases)} cases")

    def check(self, tested, folder, batch, known):
        """Checks the number of cases that pass."""
        results = conformance.run_batch(tested, folder, batch)
        for name, why in results.items():
            with self.subTest(name, program=tested):
                if name in known:
                    self.assertIsNotNone(
                        why, f"passes now: remove it from {KNOWN.name}")
                else:
                    self.assertIsNone(why)
        return sum(why is None for why in results.values())


if __name__ == "__main__":
    unittest.main()
