"""The mutation script on one small file: all mutants compile once and differ.

For core/ and bindings/ it takes an hour; see tests/mutation/README.md.
"""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

from mutation import build, points

SOURCE = rb"""#include <algorithm>
#include <string>
#include <vector>

constexpr int kFirst = 1;

// The last place where a sorted list holds less than x; -1 for none.
int place(const std::vector<int>& list, int x) {
  if (list.empty() || x <= list[0]) return -1;
  int at = kFirst;
  while (at < static_cast<int>(list.size()) && list[at] < x) ++at;
  return at - 1;
}

bool listed(const std::vector<int>& list, int x) {
  bool found = false;
  for (int each : list) {
    if (each != x) continue;
    found = true;
    break;
  }
  return found;
}

std::string twice(const std::string& text) { return text + text; }

int main() {
  const std::vector<int> list = {2, 4, 6};
  if (place(list, 1) != -1 || place(list, 2) != -1) return 1;
  if (place({}, 0) != -1 || place(list, 3) != 0) return 2;
  if (place(list, 6) != 1 || place(list, 9) != 2) return 3;
  if (!listed(list, 4) || listed(list, 5)) return 4;
  return twice("ab") == "abab" ? 0 : 5;
}
"""
CODE = SOURCE[:SOURCE.index(b"int main")]


class Schemata(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mutation-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def compiled(self, text):
        """The output of the compiler."""
        path = self.folder / "a.cc"
        path.write_bytes(text + SOURCE[len(CODE):])
        return subprocess.run(
            ["g++", "-std=c++20", "-w", "-include", build.HERE / "switch.h",
             path, "-o", self.folder / "a"], capture_output=True, text=True,
            check=False).stderr

    def test_mutants(self):
        found = points.find("a.cc", CODE)
        changes = [p.change for p in found]
        self.assertIn("x <= list[0] => <", changes)
        self.assertIn("if (each != x) => never", changes)
        self.assertFalse(any("kFirst = 1" in c for c in changes), changes)
        numbered = dict(enumerate(found, 1))

        # Mutants that do not compile are found in the compiler's output and dropped.
        text, spans = points.write(CODE, numbered)
        self.assertEqual({number for _, _, number in spans}, set(numbered))
        self.assertEqual(points.write(CODE, {}), (CODE, []))
        bad = build.culprits(self.compiled(text), self.folder / "a.cc", text,
                             spans)
        self.assertEqual([numbered[n].change for n in sorted(bad)],
                         ["text + text => -"])
        for number in bad:
            del numbered[number]
        text, spans = points.write(CODE, numbered)
        self.assertEqual(self.compiled(text), "")

        survivors = [point.change for number, point in numbered.items()
                     if self.run_with(number) == 0]
        self.assertEqual(self.run_with(0), 0)
        self.assertEqual(self.run_with(len(found) + 1), 0)
        # The `break` only saves time.
        self.assertEqual(survivors, ["break; => nothing"])

    def run_with(self, mutant):
        try:
            return subprocess.run(
                [self.folder / "a"], timeout=5, check=False,
                env={"RULEENGINE_MUTANT": str(mutant)}).returncode
        except subprocess.TimeoutExpired:
            return "it never ended"

    def test_what_is_reached(self):
        found = points.find("a.cc", CODE)
        numbered = {n: p for n, p in enumerate(found, 1)
                    if p.change == "break; => nothing"}
        (number,) = numbered
        text, _ = points.write(CODE, numbered)
        self.assertEqual(self.compiled(text), "")
        file = self.folder / "reached"
        file.write_bytes(bytes(1 << 16))
        subprocess.run([self.folder / "a"], check=True,
                       env={"RULEENGINE_MUTANT_REACHED": str(file)})
        reached = file.read_bytes()
        self.assertEqual([i for i, b in enumerate(reached) if b], [number])


if __name__ == "__main__":
    unittest.main()
