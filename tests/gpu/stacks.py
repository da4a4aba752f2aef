"""Step e: stacks of the shape of BERT-large, ViT-L and Llama 3.2 1B with random
weights, beside PyTorch (eager, and each layer compiled) and ONNX Runtime."""

import dataclasses

import rivals
from tool import ROOT, Trouble, Weights, on_cpu
from wire import integers, write_model

SCALE = 0.02    # of weights
COMPILING = 45  # seconds that PyTorch may take, and that nothing can end


@dataclasses.dataclass
class Stack:
    name: str
    batch: int
    length: int
    layers: int
    width: int
    heads: int
    kv_heads: int
    inner: int
    dtype: str = "float16"
    style: str = "pre"  # where norms are: "pre", "post"; or "llama"
    rows: int = 4096    # of the table of embeddings

    def head(self):
        return self.width // self.heads


ALL = [Stack("BERT-large", 8, 384, 24, 1024, 16, 16, 4096, style="post"),
       Stack("ViT-L", 16, 577, 24, 1024, 16, 16, 4096),
       Stack("Llama-1B", 1, 2048, 16, 2048, 32, 8, 8192, "bfloat16", "llama")]
FEW = [dataclasses.replace(
    each, batch=1, length=4, layers=1, width=16, heads=2, inner=32, rows=8,
    kv_heads=max(1, 2 * each.kv_heads // each.heads)) for each in ALL]


class Writer:
    """A stack as a model."""

    def __init__(self, stack, weights):
        self.stack, self.weights = stack, weights
        self.given, self.nodes = [], []

    def weight(self, *dims):
        name = f"w{len(self.given)}"
        self.given.append(self.weights.tensor(name, self.stack.dtype, dims))
        return name

    def node(self, call):
        self.nodes.append(f"v{len(self.nodes)} = {call}")
        return f"v{len(self.nodes) - 1}"

    def linear(self, x, rows, columns):
        y = self.node(f"MatMul({x}, {self.weight(rows, columns)})")
        if self.stack.style == "llama":
            return y
        return self.node(f"Add({y}, {self.weight(columns)})")

    def norm(self, x):
        scale = self.weight(self.stack.width)
        if self.stack.style == "llama":
            return self.node(f"RMSNormalization({x}, {scale})")
        return self.node(f"LayerNormalization({x}, {scale}, "
                         f"{self.weight(self.stack.width)})")

    def attention(self, x):
        s = self.stack
        small = s.kv_heads * s.head()
        q, k, v = (self.linear(x, s.width, columns)
                   for columns in (s.width, small, small))
        causal = int(s.style == "llama")
        if causal:
            q, k = (self.node(f"RotaryEmbedding<num_heads = {count}>"
                              f"({each}, cosines, sines, places)")
                    for each, count in ((q, s.heads), (k, s.kv_heads)))
        y = self.node(f"Attention<q_num_heads = {s.heads}, kv_num_heads = "
                      f"{s.kv_heads}, is_causal = {causal}>({q}, {k}, {v})")
        return self.linear(y, s.width, s.width)

    def inner(self, x):
        s = self.stack
        up = self.linear(x, s.width, s.inner)
        if s.style == "llama":
            gate = self.linear(x, s.width, s.inner)
            gate = self.node(f"Mul({gate}, {self.node(f'Sigmoid({gate})')})")
            up = self.node(f"Mul({gate}, {up})")
        else:
            up = self.node(f"Gelu({up})")
        return self.linear(up, s.inner, s.width)

    def write(self, path):
        s = self.stack
        x = self.node(f"Gather({self.weight(s.rows, s.width)}, ids)")
        if s.style == "llama":
            half = s.head() // 2
            for name in ("cosines", "sines"):
                self.given.append(self.weights.tensor(name, s.dtype,
                                                      [s.length, half]))
            self.given.append(integers("places", [s.batch, s.length],
                                       [*range(s.length)] * s.batch))
        for _ in range(s.layers):
            for part in (self.attention, self.inner):
                if s.style == "post":
                    x = self.norm(self.node(f"Add({x}, {part(x)})"))
                else:
                    x = self.node(f"Add({x}, {part(self.norm(x))})")
        self.given += [integers("zero", [3], [0, 0, 0]),
                       integers("ends", [3], [1, 1, s.width])]
        self.nodes.append(f"y = Slice({x}, zero, ends)")
        return write_model(path, [("ids", "int64", [s.batch, s.length])],
                           [("y", s.dtype, [1, 1, s.width])], self.given,
                           self.nodes)


# --- The same in PyTorch ----------------------------------------------------------


def torch_stack(s):
    """A function that runs the stack, and its layers."""
    t = rivals.torch()
    nn, f = t.nn, t.nn.functional
    llama = s.style == "llama"
    how = {"device": "cuda", "dtype": rivals.dtype_of(s.dtype)}
    small = s.kv_heads * s.head()
    angles = t.rand(s.length, s.head() // 2, device="cuda")
    cosines, sines = (each.to(how["dtype"])
                      for each in (angles.cos(), angles.sin()))

    def linear(rows, columns):
        return nn.Linear(rows, columns, bias=not llama, **how)

    def norm():
        return (nn.RMSNorm if llama else nn.LayerNorm)(s.width, **how)

    def rotated(x):
        a, b = x.chunk(2, -1)
        return t.cat((a * cosines - b * sines, a * sines + b * cosines), -1)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (
                linear(s.width, s.width), linear(s.width, small),
                linear(s.width, small), linear(s.width, s.width))
            self.up, self.down = (linear(s.width, s.inner),
                                  linear(s.inner, s.width))
            self.gate = linear(s.width, s.inner) if llama else None
            self.norms = nn.ModuleList([norm(), norm()])

        def attention(self, x):
            q, k, v = (part(x).view(s.batch, s.length, -1, s.head())
                       .transpose(1, 2) for part in (self.q, self.k, self.v))
            if llama:
                q, k = rotated(q), rotated(k)
            y = f.scaled_dot_product_attention(
                q, k, v, is_causal=llama, **({"enable_gqa": True} if llama
                                             else {}))
            return self.o(y.transpose(1, 2).reshape(s.batch, s.length, -1))

        def inner(self, x):
            up = self.up(x)
            return self.down(f.silu(self.gate(x)) * up if llama else f.gelu(up))

        def forward(self, x):
            for its, part in zip(self.norms, (self.attention, self.inner)):
                x = its(x + part(x)) if s.style == "post" else x + part(its(x))
            return x

    table = nn.Embedding(s.rows, s.width, **how)
    layers = [Layer() for _ in range(s.layers)]
    ids = t.ones(s.batch, s.length, dtype=t.int64, device="cuda")

    def work():
        with t.no_grad():
            x = table(ids)
            for each in layers:
                x = each(x)
            return x[:1, :1].cpu()

    return work, layers


# --- Measuring --------------------------------------------------------------------


def _with_rivals(setting, s, path, row, deadline):
    try:
        work, layers = torch_stack(s)
        row["torch"] = rivals.wall_seconds(work)
        if deadline.left() < COMPILING:
            raise TimeoutError("no time to compile")
        for each in layers:
            each.compile()
        row["torch_compiled"] = rivals.wall_seconds(work)
    except Trouble:
        pass  # said at the start
    except Exception as error:
        row["why"] = f"PyTorch: {' '.join(str(error).split())[:150]}"
    try:
        rivals.onnxruntime()
        import numpy as np
        theirs = path.with_suffix(".ort.onnx")
        setting.run("run", *sorted(ROOT.glob("rules/*.lua")), path, "--target",
                    "ort", "--share-data", "-q", "-o", theirs,
                    deadline=deadline)
        row["onnxruntime"] = rivals.onnxruntime_seconds(
            theirs, {"ids": np.ones((s.batch, s.length), np.int64)})
    except Trouble as trouble:
        row["onnxruntime_why"] = str(trouble)


def measure_all(setting, deadline):
    rows = []
    weights = Weights(setting.folder, SCALE)
    for s in FEW if setting.is_standin else ALL:
        row = {"stack": f"{s.name}, B{s.batch} S{s.length} {s.dtype}",
               "seconds": None, "torch": None, "torch_compiled": None,
               "onnxruntime": None, "why": ""}
        rows.append(row)
        path = Writer(s, weights).write(
            setting.folder / f"{s.name}-stack.onnx")
        try:
            found = setting.bench(path, deadline=deadline)
            row.update(seconds=found["ms"]["median"] / 1e3,
                       on_cpu=on_cpu(found), recorded=found["recorded"])
        except Trouble as trouble:
            row["why"] = str(trouble)
        if not setting.is_standin:
            _with_rivals(setting, s, path, row, deadline)
    return rows
