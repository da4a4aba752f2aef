"""The program runs on every x86-64 machine: only code that is chosen at run time
has instructions of AVX-512. A pragma that reaches too far gives them to any
function, and the program then dies on machines that lack them."""

import platform
import re
import shutil
import subprocess
import unittest

from support import program

# The functions that kernels choose by what the machine has.
CHOSEN = re.compile(r"in_512_bits|attend_512|Loops<\w+, ?64|gemm_loops_64|"
                    r"gemm_loops<\w+, ?64")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")


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


if __name__ == "__main__":
    unittest.main()
