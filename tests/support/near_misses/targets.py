"""Near misses of rules/targets."""

from support.near_misses.words import near

COMPLEX = "products of complex numbers, heads after tokens"

# Attention with a short mask that may have the lowest number.
LOW_MASK = """lowest = Constant <value = float {-3.4028234663852886e38}> ()
    next = Constant <value = float {-3.4028232635611926e38}> ()
    lengths = Constant <value = int64[2] {8,8}> ()
    zero = Constant <value = float {0.0}> ()
    e = Equal(mask, lowest)
    m = Where(e, next, mask)
    w = Expand(m, lengths)
    a = Attention <scale = 0.5> (q, k, v, w)
    n = IsNaN(a)
    y = Where(n, zero, a)"""

MEANS = "means are no more than 100 times the deviations"

# A norm whose weight and bias are not the op's.
PLAIN_NORM = """ones = Constant <value = float[4] {1,1,1,1}> ()
    n = LayerNormalization <axis = -1, epsilon = 0.00001> (x, ones)
    p = Mul(n, w)
    y = Add(p, b)"""

HALF = "each query sees a key that its float16 mask does not hide"

NOT_CAUSAL = "the mask is not known to be causal"
HIDES_MORE = "the mask hides more than later keys"
POSITIONS = "positions are compared, and the number is as low as can be"


def row(last):
    """The numbers of a mask of 8 by 8: zeros and the last one."""
    return "{" + "0.0," * 63 + f"{last}.0}}"


# Parts of a weight that is a view of a Concat, too large to copy.
SEVENTY_FIVE_ROWS = "float[75,600] {} = {{" + ",".join(["1"] * 45_000) + "}}"

OF = {
    "targets/product_parts.lua": [
        near("parts of equal width, and one number for all as bias", "the weight cannot be cut without a copy",
             ("[2,R,2] x", "[2,R,300] x"), ("[2,R,2] y", "[2,R,150] y"),
             ("float[2,4] w = {1,2,3,4,5,6,7,8}", f"{SEVENTY_FIVE_ROWS.format('u')}, {SEVENTY_FIVE_ROWS.format('v')}, int64[2] s2 = {{300,300}}"),
             ("p = MatMul(x, w)", "j = Concat <axis = 0> (u, v)\n          w = Reshape(j, s2)\n          p = MatMul(x, w)")),
        near("two products with a bias, and rows of a named number", None,
             ("(float[R,2] x)", "(float[R,2] x, float[3] b)"), (", float[3] b = {1,2,3}", "")),
    ],
    "targets/packed_heads.lua": [
        near("the last one of two, gathered", "the size of the heads is unknown",
             ("[2,5,32] x", "[2,5,E] x"), ("{2,5,2,2,8}", "{2,5,2,2,-1}"), ("[2,2,5,8] y", "[2,2,5,D] y")),
        near("the last one of two, gathered", "the size of the heads is unknown",
             ("[2,5,32] x", "[2,5,E] x"), ("{2,5,2,2,8}", "{2,5,2,-1,8}"), ("[2,2,5,8] y", "[2,H,5,8] y")),
        near("parts of a split, keys are read by others too", None, ("[B,S,48] x", "[3,S,48] x"), ("[B,2,S,8]", "[3,2,S,8]"),
             ("[1,B,2,S,8] r", "[3,1,2,S,8] r"), ("axis = 0", "axis = 1"), ("first = {0}", "first = {1}")),
        near("the last one of two, gathered", None, ("axis = 0", "axis = 1"), ("[2,2,5,8] y", "[2,2,5,8] y")),
        near("the last one of two, gathered", None, ("perm = [2,0,3,1,4]", "perm = [2,3,0,1,4]")),
    ],
    "targets/onnx/scaled_dot_product_attention.lua": [
        near("a mask of numbers, which may be no numbers", None, ("float[8,8] mask", "float[8] mask"), gives=LOW_MASK),
        near("a mask of numbers, which may be no numbers", None, ("float[8,8] mask", "float[2,1,1,8] mask"), gives=LOW_MASK),
        near("a mask without the lowest number", "the mask has to be changed",
             ("float never = {-inf}", "float never = {-3.4028235e38}")),
        near("a mask without the lowest number", "the mask has to be changed",
             ("float zero = {0.0}", "float zero = {-3.4028235e38}")),
        near("a mask of one row", "the rank of the mask is unknown",
             ("bool[2,1,1,8] mask", "bool[] mask")),
        near("a mask of one row", "the mask may be larger than the scores", ("[2,", "[B,"),
             ("bool[B,", "bool[M,")),
        near("a mask of one row", "the mask may be larger than the scores", ("[2,", "[B,"),
             ("bool[B,", "bool[?,")),
        near("a mask of one row", "the mask may be larger than the scores",
             ("[2,4,8,16] q", "[2,4,S,16] q"), ("[2,4,8,16] y", "[2,4,S,16] y"),
             ("bool[2,1,1,8]", "bool[2,1,R,8]")),
        near("a mask of one row", "runtimes differ for double", ("float", "double")),
        near("a mask of one row", "the batch is empty", ("[2,", "[0,")),
        near("a mask of one row", "the mask may be larger than the scores", ("[2,", "[B,"),
             ("bool[B,1,1,8] mask", "bool[A,1,1,8] m1, bool[C,1,1,8] m2"),
             ("          y = rule", "          mask = Concat <axis = 0> (m1, m2)\n          y = rule")),
        near("a soft cap and no mask", "the soft cap is negative", ("softcap = 5.0", "softcap = -5.0")),
        near("a soft cap and no mask", "older runtimes apply the mask before the soft cap",
             ("softcap = 5.0", "softcap = 5.0, is_causal = 1")),
        near("causal, of queries that may be one", "older runtimes ignore causality for a single query",
             ("[2,4,S,16]", "[2,4,1,16]")),
        near("causal, of queries that may be one", None, ("[2,4,S,16]", "[2,4,2,16]"), gives="""
             y = Attention <is_causal = 1> (q, k, v)""", assumed="no score is NaN or infinite"),
        *(near("a mask without the lowest number", None, ("float", "float16"), ("-inf", number),
               gives="mask = Where(keep, zero, never) y = Attention(q, k, v, mask)", assumed=assumed)
          for number, assumed in (("-inf", None), ("-9.0", None))),
        *(near("a mask without the lowest number", None, ("float", "float16"), (", bool[8,8] keep", ""),
               ("zero = {0.0}, float16 never = {-inf}", f"[8,8] bias = {numbers}"),
               ("mask = Where(keep, zero, never)\n", "\n"), ("k, v, mask", "k, v, bias"),
               gives=f"b = Constant <value = float16[8,8] {numbers}> () y = Attention(q, k, v, b)", assumed=assumed)
          for numbers, assumed in ((row(-5), None), (row(-10), HALF))),
    ],
    "targets/ort/matmul_integer_to_float.lua": [
        near("one factor, no zero points", None, ("[2,4,5] b", "[4] b"), ("[2,3,5] y", "[3] y")),
        near("one factor, no zero points", None, ("float", "double"), ("to = 1>", "to = 11>")),
        near("one factor, no zero points", "there is no kernel for these types", ("int8[2,4,5]", "uint8[2,4,5]")),
        near("one factor, no zero points", "the op does not clear a product of no columns",
             ("[3,4]", "[3,0]"), ("[2,4,5]", "[2,0,5]")),
        near("one factor, no zero points", "not one zero point for all rows", ("float s", "float s, int8[3] o"),
             ("(a, b)", "(a, b, o)")),
        near("one factor, no zero points", "not a zero point for all of b or for each column",
             ("float s", "float s, int8[2,1,5] o"), ("(a, b)", "(a, b, , o)")),
        near("columns of several matrices", "neither factor is one number", ("float s", "float[5] s")),
    ],
    "targets/ort/group_query_attention.lua": [
        near("a mask that hides later keys, and padding", "ONNX Runtime weighs later keys", ("hide = {-inf}", "hide = {-1e9}"),
             ("guarded = 0", "is_causal = 1"), options="{ gpu = true }"),
        near("a mask that hides later keys, and padding", "only causal attention", ("hide = {-inf}", "hide = {-1e9}"),
             options="{ gpu = true }"),
        near("two key heads for four", "heads of one width, a multiple of 8",
             ("[2,6,2,8] vt", "[2,6,2,16] vt"), ("[2,6,4,8] yt", "[2,6,4,16] yt"),
             ("head_dim = 8", "head_dim = 16")),
        near("two key heads for four", "heads of one width, a multiple of 8",
             (",8]", ",12]"), ("head_dim = 8", "head_dim = 12")),
        near("two key heads for four", None, (", is_causal = 1", "")),
        near("two key heads for four", "the op has no scale of 0",
             ("is_causal = 1", "is_causal = 1, scale = 0.0")),
        near("two key heads for four", "queries and keys have different lengths",
             ("[2,6,2,8]", "[2,7,2,8]")),
        near("two key heads for four", "the batch is empty",
             ("[2,6,4,8]", "[0,6,4,8]"), ("[2,6,2,8]", "[0,6,2,8]")),
        near("a soft cap", "the soft cap is negative", ("30.0", "-30.0")),
        near("and a mask", "the mask may be larger than the scores", ("[2,", "[B,"),
             ("bool[B,", "bool[M,")),
    ],
    "targets/ort/multi_head_attention.lua": [
        near("a mask of booleans", "the rank of the mask is unknown",
             ("bool[2,1,8,8] mask", "bool[] mask")),
        near("a mask of booleans", "the mask may be larger than the scores",
             ("[2,", "[B,"), ("bool[B,", "bool[M,")),
        near("a mask of booleans", "costs more than it saves: queries would be repeated",
             ("[2,8,4,16] yt", "[2,R,4,16] yt"), ("[2,8,4,16] qt", "[2,S,4,16] qt"), ("bool[2,1,8,8] mask", "bool[2,1,A,8] m1, bool[2,1,C,8] m2"),
             ("          y = rule", "          mask = Concat <axis = 2> (m1, m2)\n          y = rule")),
        near("without a mask", "num_heads is not a positive number", ("num_heads = 4, ", "")),
        near("without a mask", "the heads are not known",
             ("[2,8,4,16] kt", "[2,8,3,16] kt"), ("[2,8,4,16] vt", "[2,8,3,16] vt")),
        near("without a mask", "the heads are not known",
             ("[2,8,4,16] kt", "[2,8,G,16] kt"), ("[2,8,4,16] vt", "[2,8,G,16] vt")),
        near("without a mask", "the size of the heads is not known",
             ("[2,8,4,16] qt", "[2,8,4,0] qt"), ("[2,8,4,16] kt", "[2,8,4,0] kt")),
        near("without a mask", "the size of the heads is not known",
             ("[2,8,4,16] vt", "[2,8,4,0] vt"), ("[2,8,4,16] yt", "[2,8,4,0] yt"),
             ("head_dim = 16", "head_dim = 0")),
        near("without a mask", "the op has no scale of 0", ("0.5", "-0.5")),
        near("without a mask", "causal, and the sequences have different lengths",
             ("scale = 0.5", "scale = 0.5, is_causal = 1"),
             ("[2,8,4,16] kt", "[2,6,4,16] kt"), ("[2,8,4,16] vt", "[2,6,4,16] vt")),
        near("without a mask", "num_heads is not the number of heads of the queries", ("num_heads = 4", "num_heads = 2"),
             ("[2,8,4,16] kt", "[2,8,2,16] kt"), ("[2,8,4,16] vt", "[2,8,2,16] vt")),
        near("without a mask", "keys and values have different numbers of heads",
             ("[2,8,4,16] vt", "[2,8,2,16] vt")),
    ],
    "targets/ort/skip_simplified_layer_normalization.lua": [
        near("a sum with other readers", "runtimes differ in the precision", ("float", "double")),
        near("a sum with other readers", "the summands have different shapes", ("[2,3,4] z", "[1,3,4] z")),
        near("a sum with other readers", "it is not a sum of [batch, length, width]", ("[2,3,4]", "[2,5,3,4]")),
        near("a sum with other readers", "epsilon is negative", ("{0.000001}", "{-0.000001}")),
        near("a sum with other readers", "the summands have different shapes",
             ("[2,3,4] z", "[2,1,4] z")),
        near("a sum with other readers", "it is not a sum of [batch, length, width]",
             ("[2,3,4]", "[3,4]")),
    ],
    "targets/onnx/causal_attention.lua": [
        *(near("a mask that is given", "queries and keys have different lengths", *edits)
          for edits in ([("[2,4,3,16] k", "[2,4,5,16] k"), ("[2,4,3,16] v", "[2,4,5,16] v"), ("[3,3]", "[3,5]")],
                        [("[2,4,3,16] q", "[] q"), ("[2,4,3,16] k", "[] k")])),
        near("a constant", HIDES_MORE, ("{1, 0, 0, 1, 1, 0, 1", "{1, 0, 0, 1, 1, 0, 0")),
        near("numbers", NOT_CAUSAL, ("-10000", "-9999")),
        *(near(title, NOT_CAUSAL, edit) for title, edit in (
            ("a constant", ("{1, 0, 0,", "{1, 1, 0,")),
            ("numbers", ("{0, -10000", "{0, -20000")),
            ("cut from a buffer", ("first = {0}", "first = {1}")),
            ("cut from a buffer", ("start = 2, end = 3", "start = 0, end = 1")),
            ("cut from a buffer", ("bool[1,1,3,3] buffer = {1, 0, 0, 1, 1, 0, 1, 1, 1}", "bool[1,1,1,1] buffer = {1}")),
            (POSITIONS, ("LessOrEqual", "Less")),
            (POSITIONS, ("LessOrEqual", "GreaterOrEqual")),
            (POSITIONS, ("places, column)", "column, places)")),
            (POSITIONS, ("one = {1}", "one = {2}")),
            (POSITIONS, ("(seen, keep, hide)", "(seen, hide, keep)")),
            (POSITIONS, ("hide = {-3.4e38}", "hide = {-9.0}")),
            ("later keys are hidden, in all heads", ("Add(one, places)", "Sub(places, one)")),
            ("later keys are hidden, in all heads", ("hidden = Not(shown)", "hidden = Identity(shown)")),
            ("a triangle of -inf", ("upper = 1", "upper = 0")),
            ("a triangle of -inf", ("one = {1}", "one = {2}")),
            ("one minus what is seen, times a number", ("one = {1.0}", "one = {2.0}")),
            ("one minus what is seen, times a number", ("upper = 0", "upper = 1")))),
    ],
    "targets/onnx/gelu.lua": [
        near("one half as the first factor", None, ("{0.5}", "{0.25}")),
        near("one half as the first factor", None, ("{0.5}", "{0.25}"), ("h = Mul(x, half)", "h = Mul(x, a)"),
             ("y = Mul(h, a)", "y = Mul(h, half)")),
        near("one half as the first factor", None, ("{0.5}", "{0.25}"),
             ("h = Mul(x, half)", "h = Mul(a, half)"),
             ("y = Mul(h, a)", "y = Mul(x, h)")),
        near("one half as the first factor", None, ("one = {1.0}", "one = {2.0}")),
        near("one half as the first factor", None, ("{1.4142135}", "{1.5}")),
        near("with tanh", None, ("one = {1.0}", "one = {2.0}")),
        near("with tanh", None, ("three = {3.0}", "three = {2.0}")),
        near("with tanh", None, ("c = {0.044715}", "c = {0.05}")),
        *(near("half of the erf, plus a half", None, change)
          for change in (("half = {0.5}", "half = {0.25}"), ("two = {2.0}", "two = {4.0}"))),
        near("half of x, plus half of x times the erf", None, ("half = {0.5}", "half = {0.25}")),
        *(near("half of x, plus half of x times the erf", None, ("half = {0.5}", "half = {0.5}, float z = {0.25}"),
               ("d = Mul", "k = Mul(x, z)\n          d = Mul"), change)
          for change in (("Add(h, p)", "Add(k, p)"), ("Mul(h, e)", "Mul(k, e)"))),
        near("half of a sum", None, ("two = {2.0}", "two = {4.0}")),
        *(near("the erf of the negative", None, change)
          for change in (("one = {1.0}", "one = {2.0}"), ("{-0.70710677}", "{0.70710677}"), ("half = {0.5}", "half = {0.25}"))),
        near("with tanh, x multiplied out", None, ("one = {1.0}", "one = {1.0}, float z = {2.0}"), ("Add(q, one)", "Add(q, z)")),
        near("with tanh, all multiplied in", None, ("{0.03567741}", "{0.044715}")),
        *(near("with a sigmoid, x squared", None, change) for change in (
            ("{1.5957691}", "{0.7978846}"), ("{0.07135481}", "{0.044715}"), ("two = {2.0}", "two = {3.0}"))),
    ],
    "targets/onnx/rms_normalization.lua": [
        near("a root that divides one", "runtimes differ in the precision", ("float", "double")),
        near("a root that divides one", None, ("last = {-1}", "last = {1}")),
        near("float16 normalized in float", None, ("float16[4] w", "float[4] w"),
             ("float16[2,3,4] y", "float[2,3,4] y"), ("h = Cast <to = 10> (n)\n", "\n"),
             ("Mul(w, h)", "Mul(w, n)"), gives="""
             f = Cast <to = 1> (x)
             y = RMSNormalization <axis = -1, epsilon = 0.000001> (f, w)"""),
        near("float16 normalized in float", "it is not computed in float", ("to = 10>", "to = 16>"),
             ("float16[4] w", "bfloat16[4] w"), ("float16[2,3,4] y", "bfloat16[2,3,4] y")),
        near("a root that divides one", None, ("two = {2.0}", "two = {3.0}")),
        near("a root that divides one", None, ("one = {1.0}", "one = {2.0}")),
        near("a root that divides one", None, ("float[4] w", "float[1] w")),
        *(near("a root that divides one", "runtimes want numbers to normalize, older ones more than one",
               (",4]", f",{size}]"), ("float[4] w", f"float[{size}] w")) for size in (0, 1, "D")),
        near("a root that divides one", None, ("float[4] w", "float[3,4] w")),
    ],
    "targets/ort/gpu/bias_gelu.lua": [
        near("half of it first", "older runtimes crash on an empty bias", ("[2,3]", "[2,0]"),
             ("float[3] b", "float[0] b")),
        near("half of it first", None, ("float[3] b", "float[1] b")),
        near("half of it first", None, ("float[3] b", "float[2,1] b")),
        near("of the standard's op", None, ("Gelu(s)", 'Gelu <approximate = "tanh"> (s)')),
    ],
    "targets/ort/quick_gelu.lua": [
        near("without a factor", "QuickGelu does not have this type", ("float", "double")),
        near("with one", "the factor is a tensor", ("float c", "float[1,1] c")),
    ],
    "targets/onnx/layer_normalization.lua": [
        near("in floats", "runtimes differ in the precision", ("float", "double")),
        near("in floats", None, ("int64[1] last = {-1}",
             "int64[1] last = {-1}, int64[1] one = {1}"),
             ("m = ReduceMean(x, last)", "m = ReduceMean(x, one)")),
        near("in floats", None, ("int64[1] last = {-1}",
             "int64[1] last = {-1}, int64[1] one = {1}"),
             ("v = ReduceMean(s, last)", "v = ReduceMean(s, one)")),
        *(near("in floats", None, *changes, gives=PLAIN_NORM, assumed=MEANS) for changes in (
            [("float[4] w", "float[1] w")], [("float[4] w", "float[3,4] w")], [("float[4]", "float[1]")])),
        *(near("in floats", None, ("float[4] b", f"float[{sizes}] b"), assumed=MEANS,
               gives="p = LayerNormalization <axis = -1, epsilon = 0.00001> (x, w) y = Add(p, b)")
          for sizes in ("1", "3,4")),
        near("float16 normalized in float", "it is not computed in float",
             ("to = 1>", "to = 11>"), ("float tiny", "double tiny")),
        near("float16 normalized in float",
             "runtimes differ in the precision of other types",
             ("float16", "double"), ("to = 10>", "to = 11>")),
        *(near("the weight first, and no bias", None, ("power = {-0.5}", f"power = {{{power}}}")) for power in (0.5, -1.0)),
        near("a root as a power, neither weight nor bias, a sum after it", None, ("half = {0.5}", "half = {0.25}")),
        near("the bias less the mean, as in TensorFlow", None, ("last = {-1}", "last = {-1}, int64[1] one = {1}"),
             ("c = Sub(x, m)", "k = ReduceMean(x, one)\n          c = Sub(x, m)"), ("n = Mul(m, i)", "n = Mul(k, i)")),
        *(near("the bias less the mean, as in TensorFlow", "it is not a weight or bias", (f"float[4] {x}", f"float[3,1] {x}"))
          for x in "wb"),
        near("a constant weight of three axes, and one bias for all", "it is not a weight or bias",
             ("float[1,1,4] w = {1,2,3,4}", "float[1,3,1] w = {1,2,3}")),
        near("in floats", "runtimes want numbers to normalize", ("float[2,3,4] x", "float[] x"), ("float[2,3,4] y", "float[] y")),
    ],
    "targets/ort/gpu/skip_layer_normalization.lua": [
        near("a sum with other readers", "the op does not have this type", ("float", "double")),
        *(near("a sum with other readers", None, (f"float[4] {x}", f"float[{sizes}] {x}"))
          for x in "wb" for sizes in ("1", "3,4")),
        near("a sum with other readers", None, ("float[4]", "float[1]")),
        near("a sum with other readers", None, ("axis = -1", "axis = 1")),
        near("a sum with other readers", "epsilon is negative", ("0.001", "-0.001")),
    ],
    "targets/ort/layer_normalization.lua": [
        near("weights that were float16", "the norm is not computed in float",
             ("axis = 2,", "axis = 2, stash_type = 10,")),
    ],
    "targets/onnx/rotary_embedding.lua": [
        near("halves of heads, angles of each batch its own", "the rank is unknown", ("int64[1] far = {100}", "int64[2] far = {100,100}")),
        *(near("halves of heads, angles of each batch its own", reason, *changes)
          for reason, *changes in (
              ("the factor of the angles is not a constant", ("[2,4,4] f", "[2,4,4] f, float[8] z"),
               ("c = Unsqueeze(c0, heads)", "c1 = Mul(c0, z) c = Unsqueeze(c1, heads)")),
              ("these are not the elements to rotate",
               ("last = {3}", "last = {3}, int64[2] from = {0,0}, int64[2] to = {4,100},"
                              " int64[2] both = {3,2}"),
               ("Slice(x, zero, half, last)", "Slice(x, from, to, both)")),
              ("these are not the elements to rotate", ("last = {3}",
               "last = {3}, int64[1] two = {2}"),
               ("Slice(x, zero, half, last)", "Slice(x, zero, far, last, two)")),
              ("these are not the elements to rotate", ("f) =>", "f, int64[1] step) =>"),
               ("y)\n        <", "y)\n        <float[2,3,4,4] a, "),
               ("Slice(x, zero, half, last)", "Slice(x, zero, far, last, step)")),
              ("the size of the heads is not known, or odd", ("[2,3,4,8] x", "[2,3,4,D] x"),
               ("[2,3,4,8] y", "[2,3,4,Z] y")),
              ("the part that is rotated is not one half", ("half = {4}", "half = {2}")),
              ("the angles of a pair differ",
               ("last = {3}", "last = {3}, int64[1] end = {-1}, int64[4] twos = {1,1,1,2},"
                              " int64[3] flat = {2,4,8}"),
               ("t = Concat <axis = -1> (f, f)",
                "u = Unsqueeze(f, end) w = Tile(u, twos) t = Reshape(w, flat)")),
              ("wrong shape of the doubled angles", ("[2,4,4] f", "[2,2,8] f"),
               ("t = Concat <axis = -1>", "t = Concat <axis = 1>")),
              ("the angles of a pair differ", ("[2,4,4] f", "[2,4,8] f"), ("(f, f)", "(f)")),
              ("a step changes the last axis", ("[2,4,4] f", "[2,4,8] f"),
               ("last = {3}", "last = {3}, int64[1] two = {2}, int64[1] twelve = {12}"),
               ("t = Concat <axis = -1> (f, f)",
                "u = Concat <axis = -1> (f, f) t = Slice(u, half, twelve, two)")),
              ("a step changes the last axis",
               ("last = {3}", "last = {3}, int64[1] two = {2}, int64[1] one = {1}"),
               ("c = Unsqueeze(c0, heads)",
                "c1 = Slice(c0, zero, one, two) c = Unsqueeze(c1, heads)")))),
        near("neighbours, heads after tokens, scaled angles of no batch",
             "the angles of a pair differ", ("          fd = Unsqueeze(f, behind)\n", ""),
             ("          fw = Tile(fd, twos)\n", ""), ("Reshape(fw, flat)",
              "Concat <axis = -1> (f, f)")),
        *(near("halves of heads, angles of each batch its own", reason, *changes)
          for reason, *changes in (
              ("the size of the heads is not known, or odd", ("[2,3,4,8] x", "[2,3,4,0] x"),
               ("[2,4,4] f", "[2,4,0] f"), ("[2,3,4,8] y", "[2,3,4,0] y")),
              ("the size of the heads is not known, or odd", ("[2,3,4,8] x", "[2,3,4,7] x"),
               ("[2,4,4] f", "[2,4,1] f"), ("[2,3,4,8] y", "[] y")))),
        *(near("halves of heads, angles of each batch its own", reason, *changes)
          for reason, *changes in (
              (None, ("f) =>", "f, float[2,4,4] g) =>"), ("(f, f)", "(f, g)")),
              ("these are not the elements to rotate", ("Neg(b)", "Neg(a)"), ("(n, a)", "(n, b)")),
              ("does not have this type on every device", ("float[", "double[")))),
        near("neighbours, heads after tokens, scaled angles of no batch",
             "the angles of a pair differ", ("8,8}", "8,9}")),
        near("angles of two sections", "the angles of a pair differ", ("(ca, cb, ca, cb)", "(ca, cb, cb, ca)")),
        near("angles in front of tokens, then behind them", "wrong shape of the doubled angles",
             ("[2,4,4] f", "[2,8,2] f"), ("axis = 1", "axis = 2")),
        near("angles in front of tokens, then behind them", "wrong shape of the doubled angles",
             ("[2,4,4] f", "[8,4,1] f"), ("axis = 1", "axis = 2"), ("[0,2,1]", "[2,1,0]")),
        near(COMPLEX, "these are not the elements to rotate",
             ("rd = Unsqueeze(real, behind)\n", "\n"), ("id = Unsqueeze(imaginary, behind)\n", "\n"),
             ("q = Concat <axis = -1> (rd, id)\n", "\n"),
             ("Reshape(q, whole)", "Concat <axis = -1> (real, imaginary)")),
        near("products of halves", "the angles do not fit", ("float[4,4]", "float[3,4,4]")),
        *(near("halves of heads, angles of each batch its own", reason, *changes)
          for reason, *changes in (
              ("the rank of the angles is unknown", ("float[2,4,4] f", "float[] f"),
               ("t = Concat <axis = -1>", "t = Concat <axis = 2>")),
              ("a step changes the last axis", ("[2,4,4] f", "[4] f, int64[2,4,8] i"),
               ("c0 = Cos(t)", "g = Gather(t, i) c0 = Cos(g)"), ("Sin(t)", "Sin(g)")),
              ("a step changes the last axis", ("xc = Mul(x, c)",
               "c1 = Slice(c, zero, heads, last) xc = Mul(x, c1)")))),
        # Doubled in another way: along another axis than the last, or onto other axes.
        *(near("neighbours, angles as for halves", "wrong shape of the doubled angles",
               ("[2,1,4,4] f", f"[{sizes}] f"), *changes, ("int64[1] zero = {0}",
                "int64[1] zero = {0}, int64[1] axis = {%d}, int64[%d] twos = {%s},"
                " int64[%d] flat = {%s}" % (axis, twos.count(",") + 1, twos,
                                            flat.count(",") + 1, flat)),
               ("t = Concat <axis = -1> (f, f)",
                "u = Unsqueeze(f, axis) w = Tile(u, twos) t = Reshape(w, flat)"))
          for sizes, axis, twos, flat, *changes in (
              ("2,2", 0, "1,1,1", "1,4", ("[2,3,4,8]", "[2,3,2,4]"), ("{2,3,4,8}", "{2,3,2,4}")),
              ("4,4", -1, "1,1,2", "4,1,8", ("[2,3,4,8]", "[2,4,4,8]"), ("{2,3,4,8}", "{2,4,4,8}")),
              ("2,1,4,4", -1, "1,2,1,1,1", "2,1,4,8"),
              ("2,1,4,4", -1, "1,1,1,1,2", "1,2,4,8", ("[2,3,4,8]", "[2,2,4,8]"),
               ("{2,3,4,8}", "{2,2,4,8}")))),
        near("neighbours, angles as for halves", None, ("[2,3,4,8]", "[2,3,1,1,8]"),
             ("int64[4] whole = {2,3,4,8}", "int64[5] whole = {2,3,1,1,8}"),
             ("[2,1,4,4] f", "[1,4] f"), ("last = {3}", "last = {4}"),
             ("int64[1] zero = {0}", "int64[3] twos = {1,1,2}, int64[2] flat = {1,8},"
              " int64[5] pairs = {2,3,1,4,2}, int64 even = {0}, int64 odd = {1}"),
             (", int64[1] one = {1}, int64[1] two = {2}, int64[1] far = {100}, int64[1] last = {4}",
              ""),
             ("t = Concat <axis = -1> (f, f)",
              "u = Unsqueeze(f, behind) w = Tile(u, twos) t = Reshape(w, flat)"
              " p2 = Reshape(x, pairs)"),
             ("a = Slice(x, zero, far, last, two)", "a = Gather <axis = -1> (p2, even)"),
             ("b = Slice(x, one, far, last, two)", "b = Gather <axis = -1> (p2, odd)")),
        near("neighbours, heads after tokens, scaled angles of no batch",
             None,
             ("s0 = Sin(m)", "g = Gather <axis = 1> (m, order) s0 = Sin(g)"),
             ("int64[1] two = {2}", "int64[1] two = {2}, int64[8] order = {6,7,0,1,3,2,5,4}")),
        # Constant angles in another order keep it.
        near("neighbours, heads after tokens, scaled angles of no batch", None,
             ("c0 = Gather(table, places)", "c0 = Gather <axis = 1> (table, order)"),
             ("int64[1] two = {2}", "int64[1] two = {2}, int64[8] order = {3,2,1,0,6,7,4,5}"),
             gives="""
             c = Constant <value = float[2,4,4]
               {2,1,4,3,6,5,8,7,2,1,4,3,6,5,8,7,2,1,4,3,6,5,8,7,2,1,4,3,6,5,8,7}> ()
             third2 = Constant <value = float {0.3}> ()
             m = Mul(f, third2)
             s = Sin(m)
             front = Constant <value = int64[1] {0}> ()
             batches = Constant <value = int64[3] {2,1,1}> ()
             s1 = Unsqueeze(s, front)
             s2 = Expand(s1, batches)
             merged = Constant <value = int64[3] {0,0,24}> ()
             x3 = Reshape(x, merged)
             y3 = RotaryEmbedding <interleaved = 1, num_heads = 3> (x3, c, s2)
             apart = Constant <value = int64[4] {0,0,3,8}> ()
             y = Reshape(y3, apart)"""),
        # One number that is broadcast is not a half.
        near("products of halves", "the part that is rotated is not one half", ("[2,3,4,8]", "[2,3,4,4]"),
             ("[4,4]", "[4,2]"),
             ("int64[2] halves = {4,4}", "int64[1] zero = {0}, int64[1] two = {2},"
              " int64[1] three = {3}"),
             ("a, b = Split <axis = -1> (x, halves)",
              "a = Slice(x, zero, two, three) b = Slice(x, two, three, three)")),
        near("products of halves", "these are not the elements to rotate",
             ("int64[2] halves = {4,4}", "int64[2] halves = {4,4}, int64[1] end = {-1},"
              " int64[4] whole = {2,3,4,8}"),
             ("y = Concat <axis = -1> (real, imaginary)",
              "rd = Unsqueeze(real, end) id = Unsqueeze(imaginary, end)"
              " q = Concat <axis = -1> (rd, id) y = Reshape(q, whole)")),
        *(near(COMPLEX, None,
               ("3,8]", "3,4]"), ("{2,4,3,4,2}", "{2,4,3,2,2}"), ("{2,4,3,8}", "{2,4,3,4}"),
               ("[4,1,4]", "[4,1,2]"), (f"{part} = Gather <axis = -1>",
                f"{part} = Gather <axis = 3>"))
          for part in "ab"),
        *(near(COMPLEX, reason, *changes)
          for reason, *changes in (
              ("the elements are not paired", ("{2,4,3,4,2}", "{4,2,3,4,2}"), ("[4,1,4]", "[1,1,4]")),
              (None, ("q = Concat <axis = -1>", "q = Concat <axis = 3>")),
              ("wrong shape of the joined pairs",
               ("behind = {-1}", "behind = {-1}, int64[1] before = {3}"),
               ("Unsqueeze(real, behind)", "Unsqueeze(real, before)"),
               ("Unsqueeze(imaginary, behind)", "Unsqueeze(imaginary, before)")),
              ("wrong shape of the joined pairs", ("whole = {2,4,3,8}", "whole = {2,4,8,3}"),
               ("[2,4,3,8] y", "[2,4,8,3] y")),
              ("the angles are not one for each pair", ("[4,1,4] c", "[4] c")),
              ("the angles are not one for each pair", ("[4,1,4] c", "[4,1,1] c")),
              ("the angles do not fit", ("[4,1,4] c", "[N,4,1,4] c")),
              ("the angles do not fit", ("[4,1,4] c", "[M,1,4] c")),
              ("sines and cosines differ in shape", ("[4,1,4] s", "[2,4,1,4] s")),
              ("the number of heads is not known", ("[2,4,3,8] x", "[2,4,H,8] x"),
               ("{2,4,3,4,2}", "{2,4,-1,4,2}"), ("{2,4,3,8}", "{2,4,-1,8}"),
               ("[2,4,3,8] y", "[2,4,H,8] y")))),
        near("products of halves", "the rank of the angles is unknown", ("float[4,4] c", "float[] c"),
             ("y) <", "y) <float[2,3,4,4] ac, float[2,3,4,4] bc, ")),
        # The first pair and the second.
        *(near(COMPLEX, reason, ("3,8]", "3,4]"), ("{2,4,3,4,2}", "{2,4,3,2,2}"),
               ("{2,4,3,8}", "{2,4,3,4}"), ("[4,1,4]", "[4,1,2]"), *changes)
          for reason, *changes in (
              (None, ("axis = -1> (p", "axis = 3> (p")),
              (None, ("int64 zero = {0}, int64 one = {1}", "int64[2] each = {1,1}, int64[1] fourth = {3}"),
               ("a = Gather <axis = -1> (p, zero)",
                "p0, p1 = Split <axis = 3> (p, each) a = Squeeze(p0, fourth)"),
               ("b = Gather <axis = -1> (p, one)", "b = Squeeze(p1, fourth)")),
              ("these are not the elements to rotate", ("int64 zero = {0}, int64 one = {1}",
                "int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] fourth = {3}"),
               ("a = Gather <axis = -1> (p, zero)", "p0 = Slice(p, zero, one, fourth) a = Squeeze(p0, fourth)"),
               ("b = Gather <axis = -1> (p, one)", "p1 = Slice(p, one, two, fourth) b = Squeeze(p1, fourth)")))),
        # Halves that look like pairs.
        near(COMPLEX, "the elements are not paired",
             ("int64 zero = {0}, int64 one = {1}", "int64[1] out = {3}, int64[2] each = {4,4}"),
             ("{2,4,3,4,2}", "{2,4,3,1,8}"),
             ("b = Gather <axis = -1> (p, one)", "b = Squeeze(p1, out)"),
             ("a = Gather <axis = -1> (p, zero)",
              "p0, p1 = Split <axis = -1> (p, each) a = Squeeze(p0, out)")),
        near(COMPLEX, "the elements are not paired",
             ("int64 zero = {0}, int64 one = {1}", "int64[2] out = {3,5}, int64[2] each = {1,1}"),
             ("3,8]", "3,4]"), ("{2,4,3,8}", "{2,4,3,4}"), ("[4,1,4]", "[4,1,2]"),
             ("int64[5] pairs = {2,4,3,4,2}", "int64[6] pairs = {2,4,3,1,2,2}"),
             ("b = Gather <axis = -1> (p, one)", "b = Squeeze(p1, out)"),
             ("a = Gather <axis = -1> (p, zero)",
              "p0, p1 = Split <axis = -1> (p, each) a = Squeeze(p0, out)")),
        # Without an axis of size 1 the angles broadcast to other tokens.
        *(near(COMPLEX, reason, ("[2,4,3,8]", f"[{sizes},2]"),
               ("{2,4,3,4,2}", "{%s,1,2}" % sizes), ("{2,4,3,8}", "{%s,2}" % sizes),
               ("[4,1,4]", "[3,1,1]"), ("int64 zero = {0}, int64 one = {1}",
                "int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2},"
                " int64[%d] out = {%s}, int64[%d] more = {%s}"
                % (out.count(",") + 1, out, more.count(",") + 1, more)),
               ("a = Gather <axis = -1> (p, zero)",
                "p0 = Slice(p, zero, one, behind) a = Squeeze(p0, out)"),
               ("b = Gather <axis = -1> (p, one)",
                "p1 = Slice(p, one, two, behind) b = Squeeze(p1, out)"),
               ("(real, behind)", "(real, more)"), ("(imaginary, behind)", "(imaginary, more)"))
          for reason, sizes, out, more in (
              ("the elements are not paired", "1,3,3", "0", "4"),
              ("the part that is rotated is not one half", "3,3,1", "3,4", "3,4"))),
        near(COMPLEX, "wrong shape of the joined pairs",
             ("behind = {-1}", "behind = {3,5}"), ("[1] behind", "[2] behind")),
        near(COMPLEX, None, ("[2,4,3,8]", "[2,4,3,1,8]"),
             ("int64[4] whole = {2,4,3,8}", "int64[5] whole = {2,4,3,1,8}"), ("[4,1,4]", "[3,4]")),
        near("products of halves", "the halves are not joined along the last axis", ("<axis = -1> (real",
             "<axis = 2> (real"), ("[2,3,4,8] y", "[2,3,8,4] y")),
        near("products of halves", "the angles are not one for each pair", ("float[4,4]", "float[1,1,1,4,4]"),
             ("[2,3,4,8] y", "[1,2,3,4,8] y")),
        near(COMPLEX, "sines and cosines differ in shape",
             ("[2,4,3,8]", "[2,4,4,8]"), ("{2,4,3,", "{2,4,4,"), ("[4,1,4] s", "[4,4] s")),
        near(COMPLEX, "the tensor has no elements",
             ("[2,4,3,8]", "[2,4,0,8]"), ("{2,4,3,", "{2,4,0,")),
    ],
    "targets/ort/rotary_embedding.lua": [
        near("products of halves", None, ("[2,3,4,8]", "[2,1,3,8]"), ("float[4,4]", "float[1,4]"), gives="""
             merged = Constant <value = int64[3] {0,0,24}> ()
             x3 = Reshape(x, merged)
             first = Constant <value = int64[1] {0}> ()
             y3 = com.microsoft.RotaryEmbedding(x3, first, c, s)
             apart = Constant <value = int64[4] {0,0,3,8}> ()
             y = Reshape(y3, apart)"""),
        near("products of halves", None, ("float[4,4]", "float[1,1,4,4]"), gives="""
             heads = Constant <value = int64[1] {1}> ()
             c0 = Squeeze(c, heads)
             first = Constant <value = int64[1] {0}> ()
             c1 = Squeeze(c0, first)
             s0 = Squeeze(s, heads)
             s1 = Squeeze(s0, first)
             y = com.microsoft.RotaryEmbedding(x, first, c1, s1)"""),
    ],
    "targets/ort/rotary_before_transpose.lua": [
        near("whole heads", "the size of the heads is unknown", ("3,8] x", "3,D] x"),
             ("4,8] y", "4,D] y")),
        near("whole heads", "the size of the heads is unknown", ("3,8] x", "0,8] x"),
             ("3,4,8] y", "0,4,8] y")),
        near("batches last", None, ("[4,2,3,8] x", "[2,2,3,8] x"), ("[4,4]", "[2,4]"),
             ("[2,3,4,8] y", "[2,3,2,8] y")),
    ],
    "targets/onnx/partial_rotary_embedding.lua": [
        *(near("slices", reason, *changes)
          for reason, *changes in (
              ("the number of heads is not known", ("[2,3,4,10]", "[2,H,4,10]")),
              ("the tensor has no elements", ("[2,3,4,10]", "[2,0,4,10]")),
              ("x is not split into two parts of its last axis", ("far = {100}", "far = {9}"), ("10] y", "9] y")),
              ("x is not split into two parts of its last axis", ("10] x", "N] x"), ("10] y", "Z] y")),
              ("the parts are not joined along the last axis", ("10] x", "16] x"), ("4,10] y", "8,8] y"),
               ("Concat <axis = -1>", "Concat <axis = 2>")),
              ("x is not split into two parts of its last axis", ("float[2,4,4] s", "float[2,4,4] s, int64[1] end"),
               ("b = Slice(x, part, far", "b = Slice(x, part, end"), ("10] y", "Z] y")),
              ("x is not split into two parts of its last axis", ("float[2,4,4] s", "float[2,4,4] s, int64[1] end"),
               ("a = Slice(x, zero, part", "a = Slice(x, zero, end"), ("10] y", "Z] y")))),
        near("slices", None, ("[2,3,4,10]", "[2,4,10]"), ("last = {3}", "last = {2}"),
             ("interleaved = 1", "interleaved = 1, num_heads = 1")),
        near("heads after tokens", "the angles are not one for each pair",
             ("[2,4,4]", "[2,4,12]"), ("num_heads = 3", "num_heads = 1")),
        *(near("heads after tokens", "wrong shape of the merged heads", ("[2,4,4]", f"[{angles}]"),
               ("apart = {0,0,3,8}", "apart = {2,4,3,8}"),
               ("int64[3] flat = {0,0,24}", flat), ("num_heads = 3", f"num_heads = {heads}"))
          for angles, flat, heads in (
              ("2,3,4", "int64[4] flat = {2,4,3,8}", 4),
              ("1,4,4", "int64[3] flat = {1,4,48}", 6),
              ("2,2,4", "int64[3] flat = {2,2,48}", 6))),
        # With a batch of 0 the number of columns may differ.
        near("heads after tokens", "wrong shape of the split heads", ("s) =>", "s, int64[4] apart) =>"),
             (", int64[4] apart = {0,0,3,8}", "")),
        near("a split", "x is not split into two parts of its last axis", ("[2,3,4,10]", "[2,3,T,0]"),
             ("[2,4,4]", "[2,T,0]"), ("axis = -1> (x", "axis = 2> (x"),
             ("parts = {8,2}", "parts = {2,2}"), ("[2,3,T,0] y", "[2,3,2,0] y")),
    ],
    "targets/ort/gelu.lua": [
        near("by a tanh, the cube as a product", "FastGelu needs an axis", ("[2,3] ", " ")),
    ],
}
