"""Near misses of all other rules."""

from support.near_misses.words import near

OF = {
    "linear/merge_linear.lua": [
        near("products", "the weight is not a matrix",
             ("x)", "x, float[] w0)"), ("float[2,1] w0 = {1,2}, ", "")),
        near("a scale of one element is one for the whole weight", None,
             ("float[2] s1 = {0.25,0.125}", "float[1] s1 = {0.25}"), gives="""
             w = Constant <value = int8[2,3] {1,3,4,2,5,6}> ()
             s = Constant <value = float[1] {0.5}> ()
             y = tensor_cast.static_quant_linear(x, w, s, "", xs)
             widths = Constant <value = int64[2] {1,2}> ()
             y0, y1 = Split <axis = -1> (y, widths)""",
             options="{ loose_scales = true }", assumed="the scales of the first layer",
             changes_meaning=True),
        near("products", "the number of columns is unknown",
             ("[B,5,2] x", "[B,5,2] x, float[2,N] w0"), ("float[2,1] w0 = {1,2}, ", "")),
        near("Gemm with transposed weights", "the rank of the bias is unknown",
             ("[5,2] x", "[5,2] x, float[] b0"), ("float[1] b0 = {1}, ", "")),
        near("Gemm with transposed weights", "the layers differ in type or rank of the bias",
             ("float[2] b1", "float[1,2] b1")),
        near("Gemm with transposed weights", "the bias is not along the columns",
             ("float[1] b0", "float b0"), ("float[2] b1 = {2,3}", "float b1 = {2}")),
        near("Gemm with transposed weights", "the bias is not along the columns",
             ("float[2] b1 = {2,3}", "float[1] b1 = {2}")),
        near("a scale of one element is one for the whole weight",
             "the layers differ in type or rank of the w_scale",
             ("[2,1] w0 = {1,2}", "[2,2] w0 = {1,2,3,4}"), ("[5,1] y0", "[5,2] y0"),
             ("float[1] s0 = {0.5}", "float16[2] s0 = {1.0,2.0}")),
        near("a scale of one element is one for the whole weight",
             "the w_scale is not along the columns",
             ("float[1] s0", "float[1,1,1] s0"), ("float[2] s1", "float[1,1,2] s1")),
        near("a scale of one element is one for the whole weight",
             "the layers differ in type or rank of the w_scale",
             ("[2] s1 = {0.25,0.125}", "16[1] s1 = {0.5}")),
        near("Gemm with transposed weights", "the bias is not a vector",
             ("float[1] b0", "float[1,1] b0"), ("float[2] b1", "float[1,2] b1")),
        near("a scale of one element is one for the whole weight", "the groups of rows differ",
             ("[2,1] w0 = {1,2}", "[2,2] w0 = {1,2,3,4}"), ("[5,1] y0", "[5,2] y0"),
             ("float[1] s0 = {0.5}", "float[2,2] s0 = {1,2,3,4}"),
             ("float[2] s1", "float[1,2] s1")),
        near("a scale of one element is one for the whole weight", "the scales differ in shape",
             ("[2,1] w0 = {1,2}", "[2,3] w0 = {1,2,3,4,5,6}"), ("[5,1] y0", "[5,3] y0"),
             ("float[1] s0 = {0.5}", "float[3] s0 = {1,2,3}"),
             *((f'static_quant_linear(x, w{i}, s{i}, "", xs)', f"mxfp4_linear(x, w{i}, xs, s{i})")
               for i in range(2))),
        near("a scale of one element is one for the whole weight",
             "the layers differ in the w_scale",
             ("[2] s1 = {0.25,0.125}", "[1] s1 = {0.25}")),
        near("products", None, ("[B,5,2] y1", "[B,5,2] y1, float[B,5,2] y2"),
             ("w1 = {3,4,5,6}", "w1 = {3,4,5,6}, float[1,2,2] w2 = {1,2,3,4}"),
             ("y1 = ", "y2 = MatMul(x, w2) y1 = "), gives="""
             y2 = MatMul(x, w2)
             w = Constant <value = float[2,3] {1,3,4,2,5,6}> ()
             y = MatMul(x, w)
             s = Constant <value = int64[2] {1,2}> ()
             y0, y1 = Split <axis = -1> (y, s)"""),
        near("four bits, written or by default", "the meaning of 'layout' for a merged layer is unknown",
             ("bits = 4", "bits = 4, layout = 1"), ("N = 2", "N = 2, layout = 1")),
        near("four bits, written or by default", "the weight is packed for a specific device",
             ("bits = 4", "bits = 4, weight_prepacked = 1"),
             ("N = 2", "N = 2, weight_prepacked = 1")),
        near("four bits, written or by default", None,
             ("bits = 4", "bits = 4, accuracy_level = 4")),
        near("four bits, written or by default", "the rows of the weight are permuted",
             ("[3,16] x", "[3,16] x, int32[16] o"), ("s0)\n", 's0, "", o)\n'),
             ("s1)\n", 's1, "", o)\n')),
    ],
    "quantization/lift_combine_quant.lua": [
        near("a scale for each row, which is read", "'scale' is declared as float[12,1] but inferred as float[12,8,1]",
             ("int64[2] s = {12,8}", "int64[3] s = {12,8,8}"), ("int8[12,8] y", "int8[12,8,8] y"), warns=True),
        near("a scale for each row, which is read", "the quantizer does not work along the last axis",
             ("symmetric(a)", "symmetric <dims = [-1,0]> (a)"), ("[12,1] scale", "[1,1] scale")),
        near("a scale for each row, which is read", "the quantizer does not work along the last axis",
             ("symmetric(a)", "symmetric <dims = [0]> (a)"), ("[12,1] scale", "[1,8] scale")),
        near("the scale output has no name", "the scale is not a vector",
             ("x) =>", "x, float[12,8] s2) =>"),
             ("dynamic_quantize_symmetric(a)", "quantize(a, s2)")),
        near("the scale output has no name", "the scale is not a vector",
             ("x) =>", "x, float[] s2) =>"),
             ("dynamic_quantize_symmetric(a)", "quantize(a, s2)")),
        near("an axis in front of what the view inserts", "the quantizer works on blocks",
             ("[2,3,8] x", "[1,8] x"), ("[3] scale", "[4] scale"), ("two = {2}", "two = {0}"),
             ("Unsqueeze", "Squeeze"), ("axis = -3", "axis = -1, block_size = 2"),
             ("[2,3,1,8] y", "[8] y")),
        near("over two views", "the rank of the view is unknown",
             ("float scale", "float scale, int64[N] t"), (", int64[1] t = {96}", ""),
             ("int8[96] y", "int8[] y")),
        near("a scalar that the scale gives an axis",
             "a scalar gets an axis from its scale",
             ("float[1] x", "float x"), ("int8[1] y", "int8[1,1] y"),
             ("Squeeze(x)", "Unsqueeze(x, first)"),
             ("=> (int8[1,1] y)", "=> (int8[1,1] y) <int64[1] first = {0}>")),
        near("a view in front of what is quantized", None,
             ("y = Softmax(d)", ""), ("d = Deq", "y = Deq"), gives="""
             r = QuantizeLinear(x, scale, zero)
             q = Reshape(r, s)
             y = DequantizeLinear(q, scale, zero)"""),
    ],
    "sequence_parallel/p1.lua": [
        near("behind a marker", "the residual is not known to be a share",
             ("float[8] w", "float[8] w, float[1,2,8] r"),
             ("rms_norm(b, w)", "add_rms_norm(b, r, w)")),
        near("behind a marker", None, ("[1,4,8] y)", "[1,4,8] y, float[1,4,8] z)"),
             ("y = ", "z = Relu(b) y = ")),
        near("behind a marker that a layer reads too", "other nodes read the share behind the marker",
             ("float[1,4,8] n)", "float[1,4,8] n, float[1,4,8] b)")),
        near("behind a marker", "the shape is unknown",
             ("float[1,4,8] x", "float[] x"), ("float[1,4,8] y", "float[] y")),
        near("behind a marker", "the group has one rank or none", ("[0,1]", "[0]")),
        near("behind a marker", "there is no axis of tokens", ("[1,4,8]", "[8]")),
        near("behind a marker", "the rank of the weight is unknown",
             ("float[8] w", "float[] w")),
        near("behind a marker", "the shape is symbolic", ("[1,4,8]", "[1,T,8]")),
        near("behind a marker", "the norm looks at more than the last axis",
             ("tensor_cast.rms_norm(b, w)", "LayerNormalization <axis = 1> (b, w)")),
        *(near("behind a marker", reason, ("float[8] w", f"float[8] w, float[{sizes}] r"),
               ("y = tensor_cast.rms_norm(b, w)", f"""
          g = tensor_cast.all_gather <dim = {dim}, rank = 0, rank_group = [0,1]> (r)
          y = tensor_cast.add_rms_norm(b, g, w)"""))
          for reason, sizes, dim in (
              ("the residual is gathered along the wrong axis", "1,4,4", 2),
              ("the residual is not known to be a share", "1,3,8", 1))),
    ],
    "sequence_parallel/p2.lua": [
        near("the residual through its gather", "the residual is gathered along the wrong axis",
             ("[1,2,8] r", "[1,4,4] r"), ("all_gather <dim = 1", "all_gather <dim = 2")),
    ],
    "sequence_parallel/p3.lua": [
        near("an unmarked layer", "the residual is gathered along the wrong axis",
             ("[1,2,8]", "[1,4,4]"), ("all_gather <dim = 1", "all_gather <dim = 2")),
        near("an unmarked layer", "the residual is not a share of this sum",
             ("[1,2,8]", "[1,4,8]"), ("Add(g, s)", "Add(t, s)")),
        near("an unmarked layer", "the norm looks at more than the last axis",
             ("[1,4,8] x", "[1,4,8] x, float[8] w"),
             ("tensor_cast.rms_norm(z)", "LayerNormalization <axis = 1> (z, w)")),
    ],
    "simplify/hard_swish.lua": [
        near("a swish", None, ("{3.0}", "{2.0}")),
        near("a swish", None, ("zero = {0.0}", "zero = {0.5}")),
        near("a swish", None, ("float six = {6.0}", "float six = {6.0}, float five = {5.0}"),
             ("Div(c, six)", "Div(c, five)")),
        near("a swish", None, ("float six = {6.0}", "float six = {6.0}, float five = {5.0}"),
             ("Clip(a, zero, six)", "Clip(a, zero, five)")),
        near("a swish by bounds, divided first", None, ("{3.0}", "{2.0}")),
        near("a swish by bounds, divided first", None, ("{0.0}", "{0.5}")),
        near("a swish by bounds, divided first", None, ("{6.0}", "{5.0}")),
        near("a swish by bounds, divided first", None, ("{0.16666667}", "{0.2}")),
        near("of a sigmoid", None, ("beta = 0.5", "beta = 0.4")),
    ],
    "simplify/joined_concats.lua": [
        near("in the middle", "the rank is unknown", ("float[2,B] a", "float[] a"), ("float[2,3] b", "float[] b"),
             ("float[2,4] c", "float[] c"), ("float[2,1] d", "float[] d"), ("float[2,?] y", "float[] y")),
    ],
    "simplify/joined_factors.lua": [
        near("a large factor", "a factor is very small or large", ("{1e30}", "{4.0}")),
        near("a large factor", "a factor is very small or large", ("{1e-30}", "{4.0}")),
    ],
    "simplify/joined_views.lua": [
        near("of a rank that is unknown", "a rank is unknown", ("float[] x", "float[2,3] x"), ("float[?,?] y", "float[] y")),
    ],
    "simplify/neutral_operands.lua": [
        near("one number is another", "the shape changes", ("float[2,3] x", "float[] x"), ("float[2,3] y", "float[] y"),
             ("{0.0,0.0,1.0}", "{0.0,0.0,0.0}")),
    ],
    "simplify/parts_of_shape.lua": [
        near("one of a list", None, ("int64[4] s", "int64[N] s")),
        near("one of a list", None, ("int64[4] s", "int64[4,4] s"), ("int64 y", "int64[4] y"),
             ("Slice(s, i, j)", "Slice(s, i, j, i)"), ("int64[1] axis = {0}", "int64[1] axis = {1}")),
    ],
    "simplify/sizes_in_place.lua": [
        near("heads", "a shape is unknown", ("float[B,S,64] x", "float[] x, float[B,S,1] z"), ("Shape(x)", "Shape(z)")),
        near("a column for each row", "a shape is unknown", ("float[B,1,3] x", "float[B,1,3] x, int64[?] t"),
             ("t = Concat <axis = 0> (b, four, three)", "u = Concat <axis = 0> (b, four, three)"),
             ("float[B,4,3] y", "float[] y")),
    ],
    "simplify/joined_slices.lua": [
        near("every second row and column", "the rank is unknown", ("float[B,8,6] x", "float[] x"),
             ("float[B,4,3] y", "float[] y")),
    ],
    "simplify/layer_weights.lua": [
        near("a product", "the rank is unknown", ("float[B,S,2] x", "float[] x"), ("float[B,S,3] y", "float[] y")),
        near("a number for each channel, and one in all", "the weight is computed",
             ("float[B,1,4,4] x", "float[B,1,4,4] x, float[2,1,1,1] w"),
             ("float[2,1,1,1] w = {1.0, 2.0}, ", "")),
        near("a computed mean", "a statistic is computed", ("float[2] mean)", "float[2] variance)"),
             ("float[2] variance = {3.99, 0.99}", "float[2] mean = {3.99, 0.99}")),
    ],
    "simplify/padded_convolution.lua": [
        near("before and after rows and columns", "the Pad is not valid", ("int64[8] p = {0,0,1,0,0,0,2,1}", "int64[6] p = {0,0,1,0,0,0}"),
             ("float[B,4,10,9] y", "float[] y")),
        *(near("of named axes, with a bias", "the Pad is not valid", ("last = {-1}", f"last = {{{axis}}}"),
               ("float[B,4,8] y", "float[] y"))
          for axis in (-4, 3)),
        near("of named axes, with a bias", "the axes are computed", ("float[4] b)", "float[4] b, int64[1] last)"),
             (", int64[1] last = {-1}", "")),
        near("a place less", "the Pad removes places", ("{0,0,-1,0,0,0}", "{0,0,0,0,0,-1}")),
        near("of named axes, with a bias", "the rank is unknown", ("float[B,3,8] x", "float[] x"),
             ("float[B,4,8] y", "float[] y")),
    ],
    "simplify/rejoined_parts.lua": [
        near("apart and together", "the rank is unknown", ("float[B,6] x", "float[] x"), ("float[B,6] y", "float[] y")),
        near("apart elsewhere", "the parts are others", ("float[B,4] a", "float[B,?] a"), ("float[B,2] b", "float[B,?] b, int64[2] s"),
             (" <int64[2] s = {3,3}>", ""), ("float[B,3] y, float[B,3] z", "float[B,?] y, float[B,?] z")),
        near("together and apart", "the rank is unknown", ("float[B,4] a", "float[] a"), ("float[B,2] b", "float[] b"),
             ("float[B,4] y", "float[] y"), ("float[B,2] z", "float[] z")),
    ],
    "simplify/joined_transposes.lua": [
        near("three axes in a circle, twice", "the order of axes is unknown", ("float[2,3,4] x", "float[] x"),
             ("float[4,2,3] y", "float[] y"), ("y = Transpose <perm = [1,2,0]>", "y = Transpose <perm = [0,1,2,3]>")),
        near("the axes reversed by default", "the order of axes is unknown",
             ("float[2,3,4] x", "float[] x"), ("float[4,2,3] y", "float[] y")),
        near("then reversed", "the order of axes is unknown",
             ("float[2,3,4] x", "float[] x"), ("float[3,4,2] y", "float[] y")),
    ],
    "lowering/collective_of_one.lua": [
        near("two ranks", "the group is not one rank", (", rank_group = [0,1]", "")),
    ],
    "sequence_parallel/gather_narrow.lua": [
        near("a Cast to half", "the result is no narrower", ("float[2,8] x", "bool[2,8] x")),
        near("a Cast to half", "the result is no narrower", ("to = 10", "to = 6"),
             ("float16[4,8] y", "int32[4,8] y")),
        near("a Cast to half", "the rank is unknown", ("float[2,8] x", "float[] x"),
             ("float16[4,8] y", "float16[] y")),
    ],
    "sequence_parallel/gather_rows.lua": [
        *(near("the last token", "the slice is not one constant range", *changes, ("[1,1,8] y", "[A,B,C] y"),
               ("[1,4,8] x", "[4,8,2] x"), ("dim = 1", "dim = 0"), (", axis)", ")"), (", int64[1] axis = {1}", ""))
          for changes in (
              (("int64[1] start = {-1}", "int64[2] start = {-1,0}"),),
              (("int64[1] stop = {9223372036854775807}", "int64[2] stop = {9,9}"),))),
        near("one token by its number", "the rank is unknown", ("float[1,4,8] x", "float[] x"),
             ("float[1,8] y", "float[] y")),
        near("one token by its number", "the number of tokens is not known",
             ("[1,4,8] x", "[1,T,8] x")),
        *(near("the last token", "the slice is not one constant range", *changes,
               ("[1,1,8] y", "[A,B,C] y"))
          for changes in (
              (("x) =>", "x, int64[1] start) =>"), ("int64[1] start = {-1}, ", "")),
              (("x) =>", "x, int64[1] stop) =>"), (", int64[1] stop = {9223372036854775807}", "")),
              (("int64[1] start = {-1}, int64[1] stop = {9223372036854775807}, int64[1] axis = {1}",
                "int64[2] start = {-1,0}, int64[2] stop = {100,100}, int64[2] axis = {1,2}"),))),
        near("the last token", "the step is not 1", ("axis = {1}",
             "axis = {1}, int64[1] step = {2}"),
             ("stop, axis)", "stop, axis, step)")),
        near("the last token", "the axis is not a constant", ("x) =>", "x, int64[1] axis) =>"),
             (", int64[1] axis = {1}", ""), ("[1,1,8] y", "[A,B,C] y")),
        near("one token by its number", "there are no such tokens", ("{5}", "{-9}")),
        near("one token by its number", "there are no such tokens", ("{5}", "{8}")),
        near("the last token", "there are no such tokens", ("start = {-1}", "start = {5}"),
             ("stop = {9223372036854775807}", "stop = {5}"), ("[1,1,8] y", "[1,0,8] y")),
        near("the last token", None, ("axis = {1}", "axis = {-2}"), gives="""
             from = Constant <value = int64[1] {3}> ()
             to = Constant <value = int64[1] {4}> ()
             axis2 = Constant <value = int64[1] {1}> ()
             own = Slice(x, from, to, axis2)
             rows = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0,1]> (own)
             at = Constant <value = int64[1] {1}> ()
             past = Constant <value = int64[1] {2}> ()
             y = Slice(rows, at, past, axis2)"""),
    ],
    "lowering/ours.lua": [
        *(near("one source, one unused part", reason, change)
          for reason, change in (
              ("attribute 'num_heads' is missing", ("num_heads = 2, ", "")),
              ("attribute 'head_dim' is missing", (", head_dim = 1", "")),
              ("num_heads and head_dim are not two positive numbers",
               ("num_heads = 2", "num_heads = 0")),
              ("num_heads and head_dim are not two positive numbers",
               ("head_dim = 1", "head_dim = -1")))),
        *(near("one window, which needs no roll", reason, ("{2,2,2,2,2,0,0}", spatial))
          for reason, spatial in (
              ("it is not a map of such windows", "{2,2,2,3,2,0,0}"),
              ("it is not a map of such windows", "{2,2,2,2,3,0,0}"),
              ("it is not a map of such windows", "{2,0,2,0,2,0,0}"),
              ("the shift is negative", "{2,2,2,2,2,-1,0}"),
              ("the shift is negative", "{2,2,2,2,2,0,-1}"))),
        near("one window, which needs no roll", "it is not a map of such windows",
             ("int64[7] spatial = {2,2,2,2,2,0,0}", "int64[8] spatial = {2,2,2,2,2,0,0,0}")),
        *(near("one window, which needs no roll", "num_heads and head_dim are not", change)
          for change in (("num_heads = 2", "num_heads = 0"), ("head_dim = 3", "head_dim = -3"))),
        near("a norm of halves", "the type is unknown",
             ("y = tensor_cast.rms_norm <epsilon = 0.5> (x)",
              "u = com.example.Unknown(x) z = tensor_cast.rms_norm <epsilon = 0.5> (u)"
              " y = com.example.Unknown(z)")),
        near("floats of eight bits, a scale for each column", "the scale of the weight is not one for all",
             ("float[4] ws", "float[2,4] ws")),
        near("floats of eight bits, a scale for each column", "the scale belongs to a different weight",
             ("float[4] ws", "float[] ws")),
        near("floats of eight bits, a scale for each column", "the scale belongs to a different weight",
             ("float[4] ws", "float[1,1,4] ws")),
        near("floats of eight bits, a scale for each column", "the scale belongs to a different weight",
             ("float[4] ws", "float[3] ws")),
        near("floats of eight bits, a scale for each column", "out_dtype is not a type of floats",
             ("fp8_linear(", "fp8_linear <out_dtype = 7> ("), ("float[3,4] y", "int64[3,4] y")),
        *(near("floats of four bits in groups of two", "the scale is of other groups", *changes)
          for changes in ((("group_size = 2", "group_size = -2"),),
                          (("group_size = 2", "group_size = 3"),),
                          (("[3,2] xs", "[2] xs"),), (("[3,2] xs", "[3,1] xs"),),
                          (("[2,5] ws", "[1,5] ws"),))),
        *(near("neither padded nor rolled", "shift_size is not two numbers of 0 or more",
               ("window_size = [2,2]", f"window_size = [2,2], shift_size = {shift}"))
          for shift in ("[1,1,1]", "[-1,1]", "[1,-1]")),
    ],
    "simplify/joined_convolutions.lua": [
        *(near("steps of both, and padding of the first", "the strides are not valid", ("strides = [3]", f"strides = {steps}"),
               ("float[B,1,2] y", "float[] y"))
          for steps in ([0], [2**31], [3, 1])),
    ],
}
