"""Models that are an onnx.ModelProto."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import EncodeError

from . import _native
from ._arguments import Time
from ._errors import ModelError
from ._opened import LEAST_LENT, Lender, Opened

_LARGEST_MESSAGE = (1 << 31) - 1  # bytes, of protobuf


class OfProto(Opened):
    def __init__(self, model: Any, dims: dict[str, int | str], folder: bytes,
                 time: Time) -> None:
        self._lender = Lender()
        data = self._encoded(model)
        self.native = _native.Model.parse(
            data, name="", folder=folder, files=self._lender.buffers, dims=dims,
            seconds=time.left())

    def _encoded(self, model: Any) -> bytes:
        try:
            if model.ByteSize() <= _LARGEST_MESSAGE:
                data: bytes = model.SerializeToString()
                return data
        except (ValueError, EncodeError):
            pass
        return self._without_weights(model)

    def _without_weights(self, model: Any) -> bytes:
        """The message with its large initializers lent."""
        import onnx
        bare = onnx.ModelProto()
        for field, value in model.ListFields():
            if field.name != "graph":
                _copy_field(bare, field.name, value)
        for field, value in model.graph.ListFields():
            if field.name != "initializer":
                _copy_field(bare.graph, field.name, value)
        for tensor in model.graph.initializer:
            to = bare.graph.initializer.add()
            if len(tensor.raw_data) < LEAST_LENT:
                to.CopyFrom(tensor)
                continue
            for field, value in tensor.ListFields():
                if field.name != "raw_data":
                    _copy_field(to, field.name, value)
            to.data_location = onnx.TensorProto.EXTERNAL
            raw = tensor.raw_data
            to.external_data.add(key="location",
                                 value=self._lender.lend(tensor.name, raw))
            to.external_data.add(key="length", value=str(len(raw)))
        try:
            return bytes(bare.SerializeToString())
        except (ValueError, EncodeError) as error:
            raise ModelError(
                "the model is too large for one message, without its weights",
                expected=f"at most {_LARGEST_MESSAGE} bytes",
                found=str(error)) from error

    def result(self, made: _native.Model, time: Time) -> Any:
        import onnx
        out = onnx.ModelProto.FromString(
            self._lender.message_of(made, time))
        if self._lender.buffers:
            for tensor in tensors_of(out):
                self._take_back(tensor)
        return out

    def _take_back(self, tensor: Any) -> None:
        location, offset, length = place_of(tensor.external_data)
        data = self._lender.buffers.get(location)
        if data is None:
            return
        end = len(data) if length is None else offset + length
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
        tensor.raw_data = bytes(memoryview(data)[offset:end])


def _copy_field(to: Any, name: str, value: Any) -> None:
    field = to.DESCRIPTOR.fields_by_name[name]
    repeated = getattr(field, "is_repeated", None)
    if repeated is None:
        repeated = field.label == field.LABEL_REPEATED
    if repeated:
        getattr(to, name).extend(value)
    elif field.message_type is not None:
        getattr(to, name).CopyFrom(value)
    else:
        setattr(to, name, value)


def tensors_of(model: Any) -> Any:
    """All tensors of a ModelProto."""
    graphs = [model.graph]
    nodes = [node for function in model.functions for node in function.node]
    while graphs or nodes:
        if graphs:
            graph = graphs.pop()
            yield from graph.initializer
            for sparse in graph.sparse_initializer:
                yield sparse.values
                yield sparse.indices
            nodes += graph.node
            continue
        for attribute in nodes.pop().attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for sparse in (attribute.sparse_tensor,
                           *attribute.sparse_tensors):
                yield sparse.values
                yield sparse.indices
            if attribute.HasField("g"):
                graphs.append(attribute.g)
            graphs += attribute.graphs


def place_of(external: Any) -> tuple[str, int, int | None]:
    """Location, offset and length of a tensor's external data."""
    its = {entry.key: entry.value for entry in external}
    length = its.get("length")
    return (its.get("location", ""), int(its.get("offset", 0)),
            None if length is None else int(length))
