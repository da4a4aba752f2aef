"""A model on several ranks in lockstep: one node after the other, on all ranks,
each with values of its own; a collective sees the values of all."""

import numpy as np
import onnx.reference
from onnx.reference.op_run import OpRun


def group_of(rank, group):
    """The ranks that `rank` meets where the program of one rank names `group`.
    Neighbours stand for all such neighbours: [0,1] means [2,3] to rank 2."""
    size = len(group)
    if list(group) == list(range(group[0], group[0] + size)):
        first = rank // size * size
        return list(range(first, first + size))
    if rank not in group:
        raise ValueError(f"rank {rank} is not in {group}")
    return list(group)


def program_of(model, rank):
    """What one rank runs, where the model is the program of rank 0."""
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
    """An op of all ranks; `meet` takes this rank's place in its group and the
    group's values, in order."""
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
    """{value: shape} of values whose shape the graph says in numbers."""
    shapes = {}
    for value in [*graph.value_info, *graph.output]:
        tensor = value.type.tensor_type
        dims = [d.dim_value for d in tensor.shape.dim if d.HasField(
                "dim_value")]
        if tensor.HasField("shape") and len(dims) == len(tensor.shape.dim):
            shapes[value.name] = dims
    return shapes


def as_declared(value, shape):
    """A leading 1 more or less where the graph says so; a sum may come so."""
    own = list(value.shape)
    return value.reshape(shape) if shape in ([1, *own], own[1:]) and (
        value.size == np.prod(shape)) else value


def evaluate(model, feeds, ops):
    """[{value: array}], one for each rank of `feeds`; `ops` are the ops
    outside the standard."""
    return evaluate_each([model] * len(feeds), feeds, ops)


def evaluate_each(models, feeds, ops):
    """As evaluate, of one program on each rank: the same nodes with the same
    names, and weights of its own."""
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
    """Adds what one node of each rank computes to that rank's values."""
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
