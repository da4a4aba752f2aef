#!/usr/bin/env python3
"""Writes vision models of torchvision and timm, as their exporters write them.

    python3 -m venv /tmp/vision && /tmp/vision/bin/pip install torch==2.15.0 \\
        torchvision==0.29.2 timm==1.0.31 onnx==1.23.2 onnxscript==0.7.2
    /tmp/vision/bin/python tests/bench/vision.py FOLDER

Weights are random. The exporters alternate: torch.export with opset 18,
unoptimized, and TorchScript with opset 17. Takes a quarter of an hour and 2 GB.
"""

import pathlib
import sys
import warnings

# pylint: disable=import-error
import timm
import torch
import torchvision

TORCHVISION = [
    "densenet121", "efficientnet_b0", "googlenet", "inception_v3",
    "mnasnet0_5", "mobilenet_v2", "mobilenet_v3_small", "regnet_y_400mf",
    "resnet18", "shufflenet_v2_x1_0", "squeezenet1_0", "swin_t", "swin_v2_t"]
SEGMENTATION = ["deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"]
TIMM = [
    "coat_lite_tiny", "crossvit_tiny_240",
    "deit_tiny_patch16_224", "edgenext_xx_small", "efficientformer_l1",
    "fastvit_t8", "ghostnet_100", "hrnet_w18_small", "levit_128s",
    "mobilevit_xxs", "poolformer_s12", "pvt_v2_b0", "repvgg_a0", "rexnet_100",
    "xcit_nano_12_p16_224"]


def models():
    for name in TORCHVISION:
        size = 299 if name == "inception_v3" else 224
        given = {"init_weights": False} if size == 299 or name == "googlenet" \
            else {}
        yield name, torchvision.models.get_model(name, weights=None,
                                                 **given), size
    for name in SEGMENTATION:
        yield name, torchvision.models.get_model(
            name, weights=None, weights_backbone=None), 320
    for name in TIMM:
        model = timm.create_model(name, pretrained=False)
        yield name, model, model.default_cfg["input_size"][-1]


def main():
    warnings.filterwarnings("ignore")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for i, (name, model, size) in enumerate(models()):
        modern = i % 2 == 0 and name not in SEGMENTATION
        given = {"dynamo": True, "opset_version": 18, "optimize": False,
                 "external_data": False, "verbose": False} if modern else \
            {"dynamo": False, "opset_version": 17}
        torch.onnx.export(model.eval(), (torch.randn(1, 3, size, size),),
                          folder / f"{name}.onnx", **given)
        print(name, "torch.export" if modern else "TorchScript", flush=True)


if __name__ == "__main__":
    main()
