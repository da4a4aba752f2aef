--- Heads: how they are split, merged and repeated.
local heads = {}

--- x, [B,S,H*width], as [B,H,S,width].
function heads.split(op, x, H, width)
  return op.Transpose{op.Reshape(x, {0, 0, H, width}), perm = {0, 2, 1, 3}}
end

--- x, [B,H,S,width], as [B,S,H*width]; with fewer heads than H, each is
--- repeated for several in a row.
function heads.merged(op, x, H, width, fewer)
  x = op.Transpose{x, perm = {0, 2, 1, 3}}
  if fewer and fewer < H then
    local serves = {}
    for i = 1, H do serves[i] = math.floor((i - 1) * fewer / H) end
    x = op.Gather{x, serves, axis = 2}
  end
  return op.Reshape(x, {0, 0, H * width})
end

--- The pattern of heads of x that are repeated G -> H by Unsqueeze, Expand, Reshape; or x as it is. x is
--- [B,G,length,width]; the letters say which.
function heads.repeated(op, x, length, width)
  return either(
    function()
      x:shape("B G " .. length .. " " .. width)
      local wide = op.Expand(op.Unsqueeze(x, {2}), any):shape("B G _ " .. length .. " " .. width)
      return op.Reshape{wide, any, allowzero = any}:shape("B H " .. length .. " " .. width)
    end,
    x)
end

--- Builds what `repeated` matches: heads of x, [B,G,_,width], each H / G times
--- in a row.
function heads.spread(op, x, G, H, width)
  if G == H then return x end
  local wide = op.Expand(op.Unsqueeze(x, {2}), {1, 1, H / G, 1, 1})
  -- If a symbolic width is 0 at run time, Reshape cannot infer -1.
  local length = type(width) == "number" and -1 or x:dim(2)
  return op.Reshape(wide, {0, H, length, width})
end

--- x, [B or 1, H or 1, _, _], as [B,H,_,_].
function heads.widened(op, x, B, H)
  for axis, size in ipairs{B, H} do
    need(x:dim(axis - 1) == size or x:dim(axis - 1) == 1, "it does not fit the scores", x)
  end
  if x:dim(0) == B and x:dim(1) == H then return x end
  return op.Expand(x, {B, H, 1, 1})
end

--- Whether a size is known, and not 0.
function heads.positive(size) return type(size) == "number" and size > 0 end

return heads
