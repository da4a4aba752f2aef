"""Models that are an onnx_ir.Model. Their weights stay views of what they were."""

from __future__ import annotations

import os
import sys
from typing import Any

from . import _native
from ._errors import ModelError
from ._opened import LEAST_LENT, Lender, Opened


class OfIr(Opened):
    def __init__(self, model: Any, dims: Any, folder: bytes,
                 seconds: float | None) -> None:
        import onnx_ir
        self._lender = Lender()
        self._meta = dict(model.meta)
        try:
            proto = onnx_ir.serde.serialize_model(
                _ModelView(model, _GraphView(model.graph, self._lend)))
            data = proto.SerializeToString()
            for graph in model.graph.subgraphs():
                self._lend_of_body(graph)
        except onnx_ir.serde.SerdeError as error:
            raise ModelError("the onnx_ir.Model cannot be encoded",
                             found=str(error).splitlines()[0]) from error
        self.native = _native.Model.parse(
            data, name="", folder=folder, files=self._lender.buffers, dims=dims,
            seconds=seconds)

    def _lend_of_body(self, graph: Any) -> None:
        """Lends weights of files under the locations that they have."""
        import onnx_ir
        for value in graph.initializers.values():
            its = value.const_value
            if isinstance(its, onnx_ir.ExternalTensor):
                self._lender.lend_as(os.fspath(its.location), its, its.path)

    def _lend(self, tensor: Any) -> Any:
        """What is encoded in place of a weight."""
        import onnx_ir
        if isinstance(tensor, onnx_ir.ExternalTensor):
            location = self._lender.lend_file(tensor, tensor.path)
            offset, length = tensor.offset or 0, tensor.length
        elif (tensor.dtype == onnx_ir.DataType.STRING or
              tensor.nbytes < LEAST_LENT):
            return tensor
        else:
            try:
                data = _bytes_of(tensor)
            except Exception as error:  # of the caller's own code
                raise ModelError("the data of a weight cannot be read",
                                 where=f"weight '{tensor.name}'",
                                 found=str(error)) from error
            location = self._lender.lend(tensor, data)
            offset, length = 0, tensor.nbytes
        return onnx_ir.ExternalTensor(
            location, offset, length, tensor.dtype, shape=tensor.shape,
            name=tensor.name or "", doc_string=tensor.doc_string,
            metadata_props=dict(tensor.metadata_props))

    def result(self, made: _native.Model, *, seconds: float | None,
               **_: object) -> Any:
        import onnx
        import onnx_ir
        out = onnx_ir.serde.deserialize_model(onnx.ModelProto.FromString(
            self._lender.message_of(made, seconds)))
        for graph in (out.graph, *out.graph.subgraphs()):
            for value in graph.initializers.values():
                value.const_value = self._taken_back(value.const_value)
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
            return onnx_ir.ExternalTensor(
                owner.location, tensor.offset, length, tensor.dtype,
                shape=tensor.shape, name=tensor.name,
                doc_string=tensor.doc_string,
                metadata_props=dict(tensor.metadata_props),
                base_dir=owner.base_dir)
        if (owner is not None and not tensor.offset and length in (None, owner.nbytes) and
                owner.dtype == tensor.dtype and owner.shape == tensor.shape and
                owner.name == tensor.name):
            return owner
        buffer = self._lender.buffers[location]
        offset = tensor.offset or 0
        raw = numpy.frombuffer(buffer, numpy.uint8)[
            offset:None if length is None else offset + length]
        kind: dict[str, Any] = {
            "name": tensor.name, "doc_string": tensor.doc_string,
            "metadata_props": dict(tensor.metadata_props)}
        if tensor.dtype.bitwidth < 8:
            return onnx_ir.PackedTensor(raw, tensor.dtype, shape=tensor.shape,
                                        **kind)
        array = raw.view(tensor.dtype.numpy()).reshape(tensor.shape.numpy())
        return onnx_ir.Tensor(array, tensor.dtype, shape=tensor.shape, **kind)


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
