"""Step b: the outputs of models on the GPU, of a run that is recorded where that
is possible, against those of the CPU: `bench --compare`."""

import dataclasses

from tool import ROOT, Trouble, on_cpu

MODELS = ROOT / "tests" / "data" / "models"
FEW = ("bert.d18_sdpa", "llama_gqa.d18_sdpa")  # on stand-ins, which are slow


def models_of(setting):
    if setting.models is not None:
        return sorted(path for path in setting.models.iterdir()
                      if path.suffix in (".onnx", ".onnxtxt"))
    found = sorted(MODELS.glob("*.onnx"))
    return ([path for path in found if path.stem in FEW]
            if setting.is_standin else found)


def compare_all(setting, deadline, paths=None):
    setting = dataclasses.replace(setting, rounds=6)
    rows = []
    for path in paths or models_of(setting):
        row = {"model": path.stem, "equal": False, "worst": None,
               "on_cpu": None, "why": ""}
        rows.append(row)
        inputs = path.with_suffix(".npz")
        given = ("--inputs", inputs) if inputs.exists() else ()
        try:
            found = setting.bench(path, "--compare", *given, deadline=deadline,
                                  codes=(0, 6))
        except Trouble as trouble:
            row["why"] = str(trouble)
            continue
        compared = found["compared"]
        row.update(equal=compared["differs"] is None,
                   worst=compared["max_abs"], of_largest=compared["max_rel"],
                   on_cpu=on_cpu(found), recorded=found["recorded"],
                   why=compared["differs"] or "")
    return rows
