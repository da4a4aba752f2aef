"""Arrays of Python, and tensors of the engine as (type, shape, data).

The types are those of ONNX's TensorProto.DataType; data is a buffer with the
elements row by row, little-endian and packed, or a list of bytes for strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import UsageError

if TYPE_CHECKING:
    import numpy as np

STRING, BOOL = 8, 9
_TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6,
    "int64": 7, "bool": BOOL, "float16": 10, "float64": 11, "uint32": 12,
    "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
    "float8_e4m3fn": 17, "float8_e4m3fnuz": 18, "float8_e5m2": 19,
    "float8_e5m2fnuz": 20, "uint4": 21, "int4": 22, "float4_e2m1fn": 23,
    "float8_e8m0fnu": 24, "uint2": 25, "int2": 26}
_NAMES = {number: name for name, number in _TYPES.items()}
# Bits of an element, of those that are packed.
_PACKED = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}
# DLPack's (code, bits) of what numpy has no type for.
_DLPACK = {(4, 16): 16, (10, 8): 17, (11, 8): 18, (12, 8): 19, (13, 8): 20,
           (14, 8): 24}


def tensor_of(name: str, value: Any) -> Any:
    """What the engine is given for the input of this name: an array of numpy,
    anything with __dlpack__ that is on the CPU, or what numpy makes an array
    of. A list of arrays is a sequence."""
    import numpy as np
    if isinstance(value, (list, tuple)) and any(
            hasattr(each, "__dlpack__") for each in value):
        return [tensor_of(name, each) for each in value]
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        value = _from_dlpack(name, value)
        if isinstance(value, tuple):
            return value
    try:
        array = np.asarray(value)
    except Exception as error:
        raise UsageError("an input is no array", where=f"input '{name}'",
                         found=str(error)) from error
    if array.dtype.kind in "USOT":
        return STRING, array.shape, _strings_of(name, array)
    number = _TYPES.get(array.dtype.name)
    if number is None:
        raise UsageError("an input has a type that ONNX lacks",
                         where=f"input '{name}'", found=str(array.dtype))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("<"))
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if number == BOOL and flat.size and flat.max() > 1:
        flat = (flat != 0).view(np.uint8)
    if number in _PACKED:
        flat = _pack(flat, _PACKED[number])
    return number, array.shape, flat


def _from_dlpack(name: str, value: Any) -> Any:
    """A numpy array without a copy, or a tensor of a type that numpy lacks."""
    import numpy as np
    try:
        return np.from_dlpack(value)
    except (TypeError, BufferError, RuntimeError, AttributeError, ValueError):
        pass
    try:
        code, bits, _, shape, data = _native.from_dlpack(value)
    except (TypeError, BufferError, RuntimeError, ValueError) as error:
        raise UsageError("an input cannot be read by DLPack",
                         where=f"input '{name}'",
                         expected="an array on the CPU",
                         found=str(error).splitlines()[0]) from error
    number = _DLPACK.get((code, bits))
    if number is None:
        raise UsageError("an input has a type that ONNX lacks",
                         where=f"input '{name}'",
                         found=f"DLPack's type {code} of {bits} bits")
    return number, shape, data


def _strings_of(name: str, array: np.ndarray[Any, Any]) -> list[bytes]:
    out = []
    for each in array.reshape(-1).tolist():
        if isinstance(each, str):
            out.append(each.encode("utf-8", "surrogateescape"))
        elif isinstance(each, bytes):
            out.append(each)
        else:
            raise UsageError("an input is no tensor", where=f"input '{name}'",
                             expected="numbers, or all strings",
                             found=type(each).__name__)
    return out


def _pack(flat: Any, bits: int) -> Any:
    """Elements of a byte each as packed ones, the first in the lowest bits."""
    import numpy as np
    each = 8 // bits
    padded = np.zeros(-(-flat.size // each) * each, np.uint8)
    padded[:flat.size] = flat & ((1 << bits) - 1)
    rows = padded.reshape(-1, each)
    out = np.zeros(len(rows), np.uint8)
    for i in range(each):
        out |= rows[:, i] << (bits * i)
    return out


def _unpack(data: Any, bits: int, count: int, is_signed: bool) -> Any:
    import numpy as np
    each = 8 // bits
    rows = np.stack([(data >> (bits * i)) & ((1 << bits) - 1)
                     for i in range(each)], axis=-1)
    flat = rows.reshape(-1)[:count]
    if is_signed:
        sign = 1 << (bits - 1)
        flat = (flat ^ sign).astype(np.int8) - np.int8(sign)
    return flat


def value_of(given: Any) -> Any:
    """An output as Python has it: an array that the caller owns, a list for a
    sequence, None for an optional without a value."""
    if given is None:
        return None
    if isinstance(given, list):
        return [value_of(each) for each in given]
    import numpy as np
    number, shape, data = given
    if number == STRING:
        texts = np.empty(len(data), object)
        texts[:] = [each.decode("utf-8", "surrogateescape") for each in data]
        return texts.reshape(shape)
    name = _NAMES[number]
    if number in _PACKED:
        import ml_dtypes
        count = int(np.prod(shape, dtype=np.int64))
        flat = _unpack(data, _PACKED[number], count, name.startswith("int"))
        if name.startswith("float"):
            return flat.view(getattr(ml_dtypes, name)).reshape(shape)
        return flat.astype(getattr(ml_dtypes, name)).reshape(shape)
    try:
        dtype = np.dtype(name)
    except TypeError:
        import ml_dtypes
        dtype = np.dtype(getattr(ml_dtypes, name))
    return data.view(dtype).reshape(shape)
