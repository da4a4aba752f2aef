--- Cutting a map into windows, in standard ops.
return rule {
  doc = [[
    SwinWindowPartition(x)   =>   Reshape(Transpose(Reshape(roll(Pad(x))))), sizes and shift

    The pad and the roll where there is something to pad and to roll, as far as sizes are known.]],
  phase = "target",

  match = function(op, x)
    local windows, spatial = op.ruleengine.SwinWindowPartition{x, attrs = any, outputs = 2}
    return windows:as "call", spatial
  end,
  rewrite = function(_, m) return m.call:inline() end,

  examples = {
    { "neither padded nor rolled", [[
        (float[2,2,4,5] x) => (float[4,4,5] windows, int64[7] spatial) {
          windows, spatial = ruleengine.SwinWindowPartition <window_size = [2,2]> (x)
        }]],
      [[s = Constant <value = int64[6] {0,1,2,2,2,5}> ()
        c = Reshape(x, s)
        t = Transpose <perm = [0,1,3,2,4,5]> (c)
        f = Constant <value = int64[3] {-1,4,5}> ()
        windows = Reshape(t, f)
        said = Constant <value = int64[7] {2,2,4,2,4,0,0}> ()
        spatial = Identity(said)]] },
    { "a shift of three numbers", [[
        (float[2,2,4,5] x) => (float[4,4,5] windows, int64[7] spatial) {
          windows, spatial = ruleengine.SwinWindowPartition <window_size = [2,2], shift_size = [1,1,1]> (x)
        }]],
      rejected = "shift_size is not two numbers of 0 or more" },
  },
}
