"""The mutants: a random sample, drawn by a seed.

Stored in FOLDER/sample.json by number. Mutants are identified by their text, so
they are found again after an edit.
"""

import json
import pathlib
import random
import subprocess

from mutation import points

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
# The minimum for each layer, however small it is.
FLOOR = 20


def sources():
    """{layer: files} to mutate."""
    layers = {}
    for top in ("core", "bindings"):
        for path in sorted((ROOT / top).rglob("*.cc")):
            if not path.name.endswith("_test.cc"):
                name = str(path.relative_to(ROOT))
                layers.setdefault(layer_of(name), []).append(name)
    return layers


def layer_of(path):
    return "/".join(path.split("/")[:2])


def all_points(path):
    return points.find(path, (ROOT / path).read_bytes())


def draw(size, seed, files):
    """Keys of a random sample: in proportion, with a floor for each layer.

    With `files`, about that many files are drawn first, with a probability by
    size, and then equally many points of each: fewer files to compile.
    """
    chance = random.Random(seed)
    layers = {layer: {path: [p.key for p in all_points(path)] for path in paths}
              for layer, paths in sorted(sources().items())}
    total = sum(len(keys) for paths in layers.values()
                for keys in paths.values())
    sample = []
    for paths in layers.values():
        found = sum(map(len, paths.values()))
        count = max(min(FLOOR, size), round(size * found / total))
        chosen = paths
        if files:
            chosen = some_files(paths, max(3, round(files * found / total)),
                                chance)
            each = -(-count // len(chosen))
            chosen = {path: chance.sample(keys, min(each, len(keys)))
                      for path, keys in chosen.items()}
        keys = [key for each in chosen.values() for key in each]
        sample += chance.sample(keys, min(count, len(keys)))
    return sample


def some_files(paths, count, chance):
    left, chosen = {p: k for p, k in paths.items() if k}, {}
    while left and len(chosen) < count:
        path = chance.choices(list(left), list(map(len, left.values())))[0]
        chosen[path] = left.pop(path)
    return chosen


class Sample:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.file = self.folder / "sample.json"
        self.data = json.loads(self.file.read_text()) \
            if self.file.exists() else {}

    def start(self, size, seed, files=0):
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"],
                                cwd=ROOT, capture_output=True, text=True,
                                check=True).stdout.strip()
        keys = draw(size, seed, files)
        self.data = {"seed": seed, "commit": commit, "dropped": [],
                     "mutants": {str(i): k for i, k in enumerate(keys, 1)}}
        self.save()

    def save(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.data, indent=1) + "\n")

    def drop(self, numbers):
        for number in sorted(numbers):
            print("does not compile:", self.data["mutants"][str(number)],
                  flush=True)
        self.data["dropped"] = sorted({*self.data["dropped"], *numbers})
        self.save()

    def mutants(self):
        """{number: Point} of all that compile and are still in the code."""
        wanted = {key: int(number)
                  for number, key in self.data["mutants"].items()
                  if int(number) not in self.data["dropped"]}
        paths = sorted({key.split(" | ")[0] for key in wanted})
        return {wanted[p.key]: p
                for path in paths if (ROOT / path).exists()
                for p in all_points(path) if p.key in wanted}
