"""The program runs on every x86-64 machine: only code that is chosen at run time
has instructions of AVX-512. A pragma that reaches too far gives them to any
function, and the program then dies on machines that lack them."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import unittest

from support import program

# The functions that kernels choose by what the machine has.
CHOSEN = re.compile(r"in_512_bits|widen_512|narrow_512")


@unittest.skipUnless(platform.machine() == "x86_64", "an x86-64 machine")
@unittest.skipUnless(shutil.which("objdump"), "binutils")
class Instructions(unittest.TestCase):
    def test_wide_vectors_are_chosen_at_run_time(self):
        listing = subprocess.Popen(
            ["objdump", "-dC", "--no-show-raw-insn", "--no-addresses",
             str(program.PROGRAM)], stdout=subprocess.PIPE, text=True)
        name, wide = "", set()
        for line in listing.stdout:
            if line.startswith("<"):
                name = line
            elif "%zmm" in line:
                wide.add(name)
        self.assertEqual(listing.wait(), 0)
        self.assertTrue(any(CHOSEN.search(each) for each in wide))
        self.assertEqual(
            [each for each in sorted(wide) if not CHOSEN.search(each)], [])

    def test_unit_tests_pass_with_narrower_vectors(self):
        for name in ("kernels_test", "runtime_test"):
            unit_tests = pathlib.Path(program.PROGRAM).parent / name
            if not unit_tests.exists():
                self.skipTest(f"{name} is not built")
            for bits in ("128", "256"):
                with self.subTest(name, bits=bits):
                    done = subprocess.run(
                        [unit_tests], cwd=program.ROOT, capture_output=True,
                        text=True, timeout=300, check=False,
                        env={**os.environ, "RULEENGINE_VECTOR_BITS": bits})
                    self.assertEqual(done.returncode, 0, done.stdout[-2000:])


if __name__ == "__main__":
    unittest.main()
