"""The ONNX package's own tests of backends, and which of them fail.

conformance_failures.txt names each case that fails and why. The test fails for
a case that fails and is not named, and for one that is named and passes: the
number of cases that pass can only go up.
"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import conformance  # noqa: E402
from support import program  # noqa: E402

KNOWN = pathlib.Path(__file__).with_name("conformance_failures.txt")
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")


def known_failures():
    """{case: why it fails}."""
    lines = (line.split(":", 1) for line in KNOWN.read_text().splitlines()
             if line and not line.startswith("#"))
    return {name.strip(): why.strip() for name, why in lines}


class Conformance(unittest.TestCase):
    def test_every_case(self):
        known, seen, passed = known_failures(), set(), 0
        with tempfile.TemporaryDirectory() as folder:
            for case in conformance.cases(KINDS):
                name = case[0]
                seen.add(name)
                why = conformance.run_case(program.PROGRAM, pathlib.Path(folder),
                                           case)
                passed += why is None
                with self.subTest(name):
                    if name in known:
                        self.assertIsNotNone(why, "passes now: remove it from "
                                             f"{KNOWN.name}")
                    else:
                        self.assertIsNone(why)
        self.assertEqual(set(known) - seen, set())
        print(f"conformance: {passed} of {len(seen)} cases")


if __name__ == "__main__":
    unittest.main()
