"""Near misses of rules: an example that a rule rewrites, with one thing about it
changed that makes the rule leave it alone, and the reason that it gives. They
stand here and not beside the examples since they are many, and since each is
one change.
"""

import re


def near(title, reason, *changes, options="{}", warns=False):
    """`changes`: (old, new) texts of the example of this title."""
    return title, reason, changes, options, warns


def graph(rule, miss):
    """The graph of a near miss of a rule, which is its file's text."""
    title, _, changes, _, _ = miss
    found = re.search(r'\{ "' + re.escape(title) + r'", \[\[(.*?)\]\]', rule, re.S)
    assert found, title
    text = found[1]
    for old, new in changes:
        assert old in text, (title, old)
        text = text.replace(old, new)
    return text


def lua_string(text):
    return f"[==[{text}]==]"


def added(rule, misses):
    """The text of a rule file with near misses among the examples."""
    made = [f'{{ "near miss {i}: {title}", {lua_string(graph(rule, miss))}, '
            f"{'warned' if warns else 'rejected'} = {lua_string(reason)}, "
            f"options = {options} }},\n"
            for i, miss in enumerate(misses)
            for title, reason, _, options, warns in [miss]]
    head, tail = rule.split("  examples = {\n", 1)
    return head + "  examples = {\n" + "".join(made) + tail


OF = {
    "attention/compose_batched_attention.lua": [
        near("without a batch", "the axes are others",
             ("        kt = Transpose <perm = [1,0]> (k)\n", ""), ("kt", "k"),
             ("[8,16] q", "[2,4,8,16] q"), ("[6,16] k", "[2,4,16,6] k"),
             ("[6,32] v", "[2,4,6,32] v"), ("[8,32] y", "[2,4,8,32] y")),
        near("one head, a mask", "the axes are others",
             ("[2,6,16] k", "[6,16] k"), ("perm = [0,2,1]", "perm = [1,0]")),
        near("one head, a mask", "the axes are others",
             ("[2,6,32] v", "[6,32] v")),
    ],
    "attention/compose_packed_projection.lua": [
        near("without a bias", "the bias is not one number for each output",
             ("[1,3,2] x", "[1,6,2] x, float[6,6] b"), ("[1,2,3,1] y", "[1,2,6,1] y"),
             ("p = MatMul(x, w)", "o = MatMul(x, w) p = Add(o, b)")),
        near("without a bias", "the bias is not one number for each output",
             ("x) =>", "x, float[1] b) =>"),
             ("p = MatMul(x, w)", "o = MatMul(x, w) p = Add(o, b)")),
        # Of no rows every Reshape and every Split is one.
        near("without a bias", "the parts are not the heads",
             ("[1,3,2] x", "[1,0,2] x"), ("[1,2,3,1] y", "[1,3,0,1] y"),
             ("{0,0,2,1}", "{0,0,3,1}"), ("num_heads = 2", "num_heads = 3")),
        near("without a bias", "the parts are not the heads",
             ("[1,3,2] x", "[1,0,2] x"), ("[1,2,3,1] y", "[1,6,0,1] y"),
             ("{2,2,2}", "{0,0,0}"), ("axis = -1", "axis = 1"),
             ("{0,0,2,1}", "{0,0,6,1}"), ("num_heads = 2", "num_heads = 6")),
    ],
    "attention/compose_parallel_linears.lua": [
        near("with biases", "the projections differ in shape",
             ("[1,3,2] x", "[1,0,2] x"), ("[1,2,3,1] y", "[1,2,0,1] y"),
             ("[2,2] wq = {1,2,3,4}", "[2,1] wq = {1,2}"),
             ("[2] bq = {1,2}", "[1] bq = {1}")),
        near("with biases", "the projections differ in shape",
             ("[1,3,2] x", "[1,0,2] x"), ("[1,2,3,1] y", "[1,2,0,1] y"),
             ("[2,2] wv = {9,10,11,12}", "[2,1] wv = {1,2}"),
             ("[2] bv = {5,6}", "[1] bv = {1}")),
        near("with biases", "some have a bias and some have none",
             ("          q2 = Add(q1, bq)\n", ""), ("q2", "q1")),
        near("with biases", "some have a bias and some have none",
             ("          v2 = Add(v1, bv)\n", ""), ("v2", "v1")),
        near("with biases", "a bias is not one number for each output",
             ("[1,3,2] x", "[1,2,2] x"), ("[1,2,3,1] y", "[1,2,2,1] y"),
             ("float[2] bk = {3,4}", "float[2,2] bk = {3,4,5,6}")),
        near("with biases", "a bias is not one number for each output",
             ("float[2] bk = {3,4}", "float[1] bk = {3}")),
    ],
    "attention/compose_scaled_dot_product_attention.lua": [
        near("divided", "the scale divides by zero", ("c = {4.0}", "c = {0.0}")),
        near("divided", "it does not fit the scores",
             ("[2,4,8,16] k", "[N,4,8,16] k"), ("[2,4,8,16] v", "[N,4,8,16] v"),
             ("[2,4,8,16] q", "[B,4,8,16] q"), ("[2,4,8,16] y", "[C,4,8,16] y")),
        near("divided", "the scale is out of a float's range",
             ("float", "double"), ("c = {4.0}", "c = {1e40}")),
        near("divided", "the scale is out of a float's range",
             ("float", "double"), ("c = {4.0}", "c = {1e-40}")),
        near("divided", "the scale is not exact as a float",
             ("float", "double"), ("c = {4.0}", "c = {3.0}")),
        near("the scale after the mask", "the mask has too many axes",
             ("[2,1,8,8] mask", "[1,2,1,8,8] mask"),
             ("[2,4,8,16] v", "[2,4,8,16] v"), ("[2,4,8,16] y", "[1,2,4,8,16] y")),
        near("the scale after the mask", "the rank of the mask is unknown",
             ("float[2,1,8,8] mask", "float[] mask"), ("float[2,4,8,16] y", "float[] y")),
        near("a mask of -1e9 and no other", "the fill of the mask is not a constant",
             ("keep)", "keep, float fill)"), ("<float fill = {-1e9}>", "")),
        near("a mask of -1e9 and no other", "the fill of the mask is too small",
             ("keep)", "keep, float[8,8] m)"), ("p = Softmax <axis = -1> (w)",
              "a = Add(w, m) p = Softmax <axis = -1> (a)")),
        near("a mask of -1e9 and no other", "the fill of the mask is too small",
             ("float", "bfloat16"), ("-1e9", "-2.0e9")),
        near("a soft cap, and a scale for each head",
             "the soft cap is not a constant",
             ("[4,1,1] h", "[4,1,1] h, float c"), ("<float c = {50.0}>", "")),
        near("softmax of halves in float", "the types are others",
             ("to = 1>", "to = 11>")),
        near("softmax of halves in float", "the types are others",
             ("to = 10>", "to = 16>"), ("float16[2,4,8,16] v", "bfloat16[2,4,8,16] v"),
             ("float16[2,4,8,16] y", "bfloat16[2,4,8,16] y")),
        near("softmax of halves in float", "the types are others",
             ("float16", "float"), ("to = 10", "to = 1")),
        near("divided", "dropout may be training",
             ("<float c = {4.0}>", "<float c = {4.0}, float r = {0.5}, bool t = {1}>"),
             ("y = MatMul(p, v)", "o = Dropout(p, r, t) y = MatMul(o, v)")),
        near("divided", "the dropout ratio is not a constant", ("v) =>", "v, float r) =>"),
             ("y = MatMul(p, v)", "o = Dropout(p, r) y = MatMul(o, v)")),
    ],
    "attention/compose_stacked_attention.lua": [
        near("windows of unknown number", "the ranks differ",
             ("[2,4,N,8,16] k", "[1,2,4,N,8,16] k"), ("[2,4,N,8,16] v", "[1,2,4,N,8,16] v"),
             ("[0,1,2,4,3]", "[0,1,2,3,5,4]"), ("[2,4,N,8,16] y", "[1,2,4,N,8,16] y")),
        near("windows of unknown number", "the ranks differ",
             ("[2,4,N,8,16] q", "[1,2,4,N,8,16] q"), ("[2,4,N,8,16] v", "[1,2,4,N,8,16] v"),
             ("[2,4,N,8,16] y", "[1,2,4,N,8,16] y")),
        near("windows of unknown number", "the ranks differ",
             ("[2,4,N,8,16] q", "[1,2,4,N,8,16] q"), ("[2,4,N,8,16] k", "[1,2,4,N,8,16] k"),
             ("[0,1,2,4,3]", "[0,1,2,3,5,4]"), ("[2,4,N,8,16] y", "[1,2,4,N,8,16] y")),
    ],
    "attention/decompose_multihead_attention.lua": [
        near("self-attention", "num_heads or embed_dim is missing",
             (", num_heads = 2", "")),
        near("self-attention", "num_heads or embed_dim is missing",
             ("embed_dim = 4, ", "")),
        *(near("a zero key", "there are neither packed nor separate weights",
               (", add_zero_attn = 1", ""), ("(x, x, x, in_w", '(x, x, x, ""'),
               ("out_w)\n", 'out_w, "", "", "", ' + weights + ")\n"),
               options="{ cross_attention = true }")
          for weights in ('"", out_w, out_w', 'out_w, "", out_w', 'out_w, out_w')),
        near("a mask, which its option would allow", "the rank of the mask is unknown",
             ("float[3,3] mask", "float[] mask"), options="{ masks = true }"),
        near("a zero key", "cross-attention", (", add_zero_attn = 1", ""),
             ("(x, x, x, in_w", '(x, x, x, ""'),
             ("out_w)\n", 'out_w, "", "", "", out_w, out_w, out_w)\n'), warns=True),
    ],
    "attention/decompose_swin_attention.lua": [
        near("a bias of table and index", "num_heads or window_size is missing",
             (", num_heads = 2", "")),
        near("a bias of table and index", "num_heads or window_size is missing",
             ("window_size = [2,2], ", "")),
        near("a bias of table and index", "num_heads or window_size is missing",
             ("window_size = [2,2]", "window_size = [2,2,2]")),
        near("a bias of table and index", "the channels are no multiple of num_heads",
             ("float[6,2] qkv_w", "float[] qkv_w")),
        near("a bias of table and index", "the channels are no multiple of num_heads",
             ("float[6,2] qkv_w", "float[6,3] qkv_w")),
    ],
    "attention/fuse_masked_attention.lua": [
        near("multiplied, the mask in front", "the divisor is another one",
             options="{ literal_divisor = 0.5 }"),
    ],
    "canonical/batched_pointwise.lua": [
        near("the largest of each row", "the axes are not constant",
             ("x) =>", "x, int64[1] last) =>"), (", int64[1] last = {2}", ""),
             ("[8,8,1] y", "[A,B,C] y")),
        near("the largest of each row", "it is not the last axis",
             ("int64[1] last = {2}", "int64[2] last = {2,1}"), ("[8,8,1] y", "[8,1,1] y")),
        near("the largest of each row", "it is not the last axis",
             ("{2}", "{1}"), ("[8,8,1] y", "[8,1,16] y")),
    ],
    "canonical/batched_sum.lua": [
        near("a row for each head", "it is not there for each batch",
             ("[8,1,16] b", "[N,1,16] b")),
    ],
    "canonical/cancel_casts.lua": [
        near("by way of halves", "numbers may be lost on the way",
             ("float[2,3] x", "int64[2,3] x"), ("float[2,3] y", "int64[2,3] y"),
             ("to = 10", "to = 11"), ("to = 1>", "to = 7>")),
    ],
    "canonical/cancel_reshapes.lua": [
        near("to another shape", "the shape is another one",
             ("float[2,3,4] x", "float[] x, int64[N] s"), ("[4,3,2] y", "[] y"),
             (", int64[3] s = {4,3,2}", "")),
        near("to another shape", "the shape is another one",
             ("[2,3,4] x", "[2,3] x"), ("int64[3] s = {4,3,2}", "int64[3] s = {2,3,1}"),
             ("[4,3,2] y", "[2,3,1] y")),
        near("an axis of unknown size", "the shape is another one",
             ("float[B,1,T] m", "float[C,1,T] m")),
    ],
    "canonical/cancel_transposes.lua": [
        near("there and back", "the axes are not known",
             ("float[2,3,4]", "float[]"), (" <perm = [1,2,0]>", "")),
        near("there and back", "the axes are not known",
             ("float[2,3,4]", "float[]"), (" <perm = [2,0,1]>", "")),
    ],
    "canonical/einsum_as_matmul.lua": [
        near("a softmax, and axes without a letter", "the rank is unknown",
             ("float[3,2,6,4,16] v", "float[] v"), ("float[3,2,8,4,16] y", "float[] y")),
        *(near("scores of heads", "a letter stands twice", ("bhid,bhjd->bhij", equation))
          for equation in ("bhdd,bhjd->bhij", "bhid,bhdd->bhij", "bhid,bhjd->bhii")),
        near("scores of heads", "a letter comes from nowhere", ("->bhij", "->bhijz")),
        near("scores of heads", "a letter of one operand is summed over",
             ("[2,4,8,16] q", "[2,4,8,16,5] q"), ("bhid,", "bhidz,")),
        near("scores of heads", "a letter of one operand is summed over",
             ("[2,4,6,16] k", "[2,4,6,16,5] k"), ("bhjd-", "bhjdz-")),
        *(near("scores of heads", "it is no product of matrices",
               ("bhid,bhjd->bhij", equation), ("[2,4,8,16] q", f"[{q}] q"),
               ("[2,4,6,16] k", f"[{k}] k"), ("[2,4,8,6] y", f"[{y}] y"))
          for equation, q, k, y in (
              ("bhidz,bhjdz->bhij", "2,4,8,16,5", "2,4,6,16,5", "2,4,8,6"),
              ("bhd,bhjd->bhj", "2,4,16", "2,4,6,16", "2,4,6"),
              ("bhid,bhd->bhi", "2,4,8,16", "2,4,16", "2,4,8"),
              ("biad,bjcd->biajc", "2,8,3,16", "2,6,4,16", "2,8,3,6,4"))),
        near("scores of heads", "the size that is summed over may be 1",
             ("[2,4,8,16] q", "[] q"), ("[2,4,6,16] k", "[] k")),
    ],
    "canonical/normalize_operators.lua": [
        near("a Transpose that moves axes of equal length", "the shape changes",
             ("float[3,3] x", "float[] x, int64[N] s"), ("float[3,3] y", "float[] y"),
             ("Transpose <perm = [1,0]> (x)", "Reshape(x, s)")),
        near("a Transpose that moves axes of equal length", "the shape changes",
             ("[3,3] x", "[3,2] x"), ("[3,3] y", "[2,3] y")),
    ],
    "canonical/rejoined_pointwise.lua": [
        near("joined into other axes", "the axes end elsewhere",
             ("float[3,20,6] x", "float[] x, int64[N] t"), (", int64[3] t = {20,3,6}", ""),
             ("float[20,3,6] y", "float[] y")),
        near("joined into other axes", "the axes end elsewhere",
             ("[3,20,6] x", "[3,20,6,1] x"), ("{20,3,6}", "{3,20,6}"),
             ("[20,3,6] y", "[3,20,6] y")),
        near("joined into other axes", "the axes end elsewhere",
             ("[3,20,6] x", "[N,M,6] x, float[K,L,6] z"),
             ("{3,4,5,2,3}", "{-1,4,5,2,3}"), (", int64[3] t = {20,3,6}", ""),
             ("y = Resh", "t = Shape(z) y = Resh"), ("[20,3,6] y", "[K,L,6] y")),
        near("softmax on an axis that is cut", "nothing is done to the parts",
             ("(a)\n", "(x)\n"), ("Reshape(p, t)", "Reshape(a, t) z = Neg(p)"),
             ("[2,12,6] y", "[2,12,6] y, float[2,12,6] z")),
        near("joined into other axes", "the axes end elsewhere",
             ("[3,20,6] x", "[N,20,6] x"), ("[3,4,5,2,1] r", "[N,4,5,2,1] r"),
             ("{3,4,5,2,3}", "{-1,4,5,2,3}"), ("{20,3,6}", "{3,20,6}"),
             ("[20,3,6] y", "[3,20,6] y")),
        near("joined into other axes", "the axes end elsewhere",
             ("[3,20,6] x", "[3,20,6] x, float[K,20,6] z"),
             (", int64[3] t = {20,3,6}", ""),
             ("y = Resh", "t = Shape(z) y = Resh"), ("[20,3,6] y", "[K,20,6] y")),
        near("joined into other axes", "the axes end elsewhere",
             ("[3,20,6] x", "[0,20,6] x"), ("[3,4,5,2,1] r", "[0,4,5,2,1] r"),
             ("{3,4,5,2,3}", "{0,4,5,2,3}"), ("{20,3,6}", "{0,3,6}"),
             ("[20,3,6] y", "[0,3,6] y")),
        near("joined into other axes", "a step makes it larger",
             ("[3,20,6] x", "[N,20,6] x"), ("[3,4,5,2,1] r", "[M,4,5,2,1] r"),
             ("{3,4,5,2,3}", "{-1,4,5,2,3}"), ("{20,3,6}", "{-1,20,6}"),
             ("[20,3,6] y", "[K,20,6] y")),
    ],
    "canonical/shape_from_inputs.lua": [
        near("in the middle of a model", "a size is unknown",
             ("float[B,S,8] x", "float[] x"), ("int64[3] y", "int64[N] y")),
    ],
    "canonical/softmax_from_exp.lua": [
        near("over another axis", "the axes are not constant",
             ("x) =>", "x, int64[1] middle) =>"), ("<int64[1] middle = {1}>", "")),
        near("over another axis", "the sum is not over the last axis",
             ("int64[1] middle = {1}", "int64[2] middle = {2,1}")),
    ],
    "canonical/split_heads.lua": [
        near("four heads", "the last axis is not cut into heads",
             ("[6,2,32] x", "[6,2,24] x"), ("{6,8,8}", "{6,3,16}"), ("[8,6,8] y", "[3,6,16] y")),
        near("four heads", "the last axis is not cut into heads",
             ("{6,8,8}", "{6,2,32}"), ("[8,6,8] y", "[2,6,32] y")),
        near("four heads", "there are no elements to count",
             ("[6,2,32] x", "[0,2,32] x"), ("{6,8,8}", "{0,7,8}"), ("[8,6,8] y", "[7,0,8] y")),
        near("four heads", "there are no elements to count",
             ("[6,2,32] x", "[6,0,32] x"), ("{6,8,8}", "{6,0,8}"), ("[8,6,8] y", "[0,6,8] y")),
    ],
    "canonical/transposed_product.lua": [
        near("channels by places", "the ranks differ", ("[2,16,8] v", "[16,8] v")),
    ],
    "linear/merge_linear.lua": [
        near("products", "the weight is no matrix",
             ("x)", "x, float[] w0)"), ("float[2,1] w0 = {1,2}, ", "")),
        near("products", "the number of columns is unknown",
             ("[B,5,2] x", "[B,5,2] x, float[2,N] w0"), ("float[2,1] w0 = {1,2}, ", "")),
        near("Gemm with transposed weights", "the rank of the bias is unknown",
             ("[5,2] x", "[5,2] x, float[] b0"), ("float[1] b0 = {1}, ", "")),
        near("Gemm with transposed weights", "the layers differ in the form of the bias",
             ("float[2] b1", "float[1,2] b1")),
        near("Gemm with transposed weights", "the bias does not go along the columns",
             ("float[1] b0", "float b0"), ("float[2] b1 = {2,3}", "float b1 = {2}")),
        near("Gemm with transposed weights", "the bias does not go along the columns",
             ("float[2] b1 = {2,3}", "float[1] b1 = {2}")),
        near("a scale of one element is one for the whole weight",
             "the layers differ in the form of the w_scale",
             ("[2,1] w0 = {1,2}", "[2,2] w0 = {1,2,3,4}"), ("[5,1] y0", "[5,2] y0"),
             ("float[1] s0 = {0.5}", "float16[2] s0 = {1.0,2.0}")),
        near("a scale of one element is one for the whole weight",
             "the w_scale does not go along the columns",
             ("float[1] s0", "float[1,1,1] s0"), ("float[2] s1", "float[1,1,2] s1")),
        near("a scale of one element is one for the whole weight",
             "the layers differ in the form of the w_scale",
             ("[2] s1 = {0.25,0.125}", "16[1] s1 = {0.5}")),
    ],
    "lowering/mha_in_projection.lua": [
        near("one source", "num_heads and head_dim are not two positive numbers", change)
        for change in (("num_heads = 2, ", ""), ("num_heads = 2", "num_heads = 0"),
                       (", head_dim = 1", ""), ("head_dim = 1", "head_dim = -1"))
    ],
    "lowering/scaled_dot_product_attention.lua": [
        near("grouped heads, a mask of booleans", "the lengths are not known",
             ("head_dim = 16", "head_dim = 16, is_causal = 1"), ("[2,4,8,16] q", "[2,4,S,16] q"),
             ("[2,4,8,16] y", "[2,4,S,16] y")),
        near("grouped heads, a mask of booleans", "the lengths are not known",
             ("head_dim = 16", "head_dim = 16, is_causal = 1"), ("[2,2,8,16] k", "[2,2,L,16] k"),
             ("[2,2,8,16] v", "[2,2,L,16] v")),
    ],
    "quantization/lift_combine_quant.lua": [
        near("each row its scale, which somebody reads", "the quantizer goes along other axes",
             ("symmetric(a)", "symmetric <dims = [-1,0]> (a)"), ("[12,1] scale", "[1,1] scale")),
        near("each row its scale, which somebody reads", "the quantizer goes along other axes",
             ("symmetric(a)", "symmetric <dims = [0]> (a)"), ("[12,1] scale", "[1,8] scale")),
        near("the scale is not even named", "the scale is no vector",
             ("x) =>", "x, float[12,8] s2) =>"),
             ("dynamic_quantize_symmetric(a)", "quantize(a, s2)")),
        near("the scale is not even named", "the scale is no vector",
             ("x) =>", "x, float[] s2) =>"),
             ("dynamic_quantize_symmetric(a)", "quantize(a, s2)")),
        near("an axis in front of what the view inserts", "the quantizer goes in blocks",
             ("[2,3,8] x", "[1,8] x"), ("[3] scale", "[4] scale"), ("two = {2}", "two = {0}"),
             ("Unsqueeze", "Squeeze"), ("axis = -3", "axis = -1, block_size = 2"),
             ("[2,3,1,8] y", "[8] y")),
        near("over two views", "the rank of the view is unknown",
             ("float scale", "float scale, int64[N] t"), (", int64[1] t = {96}", ""),
             ("int8[96] y", "int8[] y")),
        near("twins", "the twin has fewer outputs",
             ("float scale, uint8 zero) => (uint8[2,8] y, float[2,8] z",
              "float scale) => (int8[2,8] y, float[2,1] s, int8[2,8] z, int32[2,1] o"),
             ("y = QuantizeLinear(x, scale, zero)",
              'y, s, "" = tensor_cast.dynamic_quantize_asymmetric(x)'),
             ("q = QuantizeLinear(x, scale, zero)",
              'z, "", o = tensor_cast.dynamic_quantize_asymmetric(x)'),
             ("          z = DequantizeLinear(q, scale, zero)\n", "")),
    ],
    "sequence_parallel/p1.lua": [
        near("behind a marker", "the residual is not known to be a share",
             ("float[8] w", "float[8] w, float[1,2,8] r"),
             ("rms_norm(b, w)", "add_rms_norm(b, r, w)")),
        near("behind a marker", "others would see the share behind the marker",
             ("[1,4,8] y)", "[1,4,8] y, float[1,4,8] z)"), ("y = ", "z = Relu(b) y = ")),
        near("behind a marker", "the shape is unknown",
             ("float[1,4,8] x", "float[] x"), ("float[1,4,8] y", "float[] y")),
        near("behind a marker", "the group has one rank or none", ("[0,1]", "[0]")),
        near("behind a marker", "there is no axis of tokens", ("[1,4,8]", "[8]")),
        near("behind a marker", "the rank of the weight is unknown",
             ("float[8] w", "float[] w")),
    ],
    "targets/onnx/scaled_dot_product_attention.lua": [
        near("a mask of one row", "the rank of the mask is unknown",
             ("bool[2,1,1,8] mask", "bool[] mask")),
    ],
    "targets/ort/group_query_attention.lua": [
        near("two key heads for four", "heads of one width, a multiple of 8",
             ("[2,2,6,8] v", "[2,2,6,16] v"), ("[2,4,6,8] y", "[2,4,6,16] y"),
             ("head_dim = 8", "head_dim = 16")),
        near("two key heads for four", "heads of one width, a multiple of 8",
             (",8]", ",12]"), ("head_dim = 8", "head_dim = 12")),
    ],
    "targets/ort/multi_head_attention.lua": [
        near("a mask of booleans, two key heads for four", "the rank of the mask is unknown",
             ("bool[2,1,8,8] mask", "bool[] mask")),
        near("without a mask", "num_heads is no positive number", ("num_heads = 4, ", "")),
        near("without a mask", "the heads are not known",
             ("[2,4,8,16] k", "[2,3,8,16] k"), ("[2,4,8,16] v", "[2,3,8,16] v")),
        near("without a mask", "the size of the heads is not known",
             ("[2,4,8,16] q", "[2,4,8,0] q"), ("[2,4,8,16] k", "[2,4,8,0] k")),
        near("without a mask", "the size of the heads is not known",
             ("[2,4,8,16] v", "[2,4,8,0] v"), ("[2,4,8,16] y", "[2,4,8,0] y"),
             ("head_dim = 16", "head_dim = 0")),
    ],
    "targets/ort/skip_layer_normalization.lua": [
        near("a sum that goes on", "it is no norm of the last axis alone",
             ("axis = -1", "axis = 1")),
    ],
    "targets/ort/skip_simplified_layer_normalization.lua": [
        near("a sum that goes on", "epsilon is negative", ("{0.000001}", "{-0.000001}")),
        near("a sum that goes on", "the summands have different shapes",
             ("[2,3,4] z", "[2,1,4] z")),
    ],
    "canonical/batched_matmul.lua": [
        near("heads", "there are no elements to count",
             ("[2,4,8,16] a", "[2,4,8,0] a"), ("[2,4,16,8] b", "[2,4,0,8] b"),
             ("{8,8,16}", "{5,8,0}"), ("{8,16,8}", "{5,0,8}"), ("[8,8,8] y", "[5,8,8] y"),
             ("Reshape", "Reshape <allowzero = 1> ")),
    ],
}
