"""Step d: bytes that memory-bound kernels move, over seconds on the device."""

import dataclasses

from tool import BYTES, Weights, fill_row
from wire import integers, write_model

GOAL = 0.8  # of the chip's
# What moves less than this times the second cache is partly served by it.
CACHES = 4


@dataclasses.dataclass
class Kernel:
    name: str
    link: str            # a node; {x} before it, {y} after
    dims: list
    dtype: str = "float16"
    tensors: int = 2     # of these dims, that it reads and writes
    vectors: tuple = ()  # weights of the last axis
    order: bool = False  # an order of the rows, as `ids`

    def bytes_moved(self):
        size = BYTES[self.dtype]
        for dim in self.dims:
            size *= dim
        return size * self.tensors + (8 * self.dims[0] if self.order else 0)

    def title(self):
        return f"{self.name} {self.dtype}{self.dims}".replace(" [", "[")


def kernels(sizes, images):
    out = []
    for dims in sizes:
        for dtype in ("float16", "float"):
            at = {"dims": dims, "dtype": dtype}
            out += [
                Kernel("RMSNormalization", "{y} = RMSNormalization({x}, s)",
                       vectors=("s",), **at),
                Kernel("LayerNormalization",
                       "{y} = LayerNormalization({x}, s, b)",
                       vectors=("s", "b"), **at),
                Kernel("Softmax", "{y} = Softmax({x})", **at)]
        at = {"dims": dims}
        out += [Kernel("Add", "{y} = Add({x}, w)", tensors=3, **at),
                Kernel("Gelu", "{y} = Gelu({x})", **at),
                Kernel("Gather", "{y} = Gather({x}, ids)", order=True, **at)]
    for dims in images:
        out.append(Kernel("Transpose", "{y} = Transpose<perm = [0,2,1,3]>({x})",
                          dims))
    return out


def write_chain(path, kernel, count, weights):
    dtype, dims = kernel.dtype, kernel.dims
    given = [weights.tensor("w", dtype, dims)]
    given += [weights.tensor(name, dtype, dims[-1:]) for name in kernel.vectors]
    if kernel.order:
        given.append(weights.order("ids", dims[0]))
    rank = len(dims)
    given += [integers("zero", [rank], [0] * rank),
              integers("one", [rank], [1] * rank)]
    nodes = ["a0 = Add(w, x)"]
    nodes += [kernel.link.format(x=f"a{i}", y=f"a{i + 1}")
              for i in range(count)]
    nodes.append(f"y = Slice(a{count}, zero, one)")
    write_model(path, [("x", dtype, [1])], [("y", dtype, [1] * rank)], given,
                nodes)


def measure_all(setting, deadline, bytes_per_second, cache=0):
    if setting.is_standin:
        all_kernels = kernels([[4, 64]], [[1, 4, 2, 8]])[:3] + kernels(
            [[4, 64]], [[1, 4, 2, 8]])[6:]
    else:
        all_kernels = kernels([[16384, 4096], [16384, 8192]],
                              [[32, 2048, 16, 64], [16, 2048, 32, 128]])
    weights = Weights(setting.folder)
    rows = []
    for i, kernel in enumerate(all_kernels):
        row = {"kernel": kernel.title(), "share": None, "why": ""}
        rows.append(row)
        fill_row(row, setting, f"kernel-{i}",
                 lambda path, count, its=kernel: write_chain(path, its, count,
                                                             weights), deadline,
                 is_quick=kernel.bytes_moved() < 4e8)
        if row.get("seconds") is None:
            continue
        row["bytes_per_second"] = kernel.bytes_moved() / row["seconds"]
        if bytes_per_second and kernel.bytes_moved() > CACHES * cache:
            row["share"] = row["bytes_per_second"] / bytes_per_second
    return rows
