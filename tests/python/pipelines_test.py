"""The steps of Olive and of optimum in docs/python.md: they run where these
packages are, which need PyTorch and several GB; else they are skipped."""

import importlib.util
import os
import pathlib
import re
import shutil
import unittest

import numpy as np
import onnx

from support import onnx_runtime, program

PAGE = program.ROOT / "docs" / "python.md"


def is_there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def ops(path):
    model = onnx.load(str(path), load_external_data=False)
    return [node.op_type for node in model.graph.node]


class PipelinesTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)

    def run_block(self, name):
        [code] = re.findall(rf"^```python {name}\n(.*?)^```",
                            PAGE.read_text(), re.M | re.S)
        names = {}
        exec(compile(code, str(PAGE), "exec"), names)
        return names

    @unittest.skipUnless(is_there("olive.workflows"), "no Olive")
    def test_olive(self):
        shutil.copy(program.ROOT / "examples" / "bert.onnx", self.folder)
        self.run_block("olive")
        [result] = pathlib.Path("quantized").rglob("*.onnx")
        types = ops(result)
        self.assertEqual(types.count("MultiHeadAttention"), 2)
        self.assertIn("DynamicQuantizeLinear", types)
        inputs = {name: np.ones((2, 7), np.int64) for name in
                  ("input_ids", "attention_mask", "token_type_ids")}
        before, after = (
            onnx_runtime.session(onnx.load(str(path))).run(None, inputs)
            for path in ("bert.onnx", result))
        np.testing.assert_allclose(before[0], after[0], atol=0.1)

    @unittest.skipUnless(is_there("olive.workflows"), "no Olive")
    def test_olive_with_weights_beside_the_model(self):
        model = onnx.load(str(program.ROOT / "examples" / "bert.onnx"))
        onnx.save(model, "bert.onnx", save_as_external_data=True,
                  location="bert.bin", size_threshold=100)
        self.run_block("olive")
        [result] = pathlib.Path("quantized").rglob("*.onnx")
        self.assertEqual(ops(result).count("MultiHeadAttention"), 2)

    @unittest.skipUnless(is_there("optimum.onnxruntime"), "no optimum")
    def test_optimum(self):
        import torch
        import transformers
        from optimum.onnxruntime import ORTModelForFeatureExtraction
        config = transformers.BertConfig(
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=64, vocab_size=99)
        torch.manual_seed(0)
        transformers.BertModel(config).save_pretrained("bert")
        exported = ORTModelForFeatureExtraction.from_pretrained(
            "bert", export=True)
        exported.save_pretrained("exported")
        rewritten = self.run_block("optimum")["extractor"]
        self.assertIn("MultiHeadAttention", ops("exported/rewritten.onnx"))
        inputs = {"input_ids": torch.arange(10).reshape(2, 5),
                  "attention_mask": torch.ones(2, 5, dtype=torch.int64),
                  "token_type_ids": torch.zeros(2, 5, dtype=torch.int64)}
        before, after = (its(**inputs).last_hidden_state.detach().numpy()
                         for its in (exported, rewritten))
        np.testing.assert_allclose(before, after, atol=2e-5)


if __name__ == "__main__":
    unittest.main()
