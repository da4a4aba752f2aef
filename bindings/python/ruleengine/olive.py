"""The rewrite of an ONNX model as one step of an Olive workflow.

    olive.workflows.run({
        "input_model": {"type": "ONNXModel", "model_path": "model.onnx"},
        "passes": {"rules": {"type": "RuleEngineRewrite", "target": "ort"}},
        "output_dir": "out"}, package_config=ruleengine.olive.packages())
"""

from __future__ import annotations

import json
import pathlib
from typing import Any, Optional, Union

from olive.model import ONNXModelHandler
from olive.model.utils import resolve_onnx_path
from olive.package_config import OlivePackageConfig
from olive.passes import Pass
from olive.passes.pass_config import PassConfigParam

from ._arguments import RewriteOptions
from ._rules import RuleSet

# What a step may state, as in ruleengine.rewrite().
_PARAMETERS: dict[str, tuple[Any, Any, str]] = {
    "rules": (Optional[list[str]], None,
              "packs, paths or texts of rules; all packs that ship"),
    "options": (Optional[dict[str, Any]], None, "options of the rules"),
    "target": (str, "auto", "the form of the result"),
    "opset": (Optional[int], None, "raise the opset of the result to this"),
    "verify": (Union[bool, str, None], None, "compare model and result"),
    "exact": (bool, False, "only rewrites that assume nothing"),
}


class RuleEngineRewrite(Pass):  # type: ignore[misc]
    """Rewrites the model as ruleengine.rewrite() does."""

    @classmethod
    def _default_config(cls, accelerator_spec: object
                        ) -> dict[str, PassConfigParam]:
        return {name: PassConfigParam(type_=kind, default_value=default,
                                      description=what)
                for name, (kind, default, what) in _PARAMETERS.items()}

    def _run_for_config(self, model: ONNXModelHandler, config: Any,
                        output_model_path: str) -> ONNXModelHandler:
        source = pathlib.Path(model.model_path)
        # Olive takes a file of the same name in the current folder instead.
        target = pathlib.Path(resolve_onnx_path(
            output_model_path, f"{source.stem}.rewritten.onnx"))
        how: RewriteOptions = {"target": config.target, "opset": config.opset,
                               "verify": config.verify, "exact": config.exact}
        RuleSet(config.rules, options=config.options).rewrite(
            source, output=target, **how)
        has_data = len(list(target.parent.iterdir())) > 1
        if not has_data:
            return ONNXModelHandler(model_path=str(target))
        return ONNXModelHandler(model_path=str(target.parent),
                                onnx_file_name=target.name)


def packages() -> dict[str, Any]:
    """Olive's own passes, and RuleEngineRewrite: a `package_config`."""
    path = OlivePackageConfig.get_default_config_path()
    with open(path, encoding="utf-8") as file:
        known: dict[str, Any] = json.load(file)
    known["passes"]["RuleEngineRewrite"] = {
        "module_path": f"{__name__}.RuleEngineRewrite",
        "supported_providers": ["*"], "supported_accelerators": ["*"],
        "supported_precisions": ["*"]}
    return known
