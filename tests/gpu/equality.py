"""Step b: the outputs of models on the GPU, of a run that is recorded where that
is possible, against those of the CPU: `bench --compare`. A model with plans of
cuDNN runs a second time, by those that the first process left in a folder."""

import dataclasses
import pathlib
import tempfile

from tool import ROOT, Trouble, on_cpu

MODELS = ROOT / "tests" / "data" / "models"
# Those of the tests are float: cuDNN has no plans for them.
PLANNED = ROOT / "tests" / "gpu" / "attention.onnxtxt"
FEW = ("bert.d18_sdpa", "llama_gqa.d18_sdpa")  # on stand-ins, which are slow


def models_of(setting):
    if setting.models is not None:
        return sorted(path for path in setting.models.iterdir()
                      if path.suffix in (".onnx", ".onnxtxt"))
    found = sorted(MODELS.glob("*.onnx"))
    if setting.is_standin:
        found = [path for path in found if path.stem in FEW]
    return [*found, PLANNED]


def compare_all(setting, deadline, paths=None):
    setting = dataclasses.replace(setting, rounds=6)
    rows = []
    for path in paths or models_of(setting):
        row = {"model": path.stem, "equal": False, "worst": None,
               "on_cpu": None, "plans": 0, "why": ""}
        rows.append(row)
        try:
            with tempfile.TemporaryDirectory() as folder:
                own = dataclasses.replace(setting, plans=pathlib.Path(folder))
                compare(row, own, path, deadline)
        except Trouble as trouble:
            row.update(equal=False, why=str(trouble))
    return rows


def compare(row, setting, path, deadline):
    inputs = path.with_suffix(".npz")
    given = ("--inputs", inputs) if inputs.exists() else ()

    def run():
        found = setting.bench(path, "--compare", *given, deadline=deadline,
                              codes=(0, 6))
        compared = found["compared"]
        row.update(equal=compared["differs"] is None,
                   worst=compared["max_abs"], of_largest=compared["max_rel"],
                   on_cpu=on_cpu(found), recorded=found["recorded"],
                   why=compared["differs"] or "")

    run()
    kept = files_of(setting.plans)
    row["plans"] = len(kept)
    if not kept or not row["equal"]:
        return
    run()
    if not kept.items() <= files_of(setting.plans).items():
        raise Trouble("plans of the folder were built again")


def files_of(folder):
    """The plans there. One that is written again is another file."""
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
            for path in folder.glob("*.plan")}
