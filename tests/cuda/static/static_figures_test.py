"""What the machine code of the GPU's kernels says may only get better.

kernels.tsv has the figures of each kernel for each chip. The percent "vector" is
the part of the bytes that loads and stores of global memory name which 16-byte
ones do; a kernel that also has a path for what isn't aligned has about half.
RULEENGINE_RECORD_KERNELS=1 writes the file anew.
"""

import csv
import os
import pathlib
import subprocess
import unittest

from support import machine_code, program

TABLE = pathlib.Path(__file__).parent / "kernels.tsv"
# Which way is worse.
WORSE = {"registers": 1, "shared": 1, "occupancy": -1, "vector": -1}
COLUMNS = ["chip", "kernel", "threads", *WORSE]
RECORD = "RULEENGINE_RECORD_KERNELS"


def recorded():
    with TABLE.open(newline="") as file:
        return {(row["chip"], row["kernel"]): row
                for row in csv.DictReader(file, delimiter="\t")}


def record(figures):
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        for key, own in sorted(figures.items()):
            writer.writerow([*key, *(own[each] for each in COLUMNS[2:])])


class StaticFigures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = machine_code.tools()
        if folder is None:
            raise unittest.SkipTest("there is no CUDA toolkit")
        subprocess.run([program.ROOT / "cmake/setup.sh", "build", "release",
                        "kernels_cuda_images", "cuda_occupancy"],
                       check=True, capture_output=True)
        cls.figures = machine_code.all_kernels(folder)
        if os.environ.get(RECORD):
            record(cls.figures)

    def test_no_kernel_uses_local_memory(self):
        self.assertEqual([key for key, own in self.figures.items()
                          if own["local"]], [])

    def test_each_kernel_fits_each_chip(self):
        self.assertEqual([key for key, own in self.figures.items()
                          if own["occupancy"] == 0], [])

    def test_figures_only_get_better(self):
        table = recorded()
        self.assertEqual(sorted(table), sorted(self.figures),
                         f"{RECORD}=1 records the kernels")
        worse, better = [], []
        for key, own in self.figures.items():
            for name, way in WORSE.items():
                change = (own[name] - int(table[key][name])) * way
                text = f"{' '.join(key)}: {name} {table[key][name]} -> {own[name]}"
                worse += [text] if change > 0 else []
                better += [text] if change < 0 else []
        self.assertEqual(worse, [], "worse")
        self.assertEqual(better, [], f"better: {RECORD}=1 records it")
