"""Step s: models under compute-sanitizer of the toolkit, where it is there."""

import os
import pathlib
import shutil

import equality
from tool import PROGRAM, Trouble

TOOLS = ("memcheck", "racecheck", "synccheck")
FOUND = 9  # exit code where something is wrong


def find():
    """Its path, or None."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    found = shutil.which("compute-sanitizer", path=os.pathsep.join(
        [os.environ.get("PATH", os.defpath), str(pathlib.Path(home) / "bin")]))
    return found and pathlib.Path(found)


def check_all(setting, deadline):
    sanitizer = find()
    if sanitizer is None:
        return [{"tool": "compute-sanitizer", "model": "", "clean": None,
                 "why": "is not there"}]
    rows = []
    models = [path for path in equality.models_of(setting)
              if path.stem in equality.FEW]
    for name, model in ((name, model) for name in TOOLS for model in models):
        row = {"tool": name, "model": model.stem, "clean": True, "why": ""}
        rows.append(row)
        try:
            setting.run("--tool", name, "--error-exitcode", FOUND, PROGRAM,
                        "exec", model, "--random", "--device", "cuda",
                        deadline=deadline, program=sanitizer)
        except Trouble as trouble:
            row.update(clean=False, why=str(trouble))
    return rows
