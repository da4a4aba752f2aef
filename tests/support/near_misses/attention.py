"""Near misses of rules/attention."""

from support.near_misses.words import near

# Assumptions of masks.
FINITE, ABOVE = "scores between -1e13 and 1e13", "scores between -9,900 and 1e13"
SEEN = "each query sees a key whose score, masks added, is above -9,900"

OF = {
    "attention/compose_grouped_attention.lua": [
        near("keys that are transposed already, one for all queries", "no heads share a key",
             ("[2,1,8,5] kt", "[2,3,8,5] kt"), ("[2,1,5,8] v", "[2,3,5,8] v"), ("{2,1,24,8}", "{2,3,8,8}"),
             ("{2,1,24,5}", "{2,3,8,5}")),
        near("keys that are transposed already, one for all queries", "no heads share a key",
             ("[2,1,8,5] kt", "[2,G,8,5] kt"), ("[2,1,5,8] v", "[2,G,5,8] v"),
             ("int64[4] queries = {2,1,24,8}, int64[4] weights = {2,1,24,5}",
              "int64[1] two = {2}, int64[2] of_q = {-1,8}, int64[2] of_p = {-1,5}"),
             ("          qg =", "          groups = Shape <start = 1, end = 2> (v)\n"
              "          queries = Concat <axis = 0> (two, groups, of_q)\n"
              "          weights = Concat <axis = 0> (two, groups, of_p)\n          qg =")),
        near("keys that are transposed already, one for all queries", "no heads share a key",
             ("[2,4,6,8] q", "[2,H,6,8] q"), ("[2,4,6,8] y", "[2,H,6,8] y"), ("{2,1,24,8}", "{2,1,-1,8}"), ("{2,1,24,5}", "{2,1,-1,5}"),
             ("int64[4] scores = {2,4,6,5}, int64[4] apart = {2,4,6,8}",
              "int64[1] two = {2}, int64[2] of_s = {6,5}, int64[2] of_y = {6,8}"),
             ("          qg =", "          heads = Shape <start = 1, end = 2> (q)\n"
              "          scores = Concat <axis = 0> (two, heads, of_s)\n"
              "          apart = Concat <axis = 0> (two, heads, of_y)\n          qg =")),
        near("keys that are transposed already, one for all queries", None, ("[2,1,8,5] kt", "[1,1,8,5] kt")),
        near("keys that are transposed already, one for all queries", None, ("[2,1,5,8] v", "[1,1,5,8] v")),
        near("a mask, lengths that are known when the model runs", None, ("[B,2,T,8] k", "[2,2,T,8] k"), ("[B,4,S,8] q", "[2,4,S,8] q"),
             ("[B,2,T,6] v", "[2,2,T,6] v"), ("[B,4,S,6] y", "[2,4,S,6] y"), ("perm = [0,1,3,2]", "perm = [1,0,3,2]"),
             gives="""kt = Transpose <perm = [1,0,3,2]> (k)
             t = Transpose <perm = [0,1,3,2]> (kt)
             y = ruleengine.ScaledDotProductAttention
               <guarded = 0, num_heads = 4, head_dim = 6, scale = 0.5> (q, t, v, m)"""),
        near("keys that are transposed already, one for all queries", None, ("scores = {2,4,6,5}", "scores = {2,2,12,5}")),
        near("keys that are transposed already, one for all queries", None, ("apart = {2,4,6,8}", "apart = {2,2,12,8}"),
             ("[2,4,6,8] y", "[2,2,12,8] y")),
        near("a mask, lengths that are known when the model runs", None, ("[B,2,T,8] k", "[1,2,T,8] k")),
        near("a mask, lengths that are known when the model runs", "the mask does not fit the scores",
             ("[B,4,S,8] q", "[B,4,9,8] q"), ("[S,T] m", "[3,T] m"), ("[B,4,S,6] y", "[B,4,9,6] y")),
    ],
    "attention/compose_batched_attention.lua": [
        near("without a batch", "the operands do not have the same two or three axes",
             ("        kt = Transpose <perm = [1,0]> (k)\n", ""), ("kt", "k"),
             ("[8,16] q", "[2,4,8,16] q"), ("[6,16] k", "[2,4,16,6] k"),
             ("[6,32] v", "[2,4,6,32] v"), ("[8,32] y", "[2,4,8,32] y")),
        near("one head, a mask", "the operands do not have the same two or three axes",
             ("[2,6,16] k", "[6,16] k"), ("perm = [0,2,1]", "perm = [1,0]")),
        near("one head, a mask", "the operands do not have the same two or three axes",
             ("[2,6,32] v", "[6,32] v")),
        # Keys with another transpose keep it.
        near("without a batch", None, ("perm = [1,0]", "perm = [0,1]"),
             ("[6,16] k", "[16,6] k"), gives="""
             kt = Transpose <perm = [0,1]> (k)
             kk = Transpose <perm = [1,0]> (kt)
             axes = Constant <value = int64[2] {0,1}> ()
             qh = Unsqueeze(q, axes) kh = Unsqueeze(kk, axes) vh = Unsqueeze(v, axes)
             yh = ruleengine.ScaledDotProductAttention
               <num_heads = 1, head_dim = 32, scale = 1.0> (qh, kh, vh)
             y = Squeeze(yh, axes)"""),
    ],
    "attention/compose_packed_projection.lua": [
        near("without a bias", "the bias is not one number for each output",
             ("[1,3,2] x", "[1,6,2] x, float[6,6] b"), ("[1,2,3,1] y", "[1,2,6,1] y"),
             ("p = MatMul(x, w)", "o = MatMul(x, w) p = Add(o, b)")),
        near("without a bias", "the bias is not one number for each output",
             ("x) =>", "x, float[1] b) =>"),
             ("p = MatMul(x, w)", "o = MatMul(x, w) p = Add(o, b)")),
        # Without rows every Reshape and Split has matching sizes.
        near("without a bias", "the parts do not have the width of all heads",
             ("[1,3,2] x", "[1,0,2] x"), ("[1,2,3,1] y", "[1,3,0,1] y"),
             ("{0,0,2,1}", "{0,0,3,1}"), ("num_heads = 2", "num_heads = 3")),
        near("without a bias", "the parts do not have the width of all heads",
             ("[1,3,2] x", "[1,0,2] x"), ("[1,2,3,1] y", "[1,6,0,1] y"),
             ("{2,2,2}", "{0,0,0}"), ("axis = -1", "axis = 1"),
             ("{0,0,2,1}", "{0,0,6,1}"), ("num_heads = 2", "num_heads = 6")),
        near("without a bias", None, (", head_dim = 1", "")),
        near("without a bias", None, ("{0,0,2,1}", "{1,2,3,1}"),
             ("perm = [0,2,1,3]", "perm = [0,1,2,3]")),
    ],
    "attention/compose_parallel_linears.lua": [
        near("with biases", "the projections have different shapes",
             ("[1,3,2] x", "[1,0,2] x"), ("[1,2,3,1] y", "[1,2,0,1] y"),
             ("[2,2] wq = {1,2,3,4}", "[2,1] wq = {1,2}"),
             ("[2] bq = {1,2}", "[1] bq = {1}")),
        near("with biases", "the projections have different shapes",
             ("[1,3,2] x", "[1,0,2] x"), ("[1,2,3,1] y", "[1,2,0,1] y"),
             ("[2,2] wv = {9,10,11,12}", "[2,1] wv = {1,2}"),
             ("[2] bv = {5,6}", "[1] bv = {1}")),
        near("with biases", "only some projections have a bias",
             ("          q2 = Add(q1, bq)\n", ""), ("q2", "q1")),
        near("with biases", "only some projections have a bias",
             ("          v2 = Add(v1, bv)\n", ""), ("v2", "v1")),
        near("with biases", "a bias is not one number for each output",
             ("[1,3,2] x", "[1,2,2] x"), ("[1,2,3,1] y", "[1,2,2,1] y"),
             ("float[2] bk = {3,4}", "float[2,2] bk = {3,4,5,6}")),
        near("with biases", "a bias is not one number for each output",
             ("float[2] bk = {3,4}", "float[1] bk = {3}")),
        near("with biases", None, (", head_dim = 1", "")),
        near("with biases", None, ("{0,0,2,1}", "{1,2,3,1}"),
             ("perm = [0,2,1,3]", "perm = [0,1,2,3]")),
        # Numbers of rows that follow from sizes that x may not have.
        near("Gemm on rows", None, ("[1,3,2] x", "[?,?,2] x"), ("{3,2}", "{-1,2}"),
             ("{1,3,2,1}", "{-1,3,2,1}"), ("[1,2,3,1] y", "[?,2,3,1] y")),
        near("Gemm on rows", None, ("[1,3,2] x", "[1,3,I] x"), ("{3,2}", "{-1,2}"),
             ("{1,3,2,1}", "{1,3,2,2}"), ("[1,2,3,1] y", "[1,2,3,2] y"),
             ("head_dim = 1", "head_dim = 2")),
    ],
    "attention/compose_scaled_dot_product_attention.lua": [
        near("divided", "the scale divides by zero", ("c = {4.0}", "c = {0.0}")),
        near("divided", "the number of heads or their size is 0", ("[2,4,8,16]", "[2,0,8,16]")),
        near("divided", "the number of heads or their size is 0", ("[2,4,8,16] q", "[2,4,8,0] q"), ("[2,4,8,16] k", "[2,4,8,0] k")),
        near("masks of unknown sizes, and Reshapes to the shape that the scores had", "a Reshape changes the scores",
             ("r = Reshape <allowzero = 1> (a, shape)", "f = Concat <axis = 0> (four, b, l, t) r = Reshape <allowzero = 1> (a, f)")),
        near("masks of unknown sizes, and Reshapes to the shape that the scores had", "a Reshape changes the scores", ("int64[1] four", "int64[1] one = {1}, int64[1] four"),
             ("r = Reshape <allowzero = 1> (a, shape)",
              "f = Concat <axis = 0> (one, b, four, l, t) r = Reshape <allowzero = 1> (a, f)")),
        # The rank of what GatherElements gathers is that of its data.
        near("the scale after the mask", None, ("8] mask)", "8] mask, int64[N] n)"),
             ("Add(s, mask)", "Add(s, g)"), ("          a = ",
              "          i = ConstantOfShape <value = int64[1] {0}> (n) g = GatherElements(mask, i) a = "), gives="""
             i = ConstantOfShape <value = int64[1] {0}> (n) g = GatherElements(mask, i) scaled = Mul(g, c)
             y = ruleengine.ScaledDotProductAttention
               <guarded = 0, num_heads = 4, head_dim = 16, scale = 0.25> (q, k, v, scaled)"""),
        near("the scale after the mask", "the numbers of keys and values may differ",
             ("[2,4,8,16] k", "[2,4,N,16] k")),
        near("divided", "it does not fit the scores", ("[2,4,8,16] k", "[N,4,8,16] k")),
        near("divided", "it does not fit the scores", ("[2,4,8,16] v", "[2,G,8,16] v")),
        near("divided", "the scale is out of a float's range",
             ("float", "double"), ("c = {4.0}", "c = {1e40}")),
        near("divided", "the scale is out of a float's range",
             ("float", "double"), ("c = {4.0}", "c = {1e-40}")),
        near("divided", "the scale is not exact as a float",
             ("float", "double"), ("c = {4.0}", "c = {3.0}")),
        near("the scale after the mask", "the mask has too many axes",
             ("[2,1,8,8] mask", "[1,2,1,8,8] mask"), ("[2,4,8,16] y", "[1,2,4,8,16] y")),
        near("the scale after the mask", "the rank of the mask is unknown",
             ("float[2,1,8,8] mask", "float[] mask"), ("float[2,4,8,16] y", "float[] y")),
        near("a mask of -1e9 and no other", "the fill of the mask is not a constant",
             ("keep)", "keep, float fill)"), ("<float fill = {-1e9}>", "")),
        near("a mask of -1e9 and no other", None,
             ("keep)", "keep, float[8,8] m)"), ("p = Softmax <axis = -1> (w)",
              "a = Add(w, m) p = Softmax <axis = -1> (a)"), gives="""
             hiding = Constant <value = float {-1e30}> ()
             zero = Constant <value = float {0.0}> ()
             shown = Where(keep, zero, hiding)
             mask = Add(shown, m)
             y = ruleengine.ScaledDotProductAttention
               <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0> (q, k, v, mask)""",
             assumed=SEEN),
        near("a choice in float16, which has no number that hides so much", None, ("keep)", "keep, float16[8,8] m)"), ("-10000.0", "-60000.0"),
             ("p = Softmax <axis = -1> (w)", "a = Add(w, m) p = Softmax <axis = -1> (a)"), assumed=SEEN, gives="""
             zero = Constant <value = float {0.0}> () hiding = Constant <value = float {-1e30}> ()
             shown = Where(keep, zero, hiding) mf = Cast <to = 1> (m) mask = Add(shown, mf)
             qf = Cast <to = 1> (q) kf = Cast <to = 1> (k) vf = Cast <to = 1> (v)
             yf = ruleengine.ScaledDotProductAttention
               <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0> (qf, kf, vf, mask)
             y = Cast <to = 10> (yf)"""),
        near("a choice in float16, which has no number that hides so much", None, ("keep)", "keep, float16[8,8] m)"),
             ("w = Where(keep, s, fill)", "a = Sub(s, m) w = Where(keep, a, fill)"), assumed=SEEN, gives="""
             mf = Cast <to = 1> (m) less = Neg(mf) hiding = Constant <value = float {-1e30}> ()
             mask = Where(keep, less, hiding)
             qf = Cast <to = 1> (q) kf = Cast <to = 1> (k) vf = Cast <to = 1> (v)
             yf = ruleengine.ScaledDotProductAttention
               <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0> (qf, kf, vf, mask)
             y = Cast <to = 10> (yf)"""),
        near("a soft cap, and a scale for each head",
             "the soft cap is not a constant",
             ("[4,1,1] h", "[4,1,1] h, float c"), ("<float c = {50.0}>", "")),
        near("softmax of halves in float", "the types differ",
             ("to = 1>", "to = 11>")),
        near("softmax of halves in float", "the types differ",
             ("float16", "double"), ("to = 10", "to = 11")),
        near("divided", "dropout may be training",
             ("<float c = {4.0}>", "<float c = {4.0}, float r = {0.5}, bool t = {1}>"),
             ("y = MatMul(p, v)", "o = Dropout(p, r, t) y = MatMul(o, v)")),
        near("divided", "the dropout ratio is not a constant", ("v) =>", "v, float r) =>"),
             ("y = MatMul(p, v)", "o = Dropout(p, r) y = MatMul(o, v)")),
        *(near("divided", None, (f"[2,4,8,16] {x}", f"[4,8,16] {x}")) for x in "qv"),
        near("divided", None, ("[2,4,8,16] q", "[1,4,16] q"), ("[2,4,8,16] y", "[2,4,4,16] y")),
        near("divided", None, ("[2,4,8,16] k", "[2,4,4,16] k"), ("[2,4,8,16] v", "[1,4,16] v")),
        near("divided", None, ("[2,4,8,16] k", "[4,16,8] k"), ("MatMul(q, kt)", "MatMul(q, k)"),
             ("          kt = Transpose <perm = [0,1,3,2]> (k)\n", "")),
        near("a soft cap, and a scale for each head", "the scale is not a constant",
             ("[4,1,1] h", "[4,1,8] h")),
        near("divided", None, ("c = {4.0}", "c = {4.0}, float[4,1,1] h = {1,2,3,4}"),
             ("d = Div(s, c)", "d = Mul(s, h)"), gives="""
             qs = Mul(q, h)
             y = ruleengine.ScaledDotProductAttention
               <num_heads = 4, head_dim = 16, scale = 1.0> (qs, k, v)"""),
        # A scale of queries that is not a single number stays.
        *(near("divided", None, ("v) =>", "v, " + r + ") =>"),
               ("s = MatMul(q, kt)", "qr = Mul(q, r) s = MatMul(qr, kt)"), gives="""
               qr = Mul(q, r)
               y = ruleengine.ScaledDotProductAttention
                 <num_heads = 4, head_dim = 16, scale = 0.25> (qr, k, v)""")
          for r in ("float r", "float[8,1] r")),
        near("divided", None, ("c = {4.0}", "c = {4.0}, float[8,1] r = {1,2,3,4,5,6,7,8}"),
             ("s = MatMul(q, kt)", "qr = Mul(q, r) s = MatMul(qr, kt)"), gives="""
             qr = Mul(q, r)
             y = ruleengine.ScaledDotProductAttention
               <num_heads = 4, head_dim = 16, scale = 0.25> (qr, k, v)"""),
        # Heads that Expand repeats in another way stay repeated.
        *(near("heads repeated by Expand stay few", None, *changes, gives=f"""
               ku = Unsqueeze(k, two) ke = Expand(ku, wide) kr = Reshape(ke, heads)
               vu = Unsqueeze(v, two) ve = Expand(vu, wide) vr = Reshape(ve, heads)
               y = ruleengine.ScaledDotProductAttention
                 <num_heads = {heads}, head_dim = 16, scale = 0.25> (q, kr, vr)""")
          for heads, *changes in (
              (4, ("two = {2}", "two = {1}")),
              (4, ("[2,2,8,16] k", "[2,2,1,16] k"), ("[2,2,8,16] v", "[2,2,1,16] v")),
              (4, ("int64[5] wide = {2,2,2,8,16}", "int64[6] wide = {2,2,2,1,8,16}")),
              (2, ("heads = {2,4,8,16}", "heads = {4,2,8,16}"), ("[2,4,8,16] q", "[4,2,8,16] q"),
               ("[2,4,8,16] y", "[4,2,8,16] y")))),
        # The maximum of each column is not constant in a row.
        near("divided", None, ("c = {4.0}", "c = {4.0}, int64[1] two = {2}"),
             ("p = Softmax <axis = -1> (d)",
              "r = ReduceMax(d, two) e = Sub(d, r) p = Softmax <axis = -1> (e)"), gives="""
             kt = Transpose <perm = [0,1,3,2]> (k)
             s = MatMul(q, kt)
             d = Div(s, c)
             r = ReduceMax(d, two)
             m = Neg(r)
             y = ruleengine.ScaledDotProductAttention
               <guarded = 0, num_heads = 4, head_dim = 16, scale = 0.25> (q, k, v, m)"""),
        *(near("divided", None, ("perm = [0,1,3,2]", f"perm = {perm}"),
               ("[2,4,8,16] k", f"[{sizes}] k"), gives=f"""
               kt = Transpose <perm = {perm}> (k)
               kk = Transpose <perm = [0,1,3,2]> (kt)
               y = ruleengine.ScaledDotProductAttention
                 <num_heads = 4, head_dim = 16, scale = 0.25> (q, kk, v)""")
          for perm, sizes in (("[0,1,2,3]", "2,4,16,8"), ("[1,0,2,3]", "4,2,16,8"))),
        near("softmax of halves in float", None, ("axis = -1", "axis = 2")),
        near("zeros where the mask hides, after the softmax too", None,
             ("axis = -1", "axis = 2")),
        near("zeros where the mask hides, after the softmax too", None,
             ("zero = {0.0}", "zero = {1.0}")),
        near("zeros where the mask hides, after the softmax too", None,
             ("(hide, fill, s)", "(hide, s, fill)"), ("(hide, zero, p)", "(hide, p, zero)"),
             ("axis = -1", "axis = 2")),
        near("zeros where the mask hides, after the softmax too", None,
             ("(hide, fill, s)", "(hide, s, fill)"), ("(hide, zero, p)", "(hide, p, zero)"),
             ("zero = {0.0}", "zero = {1.0}")),
        near("half of the scale on either side, a mask, and a guard against rows without any key",
             None, ("zero = {0.0}", "zero = {1.0}")),
        *(near("divided", None, ("[2,4,8,16]", "[2,2,2,16]"), (f"[2,2,2,16] {x}", f"[2,2,16] {x}"))
          for x in "qv"),
        near("divided", None, ("[2,4,8,16]", "[2,2,2,16]"), ("[2,2,2,16] k", "[2,16,2] k"),
             ("MatMul(q, kt)", "MatMul(q, k)"),
             ("          kt = Transpose <perm = [0,1,3,2]> (k)\n", "")),
        near("heads repeated by Expand stay few", None, ("[2,2,8,16] k", "[2,4,16,16] k"),
             ("          ku = Unsqueeze(k, two)\n", ""), ("          ke = Expand(ku, wide)\n", ""),
             ("          kr = Reshape(ke, heads)\n", ""), ("(kr)", "(k)"),
             ("heads = {2,4,8,16}", "heads = {2,4,16,8}"), ("[2,4,8,16] y", "[2,4,8,8] y"),
             gives="""
             vu = Unsqueeze(v, two) ve = Expand(vu, wide) vr = Reshape(ve, heads)
             y = ruleengine.ScaledDotProductAttention
               <num_heads = 4, head_dim = 8, scale = 0.25> (q, k, vr)"""),
        near("the scale after the mask", "the mask does not fit the scores",
             *((f"[2,4,8,16] {x}", f"[1,4,8,16] {x}") for x in "qkv")),
        near("a soft cap, and a scale for each head", "the soft cap is not positive",
             ("{50.0}", "{-50.0}")),
        near("a soft cap, and a scale for each head", "the scale is not exact as a float",
             ("float", "double"), ("{50.0}", "{0.1}")),
        near("a soft cap, and a scale for each head", "the scale is out of a float's range",
             ("float", "double"), ("{50.0}", "{1e40}")),
        near("the scale after the mask", "the scale after the mask is not positive",
             ("{0.25}", "{-0.25}")),
        *(near("a sink of zero", reason, *changes)
          for reason, *changes in (
              ("the slice is not along the last axis", ("last = {3}", "last = {2}"), ("6,16] v", "7,16] v"),
               ("[2,4,8,16] y", "[2,4,7,16] y")),
              ("the slice is not along the last axis", ("v) =>", "v, int64[1] last) =>"),
               (", int64[1] last = {3}", "")),
              ("the sink is not the last column", ("to = {-1}", "to = {-2}"),
               ("6,16] v", "5,16] v")),
              ("the sink is not the last column", ("v) =>", "v, int64[1] to) =>"),
               (", int64[1] to = {-1}", "")),
              ("more than the sink is dropped", ("v) =>", "v, int64[8] pads) =>"),
               ("int64[8] pads = {0,0,0,0,0,0,0,1}, ", "")),
              ("Pad does not add exactly one column", ("{0,0,0,0,0,0,0,1}", "{0,0,0,1,0,0,0,0}")),
              ("Pad does not add exactly one column", ("{0,0,0,0,0,0,0,1}", "{0,0,0,0,0,0,0,2}"),
               ("to = {-1}", "to = {6}")))),
        near("a sink of zero", "the pads are not constant", ("v) =>", "v, int64[8] pads) =>"),
             ("int64[8] pads = {0,0,0,0,0,0,0,1}, ", "float[2,4,8,6] z, ")),
        near("a sink of zero", None, ("v) =>", "v, bool[8,6] keep) =>"),
             ("int64[1] last = {3}", "int64[1] last = {3}, float low = {-inf}"),
             ("c = Pad(s, pads)", "m = Where(keep, s, low) c = Pad(m, pads)"), gives="""
             one = Constant <value = int64[8] {0,0,0,0,0,0,1,0}> ()
             kp = Pad(k, one) vp = Pad(v, one)
             f = Cast <to = 1> (keep) b = Log(f)
             sizes = Constant <value = int64[4] {1,1,8,6}> () e = Expand(b, sizes)
             column = Constant <value = int64[8] {0,0,0,0,0,0,0,1}> () mask = Pad(e, column)
             y = ruleengine.ScaledDotProductAttention
               <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0> (q, kp, vp, mask)""",
             assumed=FINITE),
        near("a sink for each head", None, ("last = {3}", "last = {3}, int64[1] two = {2}"),
             ("(c, to)", "(c, two)")),
        near("a sink of zero", None, ("from = {0}", "from = {1}"), ("6,16] v", "5,16] v")),
        # The probabilities of one head are used for all.
        near("a sink of zero", None, ("int64[1]", "int64[2]"), ("from = {0}", "from = {0,0}"),
             ("to = {-1}", "to = {6,1}"), ("last = {3}", "last = {3,1}")),
        near("a sink of zero", None, ("axis = -1", "axis = 2")),
        # A size that may be 1 or more at run time is expanded to that of the scores.
        *(near("a sink for each head", None, *changes, gives="""
               one = Constant <value = int64[8] {0,0,0,0,0,0,1,0}> ()
               kp = Pad(k, one)
               vp = Pad(v, one)
               shown = Constant <value = int64[4] {2,4,1,6}> ()
               me = Expand(m, shown)
               column = Constant <value = int64[4] {2,4,1,1}> ()
               se = Expand(sink, column)
               mask = Concat <axis = -1> (me, se)
               y = ruleengine.ScaledDotProductAttention
                 <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0> (q, kp, vp, mask)""")
          for changes in ([("[2,1,1,6] m", "[2,N,1,6] m")], [("[1,4,1,1] sink", "[N,4,1,1] sink")],
                          [("[2,1,1,6] m", "[N,M,1,6] m"), ("[1,4,1,1] sink", "[B,4,1,1] sink")])),
        near("a sink of zero", "the scores are centred before the sink",
             ("c = Pad(s, pads)", "r = ReduceMax(s, last) d = Sub(s, r) c = Pad(d, pads)")),
        near("a sink for each head", None, ("c = Concat <axis = -1>", "c = Concat <axis = 2>"),
             ("wide = {2,4,8,1}", "wide = {2,4,1,6}"), ("last = {3}", "last = {2}")),
        # More queries, each with one key.
        near("a sink for each head", None, ("c = Concat <axis = -1>", "c = Concat <axis = 2>"),
             ("6,16]", "1,16]"), ("[2,1,1,6] m", "[2,1,1,1] m"), ("[2,4,8,16] y", "[2,4,N,16] y"),
             ("[1,4,1,1] sink", "[1,4,1,1] sink, int64[4] wide"),
             ("int64[4] wide = {2,4,8,1}", "int64[1] one = {1}"),
             ("from, to, last", "from, one, last")),
        near("divided", "the scores are cut off", ("c = {4.0}", "c = {4.0}, float low = {-3.4e38},"
                                                   " float high = {5.0}"),
             ("p = Softmax <axis = -1> (d)", "e = Clip(d, low, high) p = Softmax <axis = -1> (e)")),
        near("a sink for each head", "the sink is not one column", ("[1,4,1,1] sink", "[4,1,1] sink")),
        near("a sink for each head", "the sink is not one column", ("[1,4,1,1] sink", "[1,4,1,2] sink"),
             ("wide = {2,4,8,1}", "wide = {2,4,8,2}"), ("to = {-1}", "to = {6}"),
              ("(c, to)", "(c, last)")),
        near("a sink of zero", None, ("}> {", "}, float five = {5.0}> {"),
             ("(s, pads)", "(s, pads, five)")),
        near("zeros where the mask hides, after the softmax too", None,
             ("hide)", "hide, bool[8,8] keep)"),
              ("zero = {0.0}", "zero = {0.0}, float low = {-3.4e38}"),
             ("w = Where(hide, fill, s)",
              "m = Where(keep, zero, low) a = Add(s, m) w = Where(hide, fill, a)"), gives="""
             m = Where(keep, zero, low)
             shown = Not(hide)
             never = Constant <value = float {-inf}> ()
             mask = Where(shown, m, never)
             y = ruleengine.ScaledDotProductAttention
               <num_heads = 4, head_dim = 16, scale = 1.0> (q, k, v, mask)""", assumed=SEEN),
        # With a mask that adds other numbers or does not absorb HIDING; then with one that absorbs it.
        *(near("a mask of -1e9 and no other", None,
               ("keep)", "keep, bool[8,8] real, float[8,8] m)"),
               ("fill = {-1e9}", f"fill = {{-1e9}}, float low = {{{low}}}, float zero = {{0.0}}, float one = {{1.0}}"),
               ("p = Softmax <axis = -1> (w)", other + " a = Add(w, n) p = Softmax <axis = -1> (a)"),
               *changes, gives=other + f"""
               hiding = Constant <value = {changes[0][1] if changes else "float"} {{-1e30}}> ()
               shown = Where(keep, zero, hiding)
               mask = Add(shown, n)
               y = ruleengine.ScaledDotProductAttention
                 <guarded = 0, num_heads = 4, head_dim = 16, scale = 1.0> (q, k, v, mask)""", assumed=assumed)
          for assumed, low, other, *changes in (
              (SEEN, "-3e38", "n = Where(real, m, low)"),
              (SEEN, "-3e38", "n = Where(real, low, m)"),
              (SEEN, "-3e38", "n = Mul(m, low)"),
              (SEEN, "-3e38", "f = Sub(zero, m) n = Mul(f, low)"),
              (SEEN, "-3e38", "f = Cast <to = 1> (real) g = Sub(m, f) n = Mul(g, low)"),
              (SEEN, "-3e38", "h = Cast <to = 10> (m) f = Cast <to = 1> (h) n = Mul(f, low)"),
              (SEEN, "-2e37", "n = Where(real, zero, low)"),
              (SEEN, "-3e38", "n = Where(real, zero, low)", ("float", "double")),
              (ABOVE, "-3e38", "n = Where(real, zero, low)"),
              (ABOVE, "-3e38", "n = Where(real, low, zero)"),
              (ABOVE, "-3e38", "f = Cast <to = 1> (real) n = Mul(f, low)"),
              (ABOVE, "-3e38", "f = Cast <to = 1> (real) g = Sub(one, f) n = Mul(low, g)"))),
        # The fill replaces scores that are not scaled yet.
        *(near("a mask of -1e9 and no other", "the fill of the mask hides too little",
               ("fill = {-1e9}", f"fill = {{{fill}}}, float t = {{{scale}}}"),
               ("p = Softmax <axis = -1> (w)", "a = Mul(w, t) p = Softmax <axis = -1> (a)"))
          for fill, scale in (("-10.0", "1000.0"), ("-1.0", "1e38"), ("-1e5", "0.01"))),
        near("divided", "the fill of the mask hides too little",
             ("c = {4.0}", "c = {4.0}, float low = {-1e9}"),
             ("p = Softmax <axis = -1> (d)", "e = Max(d, low) p = Softmax <axis = -1> (e)")),
        near("heads repeated by Expand stay few", "the types are unknown",
             ("vu = Unsqueeze(v, two)", "u = com.example.Unknown(v) vu = Unsqueeze(u, two)")),
        near("heads repeated by Expand stay few", "the types are unknown",
             ("s = MatMul(q, kt)", "u = com.example.Unknown(q) qr = Reshape(u, heads) s = MatMul(qr, kt)")),
    ],
    "attention/compose_stacked_attention.lua": [
        near("an unknown number of windows", None,
             ("[2,4,N,8,16] k", "[2,4,N,M,16] k0"),
             ("[2,4,N,8,16] v)", "[2,4,N,M,16] v0, int64[1] to)"),
             ("y) {", "y) <int64[1] zero = {0}, int64[1] three = {3}> {"),
             ("kt = ", "k = Slice(k0, zero, to, three) v = Slice(v0, zero, to, three) kt = "),
             gives="""
             k = Slice(k0, zero, to, three) v = Slice(v0, zero, to, three)
             s4 = Constant <value = int64[4] {-1,1,8,16}> ()
             qm = Reshape(q, s4)
             first = Constant <value = int64[1] {0}> ()
             tail = Constant <value = int64[1] {3}> ()
             end = Constant <value = int64[1] {5}> ()
             one = Constant <value = int64[1] {1}> ()
             vs = Shape(v) vl = Slice(vs, first, tail) vp = ReduceProd <keepdims = 1> (vl)
             vw = Slice(vs, tail, end)
             vt = Concat <axis = 0> (vp, one, vw) vm = Reshape <allowzero = 1> (v, vt)
             kt = Transpose <perm = [0,1,2,4,3]> (k) kb = Transpose <perm = [0,1,2,4,3]> (kt)
             ks = Shape(kb) kl = Slice(ks, first, tail) kp = ReduceProd <keepdims = 1> (kl)
             kw = Slice(ks, tail, end)
             kd = Concat <axis = 0> (kp, one, kw) km = Reshape <allowzero = 1> (kb, kd)
             a = ruleengine.ScaledDotProductAttention
               <num_heads = 1, head_dim = 16, scale = 1.0> (qm, km, vm)
             s5 = Constant <value = int64[5] {2,4,-1,8,16}> ()
             y = Reshape(a, s5)"""),
        near("an unknown number of windows", "the ranks differ",
             ("[2,4,N,8,16] k", "[1,2,4,N,8,16] k"), ("[2,4,N,8,16] v", "[1,2,4,N,8,16] v"),
             ("[0,1,2,4,3]", "[0,1,2,3,5,4]"), ("[2,4,N,8,16] y", "[1,2,4,N,8,16] y")),
        near("an unknown number of windows", "the ranks differ",
             ("[2,4,N,8,16] q", "[1,2,4,N,8,16] q"), ("[2,4,N,8,16] v", "[1,2,4,N,8,16] v"),
             ("[2,4,N,8,16] y", "[1,2,4,N,8,16] y")),
        near("an unknown number of windows", "the ranks differ",
             ("[2,4,N,8,16] q", "[1,2,4,N,8,16] q"), ("[2,4,N,8,16] k", "[1,2,4,N,8,16] k"),
             ("[0,1,2,4,3]", "[0,1,2,3,5,4]"), ("[2,4,N,8,16] y", "[1,2,4,N,8,16] y")),
        near("an unknown number of windows", "an operand does not broadcast to the scores",
             ("[2,4,N,8,16] k", "[2,4,M,8,16] k"), ("[2,4,N,8,16] v", "[2,4,M,8,16] v"),
             ("[2,4,N,8,16] y", "[2,4,Z,8,16] y")),
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
        near("self-attention", "the query is not [batch, sequence, width]",
             ("[2,3,4] x", "[3,4] x"), ("[2,3,4] y", "[] y")),
        near("a mask of keys, the sequence first", "key_padding_mask is not None",
             options="{ sequence_first = true }", warns=True),
        near("a zero key", "extra positional args", (", add_zero_attn = 1", ""),
             ("out_w)\n", "out_w" + ', ""' * 8 + ", x)\n"), warns=True),
        near("a zero key", "add_bias_kv=True not supported", (", add_zero_attn = 1", ""),
             ("[2,3,4] x", "[2,3,4] x, float[1,1,4] more"),
             ("out_w)\n", "out_w" + ', ""' * 6 + ", more, more)\n"), warns=True),
        near("a zero key", "the attention weights are used", (", add_zero_attn = 1", ""),
             ("y = rule", "y, p = rule"), ("[2,3,4] y", "[2,3,4] y, float[2,3,3] p"), warns=True),
        near("a zero key", "embed_dim is no multiple of num_heads", (", add_zero_attn = 1", ""),
             ("num_heads = 2", "num_heads = 3"), warns=True),
        near("a mask, which its option would allow", "the mask is neither [S,L] nor [B*H,S,L]",
             ("[3,3] mask", "[2,2,3,3] mask"), options="{ masks = true }"),
    ],
    "attention/decompose_swin_attention.lua": [
        near("a bias of standard ops, which another block reads too",
             "the output projection may change the number of channels", ("float[2,2] proj_w", "float[P,2] proj_w")),
        *(near("a bias from elsewhere, which its option allows", "the bias does not fit the window",
               ("[1,2,2,2] b", f"[{sizes}] b"), options="{ any_bias = true }")
          for sizes in ("1,2,2,1", "1,2,2,2,3")),
        near("a bias of table and index", "window_size is not two positive numbers",
             ("<window_size = [2,2]> ", ""), ("window_size = [2,2], ", "")),
        near("a bias of table and index", "window_size is not two positive numbers",
             ("window_size = [2,2]", "window_size = [2,2,2]")),
        *(near("a bias of table and index", "window_size is not two positive numbers",
               ("window_size = [2,2]", f"window_size = {size}")) for size in ("[2,0]", "[0,2]")),
        near("a bias of table and index", "the number of channels is not a multiple of num_heads",
             ("float[6,2] qkv_w", "float[] qkv_w")),
        near("a bias of table and index", "the number of channels is not a multiple of num_heads",
             ("float[6,2] qkv_w", "float[6,3] qkv_w")),
        near("a bias of table and index", "cannot be traced", ("[9,2] table", "[9,1] table"),
             warns=True),
        near("an index of rows and columns", "cannot be traced",
             ("int64[4,4] index", "int64[1,4,4] index"), warns=True),
        near("an index of rows and columns", "cannot be traced",
             ("int64[4,4] index", "int64[4] index"), ("{4,4,-1}", "{1,4,-1}"), warns=True),
        near("an index of rows and columns", "cannot be traced",
             ("axis = 0", "axis = 1"), ("[9,2] table", "[2,2] table"), warns=True),
        near("an index of rows and columns", "cannot be traced",
             ("perm = [2,0,1]", "perm = [2,1,0]"), warns=True),
        near("an index of rows and columns", "cannot be traced",
             ("first = {0}", "first = {1}"), warns=True),
        near("an index of rows and columns", "the bias does not fit the window",
             ("window_size = [2,2]", "window_size = [2,1]")),
        near("a bias of table and index", "x is not [batch, height, width, channels]",
             ("[1,4,4,2] x", "[4,4,2] x"), ("[1,4,4,2] y", "[] y")),
        near("a bias of table and index", "cannot be traced", (", num_heads = 2", ""),
             warns=True),
        *(near("a bias of table and index", "shift_size is not two numbers of 0 or more",
               ("shift_size = [1,1]", f"shift_size = {shift}"))
          for shift in ("[1,1,1]", "[-1,1]", "[1,-1]")),
        near("a bias of table and index", "window_size is not two positive numbers",
             ("window_size = [2,2]", "window_size = [0,2]")),
    ],
    "attention/fuse_masked_attention.lua": [
        near("multiplied, the mask in front", "the divisor is not the one of the option",
             options="{ literal_divisor = 0.5 }"),
        *(near("divided by 8", None, (f"[2,4,8,64] {x}", f"[2,1,8,64] {x}")) for x in "kv"),
        near("divided by 8", None, ("8,64]", "8,8]"), ("perm = [0,1,3,2]", "perm = [0,1,2,3]")),
    ],
    "attention/wrap_functional_sdpa.lua": [
        # The functional op broadcasts a batch of 1.
        *(near("an explicit scale", None, (" = Attention", " = aten.scaled_dot_product_attention"),
               ('"" : 23', '"" : 23, "aten" : 1'), (f"[2,4,8,16] {x}", f"[1,4,8,16] {x}"))
          for x in "qkv"),
        near("a mask of one key", None, (" = Attention", " = aten.scaled_dot_product_attention"),
             ('"" : 24', '"" : 24, "aten" : 1'), ("[2,4,8,16]", "[1,4,8,16]"),
             ("[8,1] mask", "[2,1,8,8] mask"), ("[1,4,8,16] y", "[2,4,8,16] y")),
    ],
    "attention/decompose_swin_v2_attention.lua": [
        near("a computed table, a bias of queries, keys and values",
             "the type of the bias is unknown",
             ("index) =>", "index, float[6] qkv) =>"), (", float[6] qkv_b = {1,2,3,4,5,6}", ""),
             ("s = Sigmoid(b)", "qkv_b = com.example.Unknown(qkv) s = Sigmoid(b)")),
        *(near("a computed table, a bias of queries, keys and values",
               "the logit scale is not one for each head", ("float[1,1,1] t = {9.0}", f"float[{t}"), warns=True)
          for t in ("1,1,1,1] t = {9.0}", "2,1,1] t = {9.0,8.0}", "1,2,1] t = {9.0,8.0}",
                    "1,1,2] t = {9.0,8.0}")),
        near("a computed table, a bias of queries, keys and values",
             "cannot be traced", ("index) =>", "index, float c) =>"), (", float c = {16.0}", ""),
             warns=True),
        near("a computed table, a bias of queries, keys and values", "cannot be traced",
             ("float c = {16.0}", "float[4] c = {16.0,15.0,14.0,13.0}"), warns=True),
    ],
}
