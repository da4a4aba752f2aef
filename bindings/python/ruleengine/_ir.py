"""Models that are an onnx_ir.Model. Their weights are not copied."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import EncodeError

from . import _native
from ._arguments import Time
from ._errors import ModelError
from ._opened import LEAST_LENT, LENT, Lender, Opened
from ._proto import place_of, tensors_of


class OfIr(Opened):
    def __init__(self, model: Any, dims: dict[str, int | str], folder: bytes,
                 time: Time) -> None:
        import onnx_ir
        self._lender = Lender()
        self._meta = dict(model.meta)
        try:
            proto = onnx_ir.serde.serialize_model(
                _ModelView(model, _GraphView(model.graph, self._lend)))
        except onnx_ir.serde.SerdeError as error:
            raise ModelError("the onnx_ir.Model cannot be encoded",
                             found=str(error).splitlines()[0]) from error
        # What is not a weight of the main graph keeps its location.
        if any(not place_of(tensor.external_data)[0].startswith(LENT)
               for tensor in tensors_of(proto) if tensor.external_data):
            for tensor in _external_tensors_of(model):
                self._lender.lend_as(os.fspath(tensor.location), tensor,
                                     tensor.path)
        try:
            data = proto.SerializeToString()
        except (ValueError, EncodeError) as error:
            raise ModelError("the onnx_ir.Model cannot be encoded",
                             found=str(error)) from error
        self.native = _native.Model.parse(
            data, name="", folder=folder, files=self._lender.buffers, dims=dims,
            seconds=time.left())

    def _lend(self, tensor: Any) -> Any:
        """What is encoded in place of a weight."""
        import onnx_ir
        if isinstance(tensor, onnx_ir.ExternalTensor):
            location = self._lender.lend_file(tensor, tensor.path)
            return _external(tensor, location, tensor.offset or 0,
                             tensor.length)
        if (tensor.dtype == onnx_ir.DataType.STRING or
                tensor.nbytes < LEAST_LENT):
            return tensor
        try:
            data = _bytes_of(tensor)
        except Exception as error:  # of the caller's own code
            raise ModelError("the data of a weight cannot be read",
                             where=f"weight '{tensor.name}'",
                             found=str(error)) from error
        return _external(tensor, self._lender.lend(tensor, data), 0,
                         tensor.nbytes)

    def result(self, made: _native.Model, time: Time) -> Any:
        import onnx
        import onnx_ir
        out = onnx_ir.serde.deserialize_model(onnx.ModelProto.FromString(
            self._lender.message_of(made, time)))
        for graph in (out.graph, *out.graph.subgraphs()):
            for value in graph.initializers.values():
                value.const_value = self._taken_back(value.const_value)
        for tensor in _external_tensors_of(out):
            owner = self._lender.owners.get(os.fspath(tensor.location))
            if owner is not None:
                tensor.base_dir = owner.base_dir
        out.meta.update(self._meta)
        return out

    def _taken_back(self, tensor: Any) -> Any:
        """The weight that stands for the engine's."""
        import numpy
        import onnx_ir
        if not isinstance(tensor, onnx_ir.ExternalTensor):
            return tensor
        location = os.fspath(tensor.location)
        if location not in self._lender.buffers:
            return tensor
        owner = self._lender.owners.get(location)
        length = tensor.length
        if isinstance(owner, onnx_ir.ExternalTensor):
            return _external(tensor, owner.location, tensor.offset, length,
                             owner.base_dir)
        if (owner is not None and not tensor.offset and
                length in (None, owner.nbytes) and
                owner.dtype == tensor.dtype and owner.shape == tensor.shape and
                owner.name == tensor.name):
            return owner
        buffer = self._lender.buffers[location]
        offset = tensor.offset or 0
        raw = numpy.frombuffer(buffer, numpy.uint8)[
            offset:None if length is None else offset + length]
        if tensor.dtype.bitwidth < 8:
            return onnx_ir.PackedTensor(raw, tensor.dtype, shape=tensor.shape,
                                        **_described(tensor))
        array = raw.view(tensor.dtype.numpy()).reshape(tensor.shape.numpy())
        return onnx_ir.Tensor(array, tensor.dtype, shape=tensor.shape,
                              **_described(tensor))


def _described(tensor: Any) -> dict[str, Any]:
    """What a tensor has besides its elements."""
    return {"name": tensor.name or "", "doc_string": tensor.doc_string,
            "metadata_props": dict(tensor.metadata_props)}


def _external(tensor: Any, location: Any, offset: Any, length: Any,
              base_dir: Any = "") -> Any:
    """The tensor with its elements at another place."""
    import onnx_ir
    return onnx_ir.ExternalTensor(
        location, offset, length, tensor.dtype, shape=tensor.shape,
        base_dir=base_dir, **_described(tensor))


def _external_tensors_of(model: Any) -> Iterator[Any]:
    """The external tensors of a model that are no weights of its main graph."""
    import onnx_ir
    graphs = [model.graph, *model.functions.values()]
    while graphs:
        graph = graphs.pop()
        if graph is not model.graph:
            for value in getattr(graph, "initializers", {}).values():
                if isinstance(value.const_value, onnx_ir.ExternalTensor):
                    yield value.const_value
        for node in graph:
            for attribute in node.attributes.values():
                its = getattr(attribute, "value", None)
                for each in its if isinstance(its, (list, tuple)) else (its,):
                    if isinstance(each, onnx_ir.ExternalTensor):
                        yield each
                    elif isinstance(each, onnx_ir.Graph):
                        graphs.append(each)


def _bytes_of(tensor: Any) -> Any:
    """The little-endian bytes of a weight, without a copy where it has them."""
    import numpy
    raw = tensor.raw
    if (isinstance(raw, numpy.ndarray) and raw.flags.c_contiguous and
            sys.byteorder == "little" and raw.dtype.isnative and
            raw.dtype.itemsize * 8 == tensor.dtype.bitwidth and
            raw.nbytes == tensor.nbytes):
        return raw.view(numpy.uint8).reshape(-1).data
    return tensor.tobytes()


class _View:
    """An object with other values for some attributes."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)


class _ModelView(_View):
    def __init__(self, of: Any, graph: Any) -> None:
        super().__init__(of)
        self.graph = graph


class _GraphView(_View):
    def __init__(self, of: Any, lend: Any) -> None:
        super().__init__(of)
        self.initializers = {
            name: value if value.const_value is None else
            _ValueView(value, lend(value.const_value))
            for name, value in of.initializers.items()}

    def __iter__(self) -> Any:
        return iter(self._of)


class _ValueView(_View):
    def __init__(self, of: Any, const_value: Any) -> None:
        super().__init__(of)
        self.const_value = const_value
