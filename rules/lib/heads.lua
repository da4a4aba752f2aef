--- Heads: how they are split, merged and repeated.
local heads = {}

--- x, [B,S,H*width], as [B,H,S,width].
function heads.split(op, x, H, width)
  return op.Transpose{op.Reshape(x, {0, 0, H, width}), perm = {0, 2, 1, 3}}
end

--- x, [B,H,S,width], as [B,S,H*width].
function heads.merged(op, x, H, width)
  return op.Reshape(op.Transpose{x, perm = {0, 2, 1, 3}}, {0, 0, H * width})
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
  return op.Reshape(wide, {x:dim(0), H, x:dim(2), width})
end

--- x, [B or 1, H or 1, _, _], as [B,H,_,_]. A batch of another name is assumed to be B.
function heads.widened(op, x, B, H)
  local batch, count = x:dim(0), x:dim(1)
  local renamed = batch ~= B and type(batch) ~= "number" and type(B) ~= "number"
  need(renamed or batch == B or batch == 1, "it does not fit the scores", x)
  need(count == H or count == 1, "it does not fit the scores", x)
  if renamed then assume("queries, keys and values have the same batch size", x) end
  if (renamed or batch == B) and count == H then return x end
  return op.Expand(x, {renamed and 1 or B, H, 1, 1})
end

--- Whether a size is known, and not 0.
function heads.positive(size) return type(size) == "number" and size > 0 end

return heads
