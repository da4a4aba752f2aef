"""Norms, markers, quantizers and quantized linears in numpy, for
onnx.reference: the part of the dialect that one rank computes by itself, and
MatMulNBits of ONNX Runtime."""

import numpy as np
from onnx import TensorProto, helper
from onnx.reference.op_run import OpRun

# The numbers of the sixteen codes of E2M1.
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6] * 2, np.float32)
E2M1[8:] *= -1


def wide(x):
    """x in the type for computation."""
    return x if x.dtype == np.float64 else x.astype(np.float32)


def rms(x, weight, epsilon):
    """x / sqrt(mean(x^2) + epsilon), times the weight."""
    y = wide(x)
    y = y / np.sqrt((y * y).mean(-1, keepdims=True) + epsilon)
    return (y if weight is None else y * wide(weight)).astype(x.dtype)


class TensorCast(OpRun):
    op_domain = "tensor_cast"


# The reference finds the implementation of an op by the name of its class, and
# passes the attributes of the node by name.
# pylint: disable=invalid-name,too-many-arguments,unused-argument
class rms_norm(TensorCast):
    def _run(self, x, weight=None, epsilon=1e-6):
        return (rms(x, weight, epsilon),)


class add_rms_norm(TensorCast):
    def _run(self, x, residual, weight=None, epsilon=1e-6):
        return (rms(x + residual, weight, epsilon),)


class add_rms_norm2(TensorCast):
    def _run(self, x, residual, weight=None, epsilon=1e-6):
        total = x + residual
        return (rms(total, weight, epsilon), total)[:len(self.output)]


class _internal_mark_region_begin(TensorCast):
    def _run(self, x, region_id=0):
        return (x,)


class _internal_mark_region_end(_internal_mark_region_begin):
    pass


class _internal_copy_region(_internal_mark_region_begin):
    pass


def clipped(values, dtype, least=None):
    """Rounded half to even, within what the integer type holds."""
    limits = np.iinfo(dtype)
    low = limits.min if least is None else least
    return np.clip(np.rint(values), low, limits.max).astype(dtype)


def reduced(function, x, dims):
    """Over the axes, which stay as 1, or over everything without axes."""
    if not dims:
        return function(x)
    return function(x, axis=tuple(d % x.ndim for d in dims), keepdims=True)


def step(top, steps):
    """The scale that maps numbers to at most `top`; 1 if it would be 0."""
    scale = np.asarray(top / np.float32(steps)).astype(np.float32)
    return np.where(scale == 0, np.float32(1), scale)


class quantize(TensorCast):
    def _run(self, x, scale, offset=None, out_dtype=TensorProto.INT8):
        shift = 0 if offset is None else offset.astype(np.float32)
        return (clipped(wide(x) / wide(scale) + shift,
                        helper.tensor_dtype_to_np_dtype(out_dtype)),)


class dynamic_quantize_symmetric(TensorCast):
    def _run(self, x, dims=(-1,), out_dtype=TensorProto.INT8):
        dtype = helper.tensor_dtype_to_np_dtype(out_dtype)
        top = np.iinfo(dtype).max
        scale = step(reduced(np.max, np.abs(wide(x)), dims), top)
        return (clipped(wide(x) / scale, dtype, -top),
                scale)[:len(self.output)]


class dynamic_quantize_asymmetric(TensorCast):
    def _run(self, x, dims=(-1,), out_dtype=TensorProto.INT8):
        dtype = helper.tensor_dtype_to_np_dtype(out_dtype)
        limits, x = np.iinfo(dtype), wide(x)
        low = np.minimum(reduced(np.min, x, dims), 0)
        high = np.maximum(reduced(np.max, x, dims), 0)
        scale = step(high - low, int(limits.max) - int(limits.min))
        offset = np.rint(limits.min - low / scale).astype(np.int32)
        return (clipped(np.rint(x / scale) + offset, dtype), scale,
                offset)[:len(self.output)]


class dynamic_quantize_mxfp4(TensorCast):
    def _run(self, x, group_size=32):
        blocks = wide(x).reshape(*x.shape[:-1], -1, group_size)
        top = np.abs(blocks).max(-1, keepdims=True)
        power = np.floor(np.log2(np.where(top == 0, 4, top))) - 2
        scale = np.exp2(power).astype(np.float32)
        scaled = np.abs(blocks / scale)[..., None] - E2M1[:8]
        codes = np.abs(scaled).argmin(-1) + 8 * (blocks < 0)
        return (codes.astype(np.uint8).reshape(x.shape),
                scale[..., 0])[:len(self.output)]


def spread(values, rows, columns):
    """Scales or offsets of a weight [rows, columns]: one for all, for each
    column, or for each column of each group of rows."""
    if values.size > 1 and values.shape[-1] != columns:
        raise ValueError(f"{values.shape} for {columns} columns")
    if values.ndim < 2:
        return wide(values)
    return np.repeat(wide(values), rows // len(values), 0)


def weights(w, scale, offset=None):
    """The numbers of a quantized weight."""
    w, shape = w.astype(np.float32), w.shape
    if offset is not None:
        w = w - spread(offset, *shape)
    return w * spread(scale, *shape)


def product(x, w, bias, out_dtype):
    y = x @ w
    y = y if bias is None else y + bias
    return y.astype(helper.tensor_dtype_to_np_dtype(out_dtype))


class static_quant_linear(TensorCast):
    def _run(self, x, w, w_scale, w_offset=None, x_scale=None, x_offset=None,
             bias=None, out_dtype=TensorProto.FLOAT):
        x = x.astype(np.float32)
        x = x if x_offset is None else x - wide(x_offset)
        x = x if x_scale is None else x * wide(x_scale)
        return (product(x, weights(w, w_scale, w_offset), bias, out_dtype),)


class static_quant_linear_int4(static_quant_linear):
    pass


class fp8_linear(TensorCast):
    def _run(self, x, w, x_scale, w_scale, bias=None,
             out_dtype=TensorProto.FLOAT):
        return (product(x.astype(np.float32) * x_scale, weights(w, w_scale),
                        bias, out_dtype),)


class mxfp4_linear(TensorCast):
    def _run(self, x, w, x_scale, w_scale, bias=None,
             out_dtype=TensorProto.FLOAT, group_size=32):
        x = E2M1[x] * np.repeat(x_scale, group_size, -1)
        if w_scale.shape[-1] != w.shape[-1]:
            raise ValueError(f"{w_scale.shape} for {w.shape}")
        w = E2M1[w] * np.repeat(w_scale, group_size, 0)
        return (product(x, w, bias, out_dtype),)


def unpacked(packed, bits):
    """The numbers of 4 or 8 bits in bytes, the low bits first."""
    if bits == 8:
        return packed
    pairs = np.stack([packed & 15, packed >> 4], -1)
    return pairs.reshape(*packed.shape[:-1], -1)


class MatMulNBits(OpRun):
    op_domain = "com.microsoft"

    # pylint: disable=too-many-locals
    def _run(self, x, w, scales, zeros=None, order=None, bias=None, K=None,
             N=None, bits=4, block_size=None, accuracy_level=0):
        if order is not None:
            raise ValueError("rows in another order")
        blocks = -(-K // block_size)
        codes = unpacked(w.reshape(N, blocks, -1), bits).astype(np.float32)
        if zeros is None:
            zeros = np.full((N, blocks), 2 ** (bits - 1))
        elif zeros.dtype == np.uint8:
            zeros = unpacked(zeros.reshape(N, -1), bits)[:, :blocks]
        codes = codes - zeros.reshape(N, blocks, 1).astype(np.float32)
        w = (codes * wide(scales).reshape(N, blocks, 1)).reshape(N, -1)[:, :K]
        y = wide(x) @ w.T
        return ((y if bias is None else y + bias).astype(x.dtype),)


OPS = [rms_norm, add_rms_norm, add_rms_norm2, _internal_mark_region_begin,
       _internal_mark_region_end, _internal_copy_region, quantize,
       dynamic_quantize_symmetric, dynamic_quantize_asymmetric,
       dynamic_quantize_mxfp4, static_quant_linear, static_quant_linear_int4,
       fp8_linear, mxfp4_linear, MatMulNBits]
