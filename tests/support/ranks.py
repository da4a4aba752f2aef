"""A model on several ranks in lockstep: each node runs on all ranks before the
next one. Each rank has its own values; a collective reads the values of all."""

import numpy as np
import onnx.reference
from onnx.reference.op_run import OpRun


def group_of(rank, group):
    """The group of `rank` if the program of one rank names `group`. Consecutive
    ranks stand for all such groups: [0,1] means [2,3] for rank 2."""
    size = len(group)
    if list(group) == list(range(group[0], group[0] + size)):
        first = rank // size * size
        return list(range(first, first + size))
    if rank not in group:
        raise ValueError(f"rank {rank} is not in {group}")
    return list(group)


def program_of(model, rank):
    """The program of one rank, if the model is that of rank 0."""
    copy = type(model)()
    copy.CopyFrom(model)
    for node in copy.graph.node:
        said = {attribute.name: attribute for attribute in node.attribute}
        if "rank_group" in said:
            said["rank"].i = rank
            said["rank_group"].ints[:] = group_of(
                rank, list(said["rank_group"].ints))
    return copy


class Collective(OpRun):
    """An op of all ranks; `meet` takes this rank's index in its group and the
    values of the group, in order."""
    op_domain = "tensor_cast"

    def _run(self, *_, **__):
        raise TypeError("a collective does not run on one rank")


# The reference finds an op's implementation by the name of its class.
# pylint: disable=invalid-name
class all_reduce(Collective):
    def meet(self, _, values):
        return sum(values[1:], values[0])


class reduce_scatter(Collective):
    def meet(self, place, values):
        whole = sum(values[1:], values[0])
        return np.split(whole, len(values), self.dim)[place]


class all_gather(Collective):
    def meet(self, _, values):
        return np.concatenate(values, self.dim)


COLLECTIVES = [all_reduce, reduce_scatter, all_gather]


def declared_shapes(graph):
    """{value: shape} of values whose shape is declared in numbers."""
    shapes = {}
    for value in [*graph.value_info, *graph.output]:
        tensor = value.type.tensor_type
        dims = [d.dim_value for d in tensor.shape.dim if d.HasField(
                "dim_value")]
        if tensor.HasField("shape") and len(dims) == len(tensor.shape.dim):
            shapes[value.name] = dims
    return shapes


def as_declared(value, shape):
    """Adds or drops a leading 1 as declared, which a sum may need."""
    own = list(value.shape)
    return value.reshape(shape) if shape in ([1, *own], own[1:]) and (
        value.size == np.prod(shape)) else value


def evaluate(model, feeds, ops):
    """[{value: array}], one for each rank of `feeds`; `ops` are the ops
    outside the standard."""
    return evaluate_each([model] * len(feeds), feeds, ops)


def evaluate_each(models, feeds, ops):
    """As evaluate, with one program for each rank: equal nodes with equal names,
    and different weights."""
    programs = {id(model): onnx.reference.ReferenceEvaluator(
        model, new_ops=[*ops, *COLLECTIVES]) for model in models}
    programs = [programs[id(model)] for model in models]
    worlds = [{"": None, **program.rt_inits_, **own}
              for program, own in zip(programs, feeds)]
    shapes = declared_shapes(models[0].graph)
    with np.errstate(all="ignore"):
        for nodes in zip(*[p.rt_nodes_ for p in programs], strict=True):
            step(nodes, worlds, shapes)
    return worlds


def step(nodes, worlds, shapes):
    """Adds the results of one node of each rank to the values of the rank."""
    if isinstance(nodes[0], Collective):
        inputs = [values[nodes[0].input[0]] for values in worlds]
        for rank, (node, values) in enumerate(zip(nodes, worlds)):
            group = group_of(rank, node.rank_group)
            y = node.meet(group.index(rank), [inputs[i] for i in group])
            name = node.output[0]
            values[name] = as_declared(y, shapes.get(name))
        return
    for node, values in zip(nodes, worlds):
        more = {"context": values} if node.need_context() else {}
        results = node.run(*[values[name] for name in node.input], **more)
        values.update(zip(node.output, results))
        values[""] = None
